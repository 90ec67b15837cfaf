"""Public programs with random entries and packets: all engines do the same."""

import hashlib
import json
import random
import re
import struct
import tempfile
from pathlib import Path

import phrases
import sources
from suite import LeftOut, Suite, one
from suites import bf_p4c, pins

PACKETS = 200
ENTRIES = 6
# Ethernet with these types and what lies behind leads most parsers further.
HEADS = ("0800 4500 0040 0001 0000 4011 0000 0a000001 0a000002 1234 5678 0020 0000", "0800 4500 0040 0001 0000 4006 0000 0a000001 0a000002 1234 0050",
         "86dd 6000 0000 0020 11 40" + "20" * 32, "8100 0001 0800 4500 0040", "8847 0001 01ff 4500", "0806 0001 0800 0604 0001")


CONTENT = f"""Each runs with up to {ENTRIES} random entries in each table and {PACKETS} random packets, the same in every run, with each engine. It passes if
    engines agree on the packets that leave, by content and port, and on faults. Programs that do not compile count for other suites, and
    those that use random numbers, meters or the time are left out."""


class Engines(Suite):
    """Programs, each with random entries and packets."""

    def programs(self, checkout):
        """(name, program, options of the compiler) of those that may run."""
        raise NotImplementedError

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for name, program, options in self.programs(checkout):
            if re.search(r"\brandom\b|\bRandom\b|timestamp|_tstamp|\b[Mm]eter|\bLpf|\bWred", sources.text(program)):
                left_out["that use random numbers, meters or the time"] = left_out.get("that use random numbers, meters or the time", 0) + 1
            else:
                jobs.append(one(name, lambda p=program, o=options: self.agree([p, *o])))
        return jobs, left_out

    def agree(self, program) -> str | None:
        info = self.hopwright("p4info", *program, "--format", "json")
        if info.code != 0:
            return phrases.reason(info) if info.panicked() else LeftOut("that do not compile")
        seed = random.Random(hashlib.sha256(program[0].name.encode()).digest())
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            folder = Path(folder)
            (folder / "in.pcap").write_bytes(capture(packets(seed)))
            lines = self.accepted(program, folder, entries(json.loads(info.out), seed))
            if lines is None:
                return LeftOut("that do not run")
            (folder / "entries.stf").write_text("\n".join(lines) + "\n")
            results = {engine: self.run_engine(program, folder, engine) for engine in self.hopwright.engines()}
        (_, wanted), *others = results.items()
        for engine, found in others:
            if found != wanted:
                return f"{engine}: {found}" if isinstance(found, str) else difference(wanted, found)
        return wanted if isinstance(wanted, str) else None

    def accepted(self, program, folder, lines):
        """The entries that the switch takes: one may repeat another, or a table may take none. None if the program does not run."""
        while True:
            (folder / "entries.stf").write_text("\n".join([*lines, "packet 0 00"]) + "\n")
            ran = self.hopwright("stf", *program, folder / "entries.stf", "--engine", "interp")
            wrong = re.search(r"entries\.stf:(\d+): ", ran.err)
            if not wrong or int(wrong[1]) > len(lines):
                return None if ran.code == 1 and "error[" in ran.err else lines
            del lines[int(wrong[1]) - 1]

    def run_engine(self, program, folder, engine):
        """What is sent, or why the engine does not run the program."""
        out = folder / f"{engine}.pcap"
        ran = self.hopwright("replay", *program, "--in", folder / "in.pcap", "--out", out, "--entries", folder / "entries.stf", "--port", 1,
                             "--engine", engine, "--json")
        if ran.code != 0:
            return phrases.reason(ran)
        packets = [json.loads(line) for line in ran.out.splitlines()]
        fates = [(p["packet"], bool(p["fault"]), [(s["port"], s["length"]) for s in p["sent"]]) for p in packets if "sent" in p and "packet" in p]
        return fates, out.read_bytes() if out.exists() else b""


def difference(wanted, found):
    for a, b in zip(wanted[0], found[0]):
        if a[1] != b[1]:
            return "engines disagree about a fault"
        if a[2] != b[2]:
            return "engines send other packets, or to other ports"
    return "engines send packets with other contents"


def packets(seed):
    for _ in range(PACKETS):
        body = seed.randbytes(seed.choice((0, 6, 20, 60, 120, 200)))
        head = b""
        if seed.random() < 0.7:
            head = seed.choice((b"\xff" * 6, b"\x00\xaa\xbb\xcc\xdd\xee", seed.randbytes(6))) + seed.randbytes(6)
            head += bytes.fromhex(seed.choice(HEADS).replace(" ", ""))
        yield head + body or b"\x00"


