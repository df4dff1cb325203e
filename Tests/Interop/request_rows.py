"""Rows about the requests of real programs."""
import base64

from response_rows import framed
from rows import expect, row

TOKEN = "bearerd_" + "c" * 43


@row("bytes outside ASCII in a target", "envoyproxy/envoy#4854", "projectcontour/contour#4253", "mitmproxy/mitmproxy#724")
def _(stage):
    rows = [
        ("/t/search?q=münchen".encode(), "/search?q=m%C3%BCnchen"), ("/t/файл.txt".encode(), "/%D1%84%D0%B0%D0%B9%D0%BB.txt"),
        (b"/t/caf\xe9?\xe9", "/caf%E9?%E9"),
    ]
    for target, sent in rows:
        answer = stage.main.get(target, response=framed(b"ok"))
        expect(answer.status == 200 and answer.sent[0].target == sent, sent, answer)
        expect(answer.log["path"] == "/t" + sent.split("?")[0], answer.log)


@row("brackets, braces, bar, caret and backquote in a path", "Arachni/arachni#392", "envoyproxy/envoy#26837", "pydata/xarray#5913")
def _(stage):
    answer = stage.main.get("/t/pages/[id].tsx?q={a}|b", response=framed(b"ok"))
    expect(answer.status == 200 and answer.sent[0].target.startswith("/pages/%5Bid%5D.tsx?q="), answer)
    answer = stage.main.get("/t/{id}|^`", response=framed(b"ok"))
    expect(answer.status == 200 and answer.sent[0].target == "/%7Bid%7D%7C%5E%60", answer)


@row("what is judged is what is sent")
def _(stage):
    rules = 'rules: [{ match: "/private/**", deny: true }, { match: "/%5Bx%5D/**", deny: true }, { match: "/**" }]'
    daemon = stage.daemon(service=rules)
    for target in ["/t/private/x", "/t/%70rivate/x", "/t/private%5Cx", "/t/private%2Fx", "/t/[x]/y", "/t/%5Bx%5D/y",
                   "/t/%5bx%5d/y", "/t/%5B%78]/y"]:
        answer = daemon.get(target, response=framed(b"ok"))
        expect(answer.status in (400, 403) and not answer.sent, target, answer)
    answer = daemon.get("/t/public%5Cx", response=framed(b"ok"))
    expect(answer.status == 200 and answer.sent[0].target == "/public%5Cx", answer)


@row("a refused character is named, with its position and its escape", "sdmx-twg/sdmx-rest#236")
def _(stage):
    rows = [
        (b"/t/a\\b", "backslash", 5, "%5C"), (b'/t/"', "quotation mark", 4, "%22"), (b"/t/<", "less-than sign", 4, "%3C"),
        (b"/t/>", "greater-than sign", 4, "%3E"), (b"/t/a b", "space", 5, "%20"), (b"/t/\x01", "control character", 4, "%01"),
        (b"/t/\x7f", "DEL", 4, "%7F"),
    ]
    for target, name, position, escape in rows:
        answer = stage.main.get(target)
        problem = answer.problem
        expect(answer.status == 400 and not answer.sent, answer)
        expect((problem["character"], problem["position"], problem["escape"]) == (name, position, escape), problem)


@row("requests stay strict where two readings could differ")
def _(stage):
    port = stage.main.port
    for lines in [
        b"Content-Length : 2", b"Content-Length: 2\r\nContent-Length: 2", b"Content-Length: 2, 2",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked", b"X: a\r\n b", b"X Y: 1", b"Transfer-Encoding: chunked, chunked",
    ]:
        answer = stage.main.send(b"POST /t/x HTTP/1.1\r\nHost: localhost:%d\r\n%s\r\n\r\n" % (port, lines), response=framed(b"ok"))
        expect(answer.status == 400 and not answer.sent and answer.problem["reason"] and answer.problem["line"], lines, answer)
    answer = stage.main.send(b"GET /t/x HTTP/1.1\nHost: localhost:%d\n\n" % port)
    expect(answer.status == 400 and answer.problem["reason"] == "bareLineFeed", answer)


@row("a POST without a length")
def _(stage):
    answer = stage.main.get(method="POST", response=lambda request: framed(b"%d" % len(request.body)))
    expect(answer.status == 200 and answer.body == b"0", answer)


@row("the same daemon by another port or loopback name",
     "lidge-jun/opencodex#573", "blazickjp/arxiv-mcp-server#120", "syncthing/syncthing#4815")
def _(stage):
    port = stage.main.port
    for host in ["localhost:20100", "localhost", "LOCALHOST", "localhost.", f"127.5.6.7:{port}", "127.0.0.1", "[::1]:9",
                 f"[::ffff:127.0.0.1]:{port}"]:
        answer = stage.main.get(host=host, response=framed(b"ok"))
        expect(answer.status == 200, host, answer)
    for host in ["evil.test", f"evil.test:{port}", f"localhost.evil.test:{port}", "10.0.0.1", "0.0.0.0", f"127.0.0.1.nip.io:{port}",
                 "t.example", "0x7f.1"]:
        answer = stage.main.get(host=host)
        expect(answer.status in (400, 421) and not answer.sent, host, answer)


