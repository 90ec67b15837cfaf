#!/usr/bin/env bash
# Compares our router with the reference's on Hummingbird packets: hummingbird.sh CHECKOUT [CASES [SEED]].
#
# CHECKOUT is a git repository of the reference (https://github.com/scionproto/scion) with the path type, at HEAD or at the commit that
# COMMIT names: pull request 4928, which was cb3e98a59ae7 when this was written. The reference's router processes CASES packets
# (30000), and ours does the same with them, by interpreter and by machine code.
#
# Without a checkout, `make unit` compares some hundred packets that were recorded so. RECORD=FILE keeps the new records.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [[ $# -lt 1 || ! -e $1 ]]; then
    sed -n '2,4s/^# //p' "$0" >&2
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
HOPWRIGHT_HUMMINGBIRD=$record cargo test --profile bench -p hopwright-scion --test it hummingbird::as_the -- --nocapture
