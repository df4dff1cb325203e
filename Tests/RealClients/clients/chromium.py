"""A real browser, with pages that want to use bearerd: all of them are refused, and then one of them is let in.

The daemon is one of its own, whose upstream lets everybody read. Each page says by a last request that it is through, so
nothing here waits for a time to pass.
"""
import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "browser"))
from findings import Findings
from servers import Pages, Upstream

# STAGE has the certificates and the token; WORK is a folder to make.
STAGE, BEARERD = os.environ["STAGE"], os.environ["BEARERD"]
WORK = Path(os.environ["WORK"])
TOKEN = Path(STAGE, "secrets", "token").read_text().strip()
PATIENCE = 40

# Every protection of the browser's own that could keep the requests from us is off: it is bearerd that has to refuse them.
FEATURES = (
    "LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,LocalNetworkAccessChecksWebRTC,"
    "BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights,PrivateNetworkAccessRespectPreflightResults,"
    "HttpsUpgrades,HttpsFirstBalancedMode,OptimizationHints,Translate,MediaRouter")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--disable-sync", "--metrics-recording-only", f"--disable-features={FEATURES}",
    "--host-resolver-rules=MAP *.test 127.0.0.1, EXCLUDE localhost, MAP * ~NOTFOUND",
]

check = Findings("chromium")


class Daemon:
    def __init__(self, upstream, pages):
        """`closed` knows of no pages, `open` of one, `rebound` stands where a page was served, `named` has a name more."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            named = free.getsockname()[1]
        (WORK / "bearerd.yaml").write_text(f"""
listeners:
  closed: {{ address: localhost:0, allow_users: [{os.getuid()}] }}
  open:
    address: localhost:0
    allow_users: [{os.getuid()}]
    browsers: {{ origins: ["http://page.test:{pages.port}"] }}
  rebound: {{ address: "localhost:{pages.other.server_port}", allow_users: [{os.getuid()}] }}
  named: {{ address: "localhost:{named}", allow_users: [{os.getuid()}], hosts: ["named.test:{named}"] }}
credentials:
  token: {{ origins: ["https://localhost:{upstream.port}"], bearer: {{ file: {STAGE}/secrets/token }} }}
services:
""" + "".join(f"""
  {listener}-{name}:
    at: /{name}/
    listener: {listener}
    upstream: https://localhost:{upstream.port}/{name}/
    ca_file: {STAGE}/ca.pem
    credential: token
    rules: [{{ match: /no-rule, deny: true }}, {{ match: "/**" }}]
