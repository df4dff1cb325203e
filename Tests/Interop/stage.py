"""The stage of every row: a raw TLS upstream, a daemon, and a client that sends bytes."""
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PATIENCE = 20
SECRET = "interop-token-0123456789abcdef"


def wait(condition, what):
    """Returns the first true value of `condition`."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if value := condition():
            return value
        time.sleep(0.005)
    raise AssertionError(f"waited {PATIENCE} s in vain for {what}")


class Request:
    """A request as the upstream got it."""

    def __init__(self, head, body):
        self.head, self.body = head, body
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:] if line]

    def get(self, name):
        """The values of a field, in their order."""
        return [value for key, value in self.fields if key.lower() == name.lower()]


class Upstream:
    """Answers every request with the bytes that `respond` makes of it, or with those that it is."""

    def __init__(self, directory, certificate="leaf.pem"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / certificate, directory / "leaf.key")
        self.context, self.requests, self.connections = context, [], 0
        self.respond, self.closes = b"", False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.origin = f"https://localhost:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            self.connections += 1
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, EOFError):
            stream = self.context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
            while True:
                request = self.read(stream)
                self.requests.append(request)
                response = self.respond(request) if callable(self.respond) else self.respond
                for part in [response] if isinstance(response, bytes) else response:
                    stream.sendall(part)
                if self.closes == "without notice":
                    # The connection ends, and TLS does not say so.
                    socket.socket(fileno=stream.detach()).close()
                    return
                if self.closes:
                    stream.unwrap()
                    stream.close()
                    return

    @staticmethod
    def read(stream):
        data = b""

        def more():
            nonlocal data
            part = stream.recv(65536)
            if not part:
                raise EOFError
            data += part

        while b"\r\n\r\n" not in data:
            more()
        head, data = data.split(b"\r\n\r\n", 1)
        request = Request(head, b"")
        length = int((request.get("Content-Length") or ["0"])[0])
        if request.get("Transfer-Encoding"):
            while not data.endswith(b"0\r\n\r\n"):
                more()
        while len(data) < length:
            more()
        request.body = data
        return request


class Response:
    """What the client got, and what the upstream and the log say of it."""

    def __init__(self, data, sent, log):
        self.data, self.sent, self.log = data, sent, log
        self.interim = []
        while True:
            head, _, rest = data.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            self.status = int(lines[0].split(" ")[1]) if lines[0].startswith("HTTP/") else 0
            self.fields = [tuple(line.split(": ", 1)) for line in lines[1:] if ": " in line]
            if not 100 <= self.status < 200 or self.status == 101:
                break
            self.interim.append((self.status, self.fields))
            data = rest
        self.head = head.decode("latin-1")
        self.body = self.unchunked(rest) if self.get("Transfer-Encoding") else rest

    @staticmethod
    def unchunked(data):
        body = b""
        while True:
            size, _, data = data.partition(b"\r\n")
            if not size or not (count := int(size.split(b";")[0], 16)):
                return body
            body, data = body + data[:count], data[count + 2:]

    def get(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    @property
    def problem(self):
        """The members of bearerd's own answer; empty if the answer is not bearerd's."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    def __repr__(self):
        return f"{self.data[:600]!r}\n        sent {[r.head for r in self.sent]!r}\n        log {self.log!r}"


