"""What scion-p4's tests and controllers import, so that they run as they are and write packet tests.

`Program` makes a program a pipe of one switch. A `Recorder` has the entries that controllers add by BfRuntime, and the packets that
tests send and expect. `stand_ins` puts the modules of BfRuntime's client and of PTF into the interpreter."""

import ipaddress
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
import types

DECLARED = re.compile(
    r"^\s*(?:parser|control|header|struct|header_union|type\s+\S+|typedef\s+\S+|enum(?:\s+bit\s*<[^>]*>)?|const\s+\S+)\s+(\w+)",
    re.M,
)
PIPELINE = re.compile(r"\bPipeline\s*\([^;]*\)\s*(\w+)\s*;")


class Program:
    """A program of one pipe."""

    def __init__(self, source: pathlib.Path, prefix: str):
        with tempfile.TemporaryDirectory() as empty:
            # The switch includes these once.
            for name in ("core.p4", "tna.p4", "t2na.p4"):
                (pathlib.Path(empty) / name).touch()
            command = ["cpp", "-P", "-undef", "-nostdinc", "-D__TARGET_TOFINO__=2", "-I", str(source.parent), "-isystem", empty, str(source)]
            # `a ## .b` is no token in C; cpp says so, and writes both.
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        text = re.sub(r"\bSwitch\s*\([^;]*\)\s*main\s*;", "", text)
        names = set(DECLARED.findall(text)) | set(PIPELINE.findall(text))
        self.text = re.sub(r"\b\w+\b", lambda m: prefix + m[0] if m[0] in names else m[0], text)
        self.pipeline = PIPELINE.search(self.text)[1]
        self.prefix = prefix
        # Tables and action selectors, with their controls.
        self.tables = {}
        # Action selectors by their action profiles.
        self.selectors = {}
        control = None
        objects = r"\b(?:(control|parser|table)\s+(\w+)|ActionSelector\s*\(\s*(?:action_profile\s*=\s*)?(\w+)[^;]*\)\s*(\w+)\s*;)"
        for kind, name, profile, selector in re.findall(objects, self.text):
            if selector:
                self.tables[selector] = self.tables[profile] = control
                self.selectors[profile] = selector
            elif kind == "table":
                self.tables[name] = control
            else:
                control = name


def switch_of(programs, pipelines):
    """The text of one switch with a program in each pipe."""
    return "\n".join(["#include <core.p4>\n#include <t2na.p4>\n", *(p.text for p in programs), f"Switch({', '.join(pipelines)}) main;\n"])


class Recorder:
    """The entries of the tables, and a packet test as it is written."""

    def __init__(self, programs):
        self.programs = programs
        self.files = {}
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

    def text(self):
        return "\n".join(self.lines) + "\n"


class Table:
    """A table, the members of an action profile, or the groups of an action selector."""

    def __init__(self, recorder, program, name):
        self.recorder, self.program = recorder, program
        self.control = program.tables[name]
        self.where = f"{self.control}.{program.selectors.get(name, name)}"

    def make_key(self, fields):
        if fields[0].name in ("$ACTION_MEMBER_ID", "$SELECTOR_GROUP_ID"):
            return fields[0].value
        pattern = lambda f: hex(whole(f.value)) if f.mask is None else ternary(whole(f.value), whole(f.mask))
        priority = "1 " if any(f.mask is not None for f in fields) else ""
        return priority + " ".join(f"{f.name}:{pattern(f)}" for f in fields)

    def make_data(self, fields, action=None):
        if action is None:
            return {f.name: f for f in fields}
        args = ",".join(f"{f.name}:{hex(whole(f.value))}" for f in fields)
        action = action.rsplit(".")[-1]
        return f"{action if action == 'NoAction' else f'{self.control}.{action}'}({args})"

    def entry_add(self, target, keys, data):
        for key, value in zip(keys, data):
            if isinstance(key, int):
                self.add_to_selector(key, value)
            elif isinstance(value, dict):
                self.recorder.set(self.where, key, f"-> group {value['$SELECTOR_GROUP_ID'].value}")
            else:
                self.recorder.set(self.where, key, value)

    entry_add_or_mod = entry_add

    def add_to_selector(self, number, data):
        if isinstance(data, dict):
            members = " ".join(map(str, data["$ACTION_MEMBER_ID"].list))
            self.recorder.write(f"group_add {self.where} {number} {members}")
        else:
            self.recorder.write(f"member_add {self.where} {number} {data}")

    def entry_del(self, target, keys=None):
        self.recorder.delete(self.where)


def whole(value):
    return int.from_bytes(value, "big") if isinstance(value, (bytes, bytearray)) else value


def ternary(value, mask):
    bits = max(value.bit_length(), mask.bit_length(), 1)
    return "0b" + "".join(str(value >> at & 1) if mask >> at & 1 else "*" for at in reversed(range(bits)))


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
    """The modules that tests and controllers import. Returns the client's interface to the switch."""
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

    def tuple_of(name, value=None, mask=None, int_arr_val=None, **_):
        return types.SimpleNamespace(name=name, value=value, mask=mask, list=int_arr_val)

    gc = dict(
        KeyTuple=tuple_of,
        DataTuple=tuple_of,
        Target=lambda *_, **__: None,
        ClientInterface=Interface,
        _BfRtInfo=Info,
        mac_to_bytes=lambda text: bytes.fromhex(text.replace(":", "")),
        ipv4_to_bytes=lambda text: ipaddress.IPv4Address(text).packed,
        ipv6_to_bytes=lambda text: ipaddress.IPv6Address(text).packed,
        bytes_to_int=whole,
    )
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
    return Interface()


def loopback(recorder, pipe):
    """Makes the ports of a pipe loopback ports."""
    for port in range(pipe << 7 | 8, pipe << 7 | 72):
        recorder.lines.append(f"register_write loopback {port} {0x8000 | port:#x}")


def forget(*names):
    """Lets modules of these names be imported from elsewhere."""
    for known in [m for m in sys.modules if m.split(".")[0] in names]:
        del sys.modules[known]
