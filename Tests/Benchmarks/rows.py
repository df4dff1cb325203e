"""The rows of the comparison: what is done, and what is counted."""
import collections
import gc
import json
import os
import re
import resource
import select
import socket
import subprocess
import tempfile
import threading
import time

from stage import HERE, MESSAGE, OTHER_CORE, PROXY_CORE, SHORT_TOKEN, TOKEN

MEGABYTES = 10 * 1.048576


class Load:
    """A load by wrk. Its figure is CPU per request, or MB per CPU-second."""

    clients = "http1"

    def __init__(self, title, connections, path="/small", kind="keep", per_second=None, length=1, **environment):
        self.title, self.connections, self.path, self.kind = title, connections, path, kind
        # How many times as long as others it takes until what its beginning costs, a thousand connections, is little.
        self.length = length
        # What one request counts for in "per CPU-second"; without, the figure is microseconds per request.
        self.per_second = per_second
        self.environment = {f"BENCH_{key.upper()}": str(value) for key, value in environment.items()}
        self.unit = "µs/request" if per_second is None else ("MB/CPU-s" if per_second > 1 else "1/CPU-s")

    def once(self, proxy, seconds):
        """(CPU seconds per request, share of the proxy's core that others took)"""
        cpu, busy, began = proxy.process.cpu(), core_busy(), time.perf_counter()
        result = self.run(proxy.port, seconds)
        cpu, busy = proxy.process.cpu() - cpu, core_busy() - busy
        if result["errors"] or not result["requests"]:
            raise RuntimeError(f"{proxy.name}: {result['errors']} errors in {result['requests']} requests")
        requests = result["requests"]
        if self.per_second and self.per_second > 1 and self.path != "/taken":
            requests = result["bytes"] / (10 << 20)  # of downloads that were cut at the end, too
        return cpu / requests, max(0.0, busy - cpu) / (time.perf_counter() - began)

    def run(self, port, seconds):
        command = ["taskset", "-c", str(OTHER_CORE), "wrk", "-t1", f"-c{self.connections}", f"-d{seconds}s", "--timeout", "20s",
                   "-s", f"{HERE}/load.lua", f"http://127.0.0.1:{port}{self.path}"]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **self.environment})
        lines = [line for line in printed.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise RuntimeError("wrk: " + printed.stdout + printed.stderr)
        return json.loads(lines[0])

    def shown(self, cost):
        return cost * 1e6 if self.per_second is None else self.per_second / cost


class Streams(Load):
    """A load by h2load: HTTP/2 with prior knowledge, with `streams` requests at a time on each connection."""

    clients = "http2"

    def __init__(self, title, connections, streams=1, message=None, **options):
        super().__init__(title, connections, **options)
        self.options = ["-t1", f"-c{connections}", f"-m{streams}"]
        # The body of each request: a gRPC message with its prefix.
        self.message = message

    def run(self, port, seconds):
        command = ["taskset", "-c", str(OTHER_CORE), "h2load", *self.options, f"-D{seconds}"]
        printed = self.call(command, port)
        requests = re.search(r"^requests: .* (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", printed, re.M)
        if not requests:
            raise RuntimeError("h2load: " + printed)
        done, succeeded, *others = map(int, requests.groups())
        return {"requests": done, "errors": max(done - succeeded, sum(others))}

    def verify(self, proxy):
        """Makes one gRPC call, and checks the status in the trailers. h2load does not check trailers."""
        printed = self.call(["nghttp", "-v"], proxy.port)
        if "grpc-status: 0" not in printed:
            raise RuntimeError(f"{proxy.name} does not forward the trailers of a gRPC response:\n{printed}")

    def call(self, command, port):
        with tempfile.NamedTemporaryFile() as data:
            if self.message:
                data.write(self.message)
                data.flush()
                command += ["-d", data.name, "-H", "content-type: application/grpc", "-H", "te: trailers"]
            done = subprocess.run([*command, f"http://127.0.0.1:{port}{self.path}"], capture_output=True, text=True, errors="replace",
                                  timeout=120)
        return done.stdout + done.stderr


LOADS = [
    Load("small GET, 16 connections", 16),
    Load("small GET, 128 connections", 128),
    Load("small GET, 1000 connections", 1000, length=3),
    Load("17 fields, 610 bytes", 16, fields=f"{HERE}/fields.txt"),
    Load("POST 2 KB", 16, "/taken", method="POST", body=2048),
    Load("10 MB download", 4, "/10m", per_second=MEGABYTES),
    Load("10 MB upload", 4, "/taken", per_second=MEGABYTES, method="POST", body=10 << 20),
    Load("new client connection each", 16, close=1),
    Load("TLS handshake each, full", 4, kind="full", per_second=1),
    Load("TLS handshake each, resumed", 4, kind="resumed", per_second=1),
]

# "HTTP/1 to HTTP/2" means clients with HTTP/1 and an upstream with HTTP/2. A client sends one request at a time, except in rows
# with streams: there, one client sends so many at a time.
HTTP2_LOADS = [
    Load("HTTP/1 to HTTP/2, 16 clients", 16, kind="http2"),
    Load("HTTP/1 to HTTP/2, 128 clients", 128, kind="http2"),
    Load("HTTP/1 to HTTP/2, 1000 clients", 1000, kind="http2", length=3),
    Streams("HTTP/2 to HTTP/2, 16 clients", 16, kind="http2"),
    Streams("HTTP/2 to HTTP/2, 128 clients", 128, kind="http2"),
    Streams("HTTP/2 to HTTP/2, 100 streams", 1, 100, kind="http2"),
    Streams("HTTP/2 to HTTP/1, 16 clients", 16),
    Streams("HTTP/2 to HTTP/1, 128 clients", 128),
    Streams("HTTP/2 to HTTP/1, 100 streams", 1, 100),
    Streams("gRPC unary, 100 streams", 1, 100, MESSAGE, path="/bench.Echo/Call", kind="grpc", per_second=1),
    Streams("gRPC unary, 16 clients", 16, 1, MESSAGE, path="/bench.Echo/Call", kind="grpc", per_second=1),
]
HTTP2_MEMORY = [
    Load("memory, 1,000 HTTP/1 to HTTP/2", 1000, kind="http2"),
    Streams("memory, 1,000 HTTP/2 to HTTP/2", 1000, kind="http2"),
]

# bearerd alone, by what it searches for the secret that it added. The bytes are random: there is nothing to mask.
REDACTIONS = ["off", "headers", "all"]
REDACTED = [
    (Load(f"redact, secret of {len(token)} bytes", 4, "/10m", per_second=MEGABYTES), token)
    for token in (SHORT_TOKEN, TOKEN)
]

# The last rule of the last service, of one and of a thousand with ten rules each.
ROUTED = Load("small GET, last of all rules", 16, path="/s999/9/small")


def core_busy():
    """Seconds that the proxy's core was busy so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    for line in open("/proc/stat"):
        if line.startswith(f"cpu{PROXY_CORE} "):
            values = [int(value) for value in line.split()[1:9]]
            return (sum(values) - values[3] - values[4]) / ticks


def small(port, path="/small"):
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()


def requests(port, sockets, count):
    """So many small requests over these connections, one after the other on each, all at once."""
    request = small(port)
    done = 0
    while done < count:
        for connection in sockets:
            connection.sendall(request)
        for connection in sockets:
            answer = b""
            while b"'}" not in answer:
                piece = connection.recv(4096)
                if not piece:
                    raise RuntimeError("a connection was closed")
                answer += piece
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(answer[:80])
        done += len(sockets)


def connected(port, count):
    return [socket.create_connection(("127.0.0.1", port), 60) for _ in range(count)]


def memory(stage, name):
    """MB resident: fresh; with 5,000 idle clients; after 1,000 connections that worked."""
    raise_limit()
    proxy = stage.proxy(name)
    time.sleep(0.5)
    fresh = proxy.process.rss()
    held = []
    for _ in range(50):
        held += connected(proxy.port, 100)
        requests(proxy.port, held[-100:], 100)
    time.sleep(1)
    idle = proxy.process.rss()
    for connection in held:
        connection.close()
    proxy.stop()
    proxy = stage.proxy(name)
    LOADS[2].run(proxy.port, 3)
    time.sleep(1)
    worked = proxy.process.rss()
    proxy.stop()
    return fresh, idle, worked


def active_memory(stage, name, load):
    """MB resident: the maximum while the clients are active, and the value one second after they have closed their connections."""
    proxy = stage.proxy(name, load.kind, clients=load.clients)
    most, result = 0, {}
    worker = threading.Thread(target=lambda: result.update(load.run(proxy.port, 4)))
    worker.start()
    while worker.is_alive():
        most = max(most, proxy.process.rss())
        time.sleep(0.1)
    worker.join()
    if result.get("errors") != 0:
        raise RuntimeError(f"{name}: {result}")
    time.sleep(1)
    gone = proxy.process.rss()
    proxy.stop()
    return most, gone


def raise_limit():
    """Lets this process and its children open as many files as the system allows."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def start(stage, name):
    """(milliseconds from start to the first 200, wake-ups per idle second)"""
    times = []
    for _ in range(5):
        proxy = stage.proxy(name)
        times.append(proxy.first_answer * 1000)
        last = proxy
        if len(times) < 5:
            proxy.stop()
    time.sleep(1)
    before = last.process.switches()
    time.sleep(3)
    wakeups = (last.process.switches() - before) / 3
    last.stop()
    return sorted(times)[2], wakeups


def instructions(stage, name, warm=400, count=2000):
    """User instructions per small request over eight connections, by callgrind: those of requests alone. The start, and
    what is done once, are before the counters are set to zero: a handshake is as dear as a hundred requests, and how many
    connections to the upstream the first requests open is a matter of time."""
    with tempfile.NamedTemporaryFile(dir=stage.directory) as out:
        proxy = stage.proxy(name, wrapper=["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}.%p"])
        sockets = connected(proxy.port, 8)
        requests(proxy.port, sockets, warm)
        callgrind(proxy, "zero")
        requests(proxy.port, sockets, count)
        callgrind(proxy, "dump")
        # Of the process that worked: the worker, not its master.
        total = max(callgrind_total(f"{stage.directory}/{file}") for file in os.listdir(stage.directory)
                    if file.startswith(os.path.basename(out.name) + "."))
        for connection in sockets:
            connection.close()
        proxy.stop()
    return total / count


def callgrind(proxy, command):
    """A command to valgrind in all the proxy's processes that it runs."""
    for pid in proxy.process.pids():
        subprocess.run(["vgdb", f"--pid={pid}", "--wait=20", command], check=True, capture_output=True, timeout=60)


def callgrind_total(path):
    for line in open(path):
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1])
    return 0


