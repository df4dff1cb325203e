"""httpx against nginx, with a bearer token: with and without async."""
import asyncio

import httpx
from checks import BASE, check

large = b"0123456789abcdef" * 300_000


@check("PUT, GET and HEAD")
def _():
    with httpx.Client(base_url=BASE) as client:
        client.put("/files/httpx", content=large).raise_for_status()
        assert client.get("/files/httpx").raise_for_status().content == large
        assert client.head("/files/httpx").headers["content-length"] == str(len(large))


@check("a streamed download, left in the middle, and the next request")
def _():
    with httpx.Client(base_url=BASE) as client:
        with client.stream("GET", "/files/httpx") as answer:
            answer.raise_for_status()
            assert next(answer.iter_bytes(1000)) == large[:1000]
        assert client.get("/files/httpx").raise_for_status().content == large


@check("one connection for many requests")
def _():
    limits = httpx.Limits(max_connections=1)
    with httpx.Client(base_url=BASE, limits=limits) as client:
        for number in range(50):
            assert client.post("/live/x", content=str(number)).raise_for_status().text == str(number)


@check("a hundred requests at a time, each with its own answer")
def _():
    async def all_at_once():
        async with httpx.AsyncClient(base_url=BASE, timeout=30) as client:
            async def one(number):
                answer = await client.post("/live/x", content=str(number))
                assert answer.raise_for_status().text == str(number)

            await asyncio.gather(*(one(number) for number in range(100)))

    asyncio.run(all_at_once())
