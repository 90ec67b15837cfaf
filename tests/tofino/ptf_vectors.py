#!/usr/bin/env python3
"""Writes the PTF tests of scion-p4's tofino-crypto as programs and packet tests.

    ptf_vectors.py CHECKOUT FOLDER

Their programs run in pipes of one switch, which the files name `pipe0` and so on: each is preprocessed, its names get a prefix, and
one `Switch` takes all pipelines. Their tests and controllers run as they are: this script stands for the client of BfRuntime
and for PTF, and writes what they ask for as `add`, `packet` and `expect`. Ports of all pipes but the last are loopback ports.
"""

import importlib
import logging
import pathlib
import re
import subprocess
import sys
import types

PROGRAMS = {
    "aes_1pipe": (["aes_1pipe", "aes_1pipe_test"], "test_aes"),
    "aes_2pipes": (["aes_pipe0", "aes_pipe1", "aes_test"], "test_aes"),
    "cmac_1pipe": (["cmac_1pipe", "cmac_1pipe_test"], "test_cmac"),
    "cmac_2pipes": (["cmac_pipe0", "cmac_pipe1", "cmac_test"], "test_cmac"),
}
DECLARED = re.compile(
    r"^\s*(?:parser|control|header|struct|header_union|type\s+\S+|typedef\s+\S+|enum(?:\s+bit\s*<[^>]*>)?|const\s+\S+)\s+(\w+)",
    re.M,
)
PIPELINE = re.compile(r"\bPipeline\s*\([^;]*\)\s*(\w+)\s*;")


class Program:
    """A program of one pipe."""

    def __init__(self, source: pathlib.Path, prefix: str):
        text = re.sub(r"^\s*#include\s*<(core|tna|t2na)\.p4>", "", source.read_text(), flags=re.M)
        command = ["cpp", "-P", "-undef", "-nostdinc", "-D__TARGET_TOFINO__=2", "-I", str(source.parent), "-"]
        # `a ## .b` is no token in C; cpp says so, and writes both.
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout
        text = re.sub(r"\bSwitch\s*\([^;]*\)\s*main\s*;", "", text)
        names = set(DECLARED.findall(text)) | set(PIPELINE.findall(text))
        self.text = re.sub(r"\b\w+\b", lambda m: prefix + m[0] if m[0] in names else m[0], text)
        self.pipeline = PIPELINE.search(self.text)[1]
        self.prefix = prefix
        # Tables with their controls.
        self.tables = {}
        control = None
        for kind, name in re.findall(r"\b(control|parser|table)\s+(\w+)", self.text):
            if kind == "table":
                self.tables[name] = control
            else:
                control = name


class Recorder:
    """The entries of the tables, and a packet test as it is written."""

    def __init__(self, programs):
        self.programs = programs
        self.entries = {}
        self.lines = []
        self.stale = False

    def set(self, where, key, action):
        if self.entries.get((where, key), action) != action:
            self.stale = True  # packet tests do not modify entries
        elif (where, key) not in self.entries and not self.stale:
            self.lines.append(f"add {where} {key} {action}")
        self.entries[(where, key)] = action

    def delete(self, where):
        kept = {k: v for k, v in self.entries.items() if k[0] != where}
        self.stale |= len(kept) != len(self.entries)
        self.entries = kept

    def write(self, line):
        if self.stale:
            self.lines.append("remove all")
            self.lines += [f"add {where} {key} {action}" for (where, key), action in self.entries.items()]
            self.stale = False
        self.lines.append(line)


class Table:
    def __init__(self, recorder, program, name):
        control = program.tables[name]
        self.recorder, self.program, self.where = recorder, program, f"{control}.{name}"
        self.control = control

    def make_key(self, fields):
        return " ".join(f"{f.name}:{number(f.value)}" for f in fields)

    def make_data(self, fields, action):
        args = ",".join(f"{f.name}:{number(f.value)}" for f in fields)
        return f"{self.control}.{action.rsplit('.')[-1]}({args})"

    def entry_add(self, target, keys, data):
        for key, value in zip(keys, data):
            self.recorder.set(self.where, key, value)

    entry_add_or_mod = entry_add

    def entry_del(self, target, keys=None):
        self.recorder.delete(self.where)


def number(value):
    return hex(int.from_bytes(value, "big") if isinstance(value, (bytes, bytearray)) else value)


