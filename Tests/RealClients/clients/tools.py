"""git, pip, npm, skopeo and curl, each run by `bearerctl run`, which starts a daemon for it. git's server is Apache; the others are
played here, and let nobody in without the secret.
"""
import base64
import hashlib
import io
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "browser"))
from findings import Findings
from servers import Handler, start, tls

STAGE, WORK, APACHE = (os.environ[name] for name in ("STAGE", "WORK", "APACHE"))
TOKEN = Path(STAGE, "secrets/token").read_text().strip()
PASSWORD = Path(STAGE, "secrets/password").read_text().strip()
check = Findings("tools")


def archive(files):
    """A tar.gz of these names and texts."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


PACKAGE = archive({
    "package/package.json": '{ "name": "greeting", "version": "1.0.0" }', "package/index.js": 'console.log("hello from npm")'})
LAYER = archive({"greeting": "hello from the image"})
CONFIG = json.dumps({
    "architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [digest(LAYER)]}}).encode()
IMAGE = "application/vnd.oci.image."
MANIFEST = json.dumps({
    "schemaVersion": 2, "mediaType": IMAGE + "manifest.v1+json",
    "config": {"mediaType": IMAGE + "config.v1+json", "digest": digest(CONFIG), "size": len(CONFIG)},
    "layers": [{"mediaType": IMAGE + "layer.v1.tar+gzip", "digest": digest(LAYER), "size": len(LAYER)}]}).encode()


class Upstream(Handler):
    """A REST API, a package index, a registry of npm's and one of images, each with the scheme that it has in the world."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        is_image = self.path.startswith("/v2/")
        if not self.is_known(is_image):
            challenge = f'Bearer realm="{self.origin}/token",service="images"' if is_image else "Basic realm=upstream"
            return self.answer(401, b"{}", "application/json", WWW_Authenticate=challenge)
        if self.path.startswith("/token"):
            body, kind = json.dumps({"token": TOKEN, "expires_in": 300}).encode(), "application/json"
        else:
            body, kind = self.found().get(self.path, (None, ""))
        if body is None:
            return self.answer(404, b"{}", "application/json")
        self.answer(200, body, kind, Docker_Content_Digest=digest(body))

    do_HEAD = do_GET

    @property
    def origin(self):
        return f"https://localhost:{self.server.server_port}"

    def is_known(self, is_image):
        """The key of the API and of npm, or the password of the index; for images only the token that is to be had for it."""
        scheme, _, value = (self.headers["Authorization"] or "").partition(" ")
        if scheme.lower() == "basic":
            return not is_image and base64.b64decode(value).decode() == f"reader:{PASSWORD}"
        return value == TOKEN

    def found(self):
        package = {"dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "greeting", "version": "1.0.0", "dist": {"tarball": f"{self.origin}/greeting/-/greeting-1.0.0.tgz"}}}}
        wheels = Path(STAGE, "served/apache/simple/greeting")
        index = "".join(f'<a href="{file.name}">{file.name}</a>\n' for file in wheels.iterdir())
        return {
            "/user": (b'{"login": "octocat"}', "application/json"),
            "/greeting": (json.dumps({"name": "greeting", **package}).encode(), "application/json"),
            "/greeting/-/greeting-1.0.0.tgz": (PACKAGE, "application/octet-stream"),
            "/simple/greeting/": (index.encode(), "text/html"),
            **{f"/simple/greeting/{file.name}": (file.read_bytes(), "application/octet-stream") for file in wheels.iterdir()},
            "/v2/": (b"{}", "application/json"),
            "/v2/library/greeting/manifests/latest": (MANIFEST, IMAGE + "manifest.v1+json"),
            f"/v2/library/greeting/manifests/{digest(MANIFEST)}": (MANIFEST, IMAGE + "manifest.v1+json"),
            f"/v2/library/greeting/blobs/{digest(CONFIG)}": (CONFIG, "application/octet-stream"),
            f"/v2/library/greeting/blobs/{digest(LAYER)}": (LAYER, "application/octet-stream"),
        }


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def configuration(port, images):
    origin = f"https://localhost:{port}"
    key, password = (f"{{ file: {STAGE}/secrets/{name} }}" for name in ("token", "password"))
    credentials = {
        "key": (origin, f"bearer: {key}"), "git": (APACHE, f"basic: {{ user: reader, password: {password} }}"),
        "index": (origin, f"basic: {{ user: reader, password: {password} }}"),
        "images": (origin, f"registry: {{ realm: '{origin}/token', user: reader, password: {password}, ca_file: {STAGE}/ca.pem }}")}
    services = {
        "github": (origin, "key", ""), "github-git": (APACHE, "git", ""), "npm": (origin, "key", ""), "python-index": (origin, "index", ""),
        "docker-hub": (origin, "images", f", at: localhost:{images}")}
    lines = [f"listeners:\n  main: {{ address: localhost:7070, allow_users: [{os.getuid()}] }}\ncontrol: control.sock\ncredentials:"]
    lines += [f"  {name}: {{ origins: ['{where}'], {how} }}" for name, (where, how) in credentials.items()]
    lines += ["services:"]
    lines += [f"  {name}: {{ upstream: '{where}/', credential: {which}, ca_file: {STAGE}/ca.pem{more} }}"
              for name, (where, which, more) in services.items()]
    return "\n".join(lines) + "\n"


def main():
    work = Path(WORK)
    work.mkdir(parents=True)
    server = tls(start(Upstream), Path(STAGE))
    images = free_port()
    (work / "bearerd.yaml").write_text(configuration(server.server_port, images))
    bearerctl = Path(os.environ["BEARERD"]).parent / "bearerctl"
    environment = {
        **os.environ, "GIT_CONFIG_NOSYSTEM": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": "/dev/null",
        "npm_config_cache": f"{work}/cache", "npm_config_update_notifier": "false", "npm_config_audit": "false",
        "npm_config_fund": "false"}

    def run(service, command):
        """What a shell makes of the command, behind a daemon of its own."""
        result = subprocess.run(
            [bearerctl, "run", service, "--config", work / "bearerd.yaml", "--", "sh", "-ec", command, "sh", sys.executable],
            capture_output=True, text=True, timeout=90, cwd=work, env=environment)
        return result.stdout + result.stderr if result.returncode else result.stdout.strip()

    wanted = [
        ("git clones and pushes", "github-git", "second", """
            git clone -q https://github.com/git/project.git clone && cd clone && echo tools >tools && git add .
            git -c user.name=a -c user.email=a@test commit -q -m second && git push -q && git fetch -q
            git ls-remote -q https://github.com/git/project.git main | grep -q "$(git rev-parse HEAD)" && git log -1 --format=%s"""),
        ("pip installs", "python-index", "hello from the index",
         '"$1" -m pip install -q --no-cache-dir --target pip greeting && PYTHONPATH=pip "$1" -c "import greeting; greeting.say()"'),
        ("npm installs", "npm", "hello from npm",
         'npm install --silent --prefix npm greeting >&2 && node -e \'require("./npm/node_modules/greeting")\''),
        ("skopeo copies an image", "docker-hub", "hello from the image", f"""
            skopeo --insecure-policy copy -q --src-tls-verify=false docker://localhost:{images}/library/greeting:latest dir:image
            tar xzOf image/{digest(LAYER).removeprefix("sha256:")}"""),
        ("a script asks the REST API", "github", '{"login": "octocat"}',
         'curl -sS -H "Authorization: Bearer $GITHUB_TOKEN" "$GITHUB_API_URL/user"'),
    ]
    for what, service, output, command in wanted:
        found = run(service, command)
        check(what, found == output, found)
    seen = run("github", "env")
    has_address = re.search("^GITHUB_API_URL=http://localhost:", seen, re.M)
    check("no secret in the environment", has_address and TOKEN not in seen and PASSWORD not in seen)
    sys.exit(check.failed)


main()
