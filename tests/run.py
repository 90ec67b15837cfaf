#!/usr/bin/env python3
"""Runs what `make test` consists of, in stages, and says at the end what failed and how to run that alone.

Each stage is a list of make targets, some of which run side by side. A failure does not end the run: all targets run. Each target's
output goes to a file; it is shown when the target fails, otherwise only its last lines are. Compilers, and tests that do nothing but
compute, run one after the other with the lowest priority beside the stages: they take what those leave of the processors. A stage of
tests that count packets waits until all tests are compiled, and one of tests that measure until nothing runs beside it.

A table at the end has what each target took, and how much of that it kept a processor busy: the rest it waited.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.process import die_with_parent, unwind_on_signals

ROOT = Path(__file__).resolve().parent.parent
LOGS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "test-logs"
MAKE = os.environ.get("MAKE", "make")
# Lines of a target that passed, and of one that failed.
SHOWN, SHOWN_OF_FAILED = 3, 300
# What the first stage has made. Later targets do not look at it again: Cargo would wait until another one has compiled the tests.
MADE = ["hopwright", "rina-api", "interop-tools"]
# What it makes for root alone.
MADE_FOR_ROOT = ["p4runtime-clients", "four-routers-clients"]
# How one test binary of Cargo closes.
CARGO = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed;")


# How long processors are watched, in seconds, and how busy they may be for one more target to begin.
WATCHED, BUSY = 3.0, 0.7
# The lowest priority of a process.
LOWEST = 19


@dataclass
class Stage:
    """Targets that run side by side, `jobs` at a time. Those that take longest stand first."""

    what: str
    jobs: int
    targets: list[str]
    # Targets at a time while these leave processors idle.
    most: int = 0
    # Nothing that follows makes sense without it.
    needed: bool = False
    # It begins when this one of `BESIDE` has ended.
    after: str = ""
    # Its targets need root, but for those that `anybody` can make.
    only_root: bool = False
    anybody: list[str] = field(default_factory=list)

    def targets_for(self, root: bool) -> list[str]:
        return [target for target in self.targets if root or not self.only_root or target in self.anybody]


# What computes only: compilers, and tests without a clock. One after the other, beside the stages that follow the first.
BESIDE = ["compile", "unit-computing", "rtl-computing", "stf"]
STAGES = [
    # The command, and what the tests talk to: packages are installed while the compiler runs.
    Stage("build", 2, ["hopwright", "tools", "rina-api"], needed=True),
    # Clients of our services wait for answers. A compiler beside them makes them slow, and nothing else.
    Stage("clients", 4, [
        "p4runtime", "test-starts", "test-switchblade", "test-thrift", "test-bfruntime", "tutorial", "test-authentication", "test-pages"],
        most=6, only_root=True),
    # Networks of namespaces mostly wait, for timers and for each other. They count packets.
    Stage("networks", 4, [
        "test-ip", "network-mixes", "test-rina", "test-page", "test-openflow", "test-agents-take-over", "network-jumbo", "test-reload", "test-epic",
        "network-workers", "test-tcp", "test-underlay", "network-ours", "test-migrate", "network-tap", "network-mixed", "test-management",
        "test-switch", "test-local-topology", "test-four-routers", "test-tenant", "test-int", "test-monitoring", "test-operation", "test-bmv2"],
        most=7, only_root=True, after="compile"),
    # Tests of devices, threads and clocks, and small ones of the command.
    Stage("rest", 2, ["unit-waiting", "rtl-boards", "test-agent", "test-dist", "test-lsp", "docs"], most=4, only_root=True, after="compile",
          anybody=["unit-waiting", "rtl-boards", "test-dist", "test-lsp", "docs"]),
    # A router under load, one that has to answer within the 250 ms that braccept waits, and one with more neighbours than a machine may
    # have have the machine to themselves.
    Stage("alone", 1, ["braccept", "soak-short", "test-hosts"], only_root=True, after=BESIDE[-1]),
]


@dataclass
class Results:
    """What has ended, by target."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    # What each target took, and how long it kept a processor busy.
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    # Set once a target of `BESIDE` has ended.
    ended: dict[str, threading.Event] = field(default_factory=lambda: {target: threading.Event() for target in BESIDE})
    stopped: bool = False
    running: set[subprocess.Popen] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        """Asks what is running to end: tests remove their namespaces then."""
        self.stopped = True
        for child in list(self.running):
            # One may just have ended.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)

    def begin(self, child: subprocess.Popen) -> None:
        """Knows a session, which ends with the others."""
        self.running.add(child)
        if self.stopped:
            os.killpg(child.pid, signal.SIGTERM)


