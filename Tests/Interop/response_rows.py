"""Rows about the responses of real servers."""
import gzip
import json
import zlib

from rows import expect, row
from stage import SECRET, Upstream

OK = b"HTTP/1.1 200 OK\r\n"
ERROR = json.dumps({"error": {"message": "slow down"}}).encode()


def framed(body, *lines, status=b"200 OK"):
    head = b"".join(line + b"\r\n" for line in lines)
    return b"HTTP/1.1 " + status + b"\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


# Heads that are not clean.

@row("a blank before a colon", "cypress-io/cypress#28865", "nghttp2/nghttp2#698", "envoyproxy/envoy#23461")
def _(stage):
    for blank in [b" ", b"\t", b"  \t"]:
        answer = stage.main.get(response=OK + b"Expires" + blank + b": 0\r\nContent-Length: 2\r\n\r\nok")
        expect(answer.status == 200 and answer.get("Expires") == ["0"] and answer.body == b"ok", answer)
        expect(answer.log["repaired"] == "blank-before-colon", answer)


@row("a field with an illegal name", "chimurai/http-proxy-middleware#185", "openresty/openresty#833")
def _(stage):
    for line in [b"X-Bad Name: 1", b"cache -control: no-cache", b"X-\xe9: 1", b"X[1]: a", b": empty"]:
        answer = stage.main.get(response=OK + line + b"\r\nETag: a\r\nContent-Length: 2\r\n\r\nok")
        expect(answer.status == 200 and answer.get("ETag") == ["a"] and len(answer.fields) == 4, answer)
        expect(answer.log["repaired"] == "field-name", answer)
    for line in [b"Content -Length: 2", b"Transfer Encoding: chunked", b"X-Content-Length\x80: 2"]:
        answer = stage.main.get(response=OK + line + b"\r\nContent-Length: 2\r\n\r\nok")
        expect(answer.status == 502, answer)


@row("a line without a colon is refused as that")
def _(stage):
    answer = stage.main.get(response=OK + b"no colon here\r\nContent-Length: 2\r\n\r\nok")
    expect(answer.status == 502 and answer.problem["reason"] == "noColon" and answer.problem["line"] == 2, answer)


@row("folded fields are joined")
def _(stage):
    answer = stage.main.get(response=OK + b"X-Long: a,\r\n\tb\r\n c\r\nContent-Length: 2\r\n\r\nok")
    expect(answer.status == 200 and answer.get("X-Long") == ["a, b c"], answer)
    for line in [b"Content-Length: 2\r\n 0", b"Transfer-Encoding: chunked\r\n , chunked", b"Connection: close,\r\n X-A"]:
        answer = stage.main.get(response=OK + line + b"\r\n\r\nok")
        expect(answer.status == 502 and answer.problem["reason"] == "obsoleteFolding", answer)


@row("a length beside chunked, where there is no body", "etalab/transport-site#3736", "netptop/siteproxy#75", "dotnet/yarp#1220")
def _(stage):
    both = b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"
    for method, status in [("HEAD", b"200 OK"), ("GET", b"304 Not Modified"), ("GET", b"204 No Content"), ("HEAD", b"404 No")]:
        answer = stage.main.get(method=method, response=b"HTTP/1.1 " + status + b"\r\nETag: a\r\n" + both)
        expect(answer.status == int(status[:3]) and answer.get("ETag") == ["a"] and not answer.body, answer)
        expect(answer.log["repaired"] == "length-beside-chunked", answer)


