# curl against nginx, with a bearer token. BASE/files/ is /store/ there.
. "$CLIENTS/checks.sh"
files=$BASE/files
curl() { command curl -sS --fail-with-body --max-time 60 "$@"; }

echo "some text" >small
head -c 100000000 /dev/urandom >big

put() { curl -T small "$files/small"; }
get() { is "some text" "$(curl "$files/small")"; }
head_only() { curl -I "$files/small" | grep -qi '^content-length: 10'; }
range() { is "text" "$(curl -r 5-8 "$files/small")"; }
several() { is "some textsome text" "$(curl "$files/small" "$files/small" | tr -d '\n')"; }
chunked() { curl -T - "$files/piped" <small && is "some text" "$(curl "$files/piped")"; }
expectation() { curl -v -H 'Expect: 100-continue' -T small "$files/expected" 2>&1 | grep -q '^< HTTP/1.1 100'; }
up() { curl -T big "$files/big"; }
down() { curl -o copy "$files/big" && is "$(sha256sum <big)" "$(sha256sum <copy)"; }
part() { is "$(tail -c 7000000 big | sha256sum)" "$(curl -r -7000000 "$files/big" | sha256sum)"; }
compressed() { curl --compressed -o again "$files/small" && cmp small again; }
gone() { curl -X DELETE "$files/piped" && is 404 "$(command curl -s -o /dev/null -w '%{http_code}' "$files/piped")"; }

check "PUT" put
check "GET" get
check "HEAD" head_only
check "a Range" range
check "two requests over one connection" several
check "PUT in chunks" chunked
check "Expect: 100-continue is answered by the server" expectation
check "100 MB up" up
check "100 MB down, and they are the same" down
check "the last 7 MB of them" part
check "--compressed" compressed
check "DELETE" gone
