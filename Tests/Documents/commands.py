"""Splits shell blocks into commands, and checks the commands of this project without running them."""
import json
import re
import shlex
import subprocess

# Programs that the scene does not run, and the reason. Each has a stand-in, which does nothing and succeeds.
NOT_RUN = {
    "make": "builds, or installs on the machine",
    "swift": "builds",
    "apt-get": "installs packages",
    "systemd-sysusers": "belongs to the package, which .ci/deb/check installs",
    "systemd-tmpfiles": "belongs to the package, which .ci/deb/check installs",
    "loginctl": "needs a running systemd",
    "ssh": "needs another machine",
    "docker": "needs a daemon and images",
    "podman": "needs images",
    "skopeo": "needs a registry",
    "kubectl": "is not on every machine, and needs a cluster",
    "gh": "is not on every machine",
    "npm": "is not on every machine",
    "pip": "is not on every machine",
    "vault": "is not on every machine",
    "cadaver": "waits for commands",
    "websocat": "is not on every machine",
    "socat": "serves until it is stopped",
    "claude": "is not on every machine",
    "python": "runs programs that the page does not show",
}

# Commands that can fail in the scene although the page is right: the exit status, and the reason.
EXPECTED = [
    (r"bearerctl explain ", 1, "the page may show a request that is refused"),
    (r"bearerctl resume ", 1, "no credential of the scene is suspended"),
    (r"bearerctl logout ", 1, "nobody is logged in"),
    (r"audit verify --head", 1, "the record of the page is not in the scene's file"),
]

UNITS = {"": "systemd", "--user": "systemd/user"}


