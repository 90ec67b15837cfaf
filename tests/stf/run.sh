#!/usr/bin/env bash
# Runs every NAME.stf here and in examples/ on NAME.p4 beside it, with both engines. Each program must
# also pass `check`. EMULATOR is the command, if any, that runs programs of the command's architecture.
set -uo pipefail
cd "$(dirname "$0")/../.."
binary=${HOPWRIGHT:-${CARGO_TARGET_DIR:-target}/release/hopwright}
failed=0 passed=0

hopwright() {
    ${EMULATOR:-} "$binary" "$@"
}

fail() {
    failed=$((failed + 1))
    printf '%s (%s):\n%s\n' "$1" "$2" "$3"
}

for test in examples/*.stf tests/stf/*.stf; do
    [[ -e $test ]] || continue
    program=${test%.stf}.p4
    output=$(hopwright check "$program" 2>&1) || fail "$test" check "$output"
    for engine in interp jit; do
        if output=$(hopwright stf "$program" "$test" --engine "$engine" 2>&1); then
            passed=$((passed + 1))
        else
            fail "$test" "$engine" "$output"
        fi
    done
done
echo "stf: $passed passed, $failed failed"
((passed > 0 && failed == 0))