class Stage:
    """One authority, one upstream, and as many daemons as rows want."""

    def __init__(self, bearerd):
        self.bearerd, self.bearerctl = bearerd, bearerd.parent / "bearerctl"
        self.path = Path(tempfile.mkdtemp(prefix="bearerd-interop."))
        self.path.chmod(0o700)
        self.certificates()
        self.upstream = Upstream(self.path)
        self.secret("c.token", SECRET.encode())
        self.daemons, self.count = [], 0
        self.main = self.daemon()

    def certificates(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.path, check=True, capture_output=True)

        for name in ["ca", "leaf"]:
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")
        openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=interop CA", "-days", "2", "-out", "ca.pem",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", "-new", "-key", "leaf.key", "-subj", "/CN=localhost", "-out", "leaf.csr")
        (self.path / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
        sign = ["x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "1"]
        openssl(*sign, "-out", "leaf.pem", "-extfile", "names")
        openssl(*sign, "-out", "nameless.pem")
        openssl("req", "-x509", "-key", "leaf.key", "-subj", "/CN=localhost", "-days", "1", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-addext", "basicConstraints=critical,CA:TRUE", "-subj", "/CN=interop intermediate", "-out", "middle.pem")
        openssl("x509", "-req", "-in", "leaf.csr", "-CA", "middle.pem", "-CAkey", "leaf.key", "-days", "1", "-out", "alone.pem",
                "-extfile", "names")

    def secret(self, name, data, mode=0o600):
        path = self.path / name
        path.write_bytes(data)
        path.chmod(mode)

    def daemon(self, listener="", credential="bearer: { file: c.token }", service="", more="", wrapper=()):
        self.count += 1
        daemon = Daemon(self, self.count, listener, credential, service, more, wrapper)
        self.daemons.append(daemon)
        return daemon

    def check(self, **parts):
        """What `bearerctl check` says of a configuration: its status and its text."""
        file = self.path / "checked.yaml"
        file.write_text(configuration(self.upstream.origin, **parts))
        result = subprocess.run([self.bearerctl, "check", file], capture_output=True, text=True, timeout=PATIENCE,
                                stdin=subprocess.DEVNULL)
        return result.returncode, result.stdout + result.stderr

    def end(self):
        """Returns whether every daemon ended well."""
        for daemon in self.daemons:
            daemon.process.send_signal(signal.SIGTERM)
        return [daemon.process.wait(PATIENCE) for daemon in self.daemons] == [0] * len(self.daemons)

    def remove(self):
        shutil.rmtree(self.path)


def configuration(origin, listener="", credential="bearer: { file: c.token }", service="", more=""):
    """A listener, the credential `c`, and the service `t` with all of the upstream."""
    return (
        f"listeners:\n  main: {{ address: localhost:0, allow_users: [{os.getuid()}]{', ' * bool(listener)}{listener} }}\n"
        f"credentials:\n  c: {{ origins: [\"{origin}\"], {credential} }}\n"
        f"services:\n  t: {{ upstream: \"{origin}/\", ca_file: ca.pem, credential: c{', ' * bool(service)}{service} }}\n"
        + more)


class Daemon:
    """A bearerd with a configuration of its own. `wrapper`: a command that becomes it."""

    def __init__(self, stage, number, listener, credential, service, more, wrapper):
        self.upstream = stage.upstream
        file, self.log = stage.path / f"bearerd-{number}.yaml", stage.path / f"bearerd-{number}.log"
        runtime = stage.path / f"runtime-{number}"
        runtime.mkdir(mode=0o700)
        file.write_text(configuration(stage.upstream.origin, listener, credential, service, more))
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*wrapper, stage.bearerd, "--config", file], stderr=log, stdin=subprocess.DEVNULL, cwd=stage.path,
                env={"RUNTIME_DIRECTORY": str(runtime), "PATH": os.environ["PATH"]})
        wait(lambda: "event=ready" in self.log.read_text() or self.process.poll() is not None, "the daemon")
        match = re.search(r"event=listening .*?address=localhost:(\d+)", self.log.read_text())
        if not match:
            raise AssertionError(f"bearerd does not start: {self.log.read_text()}")
        self.port = int(match[1])

    def events(self, name, start=0):
        lines = self.log.read_text()[start:].split("\n")[:-1]
        return [event for line in lines if (event := parsed(line)).get("event") == name]

    def get(self, path="/t/x", *fields, method="GET", body=b"", host=None, response=None, closes=False):
        """Sends a request of ordinary form. `response`: the upstream's."""
        host = host if host is not None else f"localhost:{self.port}"
        target = path if isinstance(path, bytes) else path.encode()
        length = [f"Content-Length: {len(body)}"] if body else []
        lines = [f"Host: {host}", *fields, *length]
        if not any(line.lower().startswith("connection:") for line in fields):
            lines.append("Connection: close")
        head = method.encode() + b" " + target + b" HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in lines).encode("latin-1")
        return self.send(head + b"\r\n" + body, response=response, closes=closes)

    def send(self, data, response=None, closes=False):
        """Sends bytes, and reads until the connection is closed; what answers an upgrade until its head has come."""
        upstream = self.upstream
        if response is not None:
            upstream.respond, upstream.closes = response, closes
        first, start = len(upstream.requests), self.log.stat().st_size
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.sendall(data)
            got, is_upgrade = b"", b"\r\nConnection: Upgrade\r\n" in data
            with contextlib.suppress(ConnectionResetError):
                while part := client.recv(65536):
                    got += part
                    if got.startswith(b"HTTP/1.1 101 ") or (is_upgrade and b"\r\n\r\n" in got):
                        break
        log = wait(lambda: self.events("request", start), "a line in the log")
        return Response(got, upstream.requests[first:], log[-1])


def parsed(line):
    """The fields of a line in logfmt."""
    try:
        words = shlex.split(line)
    except ValueError:
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)
