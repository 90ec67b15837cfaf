#!/usr/bin/env python3
"""Files that the reference's border router starts with, and those that ours starts with, are the same.

Hundreds of configurations are made out of a good one: each change alone, then random pairs of changes. The
reference's own packages (`cmd/starts`) and `hopwright scion check` judge each of them in one network namespace. Where
the two differ, the change that makes the difference is listed here with its reason, and in docs/scion-router.md.

Exit status: 0 if they agree everywhere else, 1 if not, 2 if the test could not run.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.netns import Namespace
from lab.reference import tool
from lab.router import hopwright_binary

DELETE = object()
KEY = "MDEyMzQ1Njc4OWFiY2RlZg=="
ROUTER = '[general]\nid = "br1"\nconfig_dir = "{dir}"\n'
# Addresses of the namespace: 127.0.0.0/8, ::1, and these on the devices d0 and d1.
DEVICES = {"d0": ["10.9.0.1/24", "fd00:9::1/64", "fe80::9/64"], "d1": ["10.8.0.1/24", "fe80::8/64"]}


def interface(n: int, link_to: str) -> dict:
    return {"isd_as": f"1-ff00:0:{n}", "link_to": link_to, "mtu": 1400,
            "underlay": {"local": f"127.0.{n}.1:50000", "remote": f"127.0.{n}.2:50000"}}


BASE = {
    "isd_as": "1-ff00:0:110", "mtu": 1400, "attributes": [], "dispatched_ports": "31000-32767",
    "border_routers": {
        "br1": {"internal_addr": "127.0.0.11:30042",
                "interfaces": {"1": interface(1, "child"), "2": interface(2, "parent")}},
        "br2": {"internal_addr": "127.0.0.12:30042", "interfaces": {"3": interface(3, "peer")}},
        "br3": {"internal_addr": "127.0.0.13:30042", "interfaces": {"4": interface(4, "child")}},
        "idle": {"internal_addr": "127.0.0.14:30042", "interfaces": {}},
    },
    "control_service": {"cs1": {"addr": "127.0.0.21:30252"}},
    "discovery_service": {"ds1": {"addr": "127.0.0.22:30252"}},
}


@dataclass
class Files:
    """The files of one router."""

    topology: dict = field(default_factory=lambda: copy.deepcopy(BASE))
    router: str = ROUTER
    keys: dict[str, str] = field(default_factory=lambda: {"master0.key": KEY, "master1.key": KEY})
    text: str | None = None

    def write(self, directory: Path) -> Path:
        (directory / "keys").mkdir(parents=True)
        text = self.text if self.text is not None else json.dumps(self.topology)
        (directory / "topology.json").write_text(text)
        for name, key in self.keys.items():
            (directory / "keys" / name).write_text(key)
        file = directory / "router.toml"
        file.write_text(self.router.format(dir=directory))
        return file


def at(path: str, value: object):
    """Sets a field of the topology, named by the keys on the way to it."""
    def change(files: Files) -> None:
        *way, last = path.split("/")
        node = files.topology
        for key in way:
            if not isinstance(node.get(key), dict):
                return
            node = node[key]
        if value is DELETE:
            node.pop(last, None)
        else:
            node[last] = copy.deepcopy(value)
    return change


def toml(text: str):
    def change(files: Files) -> None:
        files.router += text
    return change


def all_of(*changes):
    def change(files: Files) -> None:
        for one in changes:
            one(files)
    return change


def key(name: str, text: str):
    def change(files: Files) -> None:
        files.keys[name] = text
    return change


def no_key(name: str):
    def change(files: Files) -> None:
        files.keys.pop(name)
    return change


def many(count: int, routers: int):
    """Further interfaces at further routers."""
    def change(files: Files) -> None:
        for n in range(count):
            router = files.topology["border_routers"].setdefault(
                f"m{n % routers}", {"internal_addr": f"127.1.0.{n % routers + 1}:30042", "interfaces": {}})
            router["interfaces"][str(1000 + n)] = interface(5, "child")
    return change


def changes() -> dict[str, object]:
    """Every change by its name."""
    found: dict[str, object] = {"none": lambda files: None}
    br1, br2, own, other = "border_routers/br1", "border_routers/br2", \
        "border_routers/br1/interfaces/1", "border_routers/br2/interfaces/3"

    def values(name: str, path: str, these: dict[str, object]) -> None:
        for what, value in these.items():
            found[f"{name} {what}"] = at(path, value)

    hosts = {
        "name": "localhost:30099", "unknown name": "no.such.name.invalid:30099", "wildcard": "0.0.0.0:30099",
        "wildcard 6": "[::]:30099", "port only": ":30099", "port 0": "127.0.0.31:0", "wildcard port 0": "0.0.0.0:0",
        "no port": "127.0.0.31", "empty": "", "null": None, "missing": DELETE, "number": 5, "port 65536": "127.0.0.31:65536",
        "port -1": "127.0.0.31:-1", "named port": "127.0.0.31:domain", "loopback 6": "[::1]:30099",
        "mapped": "[::ffff:127.0.0.31]:30099", "zone": "[fe80::9%d0]:30099", "number as zone": "[fe80::9%2]:30099",
        "wrong zone": "[fe80::9%nodev]:30099", "no zone": "[fe80::9]:30099", "zone of a global address": "[fd00:9::1%d0]:30099",
        "unique local": "[fd00:9::1]:30099", "device's": "10.9.0.1:30099", "multicast": "224.0.0.5:30099",
        "multicast 6": "[ff02::1]:30099", "broadcast": "255.255.255.255:30099", "not here": "192.0.2.1:30099",
        "zeros": "127.000.000.031:30099", "blank": " 127.0.0.31:30099", "leading zero in port": "127.0.0.31:030099",
        "no brackets": "fd00:9::1:30099", "plus": "127.0.0.31:+30099",
    }
    values("internal_addr", f"{br1}/internal_addr", hosts)
    values("sibling's internal_addr", f"{br2}/internal_addr", hosts)
    values("idle router's internal_addr", "border_routers/idle/internal_addr", hosts)
    values("local", f"{own}/underlay/local", hosts)
    values("remote", f"{own}/underlay/remote", hosts)
    values("sibling's local", f"{other}/underlay/local", hosts)
    values("sibling's remote", f"{other}/underlay/remote", hosts)
    values("service", "control_service/cs1/addr", hosts)
    ports = {"null": None, "empty": "", "dash": "-", "all": "all", "ALL": "ALL", "All": "All", "missing": DELETE,
             "one": "31000-31000", "backwards": "5-4", "zero": "0-10", "too large": "1-65536", "three": "1-2-3",
             "half": "1-", "single": "31000", "number": 31000, "blank": "1 - 2", "signs": "+1-5", "zeros": "001-005"}
    values("dispatched_ports", "dispatched_ports", ports)
    numbers = {"0": 0, "-1": -1, "null": None, "text": "1400", "70000": 70000, "2^40": 1 << 40, "2^63": 1 << 63,
               "1.5": 1.5, "1.0": 1.0, "missing": DELETE, "true": True}
    values("mtu", "mtu", numbers)
    values("link's mtu", f"{own}/mtu", numbers)
    values("remote_interface_id", f"{own}/remote_interface_id", numbers)
    values("sibling's remote_interface_id", f"{other}/remote_interface_id", numbers)
    names = {"ISD 0": "0-ff00:0:1", "AS 0": "1-0", "zero": "0-0", "upper case": "1-FF00:0:110", "decimal": "1-4294967295",
             "too large": "1-4294967296", "ISD 65535": "65535-1", "ISD 65536": "65536-1", "text": "x", "empty": "",
             "null": None, "missing": DELETE, "number": 1, "zeros": "01-0ff00:0:110", "two groups": "1-ff00:0",
             "blank": " 1-ff00:0:110", "blank behind": "1-ff00:0:110 ", "underscores": "1-ff00_0_110", "ours": "1-ff00:0:110",
             "five digits": "1-fffff:0:1", "sign": "1-+ff00:0:110"}
    values("isd_as", "isd_as", names)
    values("neighbour", f"{own}/isd_as", names)
    values("sibling's neighbour", f"{other}/isd_as", names)
    relations = {"upper case": "CHILD", "mixed": "Peer", "core": "core", "uncle": "uncle", "empty": "", "null": None,
                 "missing": DELETE, "number": 3, "blank": "child "}
    values("link_to", f"{own}/link_to", relations)
    values("sibling's link_to", f"{other}/link_to", relations)
    attributes = {"null": None, "missing": DELETE, "deprecated": ["authoritative", "issuing", "voting"], "unknown": ["big"],
                  "text": "core", "a number": [1], "a null": [None], "empty": [""], "upper case": ["CORE"], "object": {}}
    values("attributes", "attributes", attributes)
    core = all_of(at("attributes", ["core"]), at("border_routers/br1/interfaces/2/link_to", "core"))
    found["core"] = core
    found["core with parent"] = at("attributes", ["core"])
    providers = {"udpip": "udpip", "unknown": "pigeon", "empty": "", "null": None, "number": 1, "upper case": "UDPIP"}
    values("provider", f"{own}/underlay/provider", providers)
    values("sibling's provider", f"{other}/underlay/provider", providers)
    underlays = {"missing": DELETE, "null": None, "empty": {}, "list": [], "unknown field": {**interface(1, "")["underlay"], "x": 1},
                 "public": {"public": "127.0.1.1:50000", "remote": "127.0.1.2:50000"}}
    values("underlay", f"{own}/underlay", underlays)
    values("sibling's underlay", f"{other}/underlay", underlays)
    values("sibling's provider only", f"{other}/underlay", {"udpip": {"provider": "udpip"}})
    sessions = {
        "null": None, "empty": {}, "list": [], "disable": {"disable": True}, "disable null": {"disable": None},
        "disable text": {"disable": "true"}, "disable number": {"disable": 1}, "multiplier 255": {"detect_mult": 255},
        "multiplier 256": {"detect_mult": 256}, "multiplier -1": {"detect_mult": -1}, "multiplier null": {"detect_mult": None},
        "multiplier 1.0": {"detect_mult": 1.0}, "multiplier text": {"detect_mult": "3"},
    }
    for text in ("25ms", "0s", "1", "1.5s", "1h30m", "1y", "5 ms", "ms", "10us", "10µs", "100ns", "2h", "", "-5ms", "1-2ms"):
        sessions[f"interval '{text}'"] = {"desired_min_tx_interval": text}
    sessions["interval null"] = {"desired_min_tx_interval": None}
    sessions["interval number"] = {"required_min_rx_interval": 200}
    values("bfd", f"{own}/bfd", sessions)
    values("sibling's bfd", f"{other}/bfd", sessions)
    for id in ("0", "65535", "65536", "65538", "65545", "4294967296", "-1", "x", "", "05", "+5", "1.0", '"7"', "1e2", " 5"):
        found[f"interface id {id!r}"] = at(f"{br1}/interfaces/{id}".replace("//", "/"), interface(9, "child"))
        found[f"sibling's interface id {id!r}"] = at(f"{br2}/interfaces/{id}", interface(9, "child"))
    found["interface twice"] = at(f"{br2}/interfaces/1", interface(9, "child"))
    structures = {"null": None, "list": [], "text": "x", "missing": DELETE, "empty": {}}
    for path in ("border_routers", "border_routers/br1", "border_routers/br2", f"{br1}/interfaces", f"{br2}/interfaces",
                 own, other, "control_service", "control_service/cs1", "discovery_service"):
        values(f"{path} is", path, structures)
    others = {
        "sigs": {"null": None, "empty": {}, "number inside": {"sig": 1}, "good": {"sig": {"ctrl_addr": "127.0.0.9:1",
                 "data_addr": "127.0.0.9:2"}}, "bad": {"sig": {"ctrl_addr": "x", "data_addr": "127.0.0.9:2"}}},
        "hidden_segment_lookup_service": {"good": {"h": {"addr": "127.0.0.9:3"}}, "bad": {"h": {"addr": "x"}}, "list": []},
        "timestamp": {"number": 1, "text": "1", "null": None, "float": 1.5},
        "timestamp_human": {"text": "May", "number": 1},
        "something else": {"object": {"a": [1]}, "null": None},
    }
    for name, these in others.items():
        values(name, name, these)
    found["upper case keys"] = all_of(at("isd_as", DELETE), at("ISD_AS", "1-ff00:0:110"))
    found["upper case keys inside"] = all_of(at(f"{own}/link_to", DELETE), at(f"{own}/Link_To", "child"))
    found["upper case keys of the underlay"] = all_of(
        at(f"{own}/underlay/local", DELETE), at(f"{own}/underlay/LOCAL", "127.0.1.1:50000"))
    found["same internal_addr of siblings"] = at("border_routers/br3/internal_addr", "127.0.0.12:30042")
    found["same internal_addr as ours"] = at("border_routers/br3/internal_addr", "127.0.0.11:30042")
    found["same internal_addr of an idle router"] = at("border_routers/idle/internal_addr", "127.0.0.11:30042")
    found["same local"] = at("border_routers/br1/interfaces/2/underlay/local", "127.0.1.1:50000")
    found["same remote"] = at("border_routers/br1/interfaces/2/underlay/remote", "127.0.1.2:50000")
    found["same remote as local"] = at(f"{own}/underlay/remote", "127.0.1.1:50000")
    found["same remote at a sibling"] = all_of(
        at(f"{br2}/interfaces/7", interface(3, "child")), at(f"{other}/underlay/remote", "127.0.3.2:50000"))
    found["remote is a sibling's internal_addr"] = at(f"{own}/underlay/remote", "127.0.0.12:30042")
    found["local is internal_addr"] = at(f"{own}/underlay/local", "127.0.0.11:30042")
    found["local wildcard twice"] = all_of(
        at(f"{own}/underlay/local", "0.0.0.0:50000"), at("border_routers/br1/interfaces/2/underlay/local", "0.0.0.0:50000"))
    found["zones of links"] = all_of(
        at(f"{own}/underlay", {"local": "[fe80::9%d0]:50000", "remote": "[fe80::99%d0]:50000"}),
        at("border_routers/br1/interfaces/2/underlay", {"local": "[fe80::8%d1]:50000", "remote": "[fe80::88%d1]:50000"}))
    found["same addresses, other zones"] = all_of(
        at(f"{own}/underlay", {"local": "[::]:50000", "remote": "[fe80::99%d0]:50000"}),
        at("border_routers/br1/interfaces/2/underlay", {"local": "[::]:50000", "remote": "[fe80::99%d1]:50000"}))
    found["zone of the AS"] = all_of(
        at(f"{br1}/internal_addr", "[fe80::9%d0]:30042"), at(f"{br2}/internal_addr", "[fe80::12%d0]:30042"),
        at("border_routers/br3/internal_addr", "[fe80::13%d0]:30042"))
    found["wildcard and address on a port"] = all_of(
        at(f"{br1}/internal_addr", "0.0.0.0:30042"), at(f"{own}/underlay/local", "127.0.1.1:30042"))
    found["8192 interfaces at siblings"] = many(8192, 16)
    found["60000 interfaces at a sibling"] = many(60000, 1)
    for name, text in {
        "no id": '', "another id": 'id = "br9"', "an idle one": 'id = "idle"', "no directory": 'id = "br1"\nconfig_dir = "/nowhere"',
    }.items():
        lines = "[general]\n" + text + ("" if "config_dir" in text else '\nconfig_dir = "{dir}"') + "\n"
        found[f"router.toml: {name}"] = lambda files, lines=lines: setattr(files, "router", lines)
    for text in (
        "x = 1", "[router]\nbatch_size = 0", "[router]\nbatch_size = -1", "[router]\nbatch_size = 64.0",
        '[router]\nbatch_size = "64"', "[router]\nnum_processors = -1", "[router]\nnum_slow_processors = -1",
        "[router]\nnum_slow_processors = 0", "[router]\nreceive_buffer_size = -1", "[router]\nsend_buffer_size = 100000",
        "[router]\ndispatched_port_start = 1", "[router]\ndispatched_port_end = 1",
        "[router]\ndispatched_port_start = 0\ndispatched_port_end = 0", "[router]\ndispatched_port_start = 5\ndispatched_port_end = 4",
        "[router]\ndispatched_port_start = -1\ndispatched_port_end = 4", "[router]\ndispatched_port_start = 1\ndispatched_port_end = 65536",
        "[router.bfd]\ndisable = true", "[router.bfd]\ndetect_mult = 0", "[router.bfd]\ndetect_mult = 256",
        '[router.bfd]\ndesired_min_tx_interval = "25ms"', '[router.bfd]\ndesired_min_tx_interval = "25"',
        "[router.bfd]\ndesired_min_tx_interval = 25", '[router.bfd]\nrequired_min_rx_interval = "0s"',
        '[log.console]\nlevel = "debug"', '[log.console]\nlevel = "DEBUG"', '[log.console]\nlevel = "warn"',
        '[log.console]\nlevel = "crit"', '[log.console]\nlevel = "loud"', '[log.console]\nlevel = ""',
        '[log.console]\nlevel = "dpanic"', '[log.console]\nlevel = "fatal"', '[log.console]\nlevel = "panic"',
        '[log.console]\nformat = "json"', '[log.console]\nformat = "xml"', '[log.console]\nstacktrace_level = "error"',
        '[log.console]\nstacktrace_level = "loud"', "[log.console]\ndisable_caller = true", '[log.file]\npath = "x"',
        "[features]\nexperimental_scmp_authentication = true", "[features]\nappropriate_digest_algorithm = true",
        "[features]\nunknown = true", '[metrics]\nprometheus = "127.0.0.1:30499"', '[metrics]\nprometheus = "nonsense"',
        '[metrics]\nprometheus = ":30499"', '[api]\naddr = "127.0.0.1:30498"', "[api]\naddr = 5", "[tracing]\nenabled = true",
        "[router]\nbatch_size = 64\nbatch_size = 65", "[Router]\nbatch_size = 64", "[router]\nBatch_Size = 64", "[general]\nid = 'br1'",
        "= 5", "[router", "[router]\nnum_processors = 1_0", "[router]\nbatch_size = 0x40",
    ):
        found[f"router.toml: {text!r}"] = toml(text.replace("{", "{{").replace("}", "}}") + "\n")
    for name, text in {"good": KEY, "empty": "", "two lines": KEY[:8] + "\n" + KEY[8:] + "\n", "no padding": KEY.rstrip("="),
                       "blank": KEY + " ", "long": KEY[:-2] + "AAAA" * 20, "bits too many": "MDEyMzQ1Njc4OWFiY2RlZh==",
                       "not base64": "****", "url": "-_-_", "carriage returns": KEY + "\r\n"}.items():
        found[f"master0.key {name}"] = key("master0.key", text)
        found[f"master1.key {name}"] = key("master1.key", text)
    found["no master0.key"] = no_key("master0.key")
    found["no master1.key"] = no_key("master1.key")
    good = json.dumps(BASE)
    for name, text in {"empty": "", "truncated": good[:-1], "text behind it": good + " x", "a list": "[]", "null": "null",
                       "BOM": "\ufeff" + good, "comment": "// x\n" + good, "blanks": "\n\n " + good + "\n",
                       "comma": good[:-1] + ",}"}.items():
        found[f"topology.json: {name}"] = lambda files, text=text: setattr(files, "text", text)
    return found


NOT_HERE = "an address that this machine does not have takes down its links only"
NOT_READ = "a part of the file that a router does not use is not read"
SESSION = "no BFD session can have this interval: the reference starts, and the link stays down"
# Where the two differ, by the change that makes the difference, and why. docs/scion-router.md has the reasons.
DIFFERENCES: dict[str, str] = {
    **dict.fromkeys(["internal_addr not here", "local not here", "remote not here", "sibling's internal_addr not here"],
                    NOT_HERE),
    **dict.fromkeys(["sigs bad", "sigs number inside", "hidden_segment_lookup_service bad",
                     "hidden_segment_lookup_service list", "timestamp float", "timestamp text", "timestamp_human number",
                     "sibling's underlay empty", "sibling's underlay missing", "sibling's underlay null"], NOT_READ),
    **dict.fromkeys([f"bfd interval '{interval}'" for interval in ("10us", "10µs", "100ns", "1y", "2h")], SESSION),
    **dict.fromkeys([f"{whose} interval '{interval}'" for whose in ("bfd", "sibling's bfd") for interval in ("-5ms", "1-2ms")],
                    "a duration is a number and a unit"),
    **dict.fromkeys([f"{what} named port" for what in ("internal_addr", "idle router's internal_addr", "sibling's internal_addr",
                                                       "service")], "a port is a number"),
    "idle router's internal_addr port only": "an address has a host",
    "master1.key empty": "everybody knows the empty key",
    "wildcard and address on a port": "two sockets on one port, of which one is on any address",
    "same addresses, other zones": "links that only their zones tell apart",
    **dict.fromkeys(["interface id '65545'", "sibling's interface id '65545'"], "an interface id has 16 bits"),
}


def judge(namespace: Namespace, files: list[Path], binary: str) -> tuple[list[str], list[str]]:
    """What the reference and ours say about each file: `accept`, or `reject` and why."""
    named = "".join(f"{file}\n" for file in files)
    # The first error, of one line, without a process of its own.
    ours = f"""nl='\n'; while read -r file; do
        if why=$({binary} scion check --config "$file" 2>&1 >/dev/null); then echo accept
        else why=${{why#*error: }}; echo "reject ${{why%%"$nl"*}}"; fi
    done"""
    with ThreadPoolExecutor() as pool:
        commands = [(tool("starts"),), ("sh", "-c", ours)]
        done = [pool.submit(namespace.run, *command, input=named, text=True, capture_output=True) for command in commands]
        reference, hopwright = (one.result().stdout.splitlines() for one in done)
    return reference, hopwright


def main() -> int:
    parser = case_options(__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=150, help="how many random pairs of changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="print every verdict")
    args = parser.parse_args()
    random.seed(args.seed)
    named = changes()
    cases = [(name,) for name in choose(args, named)]
    if not args.only:
        cases += [tuple(random.sample(list(named), 2)) for _ in range(args.pairs)]
    return carry_out("starts", lambda checks: judge_all(named, cases, args.all, checks))


def judge_all(named: dict, cases: list[tuple[str, ...]], every: bool, checks: Checks) -> None:
    """Whether our router starts with the files of each case if the reference's does."""
    namespace = Namespace(f"hopwright-starts{os.getpid()}")
    try:
        namespace.ip("link", "add", "d0", "type", "veth", "peer", "name", "d1")
        for device, addresses in DEVICES.items():
            namespace.ip("link", "set", device, "up")
            for address in addresses:
                namespace.ip("address", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
        with tempfile.TemporaryDirectory() as directory:
            written = []
            for number, case in enumerate(cases):
                files = Files()
                for name in case:
                    named[name](files)
                written.append(files.write(Path(directory) / str(number)))
            reference, ours = judge(namespace, written, hopwright_binary())
    finally:
        namespace.remove()
    differing, unexpected = 0, []
    for case, theirs, our in zip(cases, reference, ours, strict=True):
        differs = theirs.split()[0] != our.split()[0]
        if every:
            print(" + ".join(case), "|", theirs, "|", our)
        known = [name for name in case if name in DIFFERENCES]
        differing += differs
        if differs and not known or not differs and len(case) == 1 and known:
            unexpected.append(f"{' + '.join(case)}\n  reference: {theirs}\n  hopwright: {our}")
    checks.that(f"{len(cases)} configurations, {differing} known differences: unexpected ones", not unexpected, "\n".join(unexpected) or "none")


if __name__ == "__main__":
    sys.exit(main())
