"""The servers around a browser: the upstream, which lets everybody read, and those of the pages."""
import base64
import contextlib
import hashlib
import json
import queue
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

HERE = Path(__file__).parent

# One pixel.
IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

# What a public API says that relies on pages not knowing the token, and what would hold for all of localhost.
GENEROUS = {
    "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "*", "Access-Control-Allow-Headers": "*",
    "Access-Control-Expose-Headers": "X-Upstream", "Access-Control-Allow-Private-Network": "true",
    "Strict-Transport-Security": "max-age=60", "Service-Worker-Allowed": "/", "X-Upstream": "yes",
}


class Handler(BaseHTTPRequestHandler):
    def answer(self, status=200, body=b"", content_type="text/plain", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Remembers its connections: browsers open some in advance, for what comes next."""

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.connections = []

    def process_request(self, request, address):
        self.connections.append(request)
        super().process_request(request, address)

    def leave(self):
        """Nobody can reach it any more."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def start(handler):
    server = Server(handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def tls(server, certificates):
    """The same server, with the certificate for localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "leaf.pem", certificates / "leaf.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


class Upstream:
    """TLS for localhost. Keeps every request: (method, path, fields)."""

    def __init__(self, certificates):
        requests = self.requests = []

        class UpstreamHandler(Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.body()
                requests.append((self.command, self.path, dict(self.headers.items())))
                if self.headers["Upgrade"] == "websocket":
                    return self.greet()
                name = self.path.rsplit("/", 1)[-1]
                if name.endswith("image"):
                    self.answer(body=IMAGE, content_type="image/png", **GENEROUS)
                elif name.endswith(".html"):
                    self.answer(body=(HERE / name).read_bytes(), content_type="text/html", **GENEROUS)
                else:
                    self.answer(body=b"here", **GENEROUS)

            do_POST = do_PUT = do_OPTIONS = do_GET

            def greet(self):
                """A WebSocket that says one word (RFC 6455)."""
                key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
                self.send_response(101)
                for field in [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Accept", accept)]:
                    self.send_header(*field)
                self.end_headers()
                self.wfile.write(b"\x81\x05hello")
                # The browser's close, and ours.
                self.rfile.read(6)
                self.wfile.write(b"\x88\x00")
                self.connection = self.connection.unwrap()
                self.close_connection = True

        self.port = tls(start(UpstreamHandler), certificates).server_port

    def take(self):
        """What came since the last call."""
        taken = self.requests[:]
        self.requests.clear()
        return taken


class Pages:
    """Serves the pages, sends browsers elsewhere, and hears what came of it."""

    def __init__(self):
        reports = self.reports = queue.Queue()
        self.rebind = lambda: None
        pages = self

        class PagesHandler(Handler):
            def do_GET(self):
                url = urlsplit(self.path)
                if url.path == "/redirect":
                    self.answer(302, Location=parse_qs(url.query)["to"][0], Access_Control_Allow_Origin="*")
                elif url.path == "/rebind":
                    pages.rebind()
                    self.answer(Access_Control_Allow_Origin="*")
                elif url.path.endswith(".html"):
                    self.answer(body=(HERE / Path(url.path).name).read_bytes(), content_type="text/html")
                else:
                    self.answer(404)

            def do_POST(self):
                body = self.body()
                url = urlsplit(self.path)
                if url.path == "/redirect":
                    # The method and the body go on.
                    self.answer(307, Location=parse_qs(url.query)["to"][0])
                else:
                    reports.put(json.loads(body))
                    self.answer(204)

        self.port = start(PagesHandler).server_port
        # The one that changes places with bearerd.
        self.other = start(PagesHandler)
