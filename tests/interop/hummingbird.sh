#!/usr/bin/env bash
# Compares our router with the reference's on Hummingbird packets: hummingbird.sh CHECKOUT [CASES [SEED]].
#
# CHECKOUT is a git repository of the reference (https://github.com/scionproto/scion) with the path type, at HEAD or at the commit that
# COMMIT names: pull request 4928, which was cb3e98a59ae7 when this was written.
#
# - The reference's router processes CASES packets (30000), a quarter of them damaged or with a fault, and ours does the same with them, by
#   interpreter and by machine code. RECORD=FILE keeps the records.
# - `hopwright scion` runs with files for both, on addresses of 127/8, and 2000 packets come by sockets; what leaves has to be what
#   the reference's router would have sent. HOPWRIGHT=FILE is the command (target/release/hopwright).
#
# Without a checkout, `make unit` compares some hundred packets that were recorded so. Needs Go; no root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [[ $# -lt 1 || ! -e $1 ]]; then
    sed -n '2,5s/^# *//p' "$0" >&2
    exit 2
fi
checkout=$1 cases=${2:-30000} seed=${3:-1} commit=${COMMIT:-HEAD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! git -C "$checkout" cat-file -e "$commit:router/dataplane_hbird.go" 2>/dev/null; then
    echo "$checkout: $commit has no router/dataplane_hbird.go: COMMIT names one that has" >&2
    exit 2
fi
git -C "$checkout" archive "$commit" | tar -x -C "$work"
cp "$here/hummingbird/record_test.go" "$work/router/hopwright_record_test.go"
record=$(realpath -m "${RECORD:-$work/records.jsonl}")
(cd "$work" && HOPWRIGHT_RECORD=$record HOPWRIGHT_CASES=$cases HOPWRIGHT_SEED=$seed \
    go test -trimpath -buildvcs=false -count=1 -run '^TestRecordHummingbird$' ./router/)
cd "$root"
hopwright=${HOPWRIGHT:-target/release/hopwright}
if [[ ! -x $hopwright ]]; then
    echo "$hopwright is missing: cargo build --release -p hopwright-cli" >&2
    exit 2
fi
python3 "$here/hummingbird/live.py" "$work/live" 30481
"$hopwright" scion --config "$work/live/router.toml" >"$work/live/log" 2>&1 &
router=$!
trap 'kill $router 2>/dev/null; wait $router 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 600); do
    ! grep -q "router started" "$work/live/log" || break
    if ! kill -0 $router 2>/dev/null; then
        cat "$work/live/log" >&2
        exit 1
    fi
    sleep 0.1
done
(cd "$work" && HOPWRIGHT_LIVE=2000 go test -trimpath -buildvcs=false -count=1 -v -run '^TestLiveHummingbird$' ./router/ | grep -v '^=== ') || {
    cat "$work/live/log" >&2
    exit 1
}
python3 - <<'END'
import re, urllib.request
page = urllib.request.urlopen("http://127.0.0.1:30481/metrics").read().decode()
counts = {}
for outcome, count in re.findall(r'hopwright_hummingbird_packets_total\{.*outcome="(\w+)".*\} (\d+)', page):
    counts[outcome] = counts.get(outcome, 0) + int(count)
print("the router has counted", counts)
assert counts["priority"] and counts["not_valid"] and counts["not_fresh"] and counts["none"], page
END
HOPWRIGHT_HUMMINGBIRD=$record cargo test --profile bench -p hopwright-scion --test it hummingbird::as_the -- --nocapture