@row("a length beside chunked, where there is a body", "openstreetmap/operations#910", "timoklimmer/powerproxy-aoai#53")
def _(stage):
    for lines in [b"Content-Length: 9\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: 2"]:
        answer = stage.main.get(response=OK + lines + b"\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        expect(answer.status == 200 and answer.body == b"ok" and not answer.get("Content-Length"), answer)
    answer = stage.main.get(response=OK + b"Content-Length: 2\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
    expect(answer.status == 502, answer)


@row("equal lengths", "envoyproxy/envoy#3648", "nodejs/node#6517", "boostorg/beast#1880")
def _(stage):
    for lines in [b"Content-Length: 2\r\nContent-Length: 2", b"Content-Length: 2, 2", b"Content-Length: 2\r\nContent-Length: 02"]:
        answer = stage.main.get(response=OK + lines + b"\r\n\r\nok")
        expect(answer.status == 200 and answer.body == b"ok" and answer.get("Content-Length") == ["2"], answer)
    for lines in [b"Content-Length: 2\r\nContent-Length: 3", b"Content-Length: 2, 3", b"Content-Length: 2;2", b"Content-Length: +2"]:
        answer = stage.main.get(response=OK + lines + b"\r\n\r\nok")
        expect(answer.status == 502 and "reason" in answer.problem, answer)


@row("chunked twice counts once")
def _(stage):
    for lines in [b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked"]:
        answer = stage.main.get(response=OK + lines + b"\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        expect(answer.status == 200 and answer.body == b"ok" and answer.log["repaired"] == "repeated-chunked", answer)


@row("lines that end with LF alone", "nodejs/node#43798", "benoitc/hackney#706", "e2guardian/e2guardian#288")
def _(stage):
    answer = stage.main.get(response=b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 2\n\nok")
    expect(answer.status == 200 and answer.body == b"ok" and answer.get("Content-Type") == ["text/html"], answer)
    expect(b"\n" not in answer.data.replace(b"\r\n", b""), answer)
    # Never within chunks.
    answer = stage.main.get(response=OK + b"Transfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n")
    expect(not answer.data.endswith(b"0\r\n\r\n"), answer)


@row("a repaired response's connection is not used again")
def _(stage):
    def keep():
        data = b"GET /t/x HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % stage.main.port
        stage.main.send(data, response=OK + b"A : b\r\nContent-Length: 2\r\n\r\nok")

    before = stage.upstream.connections
    keep()
    keep()
    expect(stage.upstream.connections >= before + 1)
    middle = stage.upstream.connections
    keep()
    expect(stage.upstream.connections == middle + 1, before, middle, stage.upstream.connections)


@row("responses: strict refuses what is repaired elsewhere")
def _(stage):
    daemon = stage.daemon(service="responses: strict")
    for lines in [b"A : b", b"Content-Length: 2, 2", b"X Y: 1", b"A: b\r\n c", b"Content-Length: 2\nA: b"]:
        answer = daemon.get(response=OK + lines + b"\r\n\r\n")
        expect(answer.status == 502 and answer.problem["reason"] and answer.problem["line"], answer)


@row("what cannot be repaired stays refused, with its reason")
def _(stage):
    rows = [
        (OK + b"A: b\0c\r\n\r\n", "badFieldValue"), (OK + b"A: b\rc\r\n\r\n", "bareCarriageReturn"),
        (b"HTTP/1.1 200 O\0K\r\n\r\n", "badStatusLine"), (b"ICY 200 OK\r\n\r\n", "badStatusLine"),
        (OK + b"X: y\r\n" * 1025 + b"\r\n", "tooManyFields"), (OK + b"X: " + b"y" * 262_144 + b"\r\n\r\n", "headTooLarge"),
    ]
    for response, reason in rows:
        answer = stage.main.get(response=response)
        expect(answer.status == 502 and answer.problem["reason"] == reason == answer.log["reason"], reason, answer)
    answer = stage.main.get(response=rows[4][0])
    expect(answer.problem["key"] == "limits.fields" and answer.problem["count"] == 1025, answer)
    answer = stage.main.get(response=rows[5][0])
    expect(answer.problem["key"] == "limits.head" and answer.problem["limit"] == 262_144, answer)


@row("status lines without a phrase, with a strange phrase, with a strange code",
     "algesten/ureq#327", "yhirose/cpp-httplib#554", "mitmproxy/mitmproxy#15")
def _(stage):
    for line in [b"200", b"200 ", b"302 Trouv\xe9", b"999 Request denied", b"520 "]:
        answer = stage.main.get(response=b"HTTP/1.1 " + line + b"\r\nContent-Length: 2\r\n\r\nok")
        expect(answer.status == int(line[:3]) and answer.body == b"ok", answer)


# Sizes and numbers.

@row("140 fields, a policy of 90 KiB, 300 links", "envoyproxy/envoy#13827", "istio/istio#33622", "haproxy/haproxy#1166")
def _(stage):
    for fields, count in [
        (b"Server-Timing: a;dur=1\r\n" * 140, 140), (b"Content-Security-Policy: " + b"x" * 92_160 + b"\r\n", 1),
        (b"Link: </a>; rel=preload\r\n" * 300, 300), (b"Set-Cookie: a=b; Path=/\r\n" * 200, 0),
    ]:
        answer = stage.main.get(response=OK + fields + b"Content-Length: 2\r\n\r\nok")
        expect(answer.status == 200 and len(answer.fields) >= count + 1 and answer.body == b"ok", answer)
        expect(count == 0 or "dropped" not in answer.log, answer.log)


@row("many interim responses", "caddyserver/caddy#5616", "envoyproxy/envoy#19044", "nginx/nginx#1241", "mitmproxy/mitmproxy#2229")
def _(stage):
    response = b"HTTP/1.1 102 Processing\r\n\r\n" * 40 + b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
    answer = stage.main.get(method="COPY", response=response)
    expect(answer.status == 201 and len(answer.interim) == 40, answer)
    hints = b"HTTP/1.1 103 Early Hints\r\n" + b"Link: </a>; rel=preload\r\n" * 120 + b"\r\n"
    answer = stage.main.get(response=hints + hints + framed(b"ok"))
    expect(answer.status == 200 and [len(fields) for _, fields in answer.interim] == [120, 120], answer)
    old = b"GET /t/x HTTP/1.0\r\nHost: localhost:%d\r\n\r\n" % stage.main.port
    answer = stage.main.send(old, response=response)
    expect(answer.status == 201 and not answer.interim, answer)
    answer = stage.main.get(response=b"HTTP/1.1 100 Continue\r\n\r\n" + framed(b"ok"))
    expect(answer.status == 200 and answer.body == b"ok", answer)


# Error bodies.

@row("errors arrive whatever coding the program takes", "SillyTavern/SillyTavern#6007", "bulletmark/corsproxy#8")
def _(stage):
    def respond(request):
        offered = " ".join(request.get("Accept-Encoding"))
        expect("br" not in offered and "zstd" not in offered and "gzip" in offered, offered)
        return framed(gzip.compress(ERROR), b"Content-Encoding: gzip", status=b"429 Too Many Requests")

    answer = stage.main.get("/t/x", "Accept-Encoding: gzip, deflate, br, zstd", response=respond)
    body = gzip.decompress(answer.body) if answer.get("Content-Encoding") else answer.body
    expect(answer.status == 429 and body == ERROR, answer)
    answer = stage.main.get("/t/x", "Accept-Encoding: br", response=framed(b"ok"))
    expect(answer.sent[0].get("Accept-Encoding") == ["identity"], answer)


@row("a Content-Encoding that is none", "dondai44423/donsetch#290", "versity/versitygw#2398", "aws/aws-sdk#498", "xroche/httrack#556")
def _(stage):
    for value in [b"utf-8", b"none", b"", b"aws-chunked", b"identity", b"UTF-8, identity"]:
        answer = stage.main.get(response=framed(ERROR, b"Content-Encoding: " + value, status=b"400 Bad Request"))
        expect(answer.status == 400 and answer.body == ERROR, value, answer)
        # They are searched all the same.
        answer = stage.main.get(response=framed(SECRET.encode(), b"Content-Encoding: " + value, status=b"400 Bad Request"))
        expect(answer.status == 400 and SECRET.encode() not in answer.data, value, answer)


@row("gzip, zlib and raw deflate are decoded, searched and passed")
def _(stage):
    raw = zlib.compressobj(wbits=-15)
    bodies = {
        b"gzip": gzip.compress, b"x-gzip": gzip.compress, b"gzip, identity": gzip.compress, b"deflate": zlib.compress,
    }
    for coding, compress in bodies.items():
        answer = stage.main.get("/t/x", "Accept-Encoding: gzip, deflate", response=framed(
            compress(ERROR), b"Content-Encoding: " + coding, status=b"500 Oops"))
        expect(answer.status == 500 and ERROR in answer.body, coding, answer)
        answer = stage.main.get("/t/x", "Accept-Encoding: gzip, deflate", response=framed(
            compress(SECRET.encode()), b"Content-Encoding: " + coding, status=b"500 Oops"))
        expect(answer.status == 500 and SECRET.encode() not in answer.body and answer.log["redacted"] == "1", coding, answer)
    answer = stage.main.get("/t/x", "Accept-Encoding: deflate", response=framed(
        raw.compress(ERROR) + raw.flush(), b"Content-Encoding: deflate", status=b"500 Oops"))
    expect(answer.status == 500 and answer.body == ERROR, answer)


@row("only a known coding that cannot be decoded is withheld")
def _(stage):
    for coding in [b"br", b"zstd", b"compress", b"gzip, br"]:
        answer = stage.main.get(response=framed(b"\x28\xb5\x2f\xfd", b"Content-Encoding: " + coding, status=b"400 Bad Request"))
        expect(answer.status == 400 and answer.problem["type"] == "urn:bearerd:error:encoded-answer", coding, answer)
        expect("withheld" in answer.log, answer.log)


# URLs of the upstream.

@row("http:// of the upstream's own name stays here", "envoyproxy/envoy#17066", "dotnet/aspnetcore#38744", "SoftInstigate/restheart#749")
def _(stage):
    port = stage.upstream.port
    rows = {
        f"http://localhost:{port}/x/": "/t/x/", f"https://LOCALHOST:{port}/x/": "/t/x/", f"//localhost:{port}/x/": "/t/x/",
        f"https://localhost:{port}/": "/t/", "x/": None, "?a=1": None,
    }
    for location, expected in rows.items():
        answer = stage.main.get("/t/y", response=framed(b"", f"Location: {location}".encode(), status=b"301 Moved"))
        found = answer.get("Location")
        expect(answer.status == 301 and len(found) == 1, answer)
        expect(found[0].removeprefix(f"http://localhost:{stage.main.port}") == expected if expected
               else not found[0].startswith("https:"), location, found)


@row("URLs in other fields", "Azure/azure-sdk-for-js#33321", "MicrosoftDocs/azure-docs#72101")
def _(stage):
    own, ours = stage.upstream.origin, f"http://localhost:{stage.main.port}/t"
    names = ["Operation-Location", "Azure-AsyncOperation", "X-Goog-Upload-URL", "OData-EntityId"]
    lines = [f"{name}: {own}/ops/7?v=1".encode() for name in names]
    answer = stage.main.get(response=framed(b"", *lines, f"Refresh: 5;url={own}/y".encode(), f"X-Other: {own}/z".encode(),
                                            f"Content-Location: {own}/c".encode(), status=b"202 Accepted"))
    for name in names:
        expect(answer.get(name) == [f"{ours}/ops/7?v=1"], name, answer)
    expect("/t/y" in answer.get("Refresh")[0] and answer.get("Content-Location")[0].endswith("/t/c"), answer)
    expect(answer.get("X-Other") == [f"{own}/z"], answer)


@row("odd bytes in Location", "sagebind/isahc#315", "0x676e67/wreq#1290", "sqdshguy/wreq-js#218", "whatwg/fetch#883")
def _(stage):
    rows = [
        (b"/caf\xc3\xa9 x", b"/t/caf%C3%A9%20x"), (b"/caf\xe9", b"/t/caf%E9"), (b"/a\\b", b"/t/a/b"), (b"/a\tb", b"/t/ab"),
        (b"/a?b\\c", b"/t/a?b\\c"), (b"https://elsewhere.test/a\\b", b"https://elsewhere.test/a/b"),
    ]
    for location, expected in rows:
        answer = stage.main.get(response=framed(b"", b"Location: " + location, status=b"302 Found"))
        found = [value.encode("latin-1") for value in answer.get("Location")]
        expect((len(found) == 1 and found[0].endswith(expected)) or found == [expected.replace(b"\\", b"%5C")], location, found)
        expect("dropped" not in answer.log, answer.log)
    answer = stage.main.get(response=framed(b"", b"Location: ", status=b"302 Found"))
    expect(answer.status == 302, answer)
    name = b'Content-Disposition: attachment; filename="r\xe9sum\xe9.pdf"'
    answer = stage.main.get(response=framed(b"ok", name))
    expect(name in answer.data, answer)


@row("what the program does not get is in the log")
def _(stage):
    answer = stage.main.get(response=framed(b"ok", b"Set-Cookie: a=b", b"Strict-Transport-Security: max-age=1"))
    expect(answer.log["dropped"].split(",") == ["set-cookie", "origin-header"], answer)


# Challenges.

@row("a 401 that does not reject the credential", "gjsify/gjsify#324", "npm/npm#18779", "agentgateway/agentgateway#557")
def _(stage):
    challenges = [
        b"OTP", b'Bearer resource_metadata="https://localhost/.well-known/x"', b'Bearer error="insufficient_claims", claims="e30="',
        b'Bearer error="insufficient_scope", scope="a"',
    ]
    for challenge in challenges * 2:
        answer = stage.main.get(method="PUT", response=framed(b"", b"WWW-Authenticate: " + challenge, status=b"401 No"))
        expect(answer.status == 401 and answer.get("WWW-Authenticate") == [challenge.decode()], answer)
        expect("credential_rejected" not in answer.log and len(answer.sent) == 1, answer)
    answer = stage.main.get(response=framed(b"ok"))
    expect(answer.status == 200, answer)


@row("a 401 that does reject it still suspends it")
def _(stage):
    daemon = stage.daemon()
    for _ in range(5):
        answer = daemon.get(response=framed(b"", b'WWW-Authenticate: Basic realm="x"', status=b"401 No"))
        expect(answer.status == 401 and "Basic" not in answer.get("WWW-Authenticate")[0], answer)
        expect(answer.log["credential_rejected"] == "true", answer)
    answer = daemon.get(response=framed(b"ok"))
    expect(answer.status == 503 and not answer.sent, answer)


# Streams and connections.

@row("a silent stream goes on, and a time that ended an exchange is named", "kubernetes/kubectl#1391", "pomerium/pomerium#2182")
def _(stage):
    import time

    def respond(_):
        yield OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
        time.sleep(1.5)
        yield b"2\r\nok\r\n0\r\n\r\n"

    daemon = stage.daemon(service="timeouts: { response_head: 1s }")
    expect(daemon.get(response=respond).body == b"okok")
    daemon = stage.daemon(service="timeouts: { body_silence: 500ms }")
    answer = daemon.get(response=respond)
    expect(not answer.data.endswith(b"0\r\n\r\n") and "timeouts.body_silence" in answer.log["detail"], answer)


@row("TLS that ends without close_notify")
def _(stage):
    for response in [framed(b"ok", b"Connection: close"), OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"]:
        answer = stage.main.get(response=response, closes="without notice")
        expect(answer.status == 200 and answer.body == b"ok", answer)


@row("a kept connection that announced its end is not used")
def _(stage):
    import time
    request = b"GET /t/x HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % stage.main.port
    stage.main.send(request, response=framed(b"ok", b"Keep-Alive: timeout=2", b"Connection: keep-alive"))
    before = stage.upstream.connections
    stage.main.send(request)
    expect(stage.upstream.connections == before, "the connection was not kept at all")
    time.sleep(1.3)
    stage.main.send(request, response=framed(b"ok"))
    expect(stage.upstream.connections == before + 1, before, stage.upstream.connections)


@row("Upgrade: h2,h2c in an ordinary response")
def _(stage):
    answer = stage.main.get(response=framed(b"ok", b"Upgrade: h2,h2c", b"Connection: Upgrade, Keep-Alive"))
    expect(answer.status == 200 and answer.body == b"ok" and not answer.get("Upgrade"), answer)


@row("HEAD, ranges, 404 and 410 of package tools")
def _(stage):
    answer = stage.main.get(method="HEAD", response=OK + b"Content-Length: 12345\r\nAccept-Ranges: bytes\r\n\r\n")
    expect(answer.get("Content-Length") == ["12345"] and answer.get("Accept-Ranges") == ["bytes"], answer)
    answer = stage.main.get("/t/x", "Range: bytes=2-4", response=framed(b"cde", b"Content-Range: bytes 2-4/6", status=b"206 Part"))
    expect(answer.status == 206 and answer.sent[0].get("Range") == ["bytes=2-4"] and answer.body == b"cde", answer)
    for status in [404, 410]:
        answer = stage.main.get(response=framed(b"no", status=b"%d No" % status))
        expect(answer.status == status and answer.body == b"no", answer)


@row("certificates without their intermediate or without a name are refused in words", "curl/curl#2793", "psf/requests#2959")
def _(stage):
    services = {name: Upstream(stage.path, f"{name}.pem") for name in ["alone", "nameless"]}
    daemon = stage.daemon(more="".join(
        f'  {name}: {{ upstream: "{upstream.origin}/", ca_file: ca.pem, credential: none }}\n' for name, upstream in services.items()))
    for name, words in [("alone", "sent no intermediate certificate"), ("nameless", "only subjectAltName")]:
        answer = daemon.get(f"/{name}/x")
        expect(answer.status == 502 and words in answer.log["detail"] and not services[name].requests, answer)