class Busy:
    """A busy loop on every CPU, as a compiler or another test makes it."""

    def __init__(self, count: int):
        self._children = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=die_with_parent)
                          for _ in range(count)]

    def stop(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()


class Processors:
    """How busy the processors of the machine are."""

    def __init__(self):
        self._before = self._times()

    @staticmethod
    def _times() -> tuple[int, int]:
        """Ticks since the machine was started: all, and those in which processors were idle, waited for a disk, or had a process of low
        priority, which yields to any other."""
        _, low, _, idle, disk, *_ = ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks), low + idle + disk

    def busy(self) -> float:
        """The part of their time since the last call."""
        before, self._before = self._before, self._times()
        passed, idle = (now - then for now, then in zip(self._before, before))
        return 1 - idle / passed if passed else 1.0


def tests_of_cargo(lines: list[str]) -> list[str]:
    """The sum of the closing lines of Cargo's test binaries, of which the last is often of one without tests."""
    ends = [found for line in lines if (found := CARGO.match(line))]
    passed, failed = (sum(int(end[part]) for end in ends) for part in (1, 2))
    return [f"cargo: {passed} passed, {failed} failed"] if passed + failed else []


def yield_to_others(child: subprocess.Popen) -> None:
    """Gives a session the lowest priority, where the kernel counts a session as one (sched(7), autogroup). `nice` has done it where it
    does not."""
    try:
        Path(f"/proc/{child.pid}/autogroup").write_text(str(LOWEST))
    except OSError:
        pass


def run(target: str, made: list[str], results: Results, low: bool = False) -> None:
    """Makes one target, but not what is `made`, and shows how it ended."""
    log = LOGS / f"{target}.log"
    begin = time.monotonic()
    with open(log, "wb") as out:
        command = [*(["nice", "-n", str(LOWEST)] if low else []), MAKE, "--no-print-directory", *(f"--old-file={name}" for name in made), target]
        child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        results.begin(child)
        if low:
            yield_to_others(child)
        # With what all processes took that have been waited for.
        _, wait_status, usage = os.wait4(child.pid, 0)
        status = child.returncode = os.waitstatus_to_exitcode(wait_status)
        results.running.discard(child)
    seconds = time.monotonic() - begin
    lines = log.read_text(errors="replace").splitlines()
    shown = lines[-SHOWN_OF_FAILED:] if status else tests_of_cargo(lines) or lines[-SHOWN:]
    with results.lock:
        results.seconds[target] = seconds, usage.ru_utime + usage.ru_stime
        (results.failed if status else results.passed).append(target)
        print(f"── {target}: {'FAILED' if status else 'passed'} in {seconds:.0f} s")
        for line in dict.fromkeys([line for line in lines if "SKIPPED" in line] + shown):
            print(f"   {line}")
        sys.stdout.flush()


def made() -> list[str]:
    """What the first stage has made for this user."""
    return MADE + MADE_FOR_ROOT * (not os.geteuid())


def run_beside(targets: list[str], results: Results, low: bool) -> None:
    """Runs targets one after the other, with low priority unless something else keeps the processors busy on purpose."""
    for target in BESIDE:
        try:
            if target in targets and not results.stopped:
                run(target, made(), results, low)
        except Exception as error:
            # In a thread nobody else hears of it.
            with results.lock:
                results.failed.append(target)
                print(f"── {target}: FAILED: {error}", flush=True)
        finally:
            # A stage may wait for it.
            results.ended[target].set()


