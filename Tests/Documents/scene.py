"""A copy of this machine in memory for one page: users, files, servers, stand-ins, a bearerd, and a shell for the page's commands.

Everything here runs in mount, network and PID namespaces of its own, as their first process. The machine itself stays as it is.
"""
import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import termios
import threading
import time
from pathlib import Path

import commands
import plain_yaml
import settings
import upstream

USERS = {"alice": 1000, "bob": 1001, "deploy": 1002, "bearerd": 990, "prometheus": 991}
GROUPS = {"developers": (1100, "alice,bob"), "payments": (1101, "alice,bob")}
HOME, WORK, OWN = Path("/home/alice"), Path("/home/alice/work"), Path("/home/alice/.config/bearerd")
SYSTEM, BIN = Path("/etc/bearerd"), Path("/scene/bin")
# What commands read from standard input, and what the files of secrets have. Both begin as keys of OpenAI and Anthropic do.
TYPED, SECRET = "sk-ant-typed-secret-9876543210fedcba", "sk-ant-scene-secret-0123456789abcdef"
ENVIRONMENT = {
    "PATH": "/scene/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", "CURL_HOME": "/scene",
    "GIT_CONFIG_NOSYSTEM": "1",
}
PATIENCE = 40

# Files and directories that a reader of the pages has.
HAS_FILES = ("report.txt", "app.py", "agent.py", "planner.py", "github.token", ".build/bearerd_0.1.0_amd64.deb", "bearerd_0.1.0_amd64.deb")
HAS_DIRECTORIES = ("/var/lib/node_exporter", "/etc/systemd/system/bearerd.service.d", "/secrets")

# Preparations that a page takes for granted: the page, one of its commands, and what alice's shell runs before the block.
BEFORE = (
    ("docs/operate/files.md", r"staging/",
     "mkdir -p staging/conf.d; cp /etc/bearerd/*.yaml staging; cp /etc/bearerd/conf.d/* staging/conf.d"),
    ("docs/operate/files.md", r"check new\.yaml", "cp /etc/bearerd/bearerd.yaml new.yaml"),
    ("docs/operate/audit.md", r"audit\.log\.2",
     "for n in 1 2; do ask; sudo mv /var/log/bearerd/audit.log{,.$((3 - n))}; systemctl reload bearerd; done"),
    ("docs/operate/rotation.md", r"bearerctl status", "ask"),
    ("docs/operate/backup.md", r"tar -C / -xzf", "systemctl stop bearerd"),
    ("docs/operate/upgrade.md", r"tar -C / -xzf", "sudo tar -C / -czf bearerd-backup.tar.gz etc/bearerd; systemctl stop bearerd"),
    ("docs/operate/service.md", r"bearerd --config", "sudo sed -i s/systemd:main/localhost:7070/ /etc/bearerd/bearerd.yaml"),
    ("docs/containers.md", r"git config http", "git init -q"),
    ("docs/limits.md", r"curl -i .*search/code", "for n in {1..20}; do curl http://localhost:7070/github/search/code; done"),
    ("", r"journalctl|audit verify", "ask"),
)

SUDO = """#!/bin/bash
user=root
if [ "$1" = -u ]; then user=$2; shift 2; fi
export HOME=/root SUDO_USER=${SUDO_USER-alice}
[ "$user" = root ] || HOME=/
unset XDG_RUNTIME_DIR
exec /scene/become --reuid="$user" --regid="$user" --init-groups -- "$@"
"""
SYSTEMCTL = """#!/bin/bash
printf '%s\\n' "$*" >/scene/ask
read -r status </scene/told
cat /scene/said >&2
exit "$status"
"""
# Commands that go on until they are stopped.
WAITING = """#!/bin/bash
case " $* " in *" --watch "* | *" --config /etc/bearerd/bearerd.yaml "*) ;; *) exec /usr/local/bin/NAME "$@" ;; esac
timeout 2 /usr/local/bin/NAME "$@"
status=$?
# bearerd ends with 0 when it is stopped.
[ $status = 124 ] || exit $status
"""
ASK = """#!/bin/bash
curl -s -o /dev/null http://localhost:7070/github/user || true
"""
FIRST = """. /scene/state/last
trap 'echo "$? $LINENO" >/scene/state/wrong' ERR
trap '{ export -p | grep -v " CURL_HOME="; printf "cd %q\\n" "$PWD"; } >/scene/state/next' EXIT
set -aeE -o pipefail
"""


