"""Every grant against a real authorization server (Authlib), and an API that asks the server's store about each token.

Each row has a daemon, a client at the server and a user's browser of its own, so the rows run at the same time. A row passes if

  - the API saw a valid token of the right client and the right subject,
  - the server saw exactly the token requests of the row,
  - 20 requests at once after the token's end cost exactly one more token request,
  - a daemon that starts again after `kill -9` gets a token without a login,
  - after `bearerctl logout` the tokens are revoked, requests get 503 login-required, and the server gets no token request,
  - no secret and no token is in the log.

    Tests/RealClients/run authorization-server              all rows of ROWS
    Tests/RealClients/run authorization-server WORD...      rows with these names, also of LATER; `later` is all of LATER
"""
import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

sys.path.append(str(Path(__file__).parent.parent / "servers"))
import authorization
from authorization import PASSWORD, TICKET, USER, Client, Store, serve

STAGE, BEARERD, WORK = Path(os.environ["STAGE"]), Path(os.environ["BEARERD"]), Path(os.environ["WORK"])
PATIENCE = 40
SECRET = "s3cret-of-a-client"
# Each of these characters is a trap of the form encoding, of Basic, or of YAML.
ODD = "a&b=c+d%e:/?#\"'ü"

store = Store()
ports = {}


def origin():
    return f"https://localhost:{ports['server']}"


def pair(private):
    """A private and its public key, PEM."""
    pem = serialization.Encoding.PEM
    return (private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode(),
            private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo).decode())


EC = pair(ec.generate_private_key(ec.SECP256R1()))
RSA = pair(rsa.generate_private_key(65537, 2048))
ED25519 = pair(ed25519.Ed25519PrivateKey.generate())
P384 = pair(ec.generate_private_key(ec.SECP384R1()))
P521 = pair(ec.generate_private_key(ec.SECP521R1()))


@dataclass
class Row:
    name: str
    # Keys of `oauth2`. A Secret becomes a file, and URLs of the server begin with its origin. None leaves out a key.
    keys: dict
    client: dict = field(default_factory=dict)
    # The user's part of `bearerctl login`: a function that gets the lines that bearerctl prints.
    login: Callable | None = None
    # How `bearerctl login` ends.
    login_status: int = 0
    # The outcomes of all token requests until the API has seen the first token.
    first: list = field(default_factory=lambda: ["token"])
    # Whose token it is: the client's own without a user.
    subject: str | None = USER
    # The client's name at the server.
    client_id: str | None = None
    prepare: Callable | None = None
    # What happens at the end, instead of a logout.
    end: Callable | None = None
    # Whether a logout revokes the last refresh token. With `password`, bearerd does not keep refresh tokens.
    revokes_refresh: bool = True
    kind: str = "oauth2"
    path: str = "/whoami"
    renews: bool = True


@dataclass
class Secret:
    value: str


class Stop(Exception):
    """The row has proved what there is to prove."""


# What a user does in a browser.

CONTEXT = ssl.create_default_context(cafile=STAGE / "ca.pem")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


BROWSER = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=CONTEXT))


def visit(url, **form):
    """Returns the status, the Location field and the body."""
    data = urllib.parse.urlencode(form).encode() if form else None
    try:
        with BROWSER.open(url, data, timeout=PATIENCE) as response:
            return response.status, response.headers["Location"], response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Location"], error.read().decode()


def found(lines, pattern):
    read = []
    for line in lines:
        read.append(line)
        if match := re.search(pattern, line):
            return match[0]
    raise AssertionError(f"no {pattern} in {read}")


def browser(user=USER, password=PASSWORD):
    """Logs in at the page, and follows the redirect back to bearerd."""
    def act(_row, lines):
        page = found(lines, r"https://\S+")
        status, _, body = visit(page)
        assert status == 200 and "password" in body, (page, status, body)
        status, callback, body = visit(page, user=user, password=password)
        assert status == 302, (page, status, body)
        status, _, body = visit(callback)
        assert status in (200, 400), (callback, status, body)
    return act


def other_device(user=USER, after=0):
    """Enters the code, once the server has told bearerd `after` times to wait."""
    def act(row, lines):
        page, code = found(lines, r"https://\S+"), found(lines, r"\b[A-Z]{4}-[A-Z]{4}\b")
        wait(lambda: store.outcomes(row.client_id).count("authorization_pending") >= after, "bearerd does not ask")
        status, _, body = visit(page, user_code=code, user=user)
        assert status == 200, (page, status, body)
    return act


