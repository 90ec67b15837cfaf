#!/usr/bin/env bash
# dist.sh BINARY FOLDER: copies a release build without its debug information, which goes to BINARY.debug beside it. The
# copy keeps its symbols, so that backtraces name functions. With the .debug file beside it, or below /usr/lib/debug,
# backtraces and debuggers also tell files and lines. The command writes its man pages and completions to man/ and completions/.
# For another architecture, OBJCOPY is its objcopy and EMULATOR the command that runs its programs.
set -euo pipefail
objcopy=${OBJCOPY:-objcopy}
command -v "$objcopy" >/dev/null || { echo "$objcopy is missing: sudo apt-get install binutils" >&2; exit 1; }
binary=$(realpath "$1") name=$(basename "$1")
mkdir -p "$2"
cd "$2"
"$objcopy" --only-keep-debug --compress-debug-sections "$binary" "$name.debug"
chmod 644 "$name.debug"
# Symbols named anon are constants without a name, those named GCC_except_table what unwinding finds by itself.
"$objcopy" --strip-debug --wildcard --strip-symbol='anon.*' --strip-symbol='GCC_except_table*' --add-gnu-debuglink="$name.debug" "$binary" "$name"
# The library for C programs that use RINA; a static build has none.
library=$(dirname "$binary")/librina_api.so
[[ ! -f $library ]] || "$objcopy" --strip-unneeded "$library" librina-api.so
rm -rf man completions
mkdir completions
run() { ${EMULATOR:-} "$binary" "$@"; }
run man man
run completion bash > completions/hopwright.bash
run completion zsh > completions/_hopwright
run completion fish > completions/hopwright.fish
