"""How Python reads targets behind an authority: a target on each line, a line of JSON back."""

import json
import posixpath
import sys
from urllib.parse import unquote_to_bytes, urlparse, urlsplit


def text(data):
    return data.decode("latin-1")


for line in open(sys.argv[1], encoding="ascii"):
    target = line.rstrip("\n")
    path = urlsplit("http://x" + target).path
    decoded = text(unquote_to_bytes(path))
    print(json.dumps({
        "host": urlsplit("http://x" + target).netloc,
        "path": path,
        "decoded": decoded,
        "normalised": posixpath.normpath(decoded),
        "resolved": urlparse(target).path,
    }))