def run_stage(stage: Stage, results: Results) -> None:
    """Runs the targets of a stage. Beyond `jobs` of them, one more begins when the others have left processors idle for a while."""
    waiting, running, processors = deque(stage.targets_for(not os.geteuid())), set(), Processors()
    with concurrent.futures.ThreadPoolExecutor(max(stage.jobs, stage.most)) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < stage.jobs:
                    running.add(pool.submit(run, waiting.popleft(), [] if stage.needed else made(), results))
                ended, running = concurrent.futures.wait(running, WATCHED, concurrent.futures.FIRST_COMPLETED)
                for target in ended:
                    target.result()
                if processors.busy() < BUSY and not ended and waiting and len(running) < stage.most:
                    running.add(pool.submit(run, waiting.popleft(), [] if stage.needed else made(), results))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            results.end()
            raise


def print_times(results: Results) -> None:
    """What took longest stands first."""
    print("── seconds, and seconds of a processor:")
    for target, (seconds, processor) in sorted(results.seconds.items(), key=lambda entry: -entry[1][0]):
        print(f"   {seconds:6.0f} {processor:6.0f}  {target}")


def run_stages(stages: list[Stage], results: Results, busy: int, beside: list[str] | None = None) -> bool:
    """Whether the run could go on to the end. `beside` begin behind the stage that all others need."""
    lane = threading.Thread(target=run_beside, args=(beside or [], results, not busy))
    try:
        for stage in stages:
            targets = stage.targets_for(not os.geteuid())
            if skipped := [target for target in stage.targets if target not in targets]:
                with results.lock:
                    results.skipped += skipped
                print(f"── SKIPPED: {', '.join(skipped)}: these tests build network namespaces, which needs root: sudo make test")
            if not stage.needed and lane.ident is None:
                lane.start()
            if not targets:
                continue
            if stage.after:
                results.ended[stage.after].wait()
            print(f"── {stage.what}: {', '.join(targets)}", flush=True)
            load = Busy(busy if not stage.needed else 0)
            begin, processors = time.monotonic(), Processors()
            try:
                run_stage(stage, results)
            finally:
                load.stop()
            print(f"── {stage.what}: {time.monotonic() - begin:.0f} s, processors {processors.busy():.0%} busy", flush=True)
            if stage.needed and any(target in results.failed for target in targets):
                return False
        if lane.ident:
            # A signal that interrupts `join` would make Python take the thread for one that has ended.
            for ended in results.ended.values():
                ended.wait()
    except BaseException:
        results.end()
        raise
    finally:
        if lane.ident:
            lane.join()
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run all tests N times (default: once)")
    parser.add_argument("--busy", type=int, nargs="?", const=os.cpu_count(), default=0, metavar="N",
                        help="N busy loops beside the tests (as many as there are CPUs)")
    parser.add_argument("--only", nargs="+", metavar="TARGET", help="only these targets, after the build")
    options = parser.parse_args()
    unwind_on_signals()
    LOGS.mkdir(parents=True, exist_ok=True)
    stages = STAGES if not options.only else [
        replace(stage, targets=[target for target in stage.targets if stage.needed or target in options.only]) for stage in STAGES]
    beside = [target for target in BESIDE if not options.only or target in options.only]
    unknown = set(options.only or []) - {target for stage in STAGES for target in stage.targets} - set(BESIDE)
    if unknown:
        parser.error(f"not part of `make test`: {', '.join(sorted(unknown))}")
    begin, total = time.monotonic(), {"passed": 0, "failed": 0}
    failed: dict[str, int] = {}
    for number in range(1, options.repeat + 1):
        results = Results()
        if options.repeat > 1:
            print(f"── run {number} of {options.repeat}")
        run_stages(stages, results, options.busy, beside)
        total["passed"] += len(results.passed)
        total["failed"] += len(results.failed)
        for target in results.failed:
            failed[target] = failed.get(target, 0) + 1
        print_times(results)
    print(f"── {time.monotonic() - begin:.0f} s, logs in {LOGS}")
    for target, times in failed.items():
        often = f" {times} times" if options.repeat > 1 else ""
        print(f"FAILED{often}: {target}; run it alone with: make {target}")
    print(f"targets: {total['passed']} passed, {total['failed']} failed")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
