# cargo with a dependency from git behind Apache, with a password.
. "$CLIENTS/checks.sh"
export CARGO_HOME=$WORK/cargo CARGO_NET_GIT_FETCH_WITH_CLI=true GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1
export GIT_CONFIG_GLOBAL=$WORK/gitconfig

fetch() {
  git config --global "url.$BASE/git/.insteadOf" https://git.example.com/
  mkdir -p one/src && touch one/src/lib.rs
  printf '%s\n' '[package]' 'name = "one"' 'version = "0.1.0"' '[dependencies]' \
    'greeting = { git = "https://git.example.com/greeting.git" }' >one/Cargo.toml
  cargo fetch -q --manifest-path one/Cargo.toml && grep -q 'git+https://git.example.com/greeting.git' one/Cargo.lock
}

check "fetch of a git dependency, with CARGO_NET_GIT_FETCH_WITH_CLI" fetch
