"""What moves, behind nginx: the request's fields as they came, redirects, events, and a WebSocket that says everything back.

The next event is sent when the client has confirmed the last one on another connection. If anything on the way held
events back, both sides would wait for ever.
"""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from websockets.sync.server import serve

confirmed = threading.Semaphore(0)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/events":
            return self.send_events()
        if self.path.startswith("/redirect?to="):
            return self.answer(b"", status=302, Location=self.path.partition("=")[2])
        self.answer(json.dumps({name.lower(): value for name, value in self.headers.items()}).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/confirm":
            confirmed.release()
        self.answer(body)

    def send_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(5):
            self.wfile.write(f"data: {number}\n\n".encode())
            self.wfile.flush()
            if not confirmed.acquire(timeout=20):
                return
        self.close_connection = True

    def answer(self, body, status=200, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    # Fifty and a hundred connect at a time; with the usual 5 some would wait for half a minute.
    request_queue_size = 256


def echo(connection):
    for message in connection:
        connection.send(message)


def main():
    plain, sockets = (int(argument) for argument in sys.argv[1:])
    server = serve(echo, "127.0.0.1", sockets, max_size=None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Server(("127.0.0.1", plain), Handler).serve_forever()


main()
