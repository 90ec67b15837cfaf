#!/usr/bin/env python3
"""Runs a command on a kernel that has VLANs and VRFs: this machine's, or Debian's in a virtual machine (QEMU without KVM).

`--has-links` says by the exit status whether this kernel has them. `--here COMMAND` runs the command on this machine's kernel or not at all. The virtual machine has this machine's files; what it writes is lost,
but for the command's output and exit status. Needs root, and `tests/ip/setup.sh` where this kernel lacks something.
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from lab.machine import first_files, machine, unpack_kernel

TO_TEST = ("veth", "8021q", "vrf", "tun", "nf_tables", "nft_chain_nat", "macvlan", "vxlan", "bridge", "dummy", "sch_tbf", "af_packet")
SECOND = """#!/bin/bash
export PATH={path} {variables}
mkdir -p /lib/modules; ln -sfn /mnt/shared/kernel/lib/modules/$(uname -r) /lib/modules/$(uname -r)
modprobe -qa {modules}
ip link set lo up; mkdir -p /run/netns
cd {folder}
( {command} ) > /dev/ttyS0 2>&1 < /dev/null
echo $? > /mnt/shared/status; sync; poweroff -f
"""
# What the command may be told.
VARIABLES = ("HOPWRIGHT", "CARGO_TARGET_DIR", "HOME")


def has_links() -> bool:
    """Whether this kernel has VLANs and VRFs."""
    script = "ip link set lo up && ip link add r type vrf table 10 && ip link add p0 type veth peer name p1 && ip link add link p0 name v type vlan id 5"
    return subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True).returncode == 0


def run_in_machine(command: list[str], folder: pathlib.Path) -> int:
    image = unpack_kernel(folder)
    archive = first_files(folder, image.name.removeprefix("vmlinuz-"))
    variables = " ".join(f"{name}={shlex.quote(os.environ[name])}" for name in VARIABLES if name in os.environ)
    second = folder / "second"
    second.write_text(
        SECOND.format(
            path=shlex.quote(os.environ["PATH"] + ":/usr/sbin:/sbin"),
            variables=variables,
            modules=" ".join(TO_TEST),
            folder=shlex.quote(os.getcwd()),
            command=shlex.join(command),
        )
    )
    second.chmod(0o755)
    options = ("-smp", "2", "-serial", "stdio", "-nic", "none")
    subprocess.run(machine(image, archive, folder, "3G", *options), stdin=subprocess.DEVNULL, check=True)
    status = folder / "status"
    if not status.exists():
        print("the virtual machine has ended without a result", file=sys.stderr)
        return 2
    return int(status.read_text())


def main() -> int:
    command = sys.argv[1:]
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    if command == ["--has-links"]:
        return 0 if has_links() else 1
    here = command[0] == "--here"
    command = command[here:]
    if has_links():
        return subprocess.run(command).returncode
    if here:
        print("SKIPPED: this kernel has neither VLANs nor VRFs: make test-ip-links runs these tests in a virtual machine")
        return 0
    with tempfile.TemporaryDirectory(prefix="hopwright-machine-") as folder:
        return run_in_machine(command, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