def capture(frames) -> bytes:
    """A pcap file."""
    file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for at, frame in enumerate(frames):
        file += struct.pack("<IIII", at, 0, len(frame), len(frame)) + frame
    return file


def entries(info, seed) -> list[str]:
    """Random `add` lines for every table."""
    actions, lines = {action["preamble"]["id"]: action for action in info.get("actions", [])}, []
    for table in info.get("tables", []):
        fields = table.get("matchFields", [])
        usable = [ref["id"] for ref in table.get("actionRefs", []) if ref.get("scope") != "DEFAULT_ONLY"]
        if not fields or not usable or table.get("isConstTable"):
            continue
        prioritised = any(f.get("matchType") in ("TERNARY", "RANGE", "OPTIONAL") for f in fields)
        for priority in range(1, ENTRIES + 1):
            action = actions[seed.choice(usable)]
            keys = " ".join(f"{quoted(f['name'])}:{key(f, seed)}" for f in fields)
            arguments = ", ".join(f"{p['name']}:{hex(value(p.get('bitwidth', 1), seed))}" for p in action.get("params", []))
            first = f"{priority} " if prioritised else ""
            lines.append(f"add {table['preamble']['name']} {first}{keys} {action['preamble']['name']}({arguments})")
    return lines


def quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.$\[\]]+", name) else f'"{name}"'


def key(field, seed) -> str:
    width = field.get("bitwidth", 1)
    number = value(width, seed)
    kind = field.get("matchType")
    if kind == "LPM":
        return f"{hex(number)}/{seed.randint(0, width)}"
    if kind == "TERNARY":
        mask = seed.choice((0, (1 << width) - 1, seed.getrandbits(width)))
        return "0b" + "".join(str(number >> at & 1) if mask >> at & 1 else "*" for at in reversed(range(width)))
    if kind == "RANGE":
        low, high = sorted((number, value(width, seed)))
        return f"{hex(low)}..{hex(high)}"
    return hex(number)


def value(width: int, seed) -> int:
    """A number of this width, often a small one or one that packets have."""
    number = seed.choice((0, 1, 2, 3, 0x0800, 0x0A000001, 0x0A000002, 0x00AABBCCDDEE, 0xFFFFFFFFFFFF, seed.getrandbits(width)))
    return number & (1 << width) - 1


class P4c(Engines):
    name = "engines-p4c"
    title = "Engines agree: programs of p4c"
    repository = "p4lang/p4c"
    counts = f"""Programs for v1model, PSA and PNA of p4c's testdata/p4_16_samples. {CONTENT}"""

    def found_in(self, checkout):
        return (checkout / "testdata/p4_16_samples").is_dir() and (checkout / "backends/p4test").is_dir()

    def programs(self, checkout):
        folder = checkout / "testdata/p4_16_samples"
        for program in sorted(folder.rglob("*.p4")):
            if sources.is_program(program) and sources.architecture(program).removeprefix("dpdk/") in ("v1model", "psa", "pna"):
                yield str(program.relative_to(folder)), program, ()


class Tofino(Engines):
    name = "engines-tofino"
    title = "Engines agree: programs of bf-p4c"
    repository = "p4lang/bf-p4c"
    counts = f"""Programs for TNA and T2NA of bf-p4c's tests. {CONTENT}"""

    def found_in(self, checkout):
        return (checkout / "p4-tests/p4_16").is_dir()

    def programs(self, checkout):
        return bf_p4c.programs(checkout)


class Pins(Engines):
    name = "engines-pins"
    title = "Engines agree: programs of PINS"
    repository = "sonic-net/sonic-pins"
    counts = f"""SAI's pipelines for BMv2 and the programs of p4_symbolic. {CONTENT}"""

    def found_in(self, checkout):
        return (checkout / pins.SAI).is_dir()

    def programs(self, checkout):
        for folder, options in ((pins.SAI, ("-DPLATFORM_BMV2",)), ("p4_symbolic/testdata", ())):
            for program in sorted((checkout / folder).rglob("*.p4")):
                if sources.is_program(program) and "testdata" not in program.relative_to(checkout / folder).parts:
                    yield str(program.relative_to(checkout)), program, options


SUITES = [P4c, Tofino, Pins]
