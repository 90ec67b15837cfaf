#!/usr/bin/env bash
# Takes prometheus and promtool out of Debian's package into bin/, without its service and without its dependencies, which are for its
# web pages. Quick when they are there.
set -euo pipefail
cd "$(dirname "$0")"
[[ ! -x bin/promtool || ! -x bin/prometheus ]] || exit 0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
download() { (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download prometheus); }
# A machine may not have the lists of packages.
download 2>/dev/null || { apt-get -qq update; download; }
dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar --extract --directory "$folder" ./usr/bin
mkdir -p bin
mv "$folder"/usr/bin/{prometheus,promtool} bin/
