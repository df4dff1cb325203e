"""Waits until somebody listens on a port of this machine; fails when nobody does for 20 seconds."""
import socket
import sys
import time

until = time.monotonic() + 20
while True:
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
        break
    except OSError:
        if time.monotonic() > until:
            sys.exit(1)
        time.sleep(0.05)