def refresh_token(row, _work):
    first = f"first refresh token of {row.client_id}"
    store.save(row.client_id, USER, "never used", first, "read")
    row.keys["refresh_token"] = Secret(first)


def foreign_token(row, _work):
    store.save("somebody else", USER, "a token to exchange", None, "read", lifetime=3600)
    row.keys["subject_token"] = Secret("a token to exchange")


def revoked_at_the_server(row, daemon):
    """Revokes everything. The next request costs one refused refresh, and the ones after it nothing."""
    before = len(store.outcomes(row.client_id))
    for token in store.tokens_of(row.client_id):
        token.access_revoked = token.refresh_revoked = True
    for status, body in daemon.many(20):
        assert status in (401, 503), (status, body)
    assert daemon.refused()
    assert store.outcomes(row.client_id)[before:] == ["invalid_grant"], store.outcomes(row.client_id)[before:]
    if row.login:
        daemon.login()
        assert daemon.get()[0] == 200, "after the second login"


def rejected_by_the_api(row, daemon):
    """Revokes the access token only. Requests that run into the API's 401 share one renewal, and nobody sees the 401."""
    before = len(store.outcomes(row.client_id))
    store.tokens_of(row.client_id)[-1].access_revoked = True
    statuses = {status for status, _ in daemon.many(20)}
    assert statuses == {200} and store.outcomes(row.client_id)[before:] == ["token"], (statuses, store.outcomes(row.client_id))


def logged_in_twice(row, daemon):
    daemon.login(again=True)
    daemon.logout()
    alive = [token.refresh for token in store.tokens_of(row.client_id) if token.refresh and not token.refresh_revoked]
    assert not alive, f"{len(alive)} refresh tokens of earlier logins still work"


CLIENT_CREDENTIALS = {"grant": "client_credentials", "scope": "read", "client_secret": Secret(SECRET)}
CODE = {"grant": "authorization_code", "authorization_url": "/authorize", "scope": "read"}
PASSWORD_GRANT = {"grant": "password", "user": USER, "password": Secret(PASSWORD), "client_secret": Secret(SECRET)}
DEVICE = {"grant": "device_code", "device_authorization_url": "/device_authorization", "scope": "read"}
BASIC, POST, JWT, NONE = ({"method": method} for method in ("client_secret_basic", "client_secret_post", "private_key_jwt", "none"))
SIGNED = {"client_auth": "private_key_jwt", "private_key": Secret(EC[0])}


