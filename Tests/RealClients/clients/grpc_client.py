"""gRPC's own library for Python as the client and as the server. Only the client's target is changed, to bearerd's.

The daemon is one of its own. With DIRECT=1, the client calls the server itself, with the token: so the checks do not depend on
bearerd.
"""
import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc

sys.path.append(str(Path(__file__).parent.parent / "browser"))
from findings import Findings

STAGE, BEARERD = Path(os.environ["STAGE"]), os.environ.get("BEARERD", "")
WORK, SERVERS = Path(os.environ["WORK"]), Path(__file__).parent.parent / "servers"
DIRECT = bool(os.environ.get("DIRECT"))
PATIENCE = 20
check = Findings("grpc")
Code = grpc.StatusCode


def configuration(server, closed):
    """Listeners on a port and on a socket, with the same services."""
    def service(name, at, port, *lines):
        common = f"at: {at}, upstream: 'https://localhost:{port}/test.Calls/', ca_file: {STAGE}/ca.pem"
        return f"  {name}: {{ {', '.join([common, *lines])} }}\n"

    return (
        f"listeners:\n  main: {{ address: localhost:0, allow_users: [{os.getuid()}] }}\n"
        f"  local: {{ address: 'unix:{WORK}/grpc.sock', allow_users: [{os.getuid()}] }}\n"
        f"credentials:\n  token: {{ origins: ['https://localhost:{server}', 'https://localhost:{closed}'],\n"
        f"    bearer: {{ file: {STAGE}/secrets/token }} }}\n"
        f"  missing: {{ origins: ['https://localhost:{server}'], bearer: {{ file: {WORK}/missing.token }} }}\nservices:\n"
        + "".join(
            service(f"{name}{listener}", at, port, f"listener: {listener}", *lines)
            for listener in ["main", "local"]
            for name, at, port, *lines in [
                ("calls", "/test.Calls/", server, "credential: token",
                 "rules: [{ match: '/Secret', deny: true, message: 'Not für you: 100 %.' }, { match: '/**' }]"),
                ("closed", "/test.Closed/", closed, "credential: token"),
                ("old", "/test.Old/", server, "credential: token", "protocol: http1"),
                ("bare", "/test.Bare/", server, "credential: none"),
                ("limited", "/test.Limited/", server, "credential: token", "rate: 1/h"),
                ("unready", "/test.Unready/", server, "credential: missing"),
            ])
        + f"control: {WORK}/control.sock\n")


def daemon(server):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    (WORK / "bearerd.yaml").write_text(configuration(server, closed))
    log = WORK / "bearerd.log"
    process = subprocess.Popen(
        [BEARERD, "--config", WORK / "bearerd.yaml"], stderr=log.open("w"), env={"RUNTIME_DIRECTORY": str(WORK)})
    until = time.monotonic() + PATIENCE
    while "event=ready" not in log.read_text() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    if "event=ready" not in log.read_text():
        sys.exit(f"bearerd does not start: {log.read_text()}")
    return process, re.search(r"event=listening .*?address=localhost:(\d+)", log.read_text())[1]


class Client:
    """The methods of `test.Calls` on one channel."""

    def __init__(self, channel, metadata=()):
        self.channel, self.metadata = channel, metadata

    def one(self, method, request=b"", service="test.Calls", **more):
        metadata = (*self.metadata, *more.pop("metadata", ()))
        return self.channel.unary_unary(f"/{service}/{method}")(request, metadata=metadata, **more)

    def up(self, method, requests=None, **more):
        return self.channel.stream_unary(f"/test.Calls/{method}")(requests, metadata=self.metadata, **more)

    def down(self, method, request, **more):
        return self.channel.unary_stream(f"/test.Calls/{method}")(request, metadata=self.metadata, **more)

    def both(self, method, requests=None, **more):
        return self.channel.stream_stream(f"/test.Calls/{method}")(requests, metadata=self.metadata, **more)

    async def seen(self, reset=b""):
        return json.loads(await self.one("Ask", reset))

    async def sees(self, condition):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if condition(seen := await self.seen()):
                return True
            await asyncio.sleep(0.05)
        print("        the server saw", seen)
        return False


