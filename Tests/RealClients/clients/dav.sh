# WebDAV by curl against nginx, whose paths differ from ours: BASE/files/ is /store/ there.
. "$CLIENTS/checks.sh"
files=$BASE/files
curl() { command curl -sS --fail-with-body --max-time 60 "$@"; }
status() { command curl -s --max-time 60 -o answer -w '%{http_code}' "$@"; }

echo "moved text" >text

collection() { curl -X MKCOL "$files/folder/"; }
move() {
  curl -T text "$files/a" && curl -X MOVE -H "Destination: $files/folder/b" "$files/a" &&
    is "moved text" "$(curl "$files/folder/b")" && is 404 "$(status "$files/a")"
}
copy() {
  curl -X COPY -H "Destination: /${files#http://*/}/c%20d" "$files/folder/b" && is "moved text" "$(curl "$files/c%20d")"
}
denied() {
  is 403 "$(status -X MOVE -H "Destination: $files/private/b" "$files/folder/b")" && grep -q destination-denied answer &&
    is 403 "$(status -X COPY -H "Destination: $files/%70rivate/b" "$files/folder/b")" &&
    is "moved text" "$(curl "$files/folder/b")"
}
elsewhere() {
  is 403 "$(status -X MOVE -H "Destination: $BASE/live/b" "$files/folder/b")" &&
    is 400 "$(status --path-as-is -X MOVE -H "Destination: $files/../store/b" "$files/folder/b")"
}

check "MKCOL" collection
check "MOVE with a URL as its Destination" move
check "COPY with a path as its Destination" copy
check "no MOVE to where a rule says no" denied
check "no MOVE out of the service" elsewhere
