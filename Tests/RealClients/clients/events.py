"""Server-sent events by httpx: the server sends the next one when the last one was confirmed, so that none may wait."""
import httpx
from checks import BASE, check


@check("each of five events comes when it is sent")
def _():
    with httpx.Client(base_url=BASE, timeout=10) as client:
        seen = []
        with client.stream("GET", "/live/events") as answer:
            answer.raise_for_status()
            assert answer.headers["content-type"] == "text/event-stream"
            for line in answer.iter_lines():
                if line:
                    seen.append(line)
                    client.post("/live/confirm", content=line).raise_for_status()
        assert seen == [f"data: {number}" for number in range(5)], seen
