"""Checks the images of boards that `hopwright rtl --board` writes.

Pins, standards and clocks are those of litex-boards; verilator and yosys find nothing in the whole image; and a simulated board is a peer of
the kernel and of LiteX's own Etherbone client, and routes between two network namespaces with the entries that `hopwright run --device`
has written. The last needs root. HOPWRIGHT is the command to use.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from engines import BUILD, HERE, run
from lab.command import HOPWRIGHT, ROOT

PROGRAM = ROOT / "examples/l3.p4"
# The address of the control.
ADDRESS = "192.168.1.50"
# A board's name, the module of litex_boards.platforms, the arguments of its platform, and the name of its clock.
BOARDS = {
    "colorlight-i9": ("colorlight_i5", {"board": "i9", "revision": "7.2"}, "clk25"),
    "versa-ecp5": ("lattice_versa_ecp5", {"device": "LFE5UM5G"}, "clk100"),
}
RGMII = {"rx_clk": ("eth_clocks", "rx"), "tx_clk": ("eth_clocks", "tx"),
         **{name: ("eth", name) for name in ("rx_ctl", "rx_data", "tx_ctl", "tx_data")}}
SPACES = ("hopwright-rtl-0", "hopwright-rtl-1")


def expect(true, what):
    if not true:
        raise RuntimeError(what)


def constraints(file):
    """Sites and I/O standards by port, and frequencies."""
    text = file.read_text()
    sites = dict(re.findall(r'LOCATE COMP "([^"]+)" SITE "(\w+)";', text))
    standards = dict(re.findall(r'IOBUF PORT "([^"]+)" IO_TYPE=(\w+)', text))
    return sites, standards, dict(re.findall(r'FREQUENCY PORT "([^"]+)" ([\d.]+) MHZ;', text))


def same_pins(name, folder):
    """The constraints are those of the platform in litex-boards."""
    import importlib

    from litex.build.generic_platform import IOStandard, Pins, Subsignal

    module, arguments, clock = BOARDS[name]
    platform = importlib.import_module(f"litex_boards.platforms.{module}").Platform(**arguments)

    def signal(resource, number, part=None):
        (found,) = [r for r in platform.constraint_manager.available if r[:2] == (resource, number)]
        parts, standard = found[2:], None
        if part is not None:
            standard = next((p.name for p in parts if isinstance(p, IOStandard)), None)
            (parts,) = [p.constraints for p in parts if isinstance(p, Subsignal) and p.name == part]
        (pins,) = [p.identifiers for p in parts if isinstance(p, Pins)]
        return pins, next((p.name for p in parts if isinstance(p, IOStandard)), standard)

    wanted = {"clock": signal(clock, 0)}
    for port in range(2):
        for ours, (resource, part) in RGMII.items():
            wanted[f"eth{port}_{ours}"] = signal(resource, port, part)
        reset = signal("eth", port, "rst_n")
        wanted["phy_reset_n" if name == "colorlight-i9" else f"eth{port}_rst_n"] = reset
    if name == "colorlight-i9":
        wanted["led"] = signal("user_led_n", 0)
    sites, standards, clocks = constraints(folder / "l3.lpf")
    found = {}
    for port in sites:
        base = re.sub(r"\[\d+\]", "", port)
        found.setdefault(base, ([], standards[port]))[0].append(sites[port])
    expect(found == wanted, f"pins are {found}, not {wanted}")
    expect(float(clocks["clock"]) * platform.default_clk_period == 1000, f"clocks are {clocks}")
    makefile = (folder / "Makefile").read_text()
    family, size, rest = platform.device.split("-")
    options = {"LFE5U": "--", "LFE5UM5G": "--um5g-"}[family] + f"{size[:-1]}k --speed {rest[0]}"
    expect(options in makefile, f"no {options} in the makefile")


def check_image(folder):
    """Yosys reads the whole image with the chip's own cells."""
    from pyosys import libyosys

    files = " ".join(str(f) for f in [*pathlib.Path(folder).glob("*.sv"), *pathlib.Path(folder).glob("chip/*.sv")])
    design = libyosys.Design()
    for command in ("read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v", f"read_verilog -sv {files}", "hierarchy -check -top l3_top",
                    "proc -norom", "check -assert", "select -assert-none t:$dlatch t:$_DLATCH_*", "flatten", "check -assert"):
        libyosys.run_pass(command, design)


def client():
    """LiteX's client for Etherbone with a simulated board; runs in a network namespace."""
    from litex.tools.remote.comm_udp import CommUDP

    folder = BUILD / "board-colorlight-i9"
    design = json.loads((folder / "l3.json").read_text())
    board = CommUDP(server=ADDRESS, timeout=5)
    board.open()
    magic, version, low, high, fresh = board.read(0x3000, 5)
    expect(magic.to_bytes(4, "big") == b"HWRT" and version == design["version"], f"{magic:#x}, {version}")
    expect(f"{high:08x}{low:08x}" == design["hash"], f"hash {high:08x}{low:08x}")
    expect(fresh == 1, "the design is as it starts")
    board.write(0x3010, 0)
    expect(board.read(0x3010) == 0, "the driver has begun")
    expect(board.read(0x10000, 200)[:5] == [0, 0, 0, 0, 0], "nothing has been lost")
    board.close()


