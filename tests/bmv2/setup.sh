#!/usr/bin/env bash
# Installs Mininet and the Python packages that scripts around BMv2 use, and clones p4lang/tutorials from GitHub, or from TUTORIALS.
# Without GitHub the tests of exercises are skipped.
set -euo pipefail
cd "$(dirname "$0")"
../p4runtime/setup.sh
../packages.sh mn:mininet ethtool:ethtool make:make iperf:iperf tcpdump:tcpdump
commit=dc1b049be49c210eb38e2c815d245704826fd9f6
if [[ ! -e .tutorials/bin/veth_setup.sh ]]; then
    rm -rf .tutorials
    if ! { git clone --quiet --no-checkout "${TUTORIALS:-https://github.com/p4lang/tutorials}" .tutorials &&
        git -C .tutorials checkout --quiet "$commit" -- bin utils exercises; }; then
        rm -rf .tutorials
        echo "SKIPPED: p4lang/tutorials cannot be cloned" >&2
        exit 0
    fi
fi
cmp -s requirements.txt .venv/requirements && exit 0
rm -rf .venv
python3 -m venv .venv
.venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Debian's Mininet, whose module is for any Python, and PI's message, which no package has.
ln -s /usr/lib/python3/dist-packages/mininet "$packages/mininet"
cp -r pi/p4/tmp "$packages/p4/"
cp requirements.txt .venv/requirements
