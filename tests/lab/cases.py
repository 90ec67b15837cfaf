"""The cases of a test program, of which `--only NAME` runs some and `--list` prints the names, and how such a program ends."""

from __future__ import annotations

import argparse
import sys
import time
import unittest
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from .checks import Checks
from .command import Failed, LabError
from .netns import namespaces, require_root
from .process import unwind_on_signals


def case_options(doc: str | None) -> argparse.ArgumentParser:
    """The options of every test program."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="the case of this name, or where there is none those that contain it (* stands for anything); may be given several times")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    return parser


def choose(args: argparse.Namespace, names: Iterable[str], needs: Mapping[str, Iterable[str]] | None = None, long: Iterable[str] = ()) -> list[str]:
    """Those of the cases that are to run, in their order. `needs`: what a case needs to have run before it. `long`: cases that run only if
    they are named. With `--list` the program ends."""
    names = list(names)
    if args.list:
        print("\n".join(names))
        sys.exit(0)
    if not args.only:
        return [name for name in names if name not in long]
    chosen: set[str] = set()
    for wanted in args.only:
        found = [name for name in names if name == wanted] or [name for name in names if fnmatchcase(name, f"*{wanted}*")]
        if not found:
            print(f"no case is called {wanted}: --list names them", file=sys.stderr)
            sys.exit(2)
        chosen.update(found)
    for name in reversed(names):
        if name in chosen:
            chosen.update((needs or {}).get(name, ()))
    return [name for name in names if name in chosen]


def status_of(what: str, test: Callable[[], object]) -> int:
    """Runs a test or a measurement with the rights that network namespaces need. The exit status: what it returns, where True is 1 and nothing
    is 0; 1 if something failed, 2 if it could not be carried out."""
    unwind_on_signals()
    try:
        require_root("this")
        return int(test() or 0)
    except Failed as error:
        print(f"{what}: FAILED: {error}", file=sys.stderr)
        return 1
    except LabError as error:
        print(f"{what}: {error}", file=sys.stderr)
        return 2


def carry_out(what: str, test: Callable[[Checks], None], long_details: bool = False, prefix: str = "") -> int:
    """Runs a test that counts checks, and says what came of it. Returns the exit status. `prefix`: with which no namespace may be left."""
    checks = Checks(long_details)

    def run() -> bool:
        test(checks)
        if prefix:
            checks.that("no namespace is left behind", not namespaces(prefix))
        print(f"{what}: {checks.passed} passed, {checks.failed} failed")
        return checks.failed > 0
    return status_of(what, run)


def in_turn(what: str, parts: Iterable[Callable], *arguments) -> None:
    """Runs the parts of a test, and says how long each took."""
    for part in parts:
        print(f"{what}: {part.__name__.replace('_', ' ')}", flush=True)
        begin = time.monotonic()
        part(*arguments)
        print(f"  ({time.monotonic() - begin:.1f} s)", flush=True)


def unittest_main(argv: list[str] | None = None, **settings) -> None:
    """`unittest.main`, with the options of the other test programs: `--only NAME` is `-k NAME`."""
    argv = [{"--only": "-k"}.get(word, word) for word in argv or sys.argv]
    if "--list" not in argv:
        try:
            unittest.main(argv=argv, **settings)
        except SystemExit as ended:
            # From 3.12 on Python says by this status that no test has such a name. A script that runs several programs goes on to the next one.
            if "-k" in argv and ended.code == 5:
                sys.exit(0)
            raise

    def names(suite: unittest.TestSuite) -> list[str]:
        return [name for part in suite for name in (names(part) if isinstance(part, unittest.TestSuite) else [part.id().removeprefix("__main__.")])]
    print("\n".join(names(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))))
