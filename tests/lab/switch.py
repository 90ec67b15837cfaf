"""A switch under test: `hopwright run` on veth pairs in this network namespace, and raw sockets at their other ends."""

import json
import pathlib
import select
import socket
import struct
import subprocess
import tempfile
import time

from .command import HOPWRIGHT, PATIENCE, ROOT, alive, end, wait_until
from .netns import ip

# Programs are named by their paths from here.
HERE = ROOT / "tests/p4runtime"
PORTS = 4
# Of linux/if_packet.h; AUXDATA is struct tpacket_auxdata.
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 1 << 4
AUXDATA = struct.Struct("=IIIHHHH")


def wait_for_links(*devices):
    """Waits until Linux says that devices are up, which it does up to a second late."""
    def late():
        return set(devices) - {link["ifname"] for link in json.loads(ip("-j", "link")) if link["operstate"] == "UP"}
    wait_until(lambda: f"{late()} to be up", lambda: not late(), interval=0.02)


def veth(device, peer):
    """A pair of devices that are up, without packets of the kernel's IPv6. Returns a raw socket at the peer."""
    ip("link", "add", device, "type", "veth", "peer", "name", peer)
    for name in (device, peer):
        pathlib.Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
        ip("link", "set", name, "up")
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.bind((peer, 0))
    return raw


def accepts(host, port):
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
        return True
    except OSError:
        return False


class Switch:
    """Runs a program; use it with `with`."""

    def __init__(self, program, *options, address="127.0.0.1:9559"):
        self.program, self.options, self.address = program, options, address
        self.host, self.port = address.rsplit(":", 1)

    def __enter__(self):
        self.sockets = []
        for n in range(PORTS):
            s = veth(f"sw{n}", f"host{n}")
            s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.sockets.append(s)
        wait_for_links(*(f"sw{n}" for n in range(PORTS)))
        interfaces = [arg for n in range(PORTS) for arg in ("-i", f"{n}@sw{n}")]
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen(self.command(interfaces), stderr=self.log, stdout=subprocess.DEVNULL)
        wait_until(self.output, lambda: alive(self.process, self.output) and accepts(self.host, self.port), interval=0.05)
        return self

    def command(self, interfaces):
        return [HOPWRIGHT, "run", str(HERE / self.program), *interfaces, "--p4runtime", self.address, *self.options]

    def __exit__(self, *_):
        status = end(self.process)
        for s in self.sockets:
            s.close()
        for n in range(PORTS):
            ip("link", "del", f"sw{n}")
        output = self.output()
        assert status == 0, f"the switch ended with {status}:\n{output}"
        assert "panicked" not in output, output

    def output(self):
        return pathlib.Path(self.log.name).read_text()

    def send(self, port, frame):
        self.sockets[port].send(frame)

    def receive(self, port, timeout=PATIENCE):
        """The next frame that leaves by a port, or None."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.sockets[port]], [], [], left)[0]:
                frame, auxiliary, _, address = self.sockets[port].recvmsg(65536, socket.CMSG_SPACE(AUXDATA.size))
                if address[2] != socket.PACKET_OUTGOING:
                    return with_tag(frame, auxiliary)
        return None


def with_tag(frame, auxiliary):
    """A received frame with its VLAN tag, which the kernel puts beside it."""
    for _, _, data in auxiliary:
        status, *_, tag, protocol = AUXDATA.unpack(data)
        if status & TP_STATUS_VLAN_VALID:
            return frame[:12] + protocol.to_bytes(2, "big") + tag.to_bytes(2, "big") + frame[12:]
    return frame


def p4info(program, path):
    """Writes a program's P4Info as text."""
    subprocess.run([HOPWRIGHT, "p4info", str(HERE / program), "-o", str(path)], check=True)
    return path


def ethernet(dst, src, kind, payload=b""):
    return bytes.fromhex(dst) + bytes.fromhex(src) + kind.to_bytes(2, "big") + payload


def ipv4(src, dst, ttl=64, protocol=17):
    head = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, ttl, protocol, 0, 0])
    return ethernet("020000000001", "020000000002", 0x0800, head + socket.inet_aton(src) + socket.inet_aton(dst) + bytes(26))
