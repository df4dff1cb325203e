"""How nginx reads paths, which it decodes, and whose slashes it merges: a target on each line, a line of JSON back.

An nginx of its own, on a unix socket in a directory that goes away, says back what it would match locations with.
"""
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid @/pid; error_log @/errors;
events { }
http {
  access_log off; keepalive_requests 1000000; default_type application/octet-stream;
  client_body_temp_path @/t; proxy_temp_path @/t; fastcgi_temp_path @/t; uwsgi_temp_path @/t; scgi_temp_path @/t;
  server { listen unix:@/socket; return 200 $uri; }
}
"""


def main():
    directory = tempfile.mkdtemp(prefix="bearerd-nginx-")
    with open(f"{directory}/nginx.conf", "w") as file:
        file.write(CONFIGURATION.replace("@", directory))
    server = subprocess.Popen(
        ["/usr/sbin/nginx", "-p", directory, "-c", f"{directory}/nginx.conf", "-e", f"{directory}/errors"])
    try:
        connection = connected(server, f"{directory}/socket")
        stream = connection.makefile("rb")
        for line in open(sys.argv[-1], "rb"):
            target = line.rstrip(b"\n")
            connection.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            status, body = answer(stream)
            path = target.split(b"?")[0].decode("latin-1")
            # Whatever it will not take it cannot mistake.
            read = body.decode("latin-1") if status == 200 else None
            print(json.dumps({"host": "x", "path": path, "decoded": read, "normalised": None, "resolved": None}))
            if status != 200:
                connection.close()
                connection = connected(server, f"{directory}/socket")
                stream = connection.makefile("rb")
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(directory)


def connected(server, path):
    until = time.monotonic() + 20
    while server.poll() is None and time.monotonic() < until:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            time.sleep(0.02)
    sys.exit("nginx does not answer")


def answer(stream):
    status, count = int(stream.readline().split()[1]), 0
    while (line := stream.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            count = int(value)
    return status, stream.read(count)


main()