async def status(call):
    """The code and text of a failed call."""
    try:
        await call
        return Code.OK, ""
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details()


async def unary(client):
    check("a unary call", await client.one("Echo", b"hello") == b"hello")
    call = client.one("Fields", metadata=(("x-mine", "1"), ("x-mine-bin", b"\x01\xfe")), timeout=30)
    seen = json.loads(await call)
    check("metadata arrives at the server", all(pair in seen["metadata"] for pair in [["x-mine", "1"], ["x-mine-bin", "01fe"]]), seen)
    check("... and the deadline", 0 < seen["left"] < 31, seen)
    first, last = dict(await call.initial_metadata()), dict(await call.trailing_metadata())
    check("metadata arrives at the client", (first.get("x-first"), first.get("x-bytes-bin")) == ("1", b"\x00\xff")
          and (last.get("x-last"), last.get("x-last-bin")) == ("2", b"\xff\x00"), (first, last))
    call = client.one("Fail")
    found = await status(call)
    check("a status with its text and details", found == (Code.FAILED_PRECONDITION, "not now: 100 % über\n") and
          dict(await call.trailing_metadata()).get("grpc-status-details-bin") == b"\x08\x09details", found)


async def streams(client):
    async def messages():
        for number in range(1_000):
            yield bytes(number)

    check("1,000 messages of a client", await client.up("Count", messages()) == b"1000 499500")
    sizes = [len(message) async for message in client.down("Stream", b"1000 1000")]
    check("1,000 messages of a server", sizes == [1_000] * 1_000)
    call, start = client.both("Chat"), time.monotonic()
    for number in range(200):
        await call.write(b"%d" % number)
        if await call.read() != b"%d" % number:
            break
    took = time.monotonic() - start
    check("each message arrives at once, in both directions", number == 199 and took < 4, took)
    await asyncio.sleep(0.5)
    await call.write(b"still there")
    check("... and a call may be silent", await call.read() == b"still there")
    await call.done_writing()
    rest = [await call.read(), await call.read(), await call.read()]
    check("a half-close reaches the server, which goes on", rest == [b"half-closed", b"end", grpc.aio.EOF], rest)
    check("... with its status", await call.code() == Code.OK)


async def many(client, other):
    """`other` has a connection of its own, because a connection takes 1,000 calls at once (`limits.streams`)."""
    await client.seen(b"most")
    calls = [client.both("Chat") for _ in range(1_000)]

    async def begin(call):
        await call.write(b"x" * 100)
        return await call.read()

    answers = await asyncio.gather(*map(begin, calls))
    seen = await other.seen()
    check("1,000 streams at once", set(answers) == {b"x" * 100} and seen["most"] >= 1_000, seen)
    check("... beside which another program's call is served", await other.one("Echo", b"beside") == b"beside")

    async def end(call):
        await call.done_writing()
        return [await call.read(), await call.read(), await call.read()], await call.code()

    ends = await asyncio.gather(*map(end, calls))
    check("... and all end well", all(found == ([b"half-closed", b"end", grpc.aio.EOF], Code.OK) for found in ends))


async def large(client):
    message = os.urandom(4 << 20)
    check("a message of 4 MB in both directions", await client.one("Echo", message) == message)
    answers = await asyncio.gather(*(client.one("Echo", message) for _ in range(8)))
    check("... eight at once", all(answer == message for answer in answers))


async def cancelled(client):
    await client.seen(b"cancelled")
    calls = [client.one("Hang") for _ in range(20)] + [client.both("Chat") for _ in range(20)]
    await client.sees(lambda seen: seen["open"] >= 40)
    for call in calls:
        call.cancel()
    check("the server sees that calls are cancelled", await client.sees(lambda seen: seen["cancelled"] == 40))
    found = await status(client.one("Hang", timeout=0.5))
    check("a deadline ends a call", found[0] == Code.DEADLINE_EXCEEDED, found)
    check("... for the server, too", await client.sees(lambda seen: seen["cancelled"] == 41))
    check("other calls go on", await client.one("Echo", b"on") == b"on")


