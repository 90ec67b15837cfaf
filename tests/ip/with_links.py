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

KERNEL = "linux-image-amd64"
TO_BOOT = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
TO_TEST = ("veth", "8021q", "vrf", "tun", "nf_tables", "nft_chain_nat", "macvlan", "vxlan", "bridge", "dummy", "sch_tbf", "af_packet")
FIRST = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in $(cat /order); do insmod /modules/$module; done
mount -t tmpfs rest /mnt; mkdir /mnt/lower /mnt/upper /mnt/work
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 root /mnt/lower
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work root /root
mkdir -p /root/mnt/shared
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 shared /root/mnt/shared
mount --move /dev /root/dev; mount -t proc proc /root/proc; mount -t sysfs sys /root/sys
for folder in run tmp dev/shm; do mkdir -p /root/$folder; mount -t tmpfs tmpfs /root/$folder; done
exec switch_root /root /mnt/shared/second
"""
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


def output(*command: str, **kwargs) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **kwargs).stdout


def unpack_kernel(folder: pathlib.Path) -> pathlib.Path:
    """Debian's kernel, not installed. Returns its image."""
    words = output("apt-cache", "depends", "--important", KERNEL).split()
    package = words[words.index("Depends:") + 1]
    output("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=folder)
    (archive,) = folder.glob("*.deb")
    output("dpkg", "-x", str(archive), str(folder / "kernel"))
    archive.unlink()
    (image,) = (folder / "kernel/boot").glob("vmlinuz-*")
    output("depmod", "-b", str(folder / "kernel"), image.name.removeprefix("vmlinuz-"))
    return image


def first_files(folder: pathlib.Path, version: str) -> pathlib.Path:
    """An archive with what has to be there before this machine's files are."""
    root = folder / "first"
    for name in ("bin", "modules", "proc", "sys", "dev", "mnt", "root"):
        (root / name).mkdir(parents=True)
    files: list[pathlib.Path] = []
    for module in TO_BOOT:
        for line in output("modprobe", "-d", str(folder / "kernel"), "-S", version, "--show-depends", module).splitlines():
            if line.startswith("insmod") and pathlib.Path(line.split()[1]) not in files:
                files.append(pathlib.Path(line.split()[1]))
    for file in files:
        (root / "modules" / file.name).write_bytes(file.read_bytes())
    (root / "order").write_text(" ".join(file.name for file in files))
    for name, content in (("bin/busybox", pathlib.Path("/bin/busybox").read_bytes()), ("init", FIRST.encode())):
        (root / name).write_bytes(content)
        (root / name).chmod(0o755)
    archive = folder / "first.cpio"
    with archive.open("wb") as file:
        names = "\n".join(str(path.relative_to(root)) for path in root.rglob("*"))
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=file, check=True)
    return archive


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
    share = "local,security_model=none"
    machine = [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3G"),
        *("-display", "none", "-serial", "stdio", "-monitor", "none", "-nic", "none", "-no-reboot"),
        *("-kernel", str(image), "-initrd", str(archive), "-append", "console=ttyS0 quiet panic=-1 mitigations=off"),
        *("-virtfs", f"{share},path=/,mount_tag=root,readonly=on,multidevs=remap"),
        *("-virtfs", f"{share},path={folder},mount_tag=shared"),
    ]
    subprocess.run(machine, stdin=subprocess.DEVNULL, check=True)
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
