#!/usr/bin/env python3
"""freeRtr's own tests of RARE's data plane, with bf_switchd of Hopwright in the place of the SDE's.

    freertr.py FREERTR OPEN_P4STUDIO PROFILE TEST...

freeRtr's tester runs a test's routers, and for the data plane a virtual machine, which is this file here: it starts the switch with RARE's
program, compiled as c-PROFILE.sh has it, and RARE's controller bf_forwarder.py. The tester and all that it starts have a network namespace
of their own. Needs root, `java` of version 21 or later, and what tests/conformance/setup.sh installs, with yappi.
"""

import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "conformance"), str(HERE.parent / "conformance/suites")]
# Other folders become the current one, of this process and of those that it starts.
HOPWRIGHT = os.environ["HOPWRIGHT"] = os.path.abspath(os.environ.get("HOPWRIGHT", HERE.parents[1] / "target/release/hopwright"))
RARE = "misc/p4bf"
CPU_PORT = 64
SERVER = ("127.0.0.1", 50052)
LINK_UP = "'state','{}','1'"
PATIENCE = 120
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAME = 1 << 16


def image_file(freertr: Path, profile: str, folder: Path, modules: list[Path]) -> Path:
    """What freeRtr's tester knows of a data plane: the features of a profile as freeRtr lists them, and how it is started."""
    of_profile = lambda file: f"p4bf_{profile}.qcow2" in file.read_text()
    known = next(filter(of_profile, sorted((freertr / "cfg").glob("p4lang3*.ini")))).read_text().splitlines()
    command = f"{sys.executable} {__file__} image {freertr} {folder} {os.pathsep.join(map(str, modules))} $cp$ $nc$"
    # The first link is the controller's, of which a virtual machine has its addresses.
    lines = [known[0], "", "", command, "1", " $lp$ $rp$", *known[6:]]
    file = folder / "image.ini"
    file.write_text("\n".join(lines) + "\n")
    return file


def compile_profile(freertr: Path, profile: str, folder: Path):
    last = (freertr / RARE / f"c-{profile}.sh").read_text().splitlines()[-1]
    defines = [word for word in last.split() if word.startswith("-D")]
    subprocess.run([HOPWRIGHT, "as", "bf-p4c", "--target", "tofino", "--arch", "tna", "-I.", "-Iprofiles", "--Wdisable", *defines, "-o", folder,
                    "bf_router.p4"], cwd=freertr / RARE, check=True)


def run_tests(freertr: Path, studio_checkout: Path, profile: str, tests: list[str]) -> bool:
    import studio

    passed = True
    modules = studio.modules(studio_checkout)
    with tempfile.TemporaryDirectory(prefix="freertr-") as made:
        folder = Path(made)
        # The tester runs the switch as it is, and writes its reports here.
        compile_profile(freertr, profile, folder)
        image = os.path.relpath(image_file(freertr, profile, folder, modules), freertr / "cfg")
        jar = freertr / "src/rtr.jar"
        for test in tests:
            words = ["java", "-Xmx512m", "-jar", jar, "test", "tester", test, "path", f"{freertr}/cfg/", "temp", f"{folder}/", "other", image,
                     "slot", "1", "retry", "1", "summary", "param", "-XX:+UseSerialGC", "param", "-XX:TieredStopAtLevel=1"]
            subprocess.run([*map(str, words)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            reports = list(folder.glob(f"rtr{test}*.csv"))
            result = reports[0].read_text().splitlines()[-1].split(";") if reports else ["", test, "there is no report", ""]
            print(f"{profile} {test}: {result[2]} ({result[3]})", flush=True)
            passed &= result[2] == "success"
    return passed


def relay(device: str, local: int, remote: int):
    """Makes a device that is joined with a UDP socket of freeRtr, whose other side comes and goes."""
    wire = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(wire, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
    Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1")
    subprocess.run(["ip", "link", "set", device, "mtu", "9000", "up"], check=True)
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("127.0.0.1", local))

    def out():
        while True:
            try:
                link.sendto(os.read(wire, FRAME), ("127.0.0.1", remote))
            except OSError:
                pass  # Nobody is there: what is sent to a cable that is not plugged in is lost.

    def into():
        while True:
            try:
                frame = link.recv(FRAME)
                if len(frame) > 1:  # A byte is the state of freeRtr's side.
                    os.write(wire, frame)
            except OSError:
                time.sleep(0.001)  # The answer to a frame that nobody received.

    for run in (out, into):
        threading.Thread(target=run, daemon=True).start()


def image(freertr: Path, folder: Path, modules: str, controller: str, links: list[int]):
    """In the place of the virtual machine: until the tester stops it."""
    running: list[subprocess.Popen] = []

    def stop(*_):
        for process in running:
            process.kill()
        os._exit(0)

    def start(name: str, *words, **more) -> subprocess.Popen:
        with open(folder / f"{name}.log", "wb") as log:
            # The tester kills this process, and with it what it has started.
            words = ["setpriv", "--pdeathsig", "KILL", *map(str, words)]
            running.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more))
        return running[-1]

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    ports = []
    for number, local, remote in zip([CPU_PORT, *range(1, len(links))], links[::2], links[1::2]):
        device = f"port{number}"
        relay(device, local, remote)
        ports.append({"device_port": number, "if": device})
    (folder / "ports.json").write_text(json.dumps({"PortToIf": ports}))
    switch = start("switchd", HOPWRIGHT, "as", "bf_switchd", "--install-dir", folder, "--conf-file", folder / "bf_router.conf", "--ports",
                   folder / "ports.json")
    while True:
        try:
            socket.create_connection(SERVER, 1).close()
            break
        except OSError:
            if switch.poll() is not None:
                stop()
            time.sleep(0.1)

    def forward():
        environment = {**os.environ, "PYTHONPATH": modules, "PYTHONDONTWRITEBYTECODE": "1", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
        # As RARE's f.sh: freeRtr closes the connection until its configuration is applied.
        while True:
            start("forwarder", python(), "-u", "bf_forwarder.py", "--freerouter-port", controller, cwd=freertr / RARE, env=environment).wait()
            running.pop()
            time.sleep(0.2)

    threading.Thread(target=forward, daemon=True).start()
    log, last = folder / "forwarder.log", LINK_UP.format(ports[-1]["device_port"])
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not (log.exists() and last in log.read_text()):
        time.sleep(0.2)
    # As dummyCon at the virtual machine's console.
    os.write(1, b"Router>\n" * 8)
    while typed := os.read(0, 1 << 12):
        os.write(1, re.sub(rb"[\r\n]", b"\nRouter>", typed))
    stop()


def python() -> Path:
    import ptf

    return Path(ptf.PYTHON)


def main() -> int:
    match sys.argv[1:]:
        case ["image", freertr, folder, modules, controller, *links]:
            image(Path(freertr), Path(folder), modules, controller, [int(link) for link in links])
        case ["within", freertr, studio_checkout, profile, *tests]:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            return 0 if run_tests(Path(freertr), Path(studio_checkout), profile, tests) else 1
        case [freertr, studio_checkout, profile, _, *_]:
            paths = [os.path.abspath(freertr), os.path.abspath(studio_checkout)]
            return subprocess.run(["unshare", "--net", sys.executable, __file__, "within", *paths, *sys.argv[3:]]).returncode
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