@row("origins of desktop and editor programs", "ollama/ollama#1686", "ollama/ollama#4385", "ollama/ollama#10507")
def _(stage):
    origins = ["app://obsidian.md", "chrome-extension://abcdefghijklmnop", "vscode-file://vscode-app", "tauri://localhost",
               "http://tauri.localhost", "capacitor://localhost"]
    listed = ", ".join(f'"{origin}"' for origin in origins)
    daemon = stage.daemon(listener=f"browsers: {{ origins: [{listed}] }}")
    for origin in origins:
        answer = daemon.get("/t/x", f"Origin: {origin}", response=framed(b"ok"))
        expect(answer.status == 200 and answer.get("Access-Control-Allow-Origin") == [origin], answer)
        answer = daemon.get("/t/x", f"Origin: {origin}", "Access-Control-Request-Method: POST", method="OPTIONS")
        expect(answer.status in (200, 204) and not answer.sent, answer)
    for origin in ["null", "file://", "app://obsidian.md.evil", "app://OBSIDIAN.md", "http://localhost:20100", "https://evil.test"]:
        answer = daemon.get("/t/x", f"Origin: {origin}")
        expect(answer.status == 403 and not answer.sent, origin, answer)
    answer = daemon.get("/t/x", "Origin: zed://panel")
    expect(answer.problem["add"] == "browsers: { origins: [zed://panel] }" and "zed://panel" in answer.log["help"], answer)
    for origin in ["null", "*", "file:///x", "app://a/b"]:
        status, text = stage.check(listener=f'browsers: {{ origins: ["{origin}"] }}')
        expect(status != 0 and "origins" in text, origin, text)


def websocket(daemon, protocols, response):
    return daemon.get("/t/ws", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: {protocols}", response=response)


def accepted(protocol):
    return (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: " + protocol + b"\r\n\r\n")


@row("credentials in Sec-WebSocket-Protocol end here", "jpts/kubectl-execws#8", "portainer/portainer#12880", "kubernetes/kubernetes#126134")
def _(stage):
    kubernetes = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"tok").decode().rstrip("=")
    rows = [
        (f"{kubernetes}, v5.channel.k8s.io, v4.channel.k8s.io", "v5.channel.k8s.io, v4.channel.k8s.io"),
        ("realtime, openai-insecure-api-key.sk-x, openai-beta.realtime-v1", "realtime, openai-beta.realtime-v1"),
    ]
    for protocols, sent in rows:
        picked = sent.split(",")[0].encode()
        answer = websocket(stage.main, protocols, accepted(picked))
        expect(answer.status == 101 and ", ".join(answer.sent[0].get("Sec-WebSocket-Protocol")) == sent, answer)
        expect(len(answer.sent[0].get("Authorization")) == 1, answer)
        # The line comes when the connection ends.
        expect(answer.log["removed"] == "sec-websocket-protocol", answer.log)
        answer = websocket(stage.main, protocols, accepted(protocols.split(", ")[0].encode() if sent == rows[0][1] else
                                                           b"openai-insecure-api-key.sk-x"))
        expect(answer.status == 502, answer)


@row("OpenAI's organization and project pass, and what is removed is named")
def _(stage):
    answer = stage.main.get("/t/x", "OpenAI-Organization: o", "OpenAI-Project: p", "Authorization: Bearer sk-placeholder",
                            "Proxy: http://evil.test", "X-Api-Key: none", response=framed(b"ok"))
    expect(answer.status == 200 and answer.sent[0].get("OpenAI-Organization") == ["o"], answer)
    expect(answer.sent[0].get("OpenAI-Project") == ["p"] and not answer.sent[0].get("Proxy"), answer)
    expect(b"placeholder" not in answer.sent[0].head and answer.log["removed"].split(",") == ["x-api-key", "proxy"], answer)


@row("escaped slashes, dots and at signs in names", "jdalrymple/gitbeaker#34", "npm/npm#16380", "go-gitea/gitea#31321")
def _(stage):
    answer = stage.main.get("/t/api/v4/projects/g%2Fs1%2Fs2%2Fp/repository/files/a%2Fb%2Fc%2Fd%2F%2Egitlab-ci%2Eyml/raw?ref=main",
                            response=framed(b"ok"))
    expect(answer.status == 200 and answer.sent[0].target.startswith("/api/v4/projects/g%2Fs1%2Fs2%2Fp/"), answer)
    answer = stage.main.get("/t/@scope%2fname", method="PUT", response=framed(b"ok"))
    expect(answer.status == 200 and answer.sent[0].target.lower() == "/@scope%2fname", answer)


@row("an upload with Expect, and one that is refused early")
def _(stage):
    answer = stage.main.get("/t/x", "Expect: 100-continue", method="PUT", body=b"data",
                            response=[b"HTTP/1.1 100 Continue\r\n\r\n", framed(b"ok")])
    expect(answer.status == 200 and answer.sent[0].body == b"data" and answer.body == b"ok", answer)
    answer = stage.main.get(method="PUT", body=b"x" * 1_000_000, response=framed(b"too large", status=b"413 Too Large"))
    expect(answer.status == 413 and answer.body == b"too large", answer)
