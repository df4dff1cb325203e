# For the clients that are programs: `check WHAT COMMAND...` prints one line and ends the client at the first failure.
set -u
mkdir -p "$WORK" && cd "$WORK" || exit 1

check() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "ok      $CLIENT: $what"
  else
    printf 'FAILED  %s: %s\n%s\n' "$CLIENT" "$what" "$(tail -n 20 <<<"$output" | sed 's/^/        /')"
    exit 1
  fi
}

# is WANTED GOT: equal.
is() { [ "$1" = "$2" ] || { echo "wanted: $1"; echo "got:    $2"; return 1; }; }