""" for listener in ["closed", "open", "rebound", "named"] for name in ["api", "other"]))
        self.log = WORK / "bearerd.log"
        self.process = subprocess.Popen(
            [BEARERD, "--config", WORK / "bearerd.yaml"], stderr=self.log.open("w"),
            env={"RUNTIME_DIRECTORY": str(WORK)})
        self.seen = 0
        self.wait(lambda: "event=ready" in self.log.read_text() or self.process.poll() is not None)
        self.ports = dict(re.findall(r"event=listening listener=(\w+) address=localhost:(\d+)", self.log.read_text()))
        self.refusals()

    def refusals(self, count=0):
        """How often which method was refused for which reason since the last call; `count` of them are awaited."""
        def lines():
            return [line for line in self.log.read_text().splitlines() if "event=request" in line][self.seen:]

        def refused():
            found = (re.search(r"method=(\S+).* refused=(\S+)", line) for line in lines())
            return collections.Counter(f"{match[1]} {match[2]}" for match in found if match)

        self.wait(lambda: refused().total() >= count)
        counted = refused()
        self.preflights = sum("preflight=true" in line for line in lines())
        self.seen += len(lines())
        return counted

    @staticmethod
    def wait(condition):
        until = time.monotonic() + 10
        while not condition() and time.monotonic() < until:
            time.sleep(0.02)


class Browser:
    """A new one for each page, with a profile of its own."""
    count = 0

    def __init__(self, url, *flags):
        Browser.count += 1
        profile = WORK / f"profile{Browser.count}"
        # A session of its own, so that all its processes can be ended.
        self.process = subprocess.Popen(
            ["chromium", *FLAGS, *flags, f"--user-data-dir={profile}", url], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=(WORK / "chromium.log").open("a"),
            env={"PATH": os.environ["PATH"], "HOME": str(WORK), "LANG": "C.UTF-8"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def visit(pages, url):
    """What the page at `url` reports."""
    with Browser(url):
        return pages.reports.get(timeout=PATIENCE)


def rebound(pages, upstream, daemons):
    """The page is loaded first, then bearerd takes its server's port: the same name, another server (T1)."""
    def rebind():
        pages.other.leave()
        daemons.append(Daemon(upstream, pages))

    pages.rebind = rebind
    results = visit(
        pages, f"http://evil.test:{pages.other.server_port}/rebound.html?reports=http://page.test:{pages.port}")
    refused = daemons[0].refusals(3)
    # Chromium asks once more after a 421: some may be there twice.
    wanted = {"GET host-not-allowed", "POST host-not-allowed", "PUT host-not-allowed"}
    check("T1: a page whose name was rebound to us reaches bearerd, and is refused", set(refused) == wanted, refused)
    check("T1: ... and learns only that", set(results.values()) == {"421 urn:bearerd:error:host-not-allowed"}, results)
    check("T1: ... and nothing is sent", upstream.take() == [])


def strange(pages, upstream, daemon, url):
    results = visit(pages, url(daemon.ports["closed"]))
    refused = daemon.refusals(13)
    wanted = {
        "GET origin-not-allowed": 5, "GET cross-site": 3, "POST origin-not-allowed": 4, "OPTIONS origin-not-allowed": 1}
    check("T2 T3: what a page can send reaches bearerd, and is refused", refused == wanted, dict(refused))
    sent = upstream.take()
    check("T2 T3: ... and the upstream, whatever it allows, sees nothing", sent == [], sent)
    wanted = {
        "form": "sent", "blind-post": "opaque", "image": "no image", "named-image": "no image", "socket": "closed",
        "image-by-redirect": "no image", "form-by-redirect": "sent", "post-by-redirect": "opaque",
        "read": "nothing (TypeError)", "put": "nothing (TypeError)",
        "by-redirect": "nothing (TypeError)", "no-rule": "nothing (TypeError)"}
    results.pop("blind-get", None)
    check("T2 T3: ... and the page learns nothing", results == wanted, results)


def listed(pages, upstream, daemon, url):
    results = visit(pages, url(daemon.ports["open"]))
    refused = daemon.refusals(7)
    wanted = {"GET cross-site": 3, "GET origin-not-allowed": 1, "POST origin-not-allowed": 2, "GET denied": 1}
    check("T2: of a listed page, what is not marked as its own, or comes by way of another, stays out", refused == wanted,
          dict(refused))
    sent = {path: (method, fields) for method, path, fields in upstream.take()}
    wanted = {
        "/api/form": "POST", "/api/blind-post": "POST", "/api/named-image": "GET", "/api/read": "GET",
        "/api/put": "PUT", "/api/socket": "GET"}
    found = {path: method for path, (method, _) in sent.items()}
    check("T2 T3: ... and everything else arrives", found == wanted, found)
    check("T2: ... the preflight excepted, which is answered by us", daemon.preflights == 1, daemon.preflights)
    own = f"https://localhost:{upstream.port}"
    strangers = [
        (path, fields) for path, (_, fields) in sent.items()
        if fields.get("Origin") != own or fields.get("Authorization") != f"Bearer {TOKEN}"
        or "page.test" in json.dumps(fields) or "Sec-Fetch-Site" in fields]
    check("T2: ... with the credential, and as a page of the upstream's own", strangers == [],
          [path for path, _ in strangers])
    wanted = {
        "form": "sent", "blind-post": "opaque", "image": "no image", "named-image": "an image", "read": "200 here",
        "put": "200 here yes", "socket": "said hello", "by-redirect": "nothing (TypeError)",
        "image-by-redirect": "no image", "form-by-redirect": "sent", "post-by-redirect": "opaque"}
    results.pop("blind-get", None)
    denial = results.pop("no-rule", "")
    check("T2: ... and the page can read the answers", results == wanted, results)
    check("T2: ... also bearerd's own", denial.startswith("403 ") and "urn:bearerd:error:denied" in denial, denial)


