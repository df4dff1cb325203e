"""Makes the package `greeting` and its page of an index (PEP 503) in a folder."""
import base64
import hashlib
import os
import sys
import zipfile

folder = sys.argv[1]
name = "greeting-1.0-py3-none-any.whl"
files = {
    "greeting.py": "def say():\n    print('hello from the index')\n",
    "greeting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
    "greeting-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = "".join(
    f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}\n"
    for path, text in files.items()
)
files["greeting-1.0.dist-info/RECORD"] = record + "greeting-1.0.dist-info/RECORD,,\n"
with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
with open(os.path.join(folder, name), "rb") as wheel:
    digest = hashlib.sha256(wheel.read()).hexdigest()
with open(os.path.join(folder, "index.html"), "w") as page:
    page.write(f'<!DOCTYPE html><title>greeting</title><a href="{name}#sha256={digest}">{name}</a>\n')
