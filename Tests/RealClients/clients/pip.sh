# pip against a package index on Apache, with a password.
. "$CLIENTS/checks.sh"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_CONFIG_FILE=/dev/null

install() { "$PYTHON" -m pip install -q --no-cache-dir --target here --index-url "$BASE/index/" greeting; }
works() { is "hello from the index" "$(PYTHONPATH=here "$PYTHON" -c 'import greeting; greeting.say()')"; }
download() { "$PYTHON" -m pip download -q --no-cache-dir --no-deps --dest there --index-url "$BASE/index/" greeting==1.0; }

check "install" install
check "the package works" works
check "download of a given version" download
