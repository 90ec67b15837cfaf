#!/usr/bin/env python3
"""Writes the captures of scion-p4's tofino-scion-br as programs and packet tests.

    captures.py CHECKOUT FOLDER

A capture has the packets of one direction on both sides of a border router of the reference. The border router's program runs in
pipe 2 of a switch, and the program that computes AES-CMAC in pipe 0, or 0 and 1, as in `with_cmac_1pipe.conf` and `with_cmac_2pipe.conf`.
Their controller configures both, with the captures' key. What comes out is compared where their `test.py` compares it: everything but the
IP header's type of service, identification, fragments, TTL and checksum, and a UDP checksum of zero.
"""

import base64
import hashlib
import importlib
import json
import pathlib
import struct
import sys
import tempfile

from stand_ins import Program, Recorder, forget, loopback, stand_ins, switch_of

BORDER_ROUTER = 2
LAYOUTS = {"1pipe": ["cmac_1pipe"], "2pipes": ["cmac_pipe0", "cmac_pipe1"]}
CONFIG = "test_traffic/config/switch_config_2_sim.json"
# By which ports of the configuration packets come and go: AS 1 is inside, 6 and 7 are neighbours, 2 is behind another router.
PORTS = {1: 137, 2: 137, 6: 136, 7: 138}


def of_border_router(port):
    """The configuration's port in the border router's pipe."""
    return BORDER_ROUTER << 7 | port & 0x7F


def moved(config):
    """The configuration with ports of the border router's pipe."""
    if isinstance(config, dict):
        ported = lambda name, value: of_border_router(value) if name.lower().endswith("portid") else moved(value)
        return {name: ported(name, value) for name, value in config.items()}
    return [moved(entry) for entry in config] if isinstance(config, list) else config


def packets(capture):
    """The frames of a capture, of which only whole ones count."""
    data = capture.read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at < len(data):
        length, original = struct.unpack(order + "8xII", data[at : at + 16])
        if length == original:
            yield data[at + 16 : at + 16 + length]
        at += 16 + length


def is_scion(frame):
    """UDP over IPv4, and no BFD: its sessions have packets of their own."""
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[14 + 20 + 8 + 4] != 203


def pattern(frame):
    """What `test.py` compares of a frame."""
    digits = list(frame.hex())
    free = [(15, 16), (18, 23), (24, 26), (40, 42)]
    for first, end in free:
        digits[2 * first : 2 * end] = "*" * (2 * (end - first))
    return "".join(digits)


def configure(checkout, recorder, files):
    """Runs their controllers."""
    interface = stand_ins(recorder)
    key = base64.b64decode((checkout / "tofino-scion-br/test_traffic/master0.key").read_text())
    key = hashlib.pbkdf2_hmac("sha256", key, b"Derive OF Key", 1000, 16)
    forget("controller", "tofino", "load_config")
    cmac_root = checkout / "tofino-crypto" / ("cmac_1pipe" if len(files) == 1 else "cmac_2pipes")
    sys.path[:0] = [str(cmac_root), str(checkout / "tofino-scion-br/controller")]
    cmac, load_config = importlib.import_module("controller.cmac"), importlib.import_module("load_config")
    del sys.path[:2]
    if len(files) == 1:
        pipes = [cmac.CmacPipe(interface=interface, pipe=0)]
    else:
        pipes = [cmac.CmacFirstPipe(interface=interface, pipe=0, next_pipe=1), cmac.CmacSecondPipe(interface, pipe=1)]
    for pipe in pipes:
        pipe.program_tables()
        pipe.set_key(key)
    config = moved(json.loads((checkout / "tofino-scion-br" / CONFIG).read_text()))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        load_config.load_configuration(file.name, interface, None, "scion", [BORDER_ROUTER], [0])
    # As the BFD handler does with -t: all sessions are up.
    sessions = load_config.TblBfdRemote(None, interface.bfrt_info_get("scion"))
    for link in config["forwardRemote"] + config["forwardLocal"]:
        sessions.entry_add_NoAction(link["egressInterface"])


def main(checkout, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for layout, files in LAYOUTS.items():
        cmac_root = checkout / "tofino-crypto" / f"cmac_{layout}" / "p4src"
        programs = [Program(cmac_root / f"{file}.p4", f"pipe{i}_") for i, file in enumerate(files)]
        programs.append(Program(checkout / "tofino-scion-br/p4src/scion.p4", f"pipe{BORDER_ROUTER}_"))
        recorder = Recorder(programs)
        recorder.files = dict(zip([*files, "scion"], programs))
        pipelines = [p.pipeline for p in programs]
        (folder / f"captures_{layout}.p4").write_text(switch_of(programs, [pipelines[0], pipelines[-2], pipelines[-1]]))
        for pipe in range(BORDER_ROUTER):
            loopback(recorder, pipe)
        configure(checkout, recorder, files)
        for direction in sorted((checkout / "tofino-scion-br/test_traffic").glob("AS*_to_AS*")):
            source, sink = (int(name.removeprefix("AS")) for name in direction.name.split("_to_"))
            # AS 2 is behind another border router of AS 1, whose captures are of the network inside AS 1.
            before, after = (direction / f"AS_{1 if end == 2 else end}.pcap" for end in (source, sink))
            count = 0
            for sent, received in zip(filter(is_scion, packets(before)), filter(is_scion, packets(after)), strict=True):
                recorder.write(f"packet {of_border_router(PORTS[source])} {sent.hex()}")
                recorder.write(f"expect {of_border_router(PORTS[sink])} {pattern(received)} $")
                count += 1
            print(f"{layout}: {direction.name}: {count} packets")
        (folder / f"captures_{layout}.stf").write_text(recorder.text())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
