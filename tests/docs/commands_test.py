"""The commands of the documentation work: `hopwright` takes their flags, and runs those that need neither devices nor
another process; `make` has their targets; `cargo test` finds tests; scripts exist. docs/tutorial.md and docs/migrate.md are typed as
a whole by tests/tutorial and tests/interop/migrate_test.py.

Needs the release build of the command, and the tests built as `make unit` does."""

import functools
import json
import os
import re
import shlex
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab.command import HOPWRIGHT
from pages import ROOT, commands, pages

# Subcommands that only read files and write to the terminal or to files named in the command.
RUN = {"check", "ir", "asm", "fit", "trace-ir", "graph", "stf", "replay", "p4info", "bundle", "explain", "help", "completions"}


def written(program):
    """All command lines of the documentation whose first word matches a pattern: (place, words)."""
    for page in pages():
        for at, command in commands((ROOT / page).read_text()):
            # Of a row of commands each is one; variables have some value; `[--flag A|B]` is one of the ways to call it.
            for one in re.split(r"\s(?:\||&&|&|;|>)(?:\s|$)", command):
                one = re.sub(r"\$\{?\w+\}?", "02:00:00:00:00:01", one)
                # What is in quotes is left alone.
                pieces = re.split(r"('[^']*'|\"[^\"]*\")", one)
                pieces[::2] = [re.sub(r"(\w)\|[\w|]+", r"\1", re.sub(r"[\[\]…]", "", p)) for p in pieces[::2]]
                words = shlex.split("".join(pieces))
                while words and re.fullmatch(r"\w+=.*", words[0]):
                    words.pop(0)
                if words and re.fullmatch(program, words[0].removeprefix("target/release/")):
                    yield f"{page}:{at}: {command}", words


