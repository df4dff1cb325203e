"""The servers of all upstreams in the pages: one certificate authority, one certificate, and 200 to every request."""
import contextlib
import http.server
import json
import ssl
import subprocess
import threading

ADDRESS = "198.51.100.10"


def authority(stage, names):
    """Makes an authority, its revocation list and a certificate for all names, with the command openssl."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=stage, check=True, capture_output=True, timeout=30)

    for key in ("ca", "leaf"):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{key}.key")
    openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=Example CA", "-days", "30", "-out", "ca.pem",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    (stage / "ca.cnf").write_text("[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\ndefault_md = sha256\n")
    (stage / "index.txt").write_text("")
    openssl("ca", "-gencrl", "-config", "ca.cnf", "-keyfile", "ca.key", "-cert", "ca.pem", "-crldays", "30", "-out", "ca.crl")
    openssl("req", "-new", "-key", "leaf.key", "-subj", "/CN=api.example.com", "-out", "leaf.csr")
    (stage / "leaf.ext").write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in sorted(names)) + "\n")
    openssl("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "30", "-out", "leaf.pem",
            "-extfile", "leaf.ext")
    (stage / "leaf.pem").write_text((stage / "leaf.pem").read_text() + (stage / "ca.pem").read_text())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fields, value = {}, {"login": "octocat", "id": 1}
        if self.path.endswith("/echo"):
            value = {"headers": {"Authorization": self.headers.get("Authorization")}}
        elif "token" in self.path or "login" in self.path:
            value = {"access_token": "scene-access-token-0123456789", "token_type": "Bearer", "expires_in": 3600}
        elif self.path.endswith("/_session"):
            fields["Set-Cookie"] = "AuthSession=scene-session-0123456789; Path=/; Secure; HttpOnly"
        body = json.dumps(value).replace('{"login"', '{ "login"').encode() + b"\n"
        self.send_response(200)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def log_message(self, *_):
        """Writes nothing."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):
        with contextlib.suppress(OSError):
            super().finish_request(self.context.wrap_socket(request, server_side=True), client_address)

    def handle_error(self, *_):
        """A client that leaves is no error."""


def serve(stage, ports):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stage / "leaf.pem", stage / "leaf.key")
    for port in ports:
        server = Server((ADDRESS, port), Handler)
        server.context = context
        threading.Thread(target=server.serve_forever, daemon=True).start()
