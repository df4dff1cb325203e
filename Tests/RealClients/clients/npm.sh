# npm against a registry that names its archives by its own https URLs, with a token.
. "$CLIENTS/checks.sh"
export npm_config_cache=$WORK/cache npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
export npm_config_fetch_retries=0

install() { npm install --registry "$BASE/npm/" --replace-registry-host=always --prefix here greeting; }
works() { is "hello from the registry" "$(node -e 'require("./here/node_modules/greeting")')"; }

check "install with --replace-registry-host=always" install
check "the package works" works
