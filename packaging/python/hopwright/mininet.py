"""A switch of Mininet that runs a P4 program.

    net = Mininet(switch=HopwrightSwitch, controller=None)
    s1 = net.addSwitch("s1", program="l2.p4", entries="l2.stf")
    net.addLink(h1, s1)                      # port 1 of the program, and so on
    net.start()
    s1.client.table_add("mac", {"dst": h1.MAC()}, "forward", {"port": 1})
"""

from __future__ import annotations

import shlex
import time

from mininet.node import Switch as Node

from .client import HopwrightError, Switch, Unreachable, command

FIRST_PORT = 9559


class HopwrightSwitch(Node):
    """`program` is its P4 program; `entries`, an STF file, has its first entries; `options` are further options of `hopwright run`.

    Port N of the program is the node's interface N. P4Runtime is served at the loopback address, at a port of its own for each
    switch: 9559 and the switch's number, which Mininet takes from its name, minus one.
    """

    def __init__(self, name, program=None, entries=None, options=(), grpc_port=None, **parameters):
        if program is None:
            raise ValueError(f"switch {name} needs a program: addSwitch({name!r}, program='l2.p4')")
        super().__init__(name, **parameters)
        self.program, self.entries, self.options = program, entries, list(options)
        self.grpc_port = FIRST_PORT + int(self.dpid, 16) - 1 if grpc_port is None else grpc_port
        self.client = Switch(f"127.0.0.1:{self.grpc_port}")
        self.log = f"/tmp/hopwright-{name}.log"

    def arguments(self):
        """The command line of the switch."""
        ports = [f"{number}@{interface}" for number, interface in sorted(self.intfs.items()) if interface.name != "lo"]
        entries = ["--entries", self.entries] if self.entries else []
        return [command(), "run", self.program, *(word for port in ports for word in ("-i", port)), *entries,
                "--p4runtime", f"127.0.0.1:{self.grpc_port}", *self.options]

    def start(self, controllers):
        """Starts the switch, and waits until it answers. It needs no controller."""
        line = " ".join(shlex.quote(str(word)) for word in self.arguments())
        self.cmd(f"{line} > {shlex.quote(self.log)} 2>&1 &")
        self.process = int(self.cmd("echo $!").split()[-1])
        end = time.monotonic() + 60
        while True:
            try:
                self.client.tables()
                return
            except Unreachable:
                alive = self.cmd(f"kill -0 {self.process} 2>/dev/null && echo yes").strip().endswith("yes")
                if not alive or time.monotonic() > end:
                    with open(self.log) as log:
                        raise HopwrightError(f"switch {self.name} does not start: {log.read()}") from None
                time.sleep(0.05)

    def connected(self):
        """It answers as soon as it is started."""
        return True

    def stop(self, deleteIntfs=True):
        """Stops the switch, and waits until it has ended."""
        if getattr(self, "process", None):
            self.cmd(f"kill -INT {self.process}; wait {self.process}")
            self.process = None
        super().stop(deleteIntfs)
