#!/usr/bin/env python3
"""What `make dist` ships: a small binary that names functions in backtraces, its debug information apart, man pages, completions."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, ROOT


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=True).stdout


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([ROOT / "packaging/dist.sh", HOPWRIGHT, folder.name], check=True)
        cls.binary = Path(folder.name) / "hopwright"
        cls.debug = Path(folder.name) / "hopwright.debug"

    def test_the_binary_is_small_and_runs(self):
        self.assertLess(self.binary.stat().st_size, 70e6)
        self.assertIn("border router", output(self.binary, "scion", "--help"))

    def test_debug_information_is_apart_and_belongs_to_it(self):
        sections = set(re.findall(r"\] (\.\S+)", output("readelf", "--section-headers", "--wide", self.binary)))
        # The names of scripts for debuggers are part of the program's data.
        self.assertEqual([s for s in sections if s.startswith(".debug_") and s != ".debug_gdb_scripts"], [])
        link = output("readelf", "--string-dump=.gnu_debuglink", self.binary)
        self.assertIn("hopwright.debug", link)
        # The last word of the section is the checksum of the file with the debug information.
        words = re.findall(r"^ +0x[0-9a-f]+ ([0-9a-f ]+?) {2}", output("readelf", "--hex-dump=.gnu_debuglink", self.binary),
                           re.MULTILINE)
        checksum = int.from_bytes(bytes.fromhex("".join(words).replace(" ", ""))[-4:], "little")
        self.assertEqual(checksum, zlib.crc32(self.debug.read_bytes()))
        self.assertIn(".debug_line", output("readelf", "--section-headers", "--wide", self.debug))

    def test_functions_have_names(self):
        names = output("nm", "--demangle", self.binary)
        for function in "hopwright::main", "hopwright_scion::agent", "cranelift_codegen::":
            self.assertIn(function, names)


    def test_every_command_has_a_man_page_and_completions(self):
        folder = self.binary.parent
        commands = re.findall(r"^  ([a-z][a-z0-9-]*)  ", output(self.binary, "--help").partition("Commands:")[2], re.MULTILINE)
        self.assertGreater(len(commands), 20)
        for shell, script in ("bash", "hopwright.bash"), ("zsh", "_hopwright"), ("fish", "hopwright.fish"):
            asks = f"_HOPWRIGHT_COMPLETE={shell}" if shell == "fish" else f'_HOPWRIGHT_COMPLETE="{shell}"'
            self.assertIn(asks, (folder / "completions" / script).read_text())
            asked = {**os.environ, "_HOPWRIGHT_COMPLETE": shell, "_CLAP_COMPLETE_INDEX": "1", "_CLAP_IFS": "\n"}
            answer = subprocess.run([self.binary, "--", "hopwright", ""], env=asked, stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertLessEqual(set(commands), {re.split("[:\t]", line)[0] for line in answer.splitlines()})
        for command in set(commands) - {"help"}:
            self.assertIn(f"hopwright {command}", (folder / f"man/hopwright-{command}.1").read_text().replace("\\-", "-"))


class Units(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_understands_the_units(self):
        units = sorted((ROOT / "packaging").glob("*.service"))
        self.assertGreaterEqual(len(units), 2)
        for unit in units:
            with self.subTest(unit.name), tempfile.TemporaryDirectory() as folder:
                # An instance of a template, and a command that is there.
                copy = Path(folder) / unit.name.replace("@.", "@br1.")
                copy.write_text(unit.read_text().replace("/usr/bin/hopwright", str(HOPWRIGHT)))
                done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest_main()
