"""Rows about secrets as people have them."""
import base64
import os

from response_rows import framed
from rows import expect, row


@row("Basic with an empty password, or an empty user", "guzzle/guzzle#240", "pulp/pulpcore#2081", "docker/sbx-releases#207")
def _(stage):
    stage.secret("sk.key", b"sk_live_interop_0123456789")
    for basic, expected in [
        ('{ user: { file: sk.key }, password: "" }', b"sk_live_interop_0123456789:"),
        ('{ user: "", password: { file: sk.key } }', b":sk_live_interop_0123456789"),
    ]:
        daemon = stage.daemon(credential=f"basic: {basic}")
        answer = daemon.get(response=framed(b"ok"))
        sent = answer.sent[0].get("Authorization")[0].removeprefix("Basic ")
        expect(answer.status == 200 and base64.b64decode(sent) == expected, answer)
        answer = daemon.get(response=framed(b"bad key sk_live_interop_0123456789", status=b"400 No"))
        expect(b"sk_live_interop" not in answer.data, answer)


@row("secrets as Docker and Kubernetes mount them", "moby/moby#30991", "docker/compose#10783", "kubernetes/kubernetes#28317")
def _(stage):
    if os.geteuid() != 0:
        return  # Mounts are for root.
    (stage.path / "volume").mkdir()
    for mode in ["0444", "0644", "0400", "0440"]:
        # In a mount namespace of its own, gone with the daemon. The file is behind a link, as in a volume of Kubernetes.
        mount = f"""mount -t tmpfs -o mode=0755 none volume && mkdir volume/..1 && cp c.token volume/..1/ && chmod {mode} volume/..1/c.token
            ln -s ..1 volume/..data && ln -s ..data/c.token volume/c.token && mount -o remount,ro volume && exec "$@\""""
        daemon = stage.daemon(credential="bearer: { file: volume/c.token }", wrapper=["unshare", "-m", "sh", "-c", mount, "sh"])
        answer = daemon.get(response=framed(b"ok"))
        expect(answer.status == 200 and len(answer.sent) == 1, mode, answer)
        expect(daemon.log.read_text().count("others can read") == (mode in ["0444", "0644"]), mode, daemon.log.read_text())
    stage.secret("open.token", b"tok-0123456789abcdef", mode=0o644)
    answer = stage.daemon(credential="bearer: { file: open.token }").get()
    expect(answer.status == 503, answer)


@row("files of secrets as editors and shells write them", "microsoft/azure-pipelines-tasks#12600", "OpenUnison/openunison-k8s#114")
def _(stage):
    good = [b"tok-0123456789abcdef\n", b"tok-0123456789abcdef\r\n", b"tok-0123456789abcdef"]
    for data in good:
        stage.secret("odd.token", data)
        daemon = stage.daemon(credential="bearer: { file: odd.token }")
        answer = daemon.get(response=framed(b"ok"))
        expect(answer.status == 200 and answer.sent[0].get("Authorization") == ["Bearer tok-0123456789abcdef"], data, answer)
    bad = [b"\xef\xbb\xbftok-0123456789", b"\xff\xfet\0o\0k\0", b'"tok-0123456789"', b"'tok-0123456789'", b"Bearer tok-0123456789",
           b"TOKEN=tok-0123456789", b"export TOKEN=tok-0123456789", b"tok 0123456789", b'{"token":"tok-0123456789"}']
    for data in bad:
        stage.secret("odd.token", data)
        daemon = stage.daemon(credential="bearer: { file: odd.token }")
        answer = daemon.get(response=framed(b"ok"))
        expect(answer.status == 503 and not answer.sent, data, answer)
        expect("tok-0123456789" not in daemon.log.read_text(), data)


@row("expires_in in every spelling", "ramosbugs/oauth2-rs#151", "delta-io/delta-sharing#628", "badgateway/oauth2-client#123")
def _(stage):
    stage.secret("client.secret", b"client-secret-0123456789")
    for value in [b'"3599"', b"3599.0", b"3.6e3", b"null", b"99999999999", None]:
        def respond(request, value=value):
            if request.target != "/token":
                return framed(b"ok")
            expires = b"" if value is None else b',"expires_in":' + value
            return framed(b'{"access_token":"access-0123456789","token_type":"bearer"' + expires + b"}",
                          b"Content-Type: application/json")

        stage.upstream.respond, stage.upstream.closes = respond, False
        daemon = stage.daemon(credential=f"""oauth2: {{ token_url: "{stage.upstream.origin}/token", grant: client_credentials,
            client_id: me, client_secret: {{ file: client.secret }}, ca_file: ca.pem }}""")
        answer = daemon.get(response=respond)
        expect(answer.status == 200, value, answer)
        expect(answer.sent[-1].get("Authorization") == ["Bearer access-0123456789"], value, answer)