def discovered(_row, _work):
    """`bearerctl discover` prints the server's endpoints."""
    result = subprocess.run([BEARERD.parent / "bearerctl", "discover", origin(), "--ca-file", STAGE / "ca.pem"],
                            capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 0, result.stderr
    assert all(f"{origin()}{path}" in result.stdout for path in ("/token", "/authorize", "/revoke")), result.stdout
    raise Stop


def registered(_row, work):
    """`bearerctl register` makes a client at the server."""
    before = len(store.clients)
    result = subprocess.run([BEARERD.parent / "bearerctl", "register", origin(), "--ca-file", STAGE / "ca.pem",
                             "--config", work / "bearerd.yaml"],
                            capture_output=True, text=True, timeout=PATIENCE, cwd=work)
    assert result.returncode == 0, result.stderr
    assert store.outcomes("anyone", "register") == ["ok"] and len(store.clients) == before + 1, result.stdout
    raise Stop


def oauth1(signature, **more):
    return {"request_token_url": "/oauth1/initiate", "authorize_url": "/oauth1/authorize", "access_token_url": "/oauth1/token",
            "signature": signature} | more


def browser1(row, lines):
    page = found(lines, r"https://\S+/oauth1/authorize\S+")
    status, callback, body = visit(page, user=USER)
    assert status == 302, (page, status, body)
    status, _, body = visit(callback)
    assert status == 200, (callback, status, body)


# Features that bearerd does not have yet, and rows that fail today: they run only if named. To switch a row on, move it to ROWS.
ROWS = [
    Row("client_credentials-basic", CLIENT_CREDENTIALS, BASIC, subject=None),
    Row("client_credentials-post", CLIENT_CREDENTIALS | {"client_auth": "post"}, POST, subject=None),
    Row("client_credentials-private_key_jwt", {"grant": "client_credentials"} | SIGNED, JWT | {"public_key": EC[1]}, subject=None),
    *(Row(f"client_credentials-{name}", {"grant": "client_credentials"} | SIGNED | {"private_key": Secret(private)},
          JWT | {"public_key": public}, subject=None)
      for name, (private, public) in {"RS256": RSA, "ES384": P384, "ES512": P521, "EdDSA": ED25519}.items()),
    Row("client_credentials-rejected", CLIENT_CREDENTIALS, BASIC, subject=None, end=rejected_by_the_api),
    Row("client_credentials-basic-odd-secret", CLIENT_CREDENTIALS | {"client_secret": Secret(ODD)}, BASIC, subject=None,
        client_id="odd:client%+&"),
    Row("client_credentials-post-odd-secret", CLIENT_CREDENTIALS | {"client_secret": Secret(ODD), "client_auth": "post"}, POST,
        subject=None, client_id="odd post:client %+&"),
    # The API's 401 is the only sign that the token has expired.
    Row("client_credentials-hidden-expiry", CLIENT_CREDENTIALS, BASIC | {"hides_expiry": True}, subject=None),
    Row("refresh_token-none", {"grant": "refresh_token"}, NONE, prepare=refresh_token),
    Row("refresh_token-basic", {"grant": "refresh_token", "client_secret": Secret(SECRET)}, BASIC, prepare=refresh_token),
    Row("refresh_token-private_key_jwt", {"grant": "refresh_token"} | SIGNED, JWT | {"public_key": EC[1]}, prepare=refresh_token),
    Row("refresh_token-revoked", {"grant": "refresh_token"}, NONE, prepare=refresh_token, end=revoked_at_the_server),
    Row("authorization_code-none", CODE | {"issuer": ""}, NONE, browser()),
    Row("authorization_code-basic", CODE | {"client_secret": Secret(SECRET)}, BASIC, browser()),
    Row("authorization_code-private_key_jwt", CODE | SIGNED, JWT | {"public_key": EC[1]}, browser()),
    Row("authorization_code-denied", CODE, NONE, browser(password="wrong"), login_status=1, first=[]),
    Row("authorization_code-wrong-issuer", CODE | {"issuer": "https://other.example"}, NONE, browser(), login_status=1, first=[]),
    Row("authorization_code-rejected", CODE, NONE, browser(), end=rejected_by_the_api),
    Row("authorization_code-revoked", CODE, NONE, browser(), end=revoked_at_the_server),
    Row("device_code-none", DEVICE, NONE, other_device()),
    Row("device_code-post", DEVICE | {"client_secret": Secret(SECRET), "client_auth": "post"}, POST, other_device()),
    Row("device_code-basic", DEVICE | {"client_secret": Secret(SECRET)}, BASIC, other_device()),
    Row("device_code-private_key_jwt", DEVICE | SIGNED, JWT | {"public_key": EC[1]}, other_device()),
    Row("device_code-pending", DEVICE, NONE, other_device(after=1), first=["authorization_pending", "token"]),
    Row("device_code-denied", DEVICE, NONE, other_device(user="mallory"), login_status=1, first=["access_denied"]),
    Row("password-basic", PASSWORD_GRANT, BASIC, revokes_refresh=False),
    Row("jwt_bearer", {"grant": "jwt_bearer", "private_key": Secret(EC[0]), "issuer": "jwt_bearer", "subject": USER, "scope": "read"},
        NONE | {"public_key": EC[1]}),
    Row("token_exchange-basic", {
        "grant": "token_exchange", "client_secret": Secret(SECRET),
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token"}, BASIC, prepare=foreign_token),
    # Authlib decodes %20 in Basic, but not +. Both are correct (RFC 6749, appendix B); %20 is read by all servers.
    Row("client_credentials-basic-space", CLIENT_CREDENTIALS | {"client_secret": Secret("a b+c")}, BASIC, subject=None),
    Row("token_url-query", CLIENT_CREDENTIALS | {"token_url": "/tenant/token?tenant=a%20b%26c"}, BASIC, subject=None),
    Row("json-body", CLIENT_CREDENTIALS | {"token_url": "/json/token", "body": "json", "client_auth": "post"}, POST, subject=None),
    Row("form-response", CLIENT_CREDENTIALS | {"token_url": "/form/token"}, BASIC, subject=None),
    Row("basic_raw", CLIENT_CREDENTIALS | {"client_auth": "basic_raw", "client_secret": Secret(ODD)}, {"method": "basic_raw"},
        subject=None),
    Row("nested", CLIENT_CREDENTIALS | {"token_url": "/nested/token", "token": "data.access_token"}, BASIC, subject=None),
    Row("custom-grant", {"grant": "custom", "grant_type": TICKET, "parameters": {"ticket": "ticket of alice"},
                         "client_secret": Secret(SECRET)}, BASIC),
    # The server answers with 201, and a time instead of a lifetime. It has no revocation endpoint.
    Row("github-app", {"grant": "custom", "grant_type": "none", "client_auth": "private_key_bearer",
                       "token_url": "/app/installations/1/access_tokens", "private_key": Secret(RSA[0]), "token": "token",
                       "expires_at": "expires_at", "revocation_url": None},
        {"public_key": RSA[1]}, subject="installation 1"),
    Row("oauth1-hmac-sha1", oauth1("hmac-sha1", consumer_secret=Secret(SECRET)), {}, browser1, kind="oauth1", path="/signed/whoami",
        renews=False),
    Row("oauth1-hmac-sha256", oauth1("hmac-sha256", consumer_secret=Secret(SECRET)), {}, browser1, kind="oauth1",
        path="/signed/whoami", renews=False),
    Row("oauth1-rsa-sha1", oauth1("rsa-sha1", private_key=Secret(RSA[0])), {"public_key": RSA[1]}, browser1, kind="oauth1",
        path="/signed/whoami", renews=False),
    Row("discover", {}, prepare=discovered),
    Row("register", {}, prepare=registered),
]

LATER = [
    # A second login replaces the first one, whose refresh token stays valid at the server.
    Row("authorization_code-twice", CODE, NONE, browser(), end=logged_in_twice),
    # The server's refresh tokens are discarded, and never revoked.
    Row("password-revokes-refresh", PASSWORD_GRANT, BASIC),
]


class Daemon:
    def __init__(self, row, work):
        self.row, self.work, self.log, self.secrets = row, work, work / "bearerd.log", []
        api = f"https://localhost:{ports['api']}"
        server = {"ca_file": str(STAGE / "ca.pem")}
        if row.kind == "oauth2":
            credential = {"token_url": "/token", "revocation_url": "/revoke", "client_id": row.client_id, **server,
                          # Only the token's end decides when bearerd renews it.
                          "renew_ahead": "0s", "skew": "0s"} | row.keys
        else:
            credential = {"consumer_key": row.client_id, **server} | row.keys
        configuration = {
            "listeners": {"main": {"address": "localhost:0", "allow_users": [os.getuid()]}}, "control": "control.sock",
            "credentials": {"token": {"origins": [api], row.kind: {
                name: self.value(name, value) for name, value in credential.items() if value is not None}}},
            "services": {"api": {"upstream": f"{api}/", "credential": "token", **server}}}
        # JSON is YAML.
        (work / "bearerd.yaml").write_text(json.dumps(configuration, indent=1, ensure_ascii=False))
        self.start()

    def start(self):
        start = len(self.log.read_text()) if self.log.exists() else 0
        self.process = subprocess.Popen(
            [BEARERD, "--config", self.work / "bearerd.yaml"], stderr=self.log.open("a"),
            env={"RUNTIME_DIRECTORY": str(self.work), "STATE_DIRECTORY": str(self.work / "state")})
        try:
            wait(lambda: "event=ready" in self.log.read_text()[start:] or self.process.poll() is not None, "bearerd does not start")
        except BaseException:
            self.process.kill()
            raise
        assert self.process.poll() is None, f"bearerd did not start: {self.log.read_text()}"
        self.port = int(re.findall(r"event=listening.*address=localhost:(\d+)", self.log.read_text())[-1])

    def restart(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def value(self, name, value):
        if isinstance(value, Secret):
            self.secrets.append(value.value)
            (self.work / name).write_text(value.value)
            (self.work / name).chmod(0o600)
            return {"file": name}
        is_url = name.endswith("_url") or (name == "issuer" and not value)
        return f"{origin()}{value}" if is_url else value

    def get(self):
        """Returns the status and the JSON body of the API, or of the refusal."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", f"/api{self.row.path}")
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")

    def many(self, count):
        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(lambda _: self.get(), range(count)))

    def control(self, *arguments):
        return subprocess.Popen([BEARERD.parent / "bearerctl", *arguments, "--config", self.work / "bearerd.yaml"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def login(self, again=False):
        assert again or self.refused(), "a request before the login"
        with self.control("login", "token", "--no-browser") as process:
            self.row.login(self.row, process.stdout)
            output = process.stdout.read()
        assert process.returncode == self.row.login_status, (process.returncode, output)

    def logout(self):
        before = len(store.outcomes(self.row.client_id))
        with self.control("logout", "token") as process:
            output = process.stdout.read()
        assert process.returncode == 0, output
        if self.row.kind == "oauth2" and self.row.keys.get("revocation_url", True):
            wrong = [outcome for outcome in store.outcomes(self.row.client_id, "revoke") if outcome != "ok"]
            assert not wrong, f"the server refused to revoke: {wrong}"
            last = store.tokens_of(self.row.client_id)[-1]
            assert last.access_revoked, f"the access token is not revoked: {output}"
            kept = last.refresh and self.row.revokes_refresh and not last.refresh_revoked
            assert not kept, f"the refresh token is not revoked: {output}"
        assert self.refused(), "a request after the logout"
        assert len(store.outcomes(self.row.client_id)) == before, "a token request after the logout"
        if self.row.login:
            self.restart()
            assert self.refused(), "a request after the logout and a restart"

    def refused(self):
        status, body = self.get()
        assert status == 503 and body["type"].endswith("login-required"), (status, body)
        return True

    def end(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0, f"bearerd ended with {self.process.returncode}"
        log = self.log.read_text()
        issued = [value for token in store.tokens_of(self.row.client_id) for value in (token.access, token.refresh) if value]
        for secret in self.secrets + issued:
            assert secret not in log, f"{secret} is in {self.log}"


def wait(condition, otherwise):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, otherwise
        time.sleep(0.02)


def play(row):
    row.client_id = row.client_id or row.name
    row.keys = dict(row.keys)
    secret = row.keys.get("client_secret") or row.keys.get("consumer_secret") or Secret("")
    store.clients[row.client_id] = Client(row.client_id, secret.value, **row.client)
    work = WORK / row.name
    work.mkdir(parents=True)
    (work / "state").mkdir(mode=0o700)
    if row.prepare:
        row.prepare(row, work)
    daemon = Daemon(row, work)
    try:
        proceed(row, daemon)
    finally:
        if daemon.process.poll() is None:
            daemon.end()


def proceed(row, daemon):
    wanted = (200, {"client": row.client_id, "subject": row.subject or row.client_id})

    def right(response):
        status, body = response
        return (status, {name: body.get(name) for name in ("client", "subject")}) == wanted

    def requests():
        return store.outcomes(row.client_id)

    if row.login:
        daemon.login()
    if row.login_status:
        assert daemon.refused() and requests() == row.first, requests()
        return
    response = daemon.get()
    assert right(response), (response, requests())
    assert requests() == row.first, requests()

    if row.renews:
        # What the server says is past, bearerd must know as well.
        last = store.tokens_of(row.client_id)[-1]
        wait(last.is_expired, "the token never expires")
        time.sleep(0.3)
        wrong = [response for response in daemon.many(20) if not right(response)]
        assert not wrong, f"{len(wrong)} of 20 at once: {wrong[0]}"
        assert requests() == row.first + ["token"], requests()

        daemon.restart()
        response = daemon.get()
        assert right(response) and requests() == row.first + ["token"] * 2, (response, requests())

    (row.end or (lambda _row, daemon: daemon.logout()))(row, daemon)


def outcome(row):
    try:
        play(row)
    except Stop:
        return None
    except AssertionError as error:
        return f"{error or traceback.format_exc()}"
    except Exception:
        return traceback.format_exc()
    return None


def main():
    # Also on SIGTERM, the daemons end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    words = os.environ.get("WORDS", "").split()
    rows = [row for row in ROWS + LATER if row.name in words or ("later" in words and row in LATER)] or ROWS
    ports["server"] = serve(authorization.authorization_server(store, origin), STAGE)
    ports["api"] = serve(authorization.api(store), STAGE)
    failed = False
    with ThreadPoolExecutor(8) as threads:
        for row, error in zip(rows, threads.map(outcome, rows), strict=True):
            print(f"{'FAILED' if error else 'ok    '}  authorization-server: {row.name}", flush=True)
            if error:
                failed = True
                print("        " + error.replace("\n", "\n        "))
                for exchange in store.exchanges_of(row.client_id) + store.exchanges_of("anyone"):
                    print("        | " + exchange.text.replace("\n", "\n        | "))
    sys.exit(failed)


main()
