"""requests against nginx, with a bearer token."""
import hashlib

import requests
from checks import BASE, check

session = requests.Session()
large = bytes(range(256)) * 40_000


@check("PUT and GET")
def _():
    session.put(f"{BASE}/files/requests", data=b"by requests").raise_for_status()
    assert session.get(f"{BASE}/files/requests").content == b"by requests"


@check("an upload from a generator")
def _():
    session.put(f"{BASE}/files/pieces", data=(large[at : at + 99_999] for at in range(0, len(large), 99_999))).raise_for_status()


@check("a streamed download")
def _():
    with session.get(f"{BASE}/files/pieces", stream=True) as answer:
        answer.raise_for_status()
        digest = hashlib.sha256()
        for piece in answer.iter_content(12_345):
            digest.update(piece)
    assert digest.digest() == hashlib.sha256(large).digest()


@check("one connection for many requests")
def _():
    with requests.Session() as fresh:
        for _ in range(50):
            fresh.get(f"{BASE}/files/requests").raise_for_status()
        pools = fresh.get_adapter(BASE).poolmanager.pools
        opened = [pools[key].num_connections for key in pools.keys()]  # noqa: SIM118
    assert opened == [1], opened


@check("JSON to the server and back")
def _():
    answer = session.post(f"{BASE}/live/json", json={"umlaut": "\u00fc"})
    assert answer.json() == {"umlaut": "\u00fc"}