class Spaces:
    """Two network namespaces at the ports of a simulated board."""

    def __init__(self, program):
        for space in SPACES:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)
            run("ip", "netns", "add", space)
        taps = [f"hopwrtl{port}" for port in range(2)]
        # The board is in the first namespace; the second port's device moves to the other one.
        self.board = subprocess.Popen(["ip", "netns", "exec", SPACES[0], str(program), "--tap", f"0={taps[0]}", "--tap", f"1={taps[1]}"],
                                      stdin=subprocess.PIPE)
        self.wait(lambda: taps[1] in subprocess.run(["ip", "-n", SPACES[0], "link"], capture_output=True, text=True, check=True).stdout)
        run("ip", "-n", SPACES[0], "link", "set", taps[1], "netns", SPACES[1])
        for port, (space, tap) in enumerate(zip(SPACES, taps)):
            # Nothing but what the test sends.
            run("ip", "netns", "exec", space, "sysctl", "-qw", f"net.ipv6.conf.{tap}.disable_ipv6=1")
            other = 1 - port
            for command in (f"link set {tap} address 02:00:00:00:0{port}:01", f"addr add 10.{port}.0.1/24 dev {tap}", f"link set {tap} up",
                            f"neigh add 10.{port}.0.254 lladdr 02:00:00:00:0{port}:fe dev {tap}", f"route add 10.{other}.0.0/24 via 10.{port}.0.254"):
                run("ip", "-n", space, *command.split())
        run("ip", "-n", SPACES[0], "addr", "add", "192.168.1.1/24", "dev", taps[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.board.stdin.close()
        try:
            self.board.wait(30)
        finally:
            self.board.kill()
            for space in SPACES:
                subprocess.run(["ip", "netns", "del", space], check=False)
        expect(self.board.returncode == 0, f"the simulated board ended with {self.board.returncode}")

    @staticmethod
    def wait(done):
        end = time.monotonic() + 60
        while not done():
            expect(time.monotonic() < end, "a condition does not come")
            time.sleep(0.1)


def peers(folder):
    """The kernel, LiteX's client and our driver with a simulated board."""
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    subprocess.run(["make", "-s", "-C", folder, "simulator"], check=True, env=environment, stdout=subprocess.DEVNULL)
    entries = folder / "entries.stf"
    entries.write_text("".join(f"add routes hdr.ipv4.dst:0x0a0{port}0000/24 next_hop(port:{port}, src:02:00:00:00:0{port}:fe, "
                               f"dst:02:00:00:00:0{port}:01)\n" for port in range(2)))
    inside = ["ip", "netns", "exec", SPACES[0]]
    with Spaces(folder / "simulation/board") as spaces:
        run(*inside, "ping", "-c", 3, "-W", 30, ADDRESS)
        run(*inside, "ping", "-c", 1, "-s", 1401, "-W", 30, ADDRESS)
        run(*inside, sys.executable, __file__, "--client")
        driver = subprocess.Popen([*inside, str(HOPWRIGHT), "run", str(PROGRAM), "--board", "colorlight-i9", "--device", f"etherbone:{ADDRESS}",
                                   "--entries", str(entries), "--no-p4runtime"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            # From here on packets are routed, as the kernel's own answers show.
            lines = []
            while not (lines and "running" in lines[-1]):
                lines.append(driver.stdout.readline())
                expect(lines[-1], "the driver ended: " + "".join(lines))
            run(*inside, "ping", "-c", 5, "-W", 30, "10.1.0.1")
            run(*inside, "ping", "-c", 1, "-s", 1400, "-W", 30, "10.1.0.1")
        finally:
            driver.terminate()
            driver.wait(60)
        expect(spaces.board.poll() is None, "the simulated board has ended")


def seeds(folder):
    """A seed is that of later runs, and another one places the design again."""
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "SEED")}

    def make(*arguments):
        tools = ["YOSYS=touch l3.netlist.json; :", "NEXTPNR=touch l3.config; echo $(SEED) >> placed; :", "ECPPACK=touch l3.bit; :", "LOADER=:"]
        subprocess.run(["make", "-s", "-C", folder, *arguments, *tools], check=True, env=environment)

    for arguments in (["bitstream"], ["load"], ["bitstream", "SEED=2"], ["load"], ["bitstream", "SEED=1"]):
        make(*arguments)
    placed = (folder / "placed").read_text().split()
    expect(placed == ["1", "2", "1"], f"seeds {placed} have been placed")
    make("clean")


def job(name):
    folder = BUILD / f"board-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    run(HOPWRIGHT, "rtl", PROGRAM, "--board", name, "-o", folder)
    same_pins(name, folder)
    run("verilator", "--lint-only", "-Wall", "-Wno-PINCONNECTEMPTY", "-sv", "--top-module", "l3_board", "-y", folder, HERE / "waivers.vlt",
        folder / "l3_board.sv")
    run(sys.executable, __file__, "--check", folder)
    seeds(folder)


def main():
    if sys.argv[1:2] == ["--check"]:
        return check_image(sys.argv[2])
    if sys.argv[1:2] == ["--client"]:
        return client()
    BUILD.mkdir(exist_ok=True)
    failed = 0
    jobs = [(name, lambda name=name: job(name)) for name in BOARDS]
    if os.geteuid() == 0:
        jobs.append(("a simulated board and its peers", lambda: peers(BUILD / "board-colorlight-i9")))
    else:
        print("a simulated board and its peers: skipped, needs root")
    for label, work in jobs:
        begin = time.monotonic()
        try:
            work()
        except (RuntimeError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"{label}: FAILED\n{error}")
        else:
            print(f"{label}: {time.monotonic() - begin:.1f} s")
    print(f"boards: {len(jobs) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
