# git-lfs against a server that names its objects by its own https URLs, with a token.
. "$CLIENTS/checks.sh"
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1

smudge() {
  git init -q one && cd one || return 1
  git config lfs.url "$BASE/lfs"
  git config "url.$BASE/lfs/.insteadOf" "$UPSTREAM/lfs/"
  git config lfs.transfer.enablehrefrewrite true
  is "a large object" "$(git lfs smudge <"$STAGE/pointer")"
}

check "an object, with lfs.transfer.enablehrefrewrite" smudge
