#!/usr/bin/env python3
"""Runs public tests from checkouts of their repositories, and says which fail that are not known to fail.

    run.py CHECKOUT... [--suite NAME]... [--write]

A checkout is a folder with the files of a repository, at any revision; every suite recognises its own. With --write, the lists of known
failures and docs/conformance.md are written again."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import known_failures
import page
from suite import Hopwright, LeftOut, Unavailable
from suites import ALL

ROOT = Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", metavar="CHECKOUT", nargs="*", type=Path)
    parser.add_argument("--hopwright", type=Path, default=ROOT / "target/release/hopwright", metavar="PATH", help="the command under test")
    parser.add_argument("--suite", action="append", metavar="NAME", choices=[s.name for s in ALL], help="run this suite only; may be repeated")
    parser.add_argument("--only", metavar="TEXT", help="run cases with this in their names only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="NUMBER", help="cases that run side by side")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.add_argument("--list", action="store_true", help="list the cases, and run none")
    parser.add_argument("--write", action="store_true", help="write the known failures and docs/conformance.md")
    given = parser.parse_args()
    if given.write and given.only:
        parser.error("--write needs whole suites: leave --only out")
    return given


def revision(checkout: Path) -> str:
    """The commit of a checkout, or nothing if it is not a repository."""
    done = subprocess.run(["git", "-C", checkout, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def run(suite, jobs, workers):
    """Why each case fails, or None."""
    outcomes, started = {}, time.monotonic()
    shown = started
    if not suite.parallel:
        workers = 1
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(job.run): job for job in jobs}
        for done in concurrent.futures.as_completed(waiting):
            names = waiting[done].names
            try:
                found = done.result()
            except Unavailable:
                pool.shutdown(cancel_futures=True)
                raise
            outcomes.update({name: found.get(name, "did not run") for name in names})
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"  {suite.name}: {len(outcomes)} cases after {shown - started:.0f} s", file=sys.stderr)
    return dict(sorted(outcomes.items()))


def said(suite, outcomes, compared):
    """Prints a suite's outcome."""
    passed = sum(error is None for error in outcomes.values())
    print(f"{suite.name}: {passed} of {len(outcomes)} pass")
    for case, error in compared.unlisted.items():
        print(f"  FAILED {case}: {error}")
    for case in compared.passing:
        print(f"  passes, but is listed as a failure: {case}")
    for case in compared.gone:
        print(f"  is listed as a failure, but there is no such case: {case}")


def main():
    given = arguments()
    hopwright = Hopwright(given.hopwright.resolve())
    suites = [kind(hopwright, [c.resolve() for c in given.checkouts]) for kind in ALL]
    if not given.checkouts and given.write:
        page.write(suites)
        return 0
    found, failed, everything = [], False, {}
    for suite in suites:
        if given.suite and suite.name not in given.suite:
            continue
        checkout = next(filter(suite.found_in, suite.checkouts), None)
        if checkout is None:
            if given.suite:
                print(f"{suite.name}: none of the checkouts is one of {suite.repository}", file=sys.stderr)
                failed = True
            continue
        found.append(suite)
        jobs, left_out = suite.jobs(checkout)
        if given.only:
            jobs = [job for job in jobs if any(given.only in name for name in job.names)]
        if given.list:
            print("\n".join(f"{suite.name} {name}" for job in jobs for name in job.names))
            continue
        try:
            outcomes = run(suite, jobs, given.jobs)
        except Unavailable as missing:
            print(f"{suite.name}: cannot run: {missing}", file=sys.stderr)
            failed = True
            continue
        for case, why in [(case, why) for case, why in outcomes.items() if isinstance(why, LeftOut)]:
            del outcomes[case]
            left_out[str(why)] = left_out.get(str(why), 0) + 1
        before = known_failures.read(suite.name)
        compared = known_failures.compare(before, outcomes)
        if given.only:
            compared.gone = []
        everything[suite.name] = outcomes
        if not given.json:
            said(suite, outcomes, compared)
        failed |= bool(compared.unlisted)
        if given.write:
            known_failures.write(suite.name, known_failures.updated(before, revision(checkout), outcomes, left_out))
            page.write(suites)
    if given.json:
        print(json.dumps(everything, indent=1))
    if not found:
        print("none of the checkouts is known to any suite", file=sys.stderr)
    return 1 if (failed and not given.write) or not found else 0


if __name__ == "__main__":
    sys.exit(main())