def hopwright(arguments, **options):
    return subprocess.run([HOPWRIGHT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, **options)


@functools.cache
def test_binaries():
    """(package, kind, name, path) of each test binary that `make unit` builds."""
    build = subprocess.run(["cargo", "test", "--workspace", "--profile", "bench", "--no-run", "--message-format", "json"],
                           cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = []
    for line in build.stdout.splitlines():
        unit = json.loads(line)
        if unit["reason"] == "compiler-artifact" and unit["executable"] and unit["profile"]["test"]:
            manifest = (Path(unit["manifest_path"])).read_text()
            package = re.search(r'^name = "(.*)"', manifest, re.MULTILINE)[1]
            found.append((package, unit["target"]["kind"][0], unit["target"]["name"], unit["executable"]))
    return found


def matched(words):
    """How many tests a `cargo test` command runs. Flags that are not known here are an error."""
    words = iter(words)
    packages, kinds, names, filters, after = set(), set(), set(), [], False
    for word in words:
        if word == "--":
            after = True
        elif word in ("-p", "--package"):
            packages.add(next(words))
        elif word == "--test":
            kinds.add("test")
            names.add(next(words))
        elif word in ("--lib", "--bins"):
            kinds.add(word.strip("-s"))
        elif word == "--profile":
            assert next(words) in ("bench", "dev", "release")
        elif word in ("--workspace", "--release", "--no-run", "--ignored", "--nocapture"):
            pass
        elif word.startswith("-"):
            raise AssertionError(f"{word} is not known to {__file__}")
        else:
            filters.append(word)
    count = 0
    for package, kind, name, path in test_binaries():
        if packages and package not in packages or kinds and kind not in kinds or kind == "test" and names and name not in names:
            continue
        out = subprocess.run([path, "--list", "--format", "terse", *filters], stdout=subprocess.PIPE, text=True, check=True)
        count += sum(line.endswith(": test") for line in out.stdout.splitlines())
    return count


class Hopwright(unittest.TestCase):
    def test_the_command_takes_the_flags_of_every_line(self):
        count = 0
        for place, (_, *arguments) in written("hopwright"):
            with self.subTest(place):
                # `--help` at the end: flags and values before it are parsed, and nothing is done.
                arguments = ["check" if a == "COMMAND" else a for a in arguments]
                done = hopwright(arguments if arguments[0] == "help" else [*arguments, "--help"])
                # A warning that does not exist makes the command list those that do; docs/errors.md uses that.
                if "--deny help" not in place:
                    self.assertEqual(done.returncode, 0, f"{place}\n{done.stdout}")
                count += 1
        self.assertGreater(count, 40)

    def test_what_needs_only_files_runs(self):
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            for entry in "p4", "examples", "tests":
                (Path(folder) / entry).symlink_to(ROOT / entry)
            # A capture of one packet of sixty zero bytes.
            (Path(folder) / "a.pcap").write_bytes(
                struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + struct.pack("<IIII", 0, 0, 60, 60) + bytes(60))
            for place, (_, *arguments) in written("hopwright"):
                programs = [a for a in arguments if a.endswith((".p4", ".stf"))]
                placeholder = any(re.fullmatch(r"[A-Z]{2,}(\.\w+)?", a) for a in arguments)
                there = all((ROOT / p).exists() for p in programs)
                whole = programs or arguments[0] in ("explain", "help", "completions")
                if arguments[0] not in RUN or placeholder or not there or not whole:
                    continue
                with self.subTest(place):
                    done = hopwright(arguments, cwd=folder)
                    self.assertEqual(done.returncode, 0, f"{place}\n{done.stdout}")
                    count += 1
        self.assertGreater(count, 8)

    def test_a_reader_may_leave(self):
        for arguments in ("ir examples/l2.p4", "rtl examples/l2.p4 --report", "explain", "asm examples/l2.p4", "p4info examples/l2.p4"):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([HOPWRIGHT, *arguments.split()], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)


class Make(unittest.TestCase):
    def test_targets_exist(self):
        count = 0
        for place, (_, *arguments) in written("make"):
            # A folder that the command has made has a makefile of its own.
            for target in arguments if "-C" not in arguments else ():
                done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
                self.assertEqual(done.returncode, 0, f"{place}\n{done.stdout}")
                count += 1
        self.assertGreater(count, 8)


class Cargo(unittest.TestCase):
    def test_test_commands_match_tests(self):
        count = 0
        for place, (_, *arguments) in written("cargo"):
            if arguments[0] == "test":
                with self.subTest(place):
                    self.assertGreater(matched(arguments[1:]), 0, f"{place}: matches no test")
                    count += 1
        self.assertGreater(count, 1)

    def test_fuzz_targets_exist(self):
        targets = {f.stem for f in (ROOT / "fuzz/fuzz_targets").iterdir()}
        count = 0
        for place, words in written("cargo"):
            if "fuzz" in words:
                self.assertIn(words[words.index("run") + 1], targets, place)
                count += 1
        self.assertGreater(count, 0)


    def test_examples_and_packages_exist(self):
        for place, words in written("cargo"):
            for flag, where in ("--example", "crates/*/*/examples/{}.rs"), ("-p", "crates/*/{}/Cargo.toml"):
                if flag in words:
                    name = words[words.index(flag) + 1].removeprefix("hopwright-")
                    self.assertTrue(list(ROOT.glob(where.format(name))), f"{place}: no {name}")


class Scripts(unittest.TestCase):
    def test_scripts_exist_and_know_their_flags(self):
        count = 0
        for place, (script, *arguments) in written(r"(bench|demo|tests)/.+\.(py|sh)"):
            # A shell script may hand its flags on to a program of the same name.
            source = "".join(f.read_text() for f in (ROOT / script).parent.glob(f"{Path(script).stem}.*"))
            # Options of all test programs.
            source += (ROOT / "tests/lab/cases.py").read_text() if "case_options" in source else ""
            for flag in arguments:
                if flag.startswith("--"):
                    self.assertIn(flag.split("=")[0], source, f"{place}: {script} does not know {flag}")
            count += 1
        self.assertGreater(count, 4)


if __name__ == "__main__":
    unittest.main()
