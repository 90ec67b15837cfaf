#!/usr/bin/env bash
# Runs every NAME.stf here and in examples/ on NAME.p4 beside it, with both engines. Each program must
# also pass `check`. A test counts as skipped where machine code says that it does not support something yet.
set -uo pipefail
cd "$(dirname "$0")/../.."
hopwright=${HOPWRIGHT:-${CARGO_TARGET_DIR:-target}/release/hopwright}
failed=0 passed=0 skipped=0

fail() {
    failed=$((failed + 1))
    printf '%s (%s):\n%s\n' "$1" "$2" "$3"
}

# Whether the output has one error and that is the refusal of machine code.
refused() {
    local errors
    errors=$(grep -E '^error(\[|:)' <<<"$1")
    [[ $errors =~ ^error\[E0600\]:\ [^$'\n']*\ is\ not\ supported\ yet\ by\ the\ machine-code\ engine$ ]]
}

for test in examples/*.stf tests/stf/*.stf; do
    [[ -e $test ]] || continue
    program=${test%.stf}.p4
    output=$("$hopwright" check "$program" 2>&1) || fail "$test" check "$output"
    for engine in interp jit; do
        if output=$("$hopwright" stf "$program" "$test" --engine "$engine" 2>&1); then
            passed=$((passed + 1))
        elif [[ $engine == jit ]] && refused "$output"; then
            skipped=$((skipped + 1))
        else
            fail "$test" "$engine" "$output"
        fi
    done
done
echo "stf: $passed passed, $failed failed, $skipped skipped"
((passed > 0 && failed == 0))
