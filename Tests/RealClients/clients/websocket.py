"""websockets against a server that says everything back, through nginx, with a bearer token."""
import contextlib
import os

from checks import BASE, check
from websockets.sync.client import connect

url = BASE.replace("http://", "ws://") + "/live/echo"


@check("text and bytes come back")
def _():
    with connect(url, compression=None) as socket:
        for message in ["hello", "\u00fc", b"\x00\xff", os.urandom(1_000_000)]:
            socket.send(message)
            assert socket.recv(timeout=20) == message


@check("compressed messages, ping and a clean close")
def _():
    with connect(url) as socket:
        socket.send("again and again " * 1000)
        assert socket.recv(timeout=20) == "again and again " * 1000
        assert socket.ping().wait(20)
        socket.close()
        assert socket.close_code == 1000, socket.close_code


@check("twenty at a time, each with its own messages")
def _():
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connect(url)) for _ in range(20)]
        for number, socket in enumerate(sockets):
            socket.send(str(number))
        assert [socket.recv(timeout=20) for socket in sockets] == [str(number) for number in range(20)]
