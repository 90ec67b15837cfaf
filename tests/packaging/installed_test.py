#!/usr/bin/env python3
"""Packages as users have them: installed in a bare Debian 12, unpacked as a container, in a virtual environment. Each forwards a packet.

HOPWRIGHT_PACKAGES is the folder of `make packages`. HOPWRIGHT_BARE_ROOT may name a Debian root that debootstrap made; otherwise one is
made and removed; the tests leave things in it. Needs root; without it all tests are skipped.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab.cases import unittest_main

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

from pack import image  # noqa: E402

PACKAGES = Path(os.environ.get("HOPWRIGHT_PACKAGES", ROOT / "target/packages"))
EXAMPLES = "/usr/share/hopwright/examples"
NAMESPACE = f"hopwright-{os.getpid()}"
# Sends a frame to a device of the namespace until the switch forwards it to another.
PROBE = """
import socket, sys, time
sender, receiver = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2))
sender.bind((sys.argv[1], 0)); receiver.bind((sys.argv[2], 0)); receiver.settimeout(0.2)
frame = bytes.fromhex("020000000002" "020000000001" "0800") + b"first packet of a switch" + bytes(40)
end = time.monotonic() + 90
while time.monotonic() < end:
    sender.send(frame)
    try:
        if receiver.recv(2048) == frame: sys.exit(0)
    except TimeoutError: pass