def split(text):
    """Returns the simple commands of a shell text, each as its words without redirections."""
    lexer = shlex.shlex(re.sub(r"\\\n", " ", text), posix=True, punctuation_chars=";|&()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    found, words, target, comment = [], [], False, False
    for word in lexer:
        if set(word) <= set(";|&()<>\n"):
            comment = comment and "\n" not in word
            if set(word) <= set("<>&") and set(word) & set("<>"):
                target = True
                continue
            if words:
                found.append(words)
            words, target = [], False
        elif target:
            target = False
        elif comment or word.startswith("#"):
            comment = True
        else:
            words.append(word)
    return found + [words] if words else found


def bare(words):
    """Leaves out assignments and the programs that only start another one."""
    while words:
        if re.match(r"\w+=", words[0]) or words[0] in ("exec", "env", "!", "then", "do", "else", "if", "$"):
            words = words[1:]
        elif words[0] == "sudo":
            words = words[3:] if len(words) > 1 and words[1] == "-u" else words[1:]
        else:
            break
    return words


def every(text):
    """Returns the simple commands of a text, those in quotation marks and behind `bearerctl run … --` included."""
    for words in split(text):
        words = bare(words)
        if words:
            yield words
        if "--" in words and words[0].rpartition("/")[2] == "bearerctl":
            yield from filter(None, [bare(words[words.index("--") + 1 :])])
        for word in words:
            if re.search(r"\s", word) and re.search(r"\b(bearerctl|systemctl|make) ", word):
                inner = re.findall(r"\$\(([^()]*)\)", word) if word[:1] != "'" else []
                for part in inner or [word]:
                    try:
                        yield from every(part)
                    except ValueError:
                        continue


class Checker:
    """Knows the commands of this project: the options of bearerctl, the targets of make, and the units."""

    def __init__(self, root, bearerctl):
        text = subprocess.run([bearerctl, "--experimental-dump-help"], capture_output=True, check=True, timeout=20).stdout
        self.help = json.loads(text)["command"]
        self.events = set(re.findall(r"^(?:## |  )([a-z-]+)(?=\s)", self.printed(bearerctl, "events"), re.MULTILINE))
        self.codes = set(re.findall(r"^  \d+  (\S+)", self.printed(bearerctl, "errors"), re.MULTILINE))
        if not self.events or not self.codes:
            raise ValueError("bearerctl prints its events or error codes in a way that Tests/Documents/commands.py does not read")
        self.targets = set(re.findall(r"^([a-z0-9-]+):", (root / "Makefile").read_text(), re.MULTILINE))
        self.units = {kind: {path.name for path in (root / place).iterdir()} for kind, place in UNITS.items()}

    def printed(self, bearerctl, command):
        return subprocess.run([bearerctl, command], capture_output=True, text=True, check=True, timeout=20).stdout

    def names(self, text):
        """Returns the events and error codes of a text that bearerd does not have."""
        events = set(re.findall(r"\bevent=([a-z][a-z-]+)", text)) - self.events
        codes = set(re.findall(r"urn:bearerd:error:([a-z][a-z-]+)|bearerctl errors ([a-z][a-z-]+)", text))
        codes = {one or other for one, other in codes} - self.codes
        return [f"there is no event {name}" for name in sorted(events)] + [f"there is no error code {name}" for name in sorted(codes)]

    def problems(self, text):
        """Returns what is wrong with the commands of a shell text."""
        try:
            commands = list(every(text))
        except ValueError as error:
            return [f"the commands cannot be read: {error}"]
        found = []
        for words in commands:
            check = {"bearerctl": self.bearerctl, "make": self.make, "systemctl": self.systemctl}.get(words[0].rpartition("/")[2])
            found += [f"{problem}: {shlex.join(words)}" for problem in (check(words[1:]) if check else [])]
        return found

    def bearerctl(self, words):
        command, path = self.help, "bearerctl"
        if "--" in words:
            words = words[: words.index("--")]
        takes_value = False
        for word in words:
            if takes_value:
                takes_value = False
            elif word.startswith("-") and word != "-":
                name, equals, _ = word.partition("=")
                option = self.option(command, name)
                default = self.default(command)
                if not option and default and self.option(default, name):
                    command, path, option = default, f"{path} {default['commandName']}", self.option(default, name)
                if not option:
                    yield f"{path} has no option {name}"
                takes_value = bool(option) and option["kind"] == "option" and not equals
            elif command.get("subcommands") and path != "bearerctl help":
                inner = [item for item in command["subcommands"] if item["commandName"] == word]
                inner = inner or list(filter(None, [self.default(command)]))
                if not inner:
                    yield f"{path} has no subcommand {word}"
                    return
                command, path = inner[0], f"{path} {inner[0]['commandName']}"

    def default(self, command):
        """Returns the subcommand for other words, such as `bearerctl pin show` for `bearerctl pin HOST`."""
        name = command.get("defaultSubcommand")
        return next((item for item in command.get("subcommands", []) if item["commandName"] == name), None)

    def option(self, command, name):
        for argument in command.get("arguments", []):
            for known in argument.get("names") or []:
                if name == {"long": "--", "short": "-"}.get(known["kind"], "-") + known["name"]:
                    return argument
        return None

    def make(self, words):
        for word in words:
            if not word.startswith("-") and "=" not in word and word not in self.targets:
                yield f"the Makefile has no target {word}"

    def systemctl(self, words):
        units = self.units["--user" if "--user" in words else ""]
        for word in words:
            if word.startswith("bearerd") and (word if "." in word else word + ".service") not in units:
                yield f"there is no unit {word}"


def is_run(text, selftest):
    """Whether a block has a command that the scene runs. `selftest` is true for the one page that runs `bearerctl selftest`."""
    for words in filter(None, map(bare, split(text))):
        if words[0].rpartition("/")[2] not in NOT_RUN and (selftest or words[:2] != ["bearerctl", "selftest"]):
            return True
    return False


def tolerant(text):
    """Returns a shell text that goes on after the commands of `EXPECTED`."""
    for pattern, status, _ in EXPECTED:
        text = re.sub(rf"^(.*{pattern}.*?)(\s+#.*)?(?<!\\)$", rf"\1 || [ $? = {status} ]", text, flags=re.MULTILINE)
    return text
