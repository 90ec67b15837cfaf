#!/usr/bin/env python3
"""Five EPIC routers between two hosts, each in a network namespace (network.toml); then the one in the middle misbehaves.

Honest routers deliver packets of all levels, and at level 3 source and destination confirm the path. A router that only passes
packets on, writes into them, or sends packets of its own, is caught at the level that promises it, and not below. The routers are those for v1model
with each cipher, then those for Tofino 2, which have levels 0 and 1.

Exit status: 0 if everything passed, 1 if something failed.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from lab.cases import case_options, choose, status_of
from lab.command import HOPWRIGHT, ROOT, Failed, end, run, wait_until

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {"v1model": ROOT / "p4/epic/epic_router.p4", "tofino": ROOT / "p4/epic/epic_tna.p4"}
PREFIX = f"hwepic{os.getpid()}-"
PATIENCE = 240.0
# Of packets that are too late, and how long the destination waits for those of one attempt.
ATTEMPTS, ARRIVAL = 5, 60.0
ROUTERS = ["a", "b", "c", "d", "e"]
AS = {name: f"1-ff00:0:{110 + number}" for number, name in enumerate(ROUTERS)}
# Namespace and port at both ends of each link.
LINKS = [("src", 0, "a", 9), ("a", 1, "b", 1), ("b", 2, "c", 1), ("c", 2, "d", 1), ("d", 2, "e", 1), ("e", 9, "dst", 0)]
SOURCE, DESTINATION = f"{AS['a']},10.0.0.1", f"{AS['e']},10.0.0.2"


def inside(name, *command):
    return ["ip", "netns", "exec", PREFIX + name, *map(str, command)]


class Network:
    """The namespaces, their links, and a process in each router's."""

    def __init__(self, folder, description, architecture):
        self.folder, self.description, self.architecture, self.processes = folder, description, architecture, {}

    def __enter__(self):
        for name in ["src", *ROUTERS, "dst"]:
            run("ip", "netns", "add", PREFIX + name)
            run(*inside(name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"))
        for one, first, other, second in LINKS:
            run("ip", "link", "add", f"p{first}", "netns", PREFIX + one, "type", "veth",
                "peer", "name", f"p{second}", "netns", PREFIX + other)
            for name, port in [(one, first), (other, second)]:
                run(*inside(name, "ip", "link", "set", f"p{port}", "up"))
        return self

    def __exit__(self, *_):
        for name in list(self.processes):
            self.stop(name)
        for name in ["src", *ROUTERS, "dst"]:
            subprocess.run(["ip", "netns", "del", PREFIX + name], check=False)

    def start(self, name, *command):
        log = self.folder / f"{name}.log"
        with open(log, "w") as out:
            self.processes[name] = subprocess.Popen(inside(name, *command), stdout=out, stderr=subprocess.STDOUT)
        return log

    def stop(self, name):
        end(self.processes.pop(name), how=signal.SIGINT)

    def router(self, name):
        entries = self.folder / f"{name}.stf"
        target = ["--tofino"] if self.architecture == "tofino" else []
        entries.write_text(run(HOPWRIGHT, "epic", "entries", self.description, AS[name], *target))
        entries.chmod(0o600)
        ports = sorted(port for one, first, other, second in LINKS
                       for router, port in [(one, first), (other, second)] if router == name)
        options = [word for port in ports for word in ("-i", f"{port}@p{port}")]
        macro = ["-D", "EPIC_SEM"] if 'cipher = "sem"' in self.description.read_text() else []
        log = self.start(name, HOPWRIGHT, "run", PROGRAMS[self.architecture], *macro, *options, "--entries", entries, "--no-p4runtime",
                         "--ports", "af_packet")
        self.wait(log, "running")

    def wait(self, log, text):
        wait_until(lambda: f"`{text}` in {log.name}: {log.read_text()}", lambda: text in log.read_text(), PATIENCE, 0.05)

    def misbehave(self, how):
        """Replaces the router in the middle."""
        if "c" in self.processes:
            self.stop("c")
        if how:
            self.wait(self.start("c", sys.executable, HERE / "misbehaving_router.py", how), "passing on")
        else:
            self.router("c")

    def send(self, level, arriving=3):
        """What the source says of three packets, and the destination of those that it waits for."""
        time.sleep(1.1)  # packets of one second must have different counters
        log = self.start("dst", HOPWRIGHT, "epic", "receive", self.description, "--count", arriving, "--host", DESTINATION,
                         "--device", "p0", "--timeout", ARRIVAL)
        self.wait(log, "receiving")
        command = inside("src", HOPWRIGHT, "epic", "send", self.description, "--count", 3, "--host", SOURCE, "--to", DESTINATION, "--device", "p0",
                         "--level", level, "--payload", "attack at dawn")
        sent = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        receiver = self.processes.pop("dst")
        receiver.wait(PATIENCE)
        return sent.returncode, sent.stdout, receiver.returncode, log.read_text()


def expect(what, send, code_wanted, receiver_wanted, *texts, wrong=lambda received: False):
    """Sends until source and destination end as wanted, and each text is there three times: routers drop packets that are four seconds
    old, as they may be on a busy machine. `wrong`: what the destination may never say."""
    for _ in range(ATTEMPTS):
        code, sent, receiver_code, received = send()
        found = f"{what}:\nsource ({code}):\n{sent}\ndestination ({receiver_code}):\n{received}"
        if wrong(received):
            break
        if (code == 0) == code_wanted and (receiver_code == 0) == receiver_wanted and all((sent + received).count(text) == 3 for text in texts):
            print(f"ok: {what}", flush=True)
            return
        print(f"once more: {found}", flush=True)
    raise Failed(found)


def attacks(network, name):
    """What is sent in front of packets is good for nothing, but for authenticators that are used again at level 0."""
    for how, what in [("reuse", "authenticators that were used before"), ("forge", "a forged authenticator"), ("old", "an old packet")]:
        network.misbehave(how)
        for level in [0, 1]:
            passes = how == "reuse" and level == 0
            expect(f"{name}: level {level}, {what}: {'good for another packet' if passes else 'refused'}",
                   lambda: network.send(level, 6 if passes else 3), True, True, "attack at dawn", *(["attack at dusk"] * passes),
                   wrong=lambda received: not passes and "attack at dusk" in received)
    network.misbehave("repeat")
    for level in [0, 1]:
        expect(f"{name}: level {level}, packets that come again: refused", lambda: network.send(level), True, True, "attack at dawn",
               wrong=lambda received: any(received.count(f"number {number} ") > 1 for number in range(3)))


def check(network, name):
    for router in ROUTERS:
        network.router(router)
    levels = [(0, "nothing is proved"), (1, "nothing is proved")]
    if network.architecture == "v1model":
        levels += [(2, "source and payload are right"), (3, "source, payload and path are right")]
    for level, text in levels:
        extra = ["confirmed by the destination"] if level == 3 else []
        expect(f"{name}: level {level} arrives", lambda: network.send(level), True, True, text, *extra)
    attacks(network, name)
    network.misbehave("skip")
    level = min(2, levels[-1][0])
    expect(f"{name}: a router that checks nothing is not noticed at level {level}", lambda: network.send(level), True, True, levels[level][1])
    if network.architecture == "v1model":
        expect(f"{name}: ... and caught at level 3, by destination and source", lambda: network.send(3), False, False,
               "the validation field is wrong", f"AS {AS['c']} has not processed the packet")
    network.misbehave("write")
    expect(f"{name}: a router that writes into packets is not noticed at level 1", lambda: network.send(1), True, True,
           "attack at dusk")
    if network.architecture == "v1model":
        expect(f"{name}: ... and caught at level 2, by the destination", lambda: network.send(2), True, False,
               "the validation field is wrong")
    network.misbehave(None)
    level = levels[-1][0]
    expect(f"{name}: all is well again", lambda: network.send(level), True, True, levels[level][1])


def main() -> int:
    cases = {f"{architecture}, {cipher}": (architecture, cipher) for cipher, architecture in (("aes", "v1model"), ("sem", "v1model"), ("sem", "tofino"))}
    names = choose(case_options(__doc__).parse_args(), cases)
    return status_of("EPIC", lambda: any([try_case(name, *cases[name]) for name in names]))


def try_case(name, architecture, cipher):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        description = folder / "network.toml"
        description.write_text((HERE / "network.toml").read_text().replace('"aes"', f'"{cipher}"'))
        with Network(folder, description, architecture) as network:
            try:
                check(network, name)
            except subprocess.TimeoutExpired as failure:
                raise Failed(str(failure)) from failure


if __name__ == "__main__":
    sys.exit(main())
