"""A leaf-spine in network namespaces: two spines, four leaves, two hosts at each, an IPC process in each.

     spine1        spine2
       |  \\ \\ \\ / / /  |
     leaf1  leaf2  leaf3  leaf4
      / \\    / \\    / \\    / \\
     h1 h2  h3 h4  h5 h6  h7 h8
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

from .cases import case_options, choose, status_of
from .command import HOPWRIGHT, Failed, end, run

PREFIX = f"hwrina{os.getpid()}-"
# In each namespace.
METRICS = "127.0.0.1:9402"
SPINES = ["spine1", "spine2"]
LEAVES = [f"leaf{n}" for n in range(1, 5)]
HOSTS = [f"h{n}" for n in range(1, 9)]
LINKS = [(spine, leaf) for spine in SPINES for leaf in LEAVES] + [(LEAVES[n // 2], host) for n, host in enumerate(HOSTS)]
# The first member's; the others are given theirs.
ADDRESSES = {"spine1": 1}


def report(text):
    print(f"  {text}", flush=True)


def carry_out(what, test, cases=(), args=None, **choice):
    """Runs a test in a folder of its own, which it gets, and those of the cases, functions or texts, that are to run. Returns the exit status: 1 if it failed, 2 if
    it could not be carried out. `choice`: as `choose` has it."""
    named = {getattr(case, "__name__", case): case for case in cases}
    names = choose(args or case_options(sys.modules["__main__"].__doc__).parse_args(), named or [what], **choice)

    def run():
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder), *([[named[name] for name in names]] if named else []))
        print(f"{what}: passed")
    return status_of(what, run)


class Node:
    """A namespace with a process of `hopwright rina`, and applications."""

    def __init__(self, name, folder):
        self.name, self.net, self.folder = name, PREFIX + name, folder
        self.socket = folder / f"{name}.sock"
        self.config = folder / f"{name}.toml"
        self.devices = []
        self.process = None
        self.applications = []

    def write_config(self, credential, vlan=0, costs={}, ports="", timers=""):
        address = f"address = {ADDRESSES[self.name]}\n" if self.name in ADDRESSES else ""
        links = "".join(f'[[ipcp.link]]\ndevice = "{device}"\nvlan = {vlan}\ncost = {costs.get(device, 1)}\n' for device in self.devices)
        self.config.write_text(f'[router]\nsocket = "{self.socket}"\n\n[metrics]\naddress = "{METRICS}"\n\n[[ipcp]]\nname = "{self.name}"\ndif = "fabric"\n'
                               f'{address}credential = "{credential}"\n{timers}\n{links}{ports}')

    def exec(self, *command):
        return ["ip", "netns", "exec", self.net, *map(str, command)]

    def start(self, *args):
        log = open(self.folder / f"{self.name}.log", "a")
        self.process = subprocess.Popen(self.exec(HOPWRIGHT, "rina", "--config", self.config, *args), stdout=log,
                                        stderr=subprocess.STDOUT)

    def kill(self):
        """As a power cut does."""
        self.process.kill()
        self.process.wait()
        self.process = None

    def serve(self, command, name):
        log = open(self.folder / f"{self.name}-{name}.log", "a")
        process = subprocess.Popen([HOPWRIGHT, "rina", command, "--server", name, "--socket", self.socket], stdout=log,
                                   stderr=subprocess.STDOUT)
        self.applications.append(process)
        return process

    def use(self, command, *args, background=False):
        """An application's results."""
        words = [str(HOPWRIGHT), "rina", command, "--socket", str(self.socket), "--json", *map(str, args)]
        if background:
            return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return json.loads(run(*words))

    def show(self):
        return self.use("show")[0]

    def state(self):
        """The same without a process for it, for tests of many members."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.settimeout(30)
            try:
                client.connect(str(self.socket))
                client.send(b'"show"')
                text = b"".join(iter(lambda: client.recv(65537), b""))
            except OSError as error:
                raise Failed(f"{self.name}: {error}") from error
        return json.loads(text)[0]

    def memory(self):
        """Bytes of the process that are no file's."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")))

    def page(self, path, *options):
        """What the metrics server says."""
        return run(*self.exec("curl", "--silent", "--show-error", "--fail", *options, f"http://{METRICS}/{path}"))

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        end(*self.applications, *([self.process] if self.process else []))


class Fabric:
    def __init__(self, folder, names=SPINES + LEAVES + HOSTS, links=LINKS):
        self.folder = folder
        self.nodes = {name: Node(name, folder) for name in names}
        self.links = links
        self.made = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """Shows how the logs end if the test failed, and removes everything."""
        if kind is Failed:
            for log in sorted(self.folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-1500:]}", file=sys.stderr)
        self.remove()

    def __getitem__(self, name):
        return self.nodes[name]

    def add_node(self, name):
        node = self.nodes[name] = self.nodes.get(name) or Node(name, self.folder)
        run("ip", "netns", "add", node.net)
        self.made.append(node)
        run("ip", "-n", node.net, "link", "set", "lo", "up")

    def add_link(self, one, other):
        a, b = self.nodes[one], self.nodes[other]
        run("ip", "-n", a.net, "link", "add", other, "type", "veth", "peer", "name", one, "netns", b.net)
        for node, device in (a, other), (b, one):
            run("ip", "netns", "exec", node.net, "sh", "-c",
                f"echo 1 > /proc/sys/net/ipv6/conf/{device}/disable_ipv6")
            run("ip", "-n", node.net, "link", "set", device, "up")
            node.devices.append(device)

    def make(self):
        (self.folder / "fabric.key").write_text("a credential that all members have\n")
        (self.folder / "other.key").write_text("a credential that nobody else has\n")
        for name in list(self.nodes):
            self.add_node(name)
        for one, other in self.links:
            self.add_link(one, other)
        for node in self.nodes.values():
            node.write_config("fabric.key")

    def start(self):
        for node in self.nodes.values():
            node.start()

    def all_reached(self, names=None):
        """Whether each sees all others, and says who is missing if not."""
        names = names or [name for name, node in self.nodes.items() if node.process]
        for name in names:
            routes = {route["member"] for route in self.nodes[name].show()["routes"] if route["links"]}
            if missing := set(names) - routes - {name}:
                raise Failed(f"{name} does not reach {', '.join(sorted(missing))}")
        return True

    def remove(self):
        for node in self.nodes.values():
            node.stop()
        for node in self.made:
            run("ip", "netns", "delete", node.net, check=False)