def shown(upstream, daemon):
    """A person opens a page of one service: it does not get to the other one of the same listener (T35)."""
    with Browser(f"http://localhost:{daemon.ports['open']}/api/sandboxed.html", "--dump-dom") as browser:
        text = browser.process.communicate(timeout=PATIENCE)[0].decode()
    refused = daemon.refusals(4)
    sent = [f"{method} {path}" for method, path, _ in upstream.take()]
    check("T35: a typed-in address shows the upstream's page", "the end" in text, text)
    check("T35: ... whose scripts do not run", "<title>An upstream's page</title>" in text, text)
    # Style, script, image, frame; and, from the browser itself, an icon.
    # One that the browser left as it ended has no owner any more, and is refused for that (T7).
    found = dict(refused)
    reasons = {"GET cross-site", "GET caller-unknown"}
    refused_all = found.keys() <= reasons and sum(found.values()) in (4, 5) and found.get("GET cross-site", 0) >= 3
    check("T35: ... and whose requests to another service are refused", refused_all, found)
    check("T35: ... so that nothing of it is sent", sent == ["GET /api/sandboxed.html"], sent)


def named(pages, upstream, daemon):
    """By a name that a browser does not trust: it does not say there what sent it, nor, mostly, which page."""
    base = f"http://named.test:{daemon.ports['named']}"
    results = visit(
        pages, f"http://page.test:{pages.port}/named.html?base={base}&redirector=http://third.test:{pages.port}/redirect")
    refused = daemon.refusals(8)
    check("T2: by a name that is not loopback, what a page can send is refused as a browser's",
          refused == {"GET site-unknown": 7, "HEAD site-unknown": 1}, dict(refused))
    with Browser(f"{base}/api/sandboxed.html", "--dump-dom") as browser:
        text = browser.process.communicate(timeout=PATIENCE)[0].decode()
    check("T2 T35: ... and so is what a person types", "urn:bearerd:error:site-unknown" in text, text)
    # An icon, too, if there is time.
    reasons = {"GET site-unknown", "GET caller-unknown"}
    refused = daemon.refusals(1)
    check("T2 T35: ... as nobody can tell the two apart", refused.keys() <= reasons, dict(refused))
    sent = upstream.take()
    check("T2: ... and the upstream sees nothing", sent == [], sent)
    wanted = {
        "image": "nothing", "script": "nothing", "frame": "loaded", "link": "loaded", "get": "opaque",
        "nameless": "opaque", "head": "opaque", "redirected": "nothing"}
    check("T2: ... and the page learns nothing", results == wanted, results)


def main():
    # Whoever ends us ends the browser, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    WORK.mkdir(parents=True)
    upstream, pages = Upstream(Path(STAGE)), Pages()

    def url(port):
        return (f"http://page.test:{pages.port}/page.html?base=http://localhost:{port}"
                f"&redirector=http://third.test:{pages.port}/redirect")

    daemons = []
    try:
        rebound(pages, upstream, daemons)
        strange(pages, upstream, daemons[0], url)
        listed(pages, upstream, daemons[0], url)
        shown(upstream, daemons[0])
        named(pages, upstream, daemons[0])
    finally:
        for daemon in daemons:
            daemon.process.terminate()
    check("the daemon ended well", daemons[0].process.wait() == 0)
    sys.exit(check.failed)


main()
