#!/usr/bin/env python3
"""Runs the benchmarks in one go and writes down what they say, on which machine.

In memory on one core: `hopwright bench scion` and `hopwright bench programs`;
several tenants on one switch: `hopwright bench tenants`; table updates beside
a forwarding worker: `hopwright bench updates`; and, as root, on veth pairs, the reference's load generator against the reference's
router and ours (brload.py), and both and our bare forwarder under loads from
little to far too much (overload.py): `load` with a core for each, `overload`
with a fiftieth of one, so that there can be ten times too much; how long
packets take while routers keep up, by each kind of port (latency.py); with
--long, also how long both take to start and to stop (start.py), and our IPv4
router and OpenFlow switch beside the Linux kernel, XDP and Open vSwitch
(forwarding.py), how flows are set up by an OpenFlow controller
(openflow_setup.py), and how fast the tables of four tenants are flushed and
rewritten while they forward (table_updates.py), what congestion marks do
to the queue of a slow port (congestion.py), and EFCP beside IPv4 on the RINA
router (rina.py). The results go
to bench/results/DATE-TIME/: one JSON file for each, plots of them as SVG and
PNG, and a summary.txt, which is printed, too.

Figures taken while the machine does something else are marked as such: load
and stolen time are looked at before each part, and stolen time after it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import congestion
import forwarding
import latency
import overload
import rina
import table_updates

ROOT = Path(__file__).resolve().parent.parent
# More of a core than this used by others, or of the time stolen by the host, is busy.
BUSY_CORES = 0.15
BUSY_STEAL = 0.01


def cpu_times() -> tuple[int, int, int]:
    """Ticks in which the CPUs worked, in which the host took them away, and all."""
    fields = [int(f) for f in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle, steal = fields[3] + fields[4], fields[7]
    return sum(fields) - idle - steal, steal, sum(fields)


def busy_now() -> str | None:
    """What else the machine does, looked at for half a second."""
    before = cpu_times()
    time.sleep(0.5)
    worked, stolen, total = (b - a for a, b in zip(before, cpu_times()))
    cores = (os.cpu_count() or 1) * worked / max(total, 1)
    if cores > BUSY_CORES:
        return f"{cores:.2f} cores busy with something else before it began"
    return stolen_share(stolen, total)


def stolen_share(stolen: int, total: int) -> str | None:
    share = stolen / max(total, 1)
    return f"{share:.0%} of the time stolen by the host" if share > BUSY_STEAL else None


def first_line(command: list[str], cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    return done.stdout.strip().split("\n")[0] if done.returncode == 0 else "unknown"


def machine(hopwright: Path) -> dict[str, str]:
    info = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].split("\n") if ":" in line)
    info = {key.strip(): value.strip() for key, value in info.items()}
    caches = Path("/sys/devices/system/cpu/cpu0/cache")
    sizes = [(c / "level").read_text().strip() + ":" + (c / "size").read_text().strip()
             for c in sorted(caches.glob("index*")) if (c / "type").read_text().strip() != "Instruction"]
    return {
        "cpu": f"{info.get('model name', platform.machine())}, family {info.get('cpu family')} model {info.get('model')}, "
               f"{os.cpu_count()} CPUs, caches {' '.join('L' + s for s in sizes)}",
        "kernel": platform.release(),
        "hopwright": first_line([str(hopwright), "--version"]),
        "commit": first_line(["git", "describe", "--always", "--dirty"]),
        "rustc": first_line(["rustc", "--version"]),
        "reference": first_line(["go", "list", "-m", "github.com/scionproto/scion"], ROOT / "tests/interop"),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def parts(args: argparse.Namespace) -> dict[str, list[str]]:
    bench = [str(args.hopwright), "bench"]
    long = args.long
    scion = ["--duration", "0.5"] if long else ["--duration", "0.2", "--working-set", "l2", "--size", "172,1500"]
    programs = ["--duration", "0.3"] if long else ["--duration", "0.1", "--short"]
    brload = ["--rounds", "3", "--seconds", "3"] if long else ["--cases", "br_transit,in", "--sizes", "172", "--rounds", "1",
                                                                 "--seconds", "2"]
    workers = [str(count) for count in range(1, (os.cpu_count() or 1) + 1)]
    loads = ["bench/overload.py", "--json"]
    routers = ["--router", "reference", "--router", "hopwright"]
    if long:
        load = ["--rounds", "3", "--size", "172,1500", *routers, "--router", "hopwright+ports=af_packet",
                "--router", "forwarder:af_xdp", "--router", "forwarder:af_packet"]
        over = ["--share", "0.01", "--seconds", "3", "--steps", "0.3,0.7,1,1.5,2,4,7,10,14", *routers, "--router", "forwarder:af_xdp"]
    else:
        load = ["--size", "172,1500", "--seconds", "0.4", "--steps", "0.1,0.5,1.5,3", *routers, "--router",
                "forwarder:af_xdp"]
        over = ["--share", "0.01", "--seconds", "1", "--steps", "0.5,2,5", *routers]
    all_parts = {
        "scion": [*bench, "scion", *scion, "--json"],
        "programs": [*bench, "programs", *programs, "--json"],
        "tenants": [*bench, "tenants", "--json", *([] if long else ["--duration", "0.2", "--size", "64,1518"])],
        "updates": [*bench, "updates", "--duration", "10" if long else "3", "--json"],
        "workers": [*bench, "scion", "--case", "br_transit", "--working-set", "l2", "--size", "172", "--workers",
                    ",".join(workers), "--duration", "0.3", "--json"],
        "brload": ["bench/brload.sh", *brload, "--json"],
        "load": [*loads, *load],
        "overload": [*loads, *over],
        "latency": ["bench/latency.py", "--json", *(["--seconds", "5"] if long else ["--seconds", "0.5"])],
    }
    if long:
        all_parts["start"] = ["bench/start.py", "--json"]
        all_parts["forwarding"] = ["bench/forwarding.py", "--json"]
        all_parts["openflow_setup"] = ["bench/openflow_setup.py", "--json"]
        all_parts["congestion"] = ["bench/congestion.py", "--json"]
        all_parts["rina"] = ["bench/rina.py", "--json"]
        all_parts["table_updates"] = ["bench/table_updates.py", "--device-ids", "1,2,3,4", "--json"]
    if os.geteuid() != 0:
        unprivileged = ("scion", "programs", "tenants", "updates", "workers")
        left_out = [part for part in all_parts if part not in unprivileged]
        for part in left_out:
            del all_parts[part]
        print(f"left out, because they need root (network namespaces): {', '.join(left_out)}", file=sys.stderr)
    return {name: command for name, command in all_parts.items() if not args.only or name in args.only}


def table(rows: list[dict], columns: list[str]) -> list[str]:
    def text(value: object) -> str:
        return f"{value:.1f}" if isinstance(value, float) else str(value)

    cells = [columns] + [[text(row.get(c, "-")) for c in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return ["  ".join(c.rjust(w) for c, w in zip(line, widths)) for line in cells]


def summary(name: str, result: object) -> list[str]:
    if name in ("load", "overload"):
        return overload.summary([overload.Point(**p) for p in result["points"]], result["stages"])
    if name == "forwarding":
        return forwarding.summary([forwarding.Point(**p) for p in result])
    if name == "congestion":
        return congestion.summary(result["rows"])
    if name == "rina":
        return rina.summary([rina.Point(**p) for p in result])
    if name == "table_updates":
        return table_updates.summary(result)
    if name == "tenants":
        return table(result, ["case", "tenants", "size", "ns_per_packet", "ns_best", "ns_more", "ratio", "mpps", "gbps", "forwarded"])
    if name == "latency":
        return latency.summary([latency.Point(**p) for p in result])
    if name in ("scion", "workers"):
        return table(result, ["workers", "case", "size", "hops", "mpps", "ns_median", "instructions_per_packet", "floor_ns", "times_floor"])
    if name == "programs":
        return table(result, ["program", "entries", "flows", "ns_median", "instructions_per_packet", "floor_ns",
                              "times_floor", "entries_per_second"])
    if name == "updates":
        return (table(result["updates"], ["through", "what", "entries", "entries_per_second"]) + [""]
                + table(result["forwarding"], ["updates_through", "updates_per_second", "packets_alone", "packets_beside",
                                               "loss_percent"]))
    columns = [c for c in result[0] if not isinstance(result[0][c], (dict, list))] if result else []
    return table(result, columns)


def draw(directory: Path) -> None:
    """The plots, by a Python of their own with what they need."""
    python, wanted = ROOT / "bench/.venv/bin/python", ROOT / "bench/requirements.txt"
    stamp = ROOT / "bench/.venv/requirements"
    try:
        if not stamp.exists() or stamp.read_text() != wanted.read_text():
            subprocess.run([sys.executable, "-m", "venv", str(ROOT / "bench/.venv")], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(wanted)],
                           check=True)
            stamp.write_text(wanted.read_text())
        subprocess.run([str(python), str(ROOT / "bench/plots.py"), str(directory)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no plots: {error}; bench/plots.py {directory} draws them later", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="all cases and sizes, longer (thirty minutes)")
    parser.add_argument("--only", action="append", metavar="PART", help="scion, programs, tenants, updates, workers, brload, load, overload, latency, start, forwarding, openflow_setup, table_updates, congestion, rina")
    parser.add_argument("--hopwright", type=Path, help="the command; default: the release build",
                        default=Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/hopwright")
    parser.add_argument("--output", type=Path, help="default: bench/results/DATE-TIME",
                        default=ROOT / "bench/results" / time.strftime("%Y%m%d-%H%M%S", time.gmtime()))
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}: {value}" for key, value in machine(args.hopwright).items()]
    print("\n".join(lines))
    failed = False
    for name, command in parts(args).items():
        busy, before = busy_now(), cpu_times()
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        _, stolen, total = (b - a for a, b in zip(before, cpu_times()))
        busy = busy or stolen_share(stolen, total)
        mark = f"  *** MACHINE BUSY: {busy}; do not trust these figures ***" if busy else ""
        said = ["", f"== {name}: {' '.join(command[1:])}{mark}"]
        if done.returncode == 0:
            result = json.loads(done.stdout)
            (args.output / f"{name}.json").write_text(
                json.dumps({"command": command, "busy": busy, "result": result}, indent=1))
            said += summary(name, result)
        else:
            failed = True
            said.append(f"failed with status {done.returncode}")
        print("\n".join(said), flush=True)
        lines += said
    (args.output / "summary.txt").write_text("\n".join(lines) + "\n")
    draw(args.output)
    print(f"\nwritten to {args.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
