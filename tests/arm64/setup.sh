#!/usr/bin/env bash
# Installs what builds Hopwright for 64-bit Arm on another machine, and an emulator that runs it there: Debian's cross compiler and
# libc, qemu's user-mode emulation, and Rust's standard library.
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/packages.sh qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/lib/libc.so.6:libc6-dev-arm64-cross
standard_library=$(rustc --print target-libdir --target aarch64-unknown-linux-gnu)
[[ -e $standard_library ]] || rustup target add aarch64-unknown-linux-gnu