class Mask:
    """A packet with fields of any value."""

    def __init__(self, packet):
        self.packet, self.free = packet, []

    def set_do_not_care_scapy(self, layer, field):
        self.free.append((layer, field))

    def pattern(self):
        digits = list(bytes(self.packet).hex())
        for layer, field in self.free:
            versions = []
            for byte in (0x00, 0xFF):
                packet = self.packet.copy()
                width = packet[layer].get_field(field).sz
                packet[layer].setfieldval(field, int.from_bytes(bytes([byte] * width), "big"))
                versions.append(bytes(packet).hex())
            digits = ["*" if a != b else d for d, a, b in zip(digits, *versions)]
        return "".join(digits)


def stand_ins(recorder):
    """The modules that tests and controllers import."""
    by_name = {p.pipeline.removeprefix(p.prefix): p for p in recorder.programs}

    def program_of(name):
        found = recorder.files.get(name)
        return found if found else by_name[name]

    class Info:
        def __init__(self, name):
            self.program, self.name = program_of(name), name

        def p4_name_get(self):
            return self.name

        def table_get(self, name):
            return Table(recorder, self.program, name.rsplit(".")[-1])

    class Interface:
        def bfrt_info_get(self, name):
            return Info(name)

    class BaseTest:
        def setUp(self):
            pass

        def tearDown(self):
            pass

    class BfRuntimeTest(BaseTest):
        def setUp(self, client_id, p4_name):
            self.interface = Interface()

    def module(name, **members):
        sys.modules[name] = made = types.ModuleType(name)
        made.__dict__.update(members)

    tuple_of = lambda name, value=None, **_: types.SimpleNamespace(name=name, value=value)
    gc = dict(KeyTuple=tuple_of, DataTuple=tuple_of, Target=lambda **_: None, ClientInterface=Interface, _BfRtInfo=Info)
    module("bfrt_grpc")
    module("bfrt_grpc.client", **gc)
    sys.modules["bfrt_grpc"].client = sys.modules["bfrt_grpc.client"]
    module("ptf", dataplane_instance=types.SimpleNamespace(flush=lambda: None))
    module("ptf.mask", Mask=Mask)
    module("bfruntime_client_base_tests", BaseTest=BaseTest, BfRuntimeTest=BfRuntimeTest)

    def verify_packet(test, packet, port):
        pattern = packet.pattern() if isinstance(packet, Mask) else bytes(packet).hex()
        recorder.write(f"expect {port} {pattern} $")

    module("p4testutils")
    module(
        "p4testutils.misc_utils",
        get_logger=lambda: logging.getLogger("ptf"),
        send_packet=lambda test, port, packet: recorder.write(f"packet {port} {bytes(packet).hex()}"),
        verify_packet=verify_packet,
        verify_no_packet=lambda test, packet, port: recorder.write("no_packet"),
    )


def main(checkout, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (files, test) in PROGRAMS.items():
        root = checkout / "tofino-crypto" / name
        programs = [Program(root / "p4src" / f"{file}.p4", f"pipe{i}_") for i, file in enumerate(files)]
        pipelines = ", ".join(p.pipeline for p in programs)
        parts = ["#include <core.p4>\n#include <t2na.p4>\n", *(p.text for p in programs), f"Switch({pipelines}) main;\n"]
        (folder / f"{name}.p4").write_text("\n".join(parts))

        recorder = Recorder(programs)
        recorder.files = dict(zip(files, programs))
        for pipe in range(len(files) - 1):
            for port in range(pipe << 7 | 8, pipe << 7 | 72):
                recorder.lines.append(f"register_write loopback {port} {0x8000 | port:#x}")
        stand_ins(recorder)
        for known in [m for m in sys.modules if m == test or m.split(".")[0] == "controller"]:
            del sys.modules[known]
        sys.path[:0] = [str(root), str(root / "ptf-tests")]
        case = next(c for n, c in vars(importlib.import_module(test)).items() if n.endswith("Test") and "runTest" in vars(c))
        del sys.path[:2]
        run = case()
        run.setUp()
        run.runTest()
        (folder / f"{name}.stf").write_text("\n".join(recorder.lines) + "\n")
        print(f"{name}: {sum(l.startswith('packet') for l in recorder.lines)} packets, {len(recorder.entries)} entries")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
