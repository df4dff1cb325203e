"""The official libraries of OpenAI and Anthropic, with nothing but `bearerctl run` in front of them: a request, a stream, an upload, an
error, and a stream that is given up. The upstream plays what the providers answer, and lets nobody in without the key.

As `sdks.py program` it is the program that runs: it has no key, and no address but those in its environment.
"""
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "browser"))
from findings import Findings

check = Findings("sdks")
CHAT = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}
MESSAGE = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "hello"}],
           "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def program():
    """Prints what came as one line of JSON."""
    import anthropic
    import openai

    found = {"environment": [value for value in os.environ.values() if value in SECRETS.read_text().split()] if SECRETS.exists() else []}
    client = openai.OpenAI(max_retries=0, timeout=30)
    ask = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    found["openai"] = client.chat.completions.create(**ask).choices[0].message.content
    found["openai stream"] = "".join(
        chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**ask, stream=True))
    found["openai upload"] = client.files.create(file=("a.jsonl", b"x" * 1_000_000), purpose="batch").bytes
    try:
        client.chat.completions.create(model="overloaded", messages=ask["messages"])
    except openai.RateLimitError as error:
        found["openai error"] = error.message
    with client.chat.completions.create(model="endless", messages=ask["messages"], stream=True) as stream:
        found["openai given up"] = next(iter(stream)).choices[0].delta.content
    claude = anthropic.Anthropic(max_retries=0, timeout=30)
    ask["max_tokens"] = 10
    found["anthropic"] = claude.messages.create(**ask).content[0].text
    with claude.messages.stream(**ask) as stream:
        found["anthropic stream"] = "".join(stream.text_stream)
    try:
        claude.messages.create(**{**ask, "model": "overloaded"})
    except anthropic.APIStatusError as error:
        found["anthropic error"] = [error.status_code, error.body["error"]["type"]]
    print(json.dumps(found))


STAGE = Path(os.environ.get("STAGE", "/nonexistent"))
SECRETS = STAGE / "secrets/token"


class Upstream:
    def __init__(self, token):
        from servers import Handler, start, tls

        given_up = self.given_up = threading.Event()

        class Provider(Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.body()
                if token not in (self.headers["X-Api-Key"], (self.headers["Authorization"] or "").removeprefix("Bearer ")):
                    return self.json({"error": {"message": "no key"}}, 401)
                if self.path == "/v1/files":
                    return self.json({"id": "f1", "object": "file", "bytes": len(body), "created_at": 1, "filename": "a.jsonl",
                                      "purpose": "batch", "status": "processed"})
                asked = json.loads(body)
                if asked["model"] == "overloaded":
                    return self.json({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}, 429)
                is_chat = self.path == "/v1/chat/completions"
                if not asked.get("stream"):
                    return self.json(CHAT if is_chat else MESSAGE)
                return self.stream(chat() if is_chat else message(), asked["model"] == "endless")

            def json(self, value, status=200):
                self.answer(status, json.dumps(value).encode(), "application/json")

            def stream(self, events, is_endless):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    for event in events:
                        self.chunk(event)
                        while is_endless:
                            self.chunk(": still there\n\n" * 100)
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    given_up.set()

            def chunk(self, text):
                self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
                self.wfile.flush()

        def chat():
            for content in ["hel", "lo"]:
                delta = {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]}
                yield f"data: {json.dumps({**CHAT, 'object': 'chat.completion.chunk', **delta})}\n\n"
            yield "data: [DONE]\n\n"

        def message():
            events = [("message_start", {"message": {**MESSAGE, "content": [], "stop_reason": None}}),
                      ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
                      *[("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}) for text in ["hel", "lo"]],
                      ("content_block_stop", {"index": 0}),
                      ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}}),
                      ("message_stop", {})]
            for name, fields in events:
                yield f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n"

        self.port = tls(start(Provider), STAGE).server_port


def main():
    work = Path(os.environ["WORK"])
    work.mkdir(parents=True)
    upstream = Upstream(SECRETS.read_text().strip())
    origin = f"https://localhost:{upstream.port}"
    services = "".join(
        f"  {name}: {{ upstream: '{origin}/', credential: {name}, ca_file: {STAGE}/ca.pem }}\n" for name in ["openai", "anthropic"])
    (work / "bearerd.yaml").write_text(
        f"listeners:\n  main: {{ address: localhost:7070, allow_users: [{os.getuid()}] }}\ncontrol: control.sock\ncredentials:\n"
        f"  openai: {{ origins: ['{origin}'], bearer: {{ file: {SECRETS} }} }}\n"
        f"  anthropic: {{ origins: ['{origin}'], headers: [{{ name: x-api-key, value: {{ file: {SECRETS} }} }}] }}\n"
        f"services:\n{services}")
    bearerctl = Path(os.environ["BEARERD"]).parent / "bearerctl"
    result = subprocess.run(
        [bearerctl, "run", "openai", "anthropic", "--config", work / "bearerd.yaml", "--", sys.executable, "-B", __file__, "program"],
        capture_output=True, text=True, timeout=90)
    check("the program ends well", result.returncode == 0, result.stdout + result.stderr)
    found = json.loads(result.stdout or "{}")
    check("nothing in its environment is the key", found.get("environment") == [], found)
    wanted = {
        "openai": "hello", "openai stream": "hello", "openai given up": "hel", "anthropic": "hello", "anthropic stream": "hello",
        "anthropic error": [429, "rate_limit_error"]}
    for what, value in wanted.items():
        check(what, found.get(what) == value, found.get(what))
    check("openai error", "slow down" in found.get("openai error", ""), found.get("openai error"))
    check("openai upload", found.get("openai upload", 0) > 1_000_000, found.get("openai upload"))
    check("what the program gave up, the upstream stops sending", upstream.given_up.wait(20))
    sys.exit(check.failed)


program() if sys.argv[1:] == ["program"] else main()