async def slow(client, memory):
    before = memory()
    call = client.down("Stream", b"2000 65536")
    await call.read()
    await asyncio.sleep(1.5)
    sent, after = (await client.seen())["sent"], memory()
    check("a server waits for a client that does not read", sent < 600, sent)
    check("... without much memory", after - before < 16_384, (before, after))
    check("... while other calls are served", await client.one("Echo", b"quick") == b"quick")
    size = 65_536
    while message := await call.read():
        size += len(message)
    check("... and the client gets everything", size == 2_000 * 65_536, size)


async def refused(client):
    async def refusal(what, code, word, service="test.Calls", method="Echo"):
        found = await status(client.one(method, service=service))
        check(what, found[0] == code and f"bearerctl errors {word}" in found[1], found)
        return found[1]

    calls = (await client.seen())["calls"]
    text = await refusal("PERMISSION_DENIED where a rule denies", Code.PERMISSION_DENIED, "denied", method="Secret")
    check("... with the rule's text", "Not für you: 100 %." in text, text)
    await refusal("UNIMPLEMENTED where there is no service", Code.UNIMPLEMENTED, "no-service", service="test.None")
    await refusal("UNAVAILABLE where no upstream listens", Code.UNAVAILABLE, "connection-refused", service="test.Closed")
    await refusal("UNAVAILABLE without a credential", Code.UNAVAILABLE, "credential-unavailable", service="test.Unready")
    await refusal("INTERNAL where the upstream must use HTTP/1.1", Code.INTERNAL, "grpc-needs-http2", service="test.Old")
    check("a call within the rate", await client.one("Echo", b"first", service="test.Limited") == b"first")
    await refusal("RESOURCE_EXHAUSTED above the rate", Code.RESOURCE_EXHAUSTED, "rate-limited", service="test.Limited")
    check("no other of these calls reached the server", (await client.seen())["calls"] == calls + 1)
    found = await status(client.one("Echo", service="test.Bare"))
    check("without bearerd's credential the server refuses", found[0] == Code.UNAUTHENTICATED, found)
    await client.seen(b"unauthorized")


async def play(target, memory):
    def connect():
        if not DIRECT:
            channel = grpc.aio.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)])
            return channel, Client(channel)
        credentials = grpc.ssl_channel_credentials((STAGE / "ca.pem").read_bytes())
        channel = grpc.aio.secure_channel(target, credentials, [("grpc.use_local_subchannel_pool", 1)])
        return channel, Client(channel, (("authorization", "Bearer " + (STAGE / "secrets/token").read_text().strip()),))

    print(f"        {target}", flush=True)
    (channel, client), (second, other) = connect(), connect()
    parts = [(unary, client), (streams, client), (many, client, other), (large, client), (cancelled, client),
             (slow, client, memory)]
    for part, *arguments in parts if DIRECT else [*parts, (refused, client)]:
        await asyncio.wait_for(part(*arguments), 2 * PATIENCE)
    check("the server got the token with every call", (await client.seen())["unauthorized"] == 0)
    await channel.close()
    await second.close()


def memory_of(process):
    """Resident memory in KiB."""
    if process is None:
        return lambda: 0
    return lambda: int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1])


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    WORK.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen([sys.executable, SERVERS / "grpc_server.py", STAGE], stdout=subprocess.PIPE, text=True)
    process = None
    try:
        port = server.stdout.readline().strip()
        targets = [f"localhost:{port}"]
        if not DIRECT:
            process, own = daemon(port)
            targets = [f"127.0.0.1:{own}", f"unix:{WORK}/grpc.sock"]
        for target in targets:
            asyncio.run(play(target, memory_of(process)))
    finally:
        server.terminate()
        if process:
            process.terminate()
    if process:
        check("the daemon ended well", process.wait(PATIENCE) == 0)
    sys.exit(check.failed)


main()
