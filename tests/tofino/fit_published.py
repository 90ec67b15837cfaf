#!/usr/bin/env python3
"""Compares what `hopwright fit` says of public programs with what is published about them.

    fit_published.py CHECKOUT... [--hopwright PATH]

A checkout is a folder with the files of one of the repositories below, at any revision; programs of others are left out. Prints the table of
docs/fit.md, and fails if a program whose stages are published lies more than two stages beside."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# How far an estimate may be beside what is published.
NEAR = 2
STUDIO = "pkgsrc/p4-examples/p4_16_programs"
SWITCH = "pkgsrc/switch-p4-16/p4src"
CONTEXT = "`context.json`"
PINNED = "`@stage`"

# Repository, target, program, what the compiler is given, stages at least and at most, and who says so.
PROGRAMS = [
    ("p4lang/open-p4studio", "tofino", f"{STUDIO}/tna_exact_match/tna_exact_match.p4", ["-I", STUDIO], 4, 4, CONTEXT),
    ("p4lang/open-p4studio", "tofino", f"{STUDIO}/tna_action_profile/tna_action_profile.p4", ["-I", STUDIO], 4, 4, CONTEXT),
    ("p4lang/open-p4studio", "tofino", f"{STUDIO}/tna_action_selector/tna_action_selector.p4", ["-I", STUDIO], 2, 2, CONTEXT),
    ("Princeton-Cabernet/p4-projects", "tofino", "PRECISION-tofino/p4src/PRECISION.p4", [], 12, 12, PINNED),
    ("Princeton-Cabernet/p4-projects", "tofino", "SmartCookie/p4src/SmartCookie-HalfSipHash.p4", [], 12, 12, PINNED),
    ("p4lang/bf-p4c", "tofino", "p4-tests/p4_16/internal/p4c-5109.p4", [], 11, 12, PINNED),
    ("p4lang/bf-p4c", "tofino", "p4-tests/p4_16/internal/customer/arista/p4c-4341.ptf/p4c_4341.p4", [], 10, 12, PINNED),
    ("p4lang/bf-p4c", "tofino2", "p4-tests/p4_16/internal/bfrt/p4c_3043/p4c_3043.p4", [], 16, 20, PINNED),
    ("p4lang/bf-p4c", "tofino2", "p4-tests/p4_16/internal/p4c-5258.p4", [], 13, 20, PINNED),
    ("p4lang/bf-p4c", "tofino2", "p4-tests/p4_16/internal/customer/keysight/p4c-5126.p4", [], 13, 20, PINNED),
    ("p4lang/bf-p4c", "tofino2", "p4-tests/p4_16/internal/customer/keysight/p4c-5233.p4", [], 13, 20, PINNED),
    ("p4lang/bf-p4c", "tofino2", "p4-tests/p4_16/internal/customer/keysight/keysight-eagle-tf2.p4", [], 9, 20, PINNED),
    ("p4lang/bf-p4c", "tofino2", "p4-tests/p4_16/internal/customer/lts/p4c-5323.p4", [], 20, 20, PINNED),
    ("oxidecomputer/dendrite", "tofino2", "dpd/p4/sidecar.p4", [], 20, 20, "`common.sh`"),
    ("p4lang/open-p4studio", "tofino", f"{SWITCH}/switch-tofino/switch_tofino_x1.p4", ["-I", f"{SWITCH}/shared", "-D", "X1_PROFILE"], 11, 12, PINNED),
    ("p4lang/open-p4studio", "tofino", f"{SWITCH}/switch-tofino/switch_tofino_x2.p4", ["-I", f"{SWITCH}/shared", "-D", "X2_PROFILE"], 1, 12, "it ships"),
    ("p4lang/open-p4studio", "tofino", f"{SWITCH}/switch-tofino/switch_tofino_x9.p4", ["-I", f"{SWITCH}/shared", "-D", "X9_PROFILE"], 1, 12, "it ships"),
    ("p4lang/open-p4studio", "tofino2", f"{SWITCH}/switch-tofino2/switch_tofino2_y2.p4", ["-I", f"{SWITCH}/shared", "-D", "Y2_PROFILE"], 1, 20, "it ships"),
    ("stratum/fabric-tna", "tofino", "p4src/tna/fabric_tna.p4", ["-I", "p4src"], 1, 12, "it ships"),
    ("p4lang/p4app-switchML", "tofino", "dev_root/p4/switchml.p4", ["-I", "dev_root/p4"], 1, 12, "it ships"),
    ("uni-tue-kn/P4TG", "tofino2", "P4-Implementation/traffic_gen.p4", ["-I", "P4-Implementation"], 1, 20, "it ships"),
    ("Princeton-Cabernet/p4-projects", "tofino", "RTT-tofino/p4src/RTT.p4", [], 1, 12, "it ships"),
    ("Princeton-Cabernet/p4-projects", "tofino", "SipHash-tofino/p4src/halfsiphash24_ingressonly.p4", [], 1, 12, "it ships"),
    ("Princeton-Cabernet/p4-projects", "tofino", "SipHash-tofino/p4src/siphash24_ingressonly.p4", [], 1, 12, "it ships"),
]
NUMBERS = ["no", "one", "two", "three", "four"]
# Estimates that are known to be further beside, with the reason.
BESIDE = {
    "sidecar.p4": "the compiler spreads it over all stages",
    "switch_tofino2_y2.p4": "its large tables are split on the way to a next hop",
}


def find(checkouts, program):
    return next((checkout / program for checkout in checkouts if (checkout / program).is_file()), None)


def estimate(hopwright, path: Path, root: Path, target, given):
    generation = "2" if target == "tofino2" else "1"
    folders = [str(root / word) if given[at - 1 : at] == ["-I"] else word for at, word in enumerate(given)]
    command = [hopwright, "fit", path, "--target", target, "--json", "-D", f"__TARGET_TOFINO__={generation}", "-I", path.parent, *folders]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{path}: {done.stderr}")
    return found if isinstance(found, list) else [found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", metavar="CHECKOUT", nargs="+", type=Path)
    parser.add_argument("--hopwright", type=Path, default=ROOT / "target/release/hopwright", metavar="PATH", help="the command")
    given = parser.parse_args()
    failed, seen = False, 0
    print("| program | target | stages, published | from | estimate | fits by it |\n| --- | --- | --- | --- | --- | --- |")
    for repository, target, program, words, least, most, source in PROGRAMS:
        path = find(given.checkouts, program)
        if path is None:
            continue
        seen += 1
        root = Path(str(path)[: -len(program)])
        pipes = estimate(given.hopwright, path, root, target, words)
        published = str(least) if least == most else f"up to {most}" if least == 1 else f"{least} to {most}"
        stages = [len(pipe["stages"]) for pipe in pipes]
        fits = "no" if any(pipe["problems"] for pipe in pipes) else "yes"
        several = f", {NUMBERS[len(pipes)]} pipes" if len(pipes) > 1 else ""
        print(f"| {repository}: `{path.name}`{several} | {target} | {published} | {source} | {', '.join(map(str, stages))} | {fits} |")
        if path.name not in BESIDE and not all(least - NEAR <= count <= most + NEAR for count in stages):
            failed = True
            print(f"{path.name}: {stages} stages are more than {NEAR} beside {published}", file=sys.stderr)
    if not seen:
        sys.exit("none of the programs is in these checkouts")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