def syscalls(stage, name, connections, few=400, many=2000):
    """System calls per small request, by strace, which slows things down: with many connections it sees a few less."""
    totals = []
    for count in (few, many):
        with tempfile.NamedTemporaryFile(dir=stage.directory) as out:
            proxy = stage.proxy(name, wrapper=["strace", "-f", "-c", "-o", out.name])
            sockets = connected(proxy.port, connections)
            requests(proxy.port, sockets, count)
            for connection in sockets:
                connection.close()
            proxy.stop()
            # % time, seconds, usecs/call, calls, errors if there were any, "total"
            totals.append(next(int(line.split()[3]) for line in open(out.name) if line.rstrip().endswith(" total")))
    return (totals[1] - totals[0]) / (many - few)


def latencies(proxy, rate=1000, seconds=2):
    """Milliseconds that small answers took at a fixed rate, sorted. A request waits for no answer but that of its own
    connection, and there is always a free one; if not, its time runs from when it was due."""
    sockets = connected(proxy.port, 64)
    requests(proxy.port, sockets, 640)
    request, count, sent, times = small(proxy.port), rate * seconds, 0, []
    free, began = collections.deque(sockets), {}
    gc.disable()
    start = time.perf_counter() + 0.01
    while len(times) < count:
        now = time.perf_counter()
        while sent < count and free and now >= (due := start + sent / rate):
            connection = free.popleft()
            began[connection] = now if now - due < 0.0005 else due
            connection.sendall(request)
            sent += 1
        wait = max(0.0, start + sent / rate - time.perf_counter()) if sent < count else 5
        # Its timeout is in microseconds; that of epoll is in milliseconds here.
        for connection in select.select(list(began), [], [], wait)[0]:
            if b"'}" not in connection.recv(4096):
                raise RuntimeError(f"{proxy.name}: a piece of an answer")
            times.append((time.perf_counter() - began.pop(connection)) * 1000)
            free.append(connection)
    gc.enable()
    for connection in sockets:
        connection.close()
    return sorted(times)


def reloads(stage, name, count=20):
    """Requests that failed while sixteen clients asked and the configuration was read again so many times."""
    proxy = stage.proxy(name, is_reloaded=True)
    result = {}
    load = threading.Thread(target=lambda: result.update(LOADS[0].run(proxy.port, int(count * 0.3) + 1)))
    load.start()
    for _ in range(count):
        time.sleep(0.3)
        proxy.reload()
    load.join()
    proxy.stop()
    return result["errors"]


def slow_reader(stage, name):
    """MB by which memory grew, at most, while a client took 100 MB at 20 MB a second."""
    proxy = stage.proxy(name)
    requests(proxy.port, connected(proxy.port, 1), 10)
    before, most, taken = proxy.process.rss(), 0, 0
    with socket.create_connection(("127.0.0.1", proxy.port), 60) as connection:
        connection.sendall(small(proxy.port, "/100m"))
        while taken < 100 << 20:
            taken += len(connection.recv(1 << 18, socket.MSG_WAITALL))
            time.sleep(0.0125)
            most = max(most, proxy.process.rss())
    proxy.stop()
    return max(0, most - before)