sys.exit("no packet came")
"""


def setUpModule():
    if os.geteuid():
        print("SKIPPED: tests of installed packages need root", file=sys.stderr)
        raise unittest.SkipTest("needs root")


def package(pattern):
    found = sorted(PACKAGES.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"{PACKAGES} has {len(found)} files {pattern}: make packages")
    return found[0]


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


@contextlib.contextmanager
def network():
    """A namespace with two pairs of devices: port1 and host1, port2 and host2."""
    run("ip", "netns", "add", NAMESPACE)
    try:
        run("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
        for number in "1", "2":
            run("ip", "-n", NAMESPACE, "link", "add", f"port{number}", "type", "veth", "peer", "name", f"host{number}")
            run("ip", "-n", NAMESPACE, "link", "set", f"port{number}", "up")
            run("ip", "-n", NAMESPACE, "link", "set", f"host{number}", "up")
        yield
    finally:
        run("ip", "netns", "del", NAMESPACE)


@contextlib.contextmanager
def switch(*command, stop=None):
    """A switch that runs in the namespace or, given how to stop it, in a container there; it forwards a packet from host1 to host2."""
    prefix = () if stop else ("ip", "netns", "exec", NAMESPACE)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([*prefix, *command], stdout=log, stderr=subprocess.STDOUT)
        try:
            run("ip", "netns", "exec", NAMESPACE, sys.executable, "-c", PROBE, "host1", "host2")
            yield
        except AssertionError as error:
            log.seek(0)
            raise AssertionError(f"{error}\n{log.read()}") from None
        finally:
            run(*stop) if stop else process.terminate()
            process.wait()


# Runs as a service of a system that boots: what the package enables, starts and stops.
BOOT = """
exec > /boot.log 2>&1
systemctl is-enabled hopwright-switch; systemctl is-active hopwright-switch
for d in 1 2; do ip link add sw$d type veth peer name host$d; ip link set sw$d up; ip link set host$d up; done
systemctl enable --now --quiet hopwright-switch && echo "started as $(stat -c %U:%G /proc/$(systemctl show --value --property MainPID hopwright-switch))"
hopwright table show mac
before=$(systemctl show --value --property MainPID hopwright-switch)
dpkg --install /root/hopwright_*.deb >/dev/null && test "$before" = "$(systemctl show --value --property MainPID hopwright-switch)" && echo "runs on"
systemctl start hopwright-router@br1
router() { systemctl show --value --property MainPID hopwright-router@br1; }
before=$(router)
systemctl reload hopwright-router@br1
for i in $(seq 600); do test "$(router)" != "$before" && break; sleep 0.2; done
test "$before" -gt 0 && test "$(router)" -gt 0 && test "$(router)" != "$before" && echo "another process routes: $(systemctl is-active hopwright-router@br1)"
systemctl restart hopwright-router@br1
journalctl --no-pager --unit hopwright-router@br1 --output cat | grep -q 'where the process before has stopped' && echo "a restart goes on: $(systemctl is-active hopwright-router@br1)"
journalctl --no-pager --unit hopwright-router@br1 | tail -20
systemctl stop hopwright-router@br1
dpkg --purge hopwright >/dev/null; systemctl is-active hopwright-switch; ls -d /etc/systemd/system/multi-user.target.wants/*hopwright* /run/hopwright
systemctl --no-block poweroff
"""
TENANT = f"""
port = [{{ device = "sw1" }}, {{ device = "sw2" }}]
p4runtime = {{ address = "127.0.0.1:9559" }}
[[tenant]]
name = "red"
program = "{EXAMPLES}/l2.p4"
ports = {{ 1 = "sw1", 2 = "sw2" }}
match = [{{ vlan = 0 }}]
device_id = 1
"""
ROUTER = {
    "br1.toml": '[general]\nid = "br1"\nconfig_dir = "/etc/scion/br1"\n',
    "br1/keys/master0.key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "br1/keys/master1.key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "br1/topology.json": """{ "isd_as": "1-ff00:0:1", "mtu": 1400, "border_routers": { "br1": { "internal_addr": "127.0.0.1:30042", "interfaces": {
        "1": { "underlay": { "local": "127.0.0.2:50000", "remote": "127.0.0.3:50000" }, "isd_as": "1-ff00:0:2", "link_to": "PARENT", "mtu": 1400 }
    } } } }""",
}
SWITCH = ("run", f"{EXAMPLES}/l2.p4", "-i", "1@port1", "-i", "2@port2", "--entries", f"{EXAMPLES}/l2.stf")


class Debian(unittest.TestCase):
    """Installs, runs and purges the Debian packages."""

    @classmethod
    def setUpClass(cls):
        bare = os.environ.get("HOPWRIGHT_BARE_ROOT")
        if bare:
            cls.root = Path(bare)
        else:
            cls.root = Path(tempfile.mkdtemp(prefix="hopwright-debian-"))
            cls.addClassCleanup(run, "rm", "-rf", "--one-file-system", cls.root)
            # It becomes the root of services that are not root.
            cls.root.chmod(0o755)
            run("debootstrap", "--variant=minbase", "bookworm", cls.root)
        run("mount", "-t", "proc", "proc", cls.root / "proc")
        cls.addClassCleanup(run, "umount", "--lazy", cls.root / "proc")

    def chroot(self, *command):
        environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        return run("chroot", self.root, *command, env=environment)

    def files(self):
        """All files and groups, but for what dpkg and adduser write themselves: logs, caches, lists and a lock."""
        ours = ("proc", "sys", "dev", "tmp", "var/log", "var/cache", "var/lib/apt", "var/lib/dpkg", "etc/group-", "etc/gshadow-", "run/adduser")
        found = {p for p in (os.path.relpath(os.path.join(at, name), self.root) for at, folders, names in os.walk(self.root)
                             for name in folders + names) if not p.startswith(ours)}
        return found | {f"group {line.split(':')[0]}" for line in (self.root / "etc/group").read_text().splitlines()}

    def test_installed_it_forwards_and_purged_it_leaves_nothing(self):
        before = self.files()
        packages = [package("hopwright_*.deb"), package("hopwright-dbg_*.deb")]
        for one in packages:
            shutil.copy(one, self.root / "tmp")
        self.chroot("dpkg", "--install", *(f"/tmp/{p.name}" for p in packages))
        self.assertIn("installed", self.chroot("dpkg-query", "--show", "--showformat=${db:Status-Status}", "hopwright"))
        added = self.files() - before
        self.assertLessEqual({"usr/bin/hopwright", "group scion", "group rina", "group hopwright"}, added)
        self.assertEqual([p for p in added if p.startswith("etc/")], [], "nothing is enabled")
        self.assertIn("passed", self.chroot("hopwright", "stf", f"{EXAMPLES}/l2.p4", f"{EXAMPLES}/l2.stf"))
        with network(), switch("chroot", self.root, "/usr/bin/hopwright", *SWITCH):
            pass
        self.chroot("dpkg", "--purge", "hopwright-dbg", "hopwright")
        self.assertEqual(sorted(self.files() ^ before), [])

    @unittest.skipUnless(shutil.which("systemd-nspawn"), "no systemd-nspawn: apt-get install systemd-container")
    def test_under_systemd_it_starts_when_told_survives_an_upgrade_and_stops_when_purged(self):
        # Not in /tmp, which systemd mounts anew.
        shutil.copy(package("hopwright_*.deb"), self.root / "root")
        shutil.copy("/etc/resolv.conf", self.root / "etc")
        self.chroot("apt-get", "install", "--yes", "--no-install-recommends", "systemd-sysv", "dbus", "iproute2",
                    f"/root/{package('hopwright_*.deb').name}")
        (self.root / "boot.sh").write_text(BOOT)
        (self.root / "etc/hopwright").mkdir(mode=0o750)
        (self.root / "etc/hopwright/switch.toml").write_text(TENANT)
        self.chroot("chgrp", "-R", "hopwright", "/etc/hopwright")
        for name, text in ROUTER.items():
            file = self.root / "etc/scion" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o640)
        self.chroot("chgrp", "-R", "scion", "/etc/scion")
        units = self.root / "etc/systemd/system"
        (units / "boot.service").write_text("[Unit]\nAfter=basic.target\n[Service]\nType=oneshot\nExecStart=/bin/sh /boot.sh\n")
        (units / "multi-user.target.wants").mkdir(exist_ok=True)
        (units / "multi-user.target.wants/boot.service").symlink_to("../boot.service")
        # The container keeps what is mounted there, and needs a /proc of its own.
        run("umount", self.root / "proc")
        self.addCleanup(run, "mount", "-t", "proc", "proc", self.root / "proc")
        run("systemd-nspawn", f"--directory={self.root}", "--boot", "--private-network", "--register=no", "--keep-unit",
            "--console=read-only", "--capability=all", timeout=300)
        log = (self.root / "boot.log").read_text()
        self.assertRegex(log, r"^disabled\ninactive\nstarted as \S+:hopwright\n(# )?SwitchIngress.mac: 0 entries", log)
        self.assertIn("\nruns on\nanother process routes: active\na restart goes on: active\n", log)
        self.assertEqual(log.count("No such file or directory"), 2, log)

    def test_lintian_has_no_complaint(self):
        run("lintian", "--allow-root", "--fail-on", "error,warning", package("hopwright_*.deb"), package("hopwright-dbg_*.deb"))


class Rpm(unittest.TestCase):
    def test_installed_it_runs_and_removed_it_leaves_nothing(self):
        """In a root without a distribution: neither requirements nor scripts are tried."""
        with tempfile.TemporaryDirectory() as folder:
            def rpm(*arguments):
                return run("rpm", "--root", folder, *arguments)

            rpm("--initdb")
            rpm("--install", "--nodeps", "--noscripts", package("hopwright-[0-9]*.rpm"), package("hopwright-debuginfo-*.rpm"))
            self.assertEqual(rpm("--verify", "--nodeps", "--noscripts", "hopwright"), "")
            self.assertIn("hopwright", run(f"{folder}/usr/bin/hopwright", "--version"))
            rpm("--erase", "--nodeps", "--noscripts", "hopwright", "hopwright-debuginfo")
            left = [p for p in Path(folder).rglob("*hopwright*") if "rpm" not in p.parts]
            self.assertEqual(left, [])


class Image(unittest.TestCase):
    """The image's layers as a root."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hopwright-image-")
        cls.addClassCleanup(folder.cleanup)
        cls.bundle = Path(folder.name)
        (cls.bundle / "rootfs").mkdir()
        image.unpack(package("hopwright-*-image-*.tar"), cls.bundle / "rootfs")

    def test_it_forwards_in_a_chroot_and_has_a_shell(self):
        self.assertEqual(run("chroot", self.bundle / "rootfs", "/bin/sh", "-c", "echo shell | cat"), "shell\n")
        with network(), switch("chroot", self.bundle / "rootfs", "/usr/bin/hopwright", *SWITCH):
            pass

    @unittest.skipUnless(shutil.which("runc"), "no runc")
    def test_it_forwards_in_a_container_with_the_capability_that_is_documented(self):
        config = self.bundle / "config.json"
        config.unlink(missing_ok=True)
        run("runc", "spec", cwd=self.bundle)
        spec = json.loads(config.read_text())
        spec["process"].update(terminal=False, args=["hopwright", *SWITCH, "--no-p4runtime"], env=[f"PATH={image.PATH}"])
        spec["process"]["capabilities"] = {kind: ["CAP_NET_RAW"] for kind in ("bounding", "effective", "permitted")}
        spec["linux"]["namespaces"] = [n for n in spec["linux"]["namespaces"] if n["type"] not in ("network", "cgroup")]
        spec["linux"]["namespaces"].append({"type": "network", "path": f"/run/netns/{NAMESPACE}"})
        config.write_text(json.dumps(spec))
        with network(), switch("runc", "run", "--bundle", self.bundle, NAMESPACE, stop=("runc", "kill", NAMESPACE, "TERM")):
            # As containerlab and `docker exec` do.
            self.assertIn("port1", run("runc", "exec", NAMESPACE, "sh", "-c", "ip link"))

    @unittest.skipUnless(shutil.which("skopeo"), "no skopeo")
    def test_skopeo_reads_both_descriptions(self):
        archive = package("hopwright-*-image-*.tar")
        for transport in "oci-archive", "docker-archive":
            self.assertEqual(json.loads(run("skopeo", "inspect", f"{transport}:{archive}"))["Os"], "linux", transport)
            run("skopeo", "copy", "--insecure-policy", f"{transport}:{archive}", f"dir:{self.bundle}/{transport}")


class Wheel(unittest.TestCase):
    """The wheel in a virtual environment."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hopwright-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.environment = Path(folder.name)
        run(sys.executable, "-m", "venv", cls.environment)
        run(cls.environment / "bin/pip", "install", "--no-index", package("hopwright-*.whl"))

    def test_the_command_forwards_and_the_package_controls_it(self):
        program = """
from hopwright import AlreadyExists, InvalidArgument, Switch, Unreachable
switch = Switch()
assert len(switch.table_entries("mac")) == 2
switch.table_add("mac", {"dst": "02:00:00:00:00:03"}, "forward", {"port": 1})
for error, call in ((AlreadyExists, lambda: switch.table_add("mac", {"dst": "02:00:00:00:00:03"}, "forward", {"port": 1})),
                    (InvalidArgument, lambda: switch.table_add("nope", {"dst": 1}, "drop")),
                    (Unreachable, Switch("127.0.0.1:1").tables)):
    try:
        call()
        raise SystemExit(f"no {error}")
    except error:
        pass
switch.table_delete("mac", {"dst": "02:00:00:00:00:03"})
assert switch.counter_read("by_port", 1).packets >= 1
"""
        examples = str(ROOT / "examples")
        command = [word.replace(EXAMPLES, examples) for word in SWITCH]
        with network(), switch(self.environment / "bin/hopwright", *command):
            run("ip", "netns", "exec", NAMESPACE, self.environment / "bin/python", "-c", program)

    @unittest.skipUnless(Path("/usr/lib/python3/dist-packages/mininet").exists(), "no mininet")
    def test_hosts_of_mininet_reach_each_other(self):
        program = f"""
from mininet.net import Mininet
from hopwright.mininet import HopwrightSwitch
net = Mininet(controller=None, switch=HopwrightSwitch, autoStaticArp=True, autoSetMacs=True)
hosts = [net.addHost("h1"), net.addHost("h2")]
s1 = net.addSwitch("s1", program="{ROOT}/examples/l2.p4", grpc_port=9659)
for host in hosts:
    net.addLink(host, s1)
net.start()
try:
    for port, host in enumerate(hosts, 1):
        s1.client.table_add("mac", {{"dst": host.MAC()}}, "forward", {{"port": port}})
    assert net.pingAll() == 0
    assert s1.client.counter_read("by_port", 2).packets >= 2
finally:
    net.stop()
"""
        site = next(self.environment.glob("lib/python*/site-packages"))
        environment = {**os.environ, "PYTHONPATH": str(site), "HOPWRIGHT": str(self.environment / "bin/hopwright")}
        run("/usr/bin/python3", "-c", program, env=environment)


if __name__ == "__main__":
    unittest_main()
