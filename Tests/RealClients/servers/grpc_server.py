"""A gRPC server with TLS that demands a token. `grpc_server.py STAGE`: prints its port, and runs until it is ended.

Messages are plain bytes, so that no code has to be generated.
"""
import asyncio
import contextlib
import json
import sys
from pathlib import Path

import grpc

STAGE = Path(sys.argv[1])
TOKEN = "Bearer " + (STAGE / "secrets/token").read_text().strip()
seen = {"open": 0, "most": 0, "cancelled": 0, "sent": 0, "unauthorized": 0, "calls": 0}


@contextlib.asynccontextmanager
async def call(context):
    """Checks the token, and counts the call."""
    seen["calls"] += 1
    if [value for key, value in context.invocation_metadata() if key == "authorization"] != [TOKEN]:
        seen["unauthorized"] += 1
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "there is no valid token")
    seen["open"] += 1
    seen["most"] = max(seen["most"], seen["open"])
    try:
        yield
    except (asyncio.CancelledError, GeneratorExit):
        seen["cancelled"] += 1
        raise
    finally:
        seen["open"] -= 1


async def echo(request, context):
    async with call(context):
        return request


async def fields(request, context):
    """Returns what arrived, and sends metadata at both ends of the response."""
    async with call(context):
        await context.send_initial_metadata((("x-first", "1"), ("x-bytes-bin", b"\x00\xff")))
        context.set_trailing_metadata((("x-last", "2"), ("x-last-bin", b"\xff\x00")))
        metadata = [[key, value.hex() if isinstance(value, bytes) else value] for key, value in context.invocation_metadata()
                    if key != "authorization"]
        return json.dumps({"metadata": metadata, "left": context.time_remaining()}).encode()


async def fail(request, context):
    async with call(context):
        context.set_trailing_metadata((("grpc-status-details-bin", b"\x08\x09details"),))
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now: 100 % über\n")


async def hang(request, context):
    async with call(context):
        await asyncio.sleep(600)


async def count(requests, context):
    async with call(context):
        messages = size = 0
        async for request in requests:
            messages, size = messages + 1, size + len(request)
        return f"{messages} {size}".encode()


async def stream(request, context):
    """`NUMBER SIZE`: so many messages of this size."""
    async with call(context):
        number, size = map(int, request.split())
        seen["sent"] = 0
        for _ in range(number):
            yield bytes(size)
            seen["sent"] += 1


async def chat(requests, context):
    """Returns each message at once, and after the client's half-close two more."""
    async with call(context):
        async for request in requests:
            yield request
        yield b"half-closed"
        await asyncio.sleep(0.2)
        yield b"end"


async def ask(request, context):
    """What this server has seen. The name of a counter as the request sets it to 0."""
    if request:
        seen[request.decode()] = 0
    return json.dumps(seen).encode()


async def main():
    handlers = {name: grpc.unary_unary_rpc_method_handler(behaviour)
                for name, behaviour in {"Echo": echo, "Fields": fields, "Fail": fail, "Hang": hang, "Ask": ask}.items()}
    handlers |= {"Count": grpc.stream_unary_rpc_method_handler(count), "Stream": grpc.unary_stream_rpc_method_handler(stream),
                 "Chat": grpc.stream_stream_rpc_method_handler(chat)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Calls", handlers),))
    credentials = grpc.ssl_server_credentials([((STAGE / "leaf.key").read_bytes(), (STAGE / "leaf.pem").read_bytes())])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
