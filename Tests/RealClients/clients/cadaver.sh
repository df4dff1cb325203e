# cadaver against Apache's mod_dav, with a password. BASE/dav/ is /dav/ there: it follows the paths in listings.
. "$CLIENTS/checks.sh"

echo "locked text" >text
dav() { cadaver "$BASE/dav/" 2>&1 | tee log && ! grep -qE 'failed|error|Username|Could not' log; }

walk() { printf 'mkcol folder\nput text folder/a\nmove folder/a folder/b\ncopy folder/b folder/c\nls folder\n' | dav; }
listing() { is "b c" "$(awk '$2 == 12 { print $1 }' log | paste -sd' ')"; }
# The lock's token goes into an If field, tagged with the URL of what is locked.
lock() { printf 'lock folder/b\nmove folder/b folder/d\n' | dav; }
back() { printf 'get folder/d got\ndelete folder/c\nrmcol folder\n' | dav && cmp text got; }

check "MKCOL, PUT, MOVE, COPY, PROPFIND" walk
check "the listing shows what was moved and copied" listing
check "LOCK, and MOVE of what is locked" lock
check "GET, DELETE" back