# Commands for the daemon of the system.
SYSTEM_COMMANDS = re.compile(
    r"sudo (-u bearerd )?(\S*/)?bearer(ctl|d)\b|systemctl (?!--user)|journalctl (?!--user)|/etc/bearerd|/log/bearerd")


class Stopped(Exception):
    """The daemon does not run."""


def enter(stage, programs, names, addresses):
    """Makes the copy of the machine, and moves into it."""

    def mount(*arguments):
        subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)

    memory = stage / "memory"
    memory.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", memory)
    for place in ("upper", "work", "root"):
        (memory / place).mkdir()
    root = memory / "root"
    mount("-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={memory}/upper,workdir={memory}/work", root)
    mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", root / "dev")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        (root / "dev" / name).touch()
        mount("--bind", f"/dev/{name}", root / "dev" / name)
    for name in ("pts", "shm"):
        (root / "dev" / name).mkdir()
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=0620", "devpts", root / "dev/pts")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / "dev/shm")
    for name, target in {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        (root / "dev" / name).symlink_to(target)
    mount("-t", "proc", "proc", root / "proc")
    for place in ("run", "tmp"):
        mount("-t", "tmpfs", "-o", "mode=1777" if place == "tmp" else "mode=0755", "tmpfs", root / place)
    shutil.copytree(stage.parent / "authority", root / "scene")
    for name, path in programs.items():
        (root / "usr/local/bin").mkdir(parents=True, exist_ok=True)
        (root / "usr/local/bin" / name).touch()
        mount("--bind", path, root / "usr/local/bin" / name)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (upstream.ADDRESS, *addresses):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    os.chroot(root)
    os.chdir("/")
    people()
    put("/etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{upstream.ADDRESS} {' '.join(sorted(names))}\n")
    put("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    put("/etc/resolv.conf", "nameserver 127.0.0.1\n")
    put("/etc/ssl/certs/ca-certificates.crt", Path("/scene/ca.pem").read_text())


def put(path, text="", mode=0o644, owner=(0, 0)):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)
    os.chown(path, *owner)
    path.chmod(mode)


def people():
    """Writes the users and groups of the pages. Keeps those of the system."""

    def others(path, taken):
        lines = [line.split(":") for line in Path(path).read_text().splitlines()]
        return [":".join(line) for line in lines if len(line) > 3 and int(line[2]) < 990 and line[0] not in taken]

    users = [f"{name}:x:{uid}:{uid}::{HOME.parent / name if uid >= 1000 else '/'}:/bin/bash" for name, uid in USERS.items()]
    groups = [f"{name}:x:{gid}:" for name, gid in USERS.items()] + [f"{name}:x:{gid}:{who}" for name, (gid, who) in GROUPS.items()]
    passwd = [*others("/etc/passwd", USERS), *users, "nobody:x:65534:65534::/:/usr/sbin/nologin"]
    put("/etc/group", "\n".join([*others("/etc/group", {**USERS, **GROUPS}), *groups, "nogroup:x:65534:"]) + "\n")
    put("/etc/passwd", "\n".join(passwd) + "\n")


def account(user):
    """Returns the arguments for a process of a user."""
    uid = USERS[user]
    extra = [gid for gid, who in GROUPS.values() if user in who.split(",")]
    return {"user": uid, "group": uid, "extra_groups": extra}


class Scene:
    """A page's machine.

    `selftest` is true for the one page that runs `bearerctl selftest`. `whole_files` has the line and the text of the page's whole files.
    `default` is the configuration of a page without one.
    """

    def __init__(self, page, selftest, whole_files, default):
        self.page, self.selftest, self.whole_files, self.default = page, selftest, whole_files, default
        # The page's most recent whole file, and the included files by name.
        self.text, self.included = None, {}
        # The process, whose daemon it is (`own` or `system`), and whether `text` is in place. A page can also write files itself.
        self.daemon, self.kind, self.installed = None, None, False
        self.directories()
        self.stand_ins(selftest)
        threading.Thread(target=self.units, daemon=True).start()

    def directories(self):
        alice = (USERS["alice"],) * 2
        for path in (HOME, WORK, WORK / ".build", WORK / ".build/release", Path("/run/user/1000"), Path("/scene/state")):
            path.mkdir(parents=True, exist_ok=True)
            os.chown(path, *alice)
        for path in (HOME, Path("/run/user/1000")):
            path.chmod(0o700)
        for name in HAS_FILES:
            put(WORK / name, f"{SECRET}\n", 0o600, alice)
        put(WORK / "company-ca.pem", Path("/scene/ca.pem").read_text(), 0o644, alice)
        for name in ("bearerd", "bearerctl"):
            (WORK / ".build/release" / name).symlink_to(f"/usr/local/bin/{name}")
        for path in map(Path, HAS_DIRECTORIES):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777 if "lib" in path.parts else 0o755)
        for place, mode in (("run", 0o755), ("var/log", 0o700), ("var/lib", 0o700)):
            path = Path("/") / place / "bearerd"
            path.mkdir()
            path.chmod(mode)
            os.chown(path, USERS["bearerd"], USERS["bearerd"])
        put("/scene/stdin", f"{TYPED}\n")
        put("/scene/.curlrc", "fail\nsilent\nshow-error\nmax-time = 10\n")
        put("/scene/transcripts/.curlrc", "silent\nshow-error\nmax-time = 10\n")
        put("/scene/state/next", f"cd {WORK}\n", 0o644, alice)
        put("/scene/log")
        for fifo in ("ask", "told"):
            os.mkfifo(f"/scene/{fifo}")
            os.chmod(f"/scene/{fifo}", 0o666)

    def stand_ins(self, selftest):
        put("/scene/become")
        shutil.copyfile(shutil.which("setpriv"), "/scene/become")
        os.chmod("/scene/become", 0o4755)
        scripts = {name: "#!/bin/sh\nexit 0\n" for name in commands.NOT_RUN}
        scripts |= {"sudo": SUDO, "systemctl": SYSTEMCTL, "journalctl": "#!/bin/sh\ncat /scene/log\n", "ask": ASK}
        scripts |= {name: WAITING.replace("NAME", name) for name in ("bearerd", "bearerctl")}
        if not selftest:
            scripts["bearerctl"] = scripts["bearerctl"].replace("case", '[ "$1" != selftest ] || exit 0\ncase', 1)
        for name, text in scripts.items():
            put(BIN / name, text, 0o755)

    # The configuration

    def base(self, kind=None):
        return SYSTEM if (kind or self.kind) == "system" else OWN

    def place(self, path, text, mode, kind):
        """Writes a file with the owner and the mode that its daemon accepts."""
        path = Path(path)
        user = USERS["alice"]
        owner = ((0, USERS["bearerd"]) if mode == 0o640 else (0, 0)) if kind == "system" else (user, user)
        for parent in reversed(path.parents):
            if not parent.exists():
                parent.mkdir()
                os.chown(parent, *owner)
                parent.chmod(0o755 if kind == "system" and parent.name != "secrets" else 0o2750 if kind == "system" else 0o700)
        put(path, text, mode if kind == "system" else 0o600, owner)

    def clear(self):
        self.stop()
        for path in (OWN, SYSTEM):
            shutil.rmtree(path, ignore_errors=True)
        self.installed = False

    def install(self, kind):
        """Writes the whole file, the files that it includes, and everything that they name."""
        self.clear()
        base = self.base(kind)
        self.place(base / "bearerd.yaml", self.text, 0o644, kind)
        self.furnish(plain_yaml.parse(self.text), base, kind)
        for name, text in self.included.items():
            self.place(base / name, text, 0o644, kind)
            self.furnish(plain_yaml.parse(text), (base / name).parent, kind)
        if kind == "system" and not (base / "secrets").exists():
            self.place(base / "secrets/other.token", SECRET, 0o640, kind)
        self.kind, self.installed = kind, True

    def furnish(self, value, directory, kind):
        """Writes the files that a configuration names."""
        contents = {"secret": f"{SECRET}\n", "systemd": SECRET}
        for name, file in (("private_key", "leaf.key"), ("certificate", "leaf.pem"), ("ca_file", "ca.pem"),
                           ("crl_file", "ca.crl")):
            contents[name] = Path("/scene", file).read_text()
        for what, paths in settings.needs(value).items():
            for path in paths:
                if what == "command":
                    if not Path(path).exists():
                        put(path, f"#!/bin/sh\necho {SECRET}\n", 0o755)
                elif what == "systemd":
                    put(Path("/scene/credentials") / path, SECRET, 0o400, (USERS["bearerd"],) * 2)
                else:
                    path = Path(os.path.normpath(directory / path))
                    if not path.exists():
                        self.place(path, contents[what], 0o644 if what in ("certificate", "ca_file", "crl_file") else 0o640, kind)

    def check(self, text, kind, name="bearerd.yaml"):
        """Returns status and output of `bearerctl check` for a text that is not in place."""
        base = self.base(kind)
        self.furnish(plain_yaml.parse(text), (base / name).parent, kind)
        return self.tool(kind, "check", "-", "--as", str(base / name), text=text)

    def tool(self, kind, *arguments, text=""):
        """Runs bearerctl as the user of a daemon."""
        user = "bearerd" if kind == "system" else "alice"
        done = subprocess.run(["/usr/local/bin/bearerctl", *arguments], input=text, text=True, timeout=PATIENCE, cwd="/",
                              env=self.environment(user), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **account(user))
        return done.returncode, done.stdout

    def environment(self, user):
        own = {"HOME": str(HOME), "XDG_RUNTIME_DIR": "/run/user/1000", "USER": "alice", "LOGNAME": "alice"}
        service = {"CREDENTIALS_DIRECTORY": "/scene/credentials", "RUNTIME_DIRECTORY": "/run/bearerd", "HOME": "/",
                   "STATE_DIRECTORY": "/var/lib/bearerd", "LOGS_DIRECTORY": "/var/log/bearerd"}
        return ENVIRONMENT | (own if user == "alice" else service)

    # The daemon

    def start(self, kind):
        """Starts the daemon of alice or of the system, unless it runs. Stops the other one, which has the same port."""
        if self.daemon and self.daemon.poll() is None and self.kind == kind:
            return
        self.stop()
        self.kind = kind
        user = "bearerd" if kind == "system" else "alice"
        file = self.base() / "bearerd.yaml"
        names = settings.sockets(plain_yaml.parse(file.read_text())) if file.exists() else []
        listeners = [socket.create_server(("127.0.0.1", 7070 + number)) for number in range(len(names))]
        command = ["/usr/local/bin/bearerd", "--config", str(file)]
        if names:
            # As systemd hands over sockets: from descriptor 3 on, to the process with this number.
            moves = "".join(f" {3 + number}<&{listener.fileno()}" for number, listener in enumerate(listeners))
            shell = f"exec {' '.join(command)}{moves}"
            command = ["bash", "-c", f"export LISTEN_PID=$$ LISTEN_FDS={len(names)} LISTEN_FDNAMES={':'.join(names)}; {shell}"]
        began = os.path.getsize("/scene/log")
        with open("/scene/log", "ab") as log:
            self.daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                                           env=self.environment(user), pass_fds=[one.fileno() for one in listeners], **account(user))
        for listener in listeners:
            listener.close()
        until = time.monotonic() + 15
        while time.monotonic() < until:
            text = Path("/scene/log").read_text()[began:]
            if "event=ready" in text:
                return
            if self.daemon.poll() is not None:
                break
            time.sleep(0.01)
        self.stop()
        raise Stopped(f"bearerd does not start with {file}:\n{text}")

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                self.daemon.wait(2)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
        self.daemon = None

    def units(self):
        """Carries out the commands that the stand-in of systemctl receives."""
        while True:
            words = Path("/scene/ask").read_text().split()
            try:
                status, said = self.systemctl(words)
            except Exception as error:
                status, said = 1, str(error)
            put("/scene/said", said)
            Path("/scene/told").write_text(f"{status}\n")

    def systemctl(self, words):
        kind = "own" if "--user" in words else "system"
        verb = next((word for word in words if not word.startswith("-")), "")
        if verb in ("start", "restart", "try-restart") or (verb == "enable" and "--now" in words):
            if verb.endswith("restart"):
                self.stop()
            self.start(kind)
        elif verb == "stop":
            self.stop()
        elif verb == "reload":
            return self.tool(kind, "reload")
        return 0, ""

    # The commands of the page

    def prepare(self, block):
        """Installs the configuration that a block of commands expects, and starts the daemon."""
        text = block.text
        system = SYSTEM_COMMANDS.search(text)
        kind = "system" if system or settings.is_system((self.text or "") + "".join(self.included.values())) else "own"
        if re.search(r"bearerctl add ", text) and not re.search(r"bearerctl remove ", text):
            self.clear()
            self.text, self.kind = None, kind
            return
        if not self.installed and not (self.base(kind) / "bearerd.yaml").exists():
            later = [whole for line, whole in self.whole_files if line > block.line]
            self.text = self.text or (later or [self.default])[0]
            kind = "system" if kind == "system" or settings.is_system(self.text) else "own"
            self.install(kind)
        elif self.installed and kind != self.kind:
            self.install(kind)
        for command in commands.every(text):
            if command[0] == "bearerctl" and command[1:2] and command[1] in ("run", "env", "remove"):
                for name in command[2 : command.index("--") if "--" in command else None]:
                    if not name.startswith("-") and not (self.base(kind) / f"conf.d/{name}.yaml").exists():
                        self.add(kind, name)
        if not re.search(r"\bbearerd --config", text):
            self.start(kind)
        else:
            self.stop()
        for page, command, first in BEFORE:
            if page in ("", self.page) and re.search(command, text):
                self.shell(first)

    def add(self, kind, name):
        """Adds a provider that the page adds in a block that does not run here."""
        if self.installed:
            self.clear()
        sudo = "sudo " if kind == "system" else ""
        status, output, _ = self.shell(f"{sudo}bearerctl add {name} --key-stdin --no-try")
        if status:
            raise Stopped(f"bearerctl add {name} --key-stdin --no-try: {output}")

    def shell(self, text, typed=None, fails=True):
        """Runs commands as alice, in the directory and with the variables that earlier commands left.

        Returns exit status, output, and the line that failed. With `typed`, the commands have a terminal, and this text is typed at each
        prompt for a key. With `fails`, curl fails if the status of the response is 400 or more.
        """
        state = Path("/scene/state")
        put(state / "script", FIRST + text)
        put("/scene/state/last", (state / "next").read_text())
        (state / "wrong").unlink(missing_ok=True)
        environment = self.environment("alice") | ({} if fails else {"CURL_HOME": "/scene/transcripts"})
        master, slave = os.openpty() if typed else (None, None)

        def own_terminal():
            if typed:
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        with open("/scene/stdin") as stdin:
            process = subprocess.Popen(["bash", state / "script"], stdin=slave if typed else stdin, stdout=subprocess.PIPE, cwd=WORK,
                                       stderr=subprocess.STDOUT, start_new_session=True, env=environment, preexec_fn=own_terminal,
                                       pass_fds=[slave] if typed else [], **account("alice"))
        if typed:
            os.close(slave)
        output = self.listen(process, master, typed)
        if typed:
            os.close(master)
        line = None
        if (state / "wrong").exists():
            line = int((state / "wrong").read_text().split()[1]) - FIRST.count("\n")
        return process.returncode, output, line

    def listen(self, process, master, typed):
        """Returns the output of the commands. Answers their prompts."""
        output, asked = b"", 0
        until = time.monotonic() + PATIENCE
        inputs = [process.stdout.fileno()] + ([master] if typed else [])
        while process.stdout.fileno() in inputs:
            ready, _, _ = select.select(inputs, [], [], max(0, until - time.monotonic()))
            if not ready:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                output += b"\n(stopped after %d s)\n" % PATIENCE
                break
            for descriptor in ready:
                try:
                    part = os.read(descriptor, 65536)
                except OSError:
                    part = b""
                if not part:
                    inputs.remove(descriptor)
                output += part
            if typed and output.count(b"(it is not shown):") > asked:
                asked += 1
                time.sleep(0.05)
                os.write(master, f"{typed}\n".encode())
        process.stdout.close()
        process.wait()
        return output.decode(errors="replace").replace("\r", "")


