#!/usr/bin/env python3
"""`hopwright ip` beside a Linux kernel: the same commands, the same packets, and what arrives has to be the same.

The same four hosts' ends lead to two routers: a namespace whose kernel forwards, and `hopwright ip` with a namespace as control plane.
`differential/rows` has the scenarios, a row each; `differential/chance.py` makes others from seeds. Commands go to both namespaces,
packets to both routers. Compared are all frames that arrive at hosts, but for what `differential/packets.py` calls noise, and what
`docs/ip-router.md` lists as differences. Packets are sent again for some time before a difference counts.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import os
import pathlib
import sys
import tempfile
import time
from collections import Counter

import differential.rows  # noqa: F401
from differential import chance
from differential.packets import describe, is_limited
from differential.scenario import LASTING, SCENARIOS, Do, Scenario, Send, Silent
from differential.world import World
from lab.cases import case_options, choose, status_of
from lab.command import HOPWRIGHT, LabError
from lab.netns import remove_all

PREFIX = f"hwlab{os.getpid()}-"
# What a kernel says that lacks something.
MISSING = (
    "not supported",
    "Unknown device type",
    "No such file or directory",
    "unknown option",
    "Could not process rule",
    "Unknown qdisc",
    "Specified qdisc kind is unknown",
    "not found",
    "No such device",
    "Failed to load",
)


class Difference(Exception):
    """Both routers do not do the same."""


class Skipped(Exception):
    """This kernel lacks something."""


def arrivals(side, step: Send) -> Counter:
    """What has arrived, of ICMP's "unreachable" what has arrived in any attempt: kernels limit their rate."""
    side.limited |= {(port, data) for port, data in side.arrived if is_limited(data)}
    others = Counter((port, data) for port, data in side.arrived if not is_limited(data))
    if not step.any_path:
        return Counter(side.limited) + others
    # Of many errors for the same host, which ones come is a matter of time.
    errors = {(port, data[12:16] + bytes(10) + data[26:36]) for port, data in side.limited}
    found = Counter({(0, data[12:]): n for (_, data), n in others.items()})
    return found + Counter((0, data) for _, data in errors)


def paths(side, step: Send) -> set[int]:
    return {port for port, _ in side.arrived}


def explain(world: World, step: Send) -> str:
    linux, ours = (arrivals(side, step) for side in world.sides)
    whole = lambda data: bytes(12) + data if step.any_path else data
    show = (
        lambda frames: "\n".join(f"      {n} at {port}: {describe(whole(data))}" for (port, data), n in frames.items()) or "      nothing"
    )
    state = world.ours.show()
    return (
        f"    only behind Linux:\n{show(linux - ours)}\n    only behind Hopwright:\n{show(ours - linux)}\n"
        f"    left to the kernel: {[p['why'] for p in state['punted']] + state['rules']}"
    )


def forwarded(world: World) -> int:
    return world.ours.show()["reasons"]["forwarded"]


def exchange(world: World, step: Send, patience: float) -> None:
    """Sends packets until both routers do the same with them.

    A kernel sends a host at most five errors for routes of type `unreachable` at once, and then one a second (`ip_error`): the pauses grow
    until there is one for each packet.
    """
    deadline, pause, attempts = time.monotonic() + patience, 0.05, 0
    longest = 1.2 * min(5, len(step.frames))
    while True:
        if attempts % 3 == 0:
            # Errors that an earlier step has caused may have come late.
            for side in world.sides:
                side.limited.clear()
        attempts += 1
        before = forwarded(world) if step.fast else 0
        world.exchange(list(step.frames))
        same = lambda: arrivals(world.linux, step) == arrivals(world.ours, step) and len(world.linux.arrived) >= step.least
        late = time.monotonic() + (2 if step.least else 0.5)
        while not same() and time.monotonic() < late:
            world.wait(0.05)
        if same() and step.any_path and step.fast and paths(world.linux, step) != paths(world.ours, step):
            wrong = f"    paths: Linux {paths(world.linux, step)}, Hopwright {paths(world.ours, step)}"
        elif not same():
            wrong = explain(world, step)
        elif step.fast and forwarded(world) - before < len(step.frames):
            wrong = f"    {forwarded(world) - before} of {len(step.frames)} packets took the fast path: {world.ours.show()}"
        else:
            return
        if time.monotonic() > deadline:
            raise Difference(wrong)
        world.wait(pause)
        pause = min(longest, pause * 2)


def play(world: World, scenario: Scenario, patience: float) -> None:
    world.reset()
    world.ours.follows(settings=True)
    for step in scenario.steps:
        match step:
            case Do(script, settings):
                status, output = world.run(script)
                if status:
                    kind = Skipped if any(word in output for word in MISSING) else LabError
                    raise kind(f"`{script}`: {output}")
                world.ours.follows(settings)
            case Silent(addresses):
                for side in world.sides:
                    side.silent |= set(addresses)
            case Send():
                exchange(world, step, patience)


def run(world: World, scenarios: list[Scenario], patience: float) -> tuple[int, int, list[str]]:
    passed, skipped, failed = 0, 0, []
    for number, scenario in enumerate(scenarios, 1):
        name = f"{scenario.about}: {scenario.name}"
        try:
            play(world, scenario, patience)
            passed += 1
        except Skipped as why:
            skipped += 1
            print(f"  SKIPPED {name}: this kernel lacks something: {why}", flush=True)
        except (Difference, LabError) as why:
            failed.append(name)
            print(f"  FAIL {name}\n{why}", flush=True)
            print("    " + "\n    ".join(repr(step)[:300] for step in scenario.steps if isinstance(step, Do)), flush=True)
        world.process.check()
        if number % 50 == 0:
            print(f"  {number} of {len(scenarios)}", flush=True)
    return passed, skipped, failed


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--part", type=int, default=1, metavar="N", help="each Nth scenario of the table, which ones by the seed")
    parser.add_argument("--seed", type=int, default=1, help="the first seed of scenarios by chance, 1 by default")
    parser.add_argument("--count", type=int, default=0, help="how many scenarios by chance")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="each Nth seed: of two, one makes VLANs and VRFs, the odd one")
    parser.add_argument("--chance-only", action="store_true", help="without the table")
    parser.add_argument("--patience", type=float, default=120, help="seconds after which a difference counts")
    parser.add_argument("--ports", default="auto", help="how the router receives and sends: auto, af_xdp, af_packet")
    args = parser.parse_args()
    table = {f"{s.about}: {s.name}": s for s in SCENARIOS}
    rows = [table[name] for name in choose(args, table)][args.seed % args.part :: args.part] if not args.chance_only else []

    def test() -> bool:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                world = World(PREFIX, HOPWRIGHT, pathlib.Path(folder), ["--ports", args.ports])
                try:
                    chosen = rows + [chance.scenario(args.seed + args.step * n) for n in range(args.count)]
                    chosen.sort(key=lambda scenario: scenario.about == LASTING)
                    passed, skipped, failed = run(world, chosen, args.patience)
                finally:
                    world.close()
            finally:
                remove_all(PREFIX)
        print(f"lab: {passed} passed, {skipped} skipped, {len(failed)} failed in {time.monotonic() - begin:.0f} s")
        return bool(failed)
    return status_of("lab", test)


if __name__ == "__main__":
    sys.exit(main())
