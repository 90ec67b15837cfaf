"""Debian's kernel in a virtual machine (QEMU) that has this machine's files: what it writes to them is lost, but for a folder that both share.

Needs root, qemu-system-x86, kmod, cpio and busybox-static. The kernel of another architecture, and what it finds first, are got in the same way.
"""

import pathlib
import subprocess
import tempfile

HERE = "amd64"
TO_BOOT = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
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


def output(*command: str, **kwargs) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **kwargs).stdout


def apt_options(architecture: str, work: pathlib.Path) -> list[str]:
    """Options of apt-get and apt-cache. For another architecture the lists of packages are in a folder of their own: the system's stay as they are."""
    options = ["-o", "APT::Sandbox::User=root"]
    if architecture != HERE:
        for name in ("lists", "archives"):
            (work / name / "partial").mkdir(parents=True, exist_ok=True)
        (work / "status").touch()
        options += ["-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}", "-o", f"Dir::State::lists={work}/lists",
                    "-o", f"Dir::State::status={work}/status", "-o", f"Dir::Cache={work}"]
        output("apt-get", "-qq", *options, "update")
    return options


def newest_kernel(architecture: str, options: list[str]) -> str:
    words = output("apt-cache", *options, "depends", "--important", f"linux-image-{architecture}").split()
    return words[words.index("Depends:") + 1]


def kernel_package() -> str:
    """The newest of Debian's packages of its kernel."""
    return newest_kernel(HERE, [])


def unpack_kernel(folder: pathlib.Path, architecture: str = HERE) -> pathlib.Path:
    """Debian's kernel, not installed. Returns its image."""
    with tempfile.TemporaryDirectory() as work:
        options = apt_options(architecture, pathlib.Path(work))
        output("apt-get", "-qq", *options, "download", newest_kernel(architecture, options), cwd=folder)
    (archive,) = folder.glob("*.deb")
    output("dpkg", "-x", str(archive), str(folder / "kernel"))
    archive.unlink()
    (image,) = (folder / "kernel/boot").glob("vmlinuz-*")
    output("depmod", "-b", str(folder / "kernel"), image.name.removeprefix("vmlinuz-"))
    return image


def first_files(folder: pathlib.Path, version: str, init: str = FIRST, busybox: pathlib.Path = pathlib.Path("/bin/busybox"),
                modules: tuple[str, ...] = TO_BOOT, more: dict[str, pathlib.Path] | None = None) -> pathlib.Path:
    """An archive with what has to be there before this machine's files are: `init`, the modules that it loads in the order of /order, and `more`
    files by their names there."""
    root = folder / "first"
    for name in ("bin", "modules", "proc", "sys", "dev", "mnt", "root"):
        (root / name).mkdir(parents=True)
    files: list[pathlib.Path] = []
    for module in modules:
        for line in output("modprobe", "-d", str(folder / "kernel"), "-S", version, "--show-depends", module).splitlines():
            if line.startswith("insmod") and pathlib.Path(line.split()[1]) not in files:
                files.append(pathlib.Path(line.split()[1]))
    for file in files:
        (root / "modules" / file.name).write_bytes(file.read_bytes())
    (root / "order").write_text(" ".join(file.name for file in files))
    contents = {"bin/busybox": busybox.read_bytes(), "init": init.encode(), **{name: file.read_bytes() for name, file in (more or {}).items()}}
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
        (root / name).chmod(0o755)
    archive = folder / "first.cpio"
    with archive.open("wb") as file:
        names = "\n".join(str(path.relative_to(root)) for path in root.rglob("*"))
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=file, check=True)
    return archive


def machine(image: pathlib.Path, archive: pathlib.Path, folder: pathlib.Path, memory: str, *options: str) -> list[str]:
    """The command of a machine that boots into `second` of this folder, which it has as /mnt/shared."""
    share = "local,security_model=none"
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", memory, *options),
        *("-display", "none", "-monitor", "none", "-no-reboot"),
        *("-kernel", str(image), "-initrd", str(archive), "-append", "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"),
        *("-virtfs", f"{share},path=/,mount_tag=root,readonly=on,multidevs=remap"),
        *("-virtfs", f"{share},path={folder},mount_tag=shared"),
    ]
