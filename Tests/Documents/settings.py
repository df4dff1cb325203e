"""The YAML blocks of a page: which file each is, what a fragment makes of the whole file, and which files it names."""
import copy
import re

import plain_yaml

# For pages that show no whole file.
DEFAULT = """# bearerd.yaml
listeners:
  main: { address: localhost:7070, allow_users: [alice] }
credentials:
  github: { origins: [https://api.github.com], bearer: { file: secrets/github.token } }
services:
  github: { upstream: https://api.github.com/, credential: github }
"""

# For pages that show no whole file and verify the audit file.
AUDIT = "audit: { file: /var/log/bearerd/audit.log }\n"

# A credential has one of these.
KINDS = ("bearer", "basic", "headers", "query", "digest", "oauth1", "oauth2", "login", "registry")
SECTIONS = ("listeners", "credentials", "services")


def kind(block):
    """Returns what the first line says that a block is, and where it belongs: (whole | part | included | other, place)."""
    line = block.first_line
    if re.match(r"# bearerd\.yaml\b", line):
        return "whole", None
    if part := re.match(r"# in bearerd\.yaml(?: of a container)?(?:, under ([\w.-]+))?", line):
        return "part", part[1]
    if included := re.match(r"# (conf\.d/[\w.-]+\.yaml)\b", line):
        return "included", included[1]
    return ("other", None) if re.match(r"# [\w.-]+\.ya?ml\b", line) else (None, None)


def insert(whole, place, part):
    """Returns a copy of the whole file with a fragment at its place. Makes what the fragment names and the whole file has not."""
    whole = copy.deepcopy(whole)
    names = place.split(".") if place else []
    if not names:
        for section, value in part.items():
            if section in SECTIONS:
                whole.setdefault(section, {}).update(value)
            else:
                whole[section] = value
    elif len(names) == 1:
        whole.setdefault(names[0], {}).update(part)
    else:
        section = whole.setdefault(names[0], {})
        name = next(iter(section)) if names[1] == "NAME" else names[1]
        entry = section.setdefault(name, fresh(names[0], name, part, whole))
        if names[0] == "credentials" and len(names) == 2 and any(key in KINDS for key in part):
            for key in KINDS:
                entry.pop(key, None)
            known = {f'"{plain_yaml.text_of(origin)}"' for origin in entry["origins"]}
            entry["origins"] = sorted({*known, *origins(part)})
        for key in names[2:-1]:
            entry = entry.setdefault(key, {})
        if len(names) > 2 and isinstance(part, list):
            entry[names[-1]] = entry.get(names[-1], []) + part
        elif len(names) > 2:
            entry.setdefault(names[-1], {}).update(part)
        else:
            entry.update(part)
    complete(whole)
    return whole


def fresh(section, name, part, whole):
    """Returns a new entry for a fragment whose name the whole file does not have."""
    if section == "credentials":
        return {"origins": origins(part) or [f"https://{name}.example.com"], "bearer": {"file": f"secrets/{name}.token"}}
    if section == "listeners":
        return {"address": "localhost:7171", "allow_users": ["alice"]}
    known = whole.get("credentials", {}).get(part.get("credential", "") if isinstance(part, dict) else "")
    return {"upstream": plain_yaml.text_of(known["origins"][0]) + "/" if known else f"https://{name}.example.com/", "credential": "none"}


def origins(value):
    """Returns the origins of all https URLs in a value."""
    return sorted({f'"{origin}"' for origin in re.findall(r"https://[\w.-]+(?::\d+)?", plain_yaml.dump(value))})


def complete(whole):
    """Adds the listeners and the credentials that services name."""
    for name, service in whole.get("services", {}).items():
        listener, used = service.get("listener"), []
        if listener and listener not in whole.setdefault("listeners", {}):
            whole["listeners"][listener] = {"address": f"localhost:{7172 + len(whole['listeners'])}", "allow_users": ["alice"]}
        for rule in [service, *(service.get("rules") or [])]:
            credential = rule.get("credential", "none")
            used += credential if isinstance(credential, list) else [credential]
        for credential in used:
            if credential not in ("none", *whole.setdefault("credentials", {})):
                origin = re.match(r"https?://[^/]*", plain_yaml.text_of(service["upstream"]))[0]
                whole["credentials"][credential] = {"origins": [f'"{origin}"'], "bearer": {"file": f"secrets/{name}.token"}}


def is_system(text):
    """Whether only the system's daemon can use a file."""
    return bool(re.search(r"/run/bearerd|/var/(log|lib)/bearerd|systemd:", text))


def walk(value, path=()):
    """Yields every scalar with the keys that lead to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from walk(item, path)
    else:
        yield path, plain_yaml.text_of(value)


def needs(value):
    """Returns what a file names: secrets, keys, certificates, authorities, revocation lists, systemd credentials, helper programs."""
    found = {"secret": [], "private_key": [], "certificate": [], "ca_file": [], "crl_file": [], "systemd": [], "command": []}
    for path, text in walk(value):
        if path[-2:] == ("private_key", "file"):
            found["private_key"].append(text)
        elif path[-1:] == ("file",) and path[0] == "credentials":
            found["secret"].append(text)
        elif path[-1:] in (("certificate",), ("ca_file",), ("crl_file",), ("systemd",)):
            found[path[-1]].append(text)
        elif path[-1:] == ("command",) and text.startswith("/"):
            found["command"].append(text)
    return found


def sockets(value):
    """Returns the names of the listeners that systemd opens."""
    return [text[8:] for path, text in walk(value.get("listeners", {})) if path[-1:] == ("address",) and text.startswith("systemd:")]
