"""An upstream that rejects what bearerd added, and asks for a password: what its clients' users get to see of that (T36).

The daemon is one of its own. Every client is also shown the upstream's own challenge, through a service that adds nothing, so
that the checks can fail.
"""
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

sys.path.append(str(Path(__file__).parent.parent / "browser"))
from findings import Findings
from servers import Handler, start, tls

STAGE, BEARERD, PATH = os.environ["STAGE"], os.environ["BEARERD"], os.environ["PATH"]
WORK = Path(os.environ["WORK"])
PATIENCE = 40
check = Findings("rejected")


class Upstream:
    """Rejects everybody: with 407 below a folder of that name, else with 401."""

    def __init__(self):
        received = self.received = []

        class Rejecting(Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.body()
                received.append(self.headers["Authorization"])
                fields = {"WWW_Authenticate": 'Basic realm="type it here"', "Proxy_Authenticate": 'Basic realm="or here"'}
                self.answer(407 if "/407/" in self.path else 401, b"rejected", **fields)

        self.port = tls(start(Rejecting), Path(STAGE)).server_port


def daemon(upstream):
    """Waits until it listens. `pass` is the default; `own` adds no credential, so that the challenge is the program's own."""
    def service(name, *lines):
        common = f"upstream: 'https://localhost:{upstream.port}/', ca_file: {STAGE}/ca.pem"
        return f"  {name}: {{ {', '.join([common, *lines])} }}\n"

    (WORK / "bearerd.yaml").write_text(
        f"listeners:\n  main: {{ address: localhost:0, allow_users: [{os.getuid()}] }}\n"
        f"credentials:\n  token: {{ origins: ['https://localhost:{upstream.port}'], suspend: off,\n"
        f"    bearer: {{ file: {STAGE}/secrets/token }} }}\nservices:\n"
        + service("ours", "credential: token") + service("refused", "credential: token", 'on_rejected: "502"')
        + service("own", "credential: pass"))
    log = WORK / "bearerd.log"
    process = subprocess.Popen(
        [BEARERD, "--config", WORK / "bearerd.yaml"], stderr=log.open("w"), env={"RUNTIME_DIRECTORY": str(WORK)})
    wait(lambda: "event=ready" in log.read_text() or process.poll() is not None)
    return process, re.search(r"address=localhost:(\d+)", log.read_text())[1]


def wait(condition):
    until = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)


def curl(base):
    def status(path):
        return subprocess.run(
            ["curl", "-sS", "--max-time", "30", "-o", WORK / "answer", "-w", "%{http_code}", base + path],
            capture_output=True, text=True).stdout

    check("curl shows the status, and what the upstream said", status("/ours/x") == "401" and
          (WORK / "answer").read_text() == "rejected")
    check("... of a 407, too", status("/ours/407/x") == "407")
    check("... and with on_rejected a 502", status("/refused/x") == "502" and status("/refused/407/x") == "502")


def git(base, upstream):
    """Asks for a password at every 401, whatever the challenge says."""
    asked, program = WORK / "asked", WORK / "askpass"
    program.write_text(f"#!/bin/sh\necho \"$1\" >>{asked}\necho typed-by-a-person\n")
    program.chmod(0o700)

    def prompts(service, **more):
        asked.write_text("")
        environment = {"PATH": PATH, "HOME": str(WORK), "LANG": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ASKPASS": str(program)}
        result = subprocess.run(
            ["git", "ls-remote", f"{base}/{service}/project.git"], capture_output=True, text=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, start_new_session=True, env=environment | more)
        return result.returncode, asked.read_text()

    status, prompt = prompts("own")
    check("git asks for a password where the upstream does", status != 0 and "Password" in prompt, prompt)
    status, prompt = prompts("ours")
    check("... also at a 401 that asks for none: there it needs on_rejected", status != 0 and "Password" in prompt, prompt)
    status, prompt = prompts("refused")
    check("with on_rejected git asks nobody", status != 0 and prompt == "", prompt)
    status, prompt = prompts("ours", GIT_ASKPASS="", GIT_TERMINAL_PROMPT="0")
    check("nor where it is told not to", status != 0 and prompt == "", prompt)
    # Base64 of what was typed, in any of three places.
    typed = [value for value in upstream.received[1:] if value and not value.startswith("Bearer ")]
    check("what was typed went up only where no credential was added", len(typed) == 1, typed)


class Chromium:
    """By its debugging protocol, which tells of every dialog for a password that there would be."""

    def __init__(self):
        profile = WORK / "profile"
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--no-proxy-server", "--disable-background-networking", "--remote-debugging-port=0",
             f"--user-data-dir={profile}", "about:blank"], start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=(WORK / "chromium.log").open("w"),
            env={"PATH": PATH, "HOME": str(WORK), "LANG": "C.UTF-8"})
        port = profile / "DevToolsActivePort"
        wait(lambda: port.exists() and port.read_text().count("\n"))
        with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json/list") as pages:
            page = next(page for page in json.load(pages) if page["type"] == "page")
        self.socket = connect(page["webSocketDebuggerUrl"], origin=None, max_size=None)
        self.events = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.number = 0
        self.command("Page.enable")
        self.command("Network.enable")
        self.command("Fetch.enable", handleAuthRequests=True)

    def read(self):
        # Until it is ended.
        with contextlib.suppress(ConnectionClosed):
            for message in self.socket:
                self.events.put(json.loads(message))

    def command(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))

    def visit(self, url):
        """Whether it would have asked for a password; and the status, if there is an answer to show. On a busy machine a
        browser that has just begun may lose its first way."""
        for _ in range(3):
            with contextlib.suppress(queue.Empty):
                return self.go(url)
        raise RuntimeError(f"Chromium does not go to {url}")

    def go(self, url):
        self.command("Page.navigate", url=url)
        asked, status = False, None
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            event = self.events.get(timeout=PATIENCE / 3)
            parameters = event.get("params", {})
            match event.get("method"):
                case "Fetch.requestPaused":
                    self.command("Fetch.continueRequest", requestId=parameters["requestId"])
                case "Fetch.authRequired":
                    asked = True
                    self.command("Fetch.continueWithAuth", requestId=parameters["requestId"],
                                 authChallengeResponse={"response": "CancelAuth"})
                case "Network.responseReceived" if parameters["response"]["url"] == url:
                    status = parameters["response"]["status"]
                case "Page.loadEventFired":
                    return asked, status
        return asked, status

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def chromium(base):
    browser = Chromium()
    try:
        found = browser.visit(f"{base}/own/x")
        check("Chromium has a dialog for a challenge of the upstream's own", found == (True, 401), found)
        found = browser.visit(f"{base}/ours/x")
        check("... and none for a credential of ours that was rejected", found == (False, 401), found)
        found = browser.visit(f"{base}/ours/407/x")
        check("... not for a 407 either", not found[0], found)
        found = browser.visit(f"{base}/refused/x")
        check("... and none with on_rejected", found == (False, 502), found)
    finally:
        browser.end()


def main():
    # Whoever ends us ends the others, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    WORK.mkdir(parents=True)
    upstream = Upstream()
    process, port = daemon(upstream)
    base = f"http://localhost:{port}"
    try:
        curl(base)
        git(base, upstream)
        chromium(base)
    finally:
        process.terminate()
    check("the daemon ended well", process.wait() == 0)
    sys.exit(check.failed)


main()
