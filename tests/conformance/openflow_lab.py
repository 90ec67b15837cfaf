#!/usr/bin/env python3
"""Runs os-ken's switch tester, in the network namespace of this process, with Open vSwitch as the switch that it tests with.

    openflow_lab.py SETTINGS

SETTINGS is JSON: `target` (the switch under test, `hopwright` with the command's path, or `openvswitch`), `tests` (a file or folder of tests),
`folder` (for logs), `seconds` (how long it may take). Prints what the tester says."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
from lab import openflow as lab
from lab.command import run, wait_until

PORTS = (1, 2, 3)
DPIDS = {"target": 1, "tester": 2}


def add_bridge(switches, name, protocol):
    """A bridge of Open vSwitch with the ports of one side."""
    ports = [word for n in PORTS for word in ("--", "add-port", name, f"{name}{n}", "--", "set", "interface", f"{name}{n}", f"ofport_request={n}")]
    switches.vsctl("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", f"protocols={protocol}", "fail_mode=secure",
                   f"other_config:datapath-id={DPIDS[name]:016x}", "other_config:disable-in-band=true", *ports,
                   "--", "set-controller", name, f"tcp:127.0.0.1:{lab.CONTROLLER}", "--", "set", "controller", name, "max_backoff=1000")


class Switches(lab.OpenVSwitch):
    """Open vSwitch without bridges at first."""

    def start(self, hosts, versions, options):
        folder = self.folder
        run("ovsdb-tool", "create", folder / "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.processes.append(lab.Process(folder, "ovsdb", "ovsdb-server", folder / "conf.db", f"--remote=p{self.database}",
                                          f"--unixctl={folder}/ovsdb.ctl", env=self.environment))
        wait_until("a database", lambda: (folder / "db.sock").exists())
        self.vsctl("--no-wait", "init")
        self.processes.append(lab.Process(folder, "vswitchd", "ovs-vswitchd", self.database, f"--unixctl={folder}/ovs.ctl", env=self.environment))


def main(settings):
    folder = pathlib.Path(settings["folder"])
    run("ip", "link", "set", "lo", "up")
    for n in PORTS:
        run("ip", "link", "add", f"target{n}", "type", "veth", "peer", "name", f"tester{n}")
        for device in (f"target{n}", f"tester{n}"):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1")
            run("ip", "link", "set", device, "up")
    switches, target, tester = Switches(folder, (), "1.3"), None, None
    try:
        add_bridge(switches, "tester", "OpenFlow13")
        if settings["target"] == "openvswitch":
            add_bridge(switches, "target", "OpenFlow13")
        else:
            attached = [word for n in PORTS for word in ("-i", f"{n}@target{n}")]
            target = lab.Process(folder, "target", settings["target"], "openflow", *attached, "--controller", f"tcp:127.0.0.1:{lab.CONTROLLER}", "--version",
                                 "1.3", "--datapath-id", "1", "--probe-interval", "60")
        tester = lab.Process(folder, "os-ken", lab.PYTHON, lab.HERE / "osken.py", "--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", lab.CONTROLLER,
                             "--test-switch-dir", settings["tests"], "os_ken.tests.switch.tester")
        wait_until("the tester's end", lambda: not tester.alive(), settings["seconds"])
    finally:
        for process in filter(None, (tester, target)):
            process.stop()
        switches.end()
        print((folder / "os-ken.log").read_text(errors="replace") if (folder / "os-ken.log").exists() else "")
        if target:
            print(target.log.read_text(errors="replace"), file=sys.stderr)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
