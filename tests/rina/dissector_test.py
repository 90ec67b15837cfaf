#!/usr/bin/env python3
"""The dissector in Debian's tshark, and `hopwright rina capture`, on PDUs of each syntax and on messages as rlite writes them.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from efcp import CONGESTION, MANAGEMENT, RINA, Efcp, Irati, Protected
from lab.cases import carry_out, case_options, choose
from lab.command import HOPWRIGHT, ROOT, Failed, LabError, run

RECORDED = ROOT / "crates/agents/rina/src/rlite/recorded.txt"


def rlite(kind, data, flags=0):
    """PDU as rlite's struct rina_pci has it on x86."""
    numbers = [(1, 1), (kind, 1), (flags, 2), (0, 2), (64, 2), (9, 4), (17, 4), (18, 4), (5, 2), (6, 2), (28 + len(data), 2), (3, 2)]
    return Raw(b"".join(number.to_bytes(length, "little") for number, length in numbers) + data)


def frames():
    """Frames, and what tshark is to say about them."""
    ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=RINA)
    header = dict(dst=1, src=2, qos_id=3, dst_cep=4, src_cep=5, sequence=6)
    wanted = {f"efcp.{name}": str(value) for name, value in header.items()}
    data = Raw(b"\xc0\xff\xee" * 10)
    for name, layer in ("checksum", Efcp), ("irati", Irati):
        yield ether / layer(**header, flags=CONGESTION) / data, {
            **wanted, "efcp.syntax": name, "efcp.type_name": "DATA", "efcp.flags.congestion": True, "efcp.data": "c0ffee" * 10}
    yield ether / Protected(ttl=9) / Irati(**header) / data, {**wanted, "efcp.syntax": "irati", "efcp.protection.ttl": "9"}
    tagged = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / Dot1Q(vlan=7, type=RINA)
    yield tagged / Efcp(**header) / data, wanted
    yield ether / rlite(0x80, b"data", flags=0x80), {
        "efcp.syntax": "rlite", "efcp.dst": "17", "efcp.src": "18", "efcp.sequence": "9", "efcp.dst_cep": "5", "efcp.src_cep": "6",
        "efcp.qos_id": "3", "efcp.flags.run": True, "efcp.ttl": "64", "efcp.data": "64617461"}
    # Layer management between neighbours: a number, a tag, a message.
    keepalive = bytes.fromhex("1008 1807 2a 09") + b"keepalive" + bytes.fromhex("32 0f") + b"/mgmt/keepalive"
    protected = bytes([1]) + (77).to_bytes(8, "big") + bytes(range(16)) + keepalive
    yield ether / Efcp(type=MANAGEMENT) / Raw(protected), {
        "efcp.type_name": "MANAGEMENT", "cdap.protected": True, "cdap.number": "77", "cdap.operation": "M_READ", "cdap.invoke_id": "7",
        "cdap.obj_class": "keepalive", "cdap.obj_name": "/mgmt/keepalive"}
    for line in RECORDED.read_text().splitlines():
        name, bytes_of = line.split(" ", 1)
        if name in ("connect", "start_r", "lower_flows", "delete"):
            yield ether / rlite(0x40, bytes.fromhex(bytes_of)), {
                "connect": {"cdap.operation": "M_CONNECT", "cdap.abs_syntax": "73", "cdap.src_ap_name": "n.2", "cdap.dest_ap_name": "n.1"},
                "start_r": {"cdap.operation": "M_START_R", "cdap.obj_name": "/mgmt/enrollment", "cdap.version": "1", "cdap.result": "0"},
                "lower_flows": {"cdap.operation": "M_CREATE", "cdap.obj_class": "lfdb_entries"},
                "delete": {"cdap.operation": "M_WRITE", "cdap.obj_name": "/a_data"}}[name]


def flat(tree):
    """Fields of a packet, wherever they are."""
    for name, value in tree.items():
        yield name, value
        if isinstance(value, dict):
            yield from flat(value)


def same(found, wanted):
    if isinstance(wanted, bool):
        return found in ("1", "True", True)
    return found == wanted or found.replace(":", "") == wanted


def main():
    choose(case_options(__doc__).parse_args(), ["dissector"])
    return carry_out("RINA dissector", dissect)


def dissect(checks):
    if not shutil.which("tshark"):
        raise LabError("tshark is missing: setup.sh installs it")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rina.lua").write_text(run(HOPWRIGHT, "rina", "dissector"))
        packets = list(frames())
        wrpcap(str(folder / "rina.pcap"), [frame for frame, _ in packets])
        done = subprocess.run(["tshark", "-X", f"lua_script:{folder}/rina.lua", "-r", folder / "rina.pcap", "-T", "json"],
                              capture_output=True, text=True, timeout=120)
        if done.returncode or "rina.lua:" in done.stderr:
            raise Failed(done.stderr)
        wrong = []
        for number, ((_, wanted), packet) in enumerate(zip(packets, json.loads(done.stdout), strict=True), 1):
            found = dict(flat(packet["_source"]["layers"]))
            wrong += [f"packet {number}: {field} is {found.get(field)}, not {value}" for field, value in wanted.items()
                      if field not in found or not same(found[field], value)]
        checks.that(f"tshark shows {len(packets)} packets", not wrong, "\n".join(wrong))
        wrong = []
        lines = run(HOPWRIGHT, "rina", "capture", folder / "rina.pcap").splitlines()
        for number, ((_, wanted), line) in enumerate(zip(packets, lines, strict=True), 1):
            wrong += [f"line {number}: {wanted[field]} is not in {line}" for field in ("efcp.syntax", "cdap.obj_name")
                      if field in wanted and wanted[field] not in line and wanted[field] != "/a_data"]
        checks.that("`hopwright rina capture` shows them", not wrong, "\n".join(wrong))


if __name__ == "__main__":
    sys.exit(main())
