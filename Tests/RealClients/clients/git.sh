# git against git-http-backend behind Apache, with a password.
. "$CLIENTS/checks.sh"
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@test GIT_COMMITTER_NAME=a
export GIT_COMMITTER_EMAIL=a@test
repository=$BASE/git/project.git

clone() { git clone -q "$repository" one && is "first" "$(cat one/README)"; }
push() {
  # More than http.postBuffer: goes out in chunks.
  head -c 5000000 /dev/urandom >one/large && git -C one add . && git -C one commit -q -m second && git -C one push -q
}
again() { git clone -q "$repository" two && cmp one/large two/large && is "$(git -C one rev-parse HEAD)" "$(git -C two rev-parse HEAD)"; }
fetch() { git -C two fetch -q && git ls-remote -q "$repository" | grep -q refs/heads/main; }
shallow() { git clone -q --depth 1 -c protocol.version=0 "$repository" three && cmp one/large three/large; }

check "clone" clone
check "push of 5 MB" push
check "clone brings back what was pushed" again
check "fetch, ls-remote" fetch
check "a shallow clone by the old protocol" shallow
