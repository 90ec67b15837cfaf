#!/usr/bin/env python3
"""p4c by its names: exit codes, messages and files, compared with those that p4c documents and its sources have."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, ROOT
from names import Links

BROKEN = "#include <core.p4>\n#include <v1model.p4>\ncontrol c() {\n    apply { bit<8> x = y; }\n}\n"


class Compiler(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.links = Links()
        cls.addClassCleanup(cls.links.cleanup)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(ROOT / "examples/l2.p4", self.folder)

    def run_as(self, name, line, status=0):
        """Runs a compiler by its link; returns its output and messages."""
        done = subprocess.run([self.links.folder / name, *line.split()], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, f"{name} {line}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def test_the_compiler_writes_a_file(self):
        self.run_as("p4c-bm2-ss", "--p4v 16 --p4runtime-files l2.txtpb,l2.p4info.json,l2.bin -o l2.json l2.p4")
        program = json.loads((self.folder / "l2.json").read_text())
        self.assertEqual(program["program"], "l2.p4")
        self.assertIn("version", program["__meta__"])
        tables = {table["name"]: table for pipeline in program["pipelines"] for table in pipeline["tables"]}
        info = json.loads((self.folder / "l2.p4info.json").read_text())
        self.assertEqual(set(tables), {table["preamble"]["name"] for table in info["tables"]})
        actions = {action["name"] for action in program["actions"]}
        types = {kind["name"]: {field[0]: field[1] for field in kind["fields"]} for kind in program["header_types"]}
        headers = {header["name"]: types[header["header_type"]] for header in program["headers"]}
        for table in tables.values():
            self.assertLessEqual(set(table["actions"]), actions)
            for key in table["key"]:
                header, field = key["target"]
                self.assertGreater(headers[header][field], 0, key)
        # P4Info is that of `hopwright p4info`.
        ours = subprocess.check_output([HOPWRIGHT, "p4info", "l2.p4"], cwd=self.folder, text=True)
        self.assertEqual((self.folder / "l2.txtpb").read_text(), ours)
        # The file runs where P4 text does.
        for command in "check", "ir":
            subprocess.run([HOPWRIGHT, command, "l2.json"], cwd=self.folder, check=True, capture_output=True)

    def test_the_driver_writes_to_a_folder(self):
        self.run_as("p4c", "--target bmv2 --arch v1model --std p4-16 -o new/out --p4runtime-files new/out/i.txtpb l2.p4")
        self.assertEqual(sorted(file.name for file in (self.folder / "new/out").iterdir()), ["i.txtpb", "l2.json"])
        done = subprocess.run([HOPWRIGHT, "as", "p4c", "l2.p4"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, (self.folder / "l2.json").exists()), (0, True), done.stderr)

    def test_errors_are_told_as_p4c_tells_them(self):
        (self.folder / "broken.p4").write_text(BROKEN)
        for name in "p4c", "p4c-bm2-ss":
            _, messages = self.run_as(name, "broken.p4", 1)
            self.assertRegex(messages, r"(?m)^broken\.p4\(4\): error: .*`y`.*\n    apply \{ bit<8> x = y; \}\n {23}\^$")
        _, messages = self.run_as("p4c", "missing.p4", 1)
        self.assertIn('\nERROR: the input file "missing.p4" does not exist.\n', messages)
        self.assertIn("Sorry; 1 error was found while analyzing the command inputs.", messages)
        _, messages = self.run_as("p4c", "", 2)
        self.assertIn("p4c: error: no input pathname was specified.", messages)
        _, messages = self.run_as("p4c-bm2-ss", "--no-such l2.p4", 1)
        self.assertIn("error: Unknown option --no-such\n", messages)
        _, messages = self.run_as("p4c", "-b ebpf l2.p4", 2)
        self.assertIn("p4c: error: Unknown backend: ebpf-v1model", messages)
        _, messages = self.run_as("p4c-bm2-ss", "--p4runtime-files x.xml l2.p4", 1)
        self.assertIn("unknown file kind; known suffixes are .bin, .txt, .json, and .txtpb", messages)
        for line in "--std p4-14 l2.p4", "--arch psa l2.p4", "--disable-annotations=name l2.p4":
            self.run_as("p4c-bm2-ss", line, 1)
        self.assertFalse(any(file.suffix == ".json" for file in self.folder.iterdir()))

    def test_programs_are_preprocessed(self):
        printed, _ = self.run_as("p4c-bm2-ss", "-E l2.p4")
        self.assertTrue(printed.startswith('# 1 "l2.p4"\n# 1 "<core.p4>" 1\n'), printed[:80])
        self.assertIn("V1Switch(", printed)
        self.run_as("p4c", "-E -o . l2.p4")
        self.assertEqual((self.folder / "l2.p4i").read_text(), printed)
        (self.folder / "again.p4").write_text(printed)
        self.run_as("p4c", "-o . again.p4")
        self.assertTrue((self.folder / "again.json").exists())

    def test_warnings_are_disabled_and_made_errors(self):
        (self.folder / "warn.p4").write_text((self.folder / "l2.p4").read_text() + "\nconst bit<8> TOO_WIDE = 256;\n")
        _, messages = self.run_as("p4c-bm2-ss", "warn.p4")
        self.assertRegex(messages, r"warn\.p4\(\d+\): \[--Wwarn=overflow\] warning: ")
        for silent in "--Wdisable", "--Wdisable=overflow":
            self.assertEqual(self.run_as("p4c-bm2-ss", f"{silent} warn.p4")[1], "")
        for error in "--Werror", "--Werror=overflow":
            self.assertIn("error: ", self.run_as("p4c-bm2-ss", f"{error} warn.p4", 1)[1])

    def test_versions_and_help(self):
        self.assertRegex(self.run_as("p4c", "--version")[0], r"^p4c \d")
        self.assertRegex(self.run_as("p4c-bm2-ss", "--version")[1], r"^p4c-bm2-ss\nVersion \d")
        for name in "p4c", "p4c-bm2-psa":
            self.assertIn("--p4runtime-files", self.run_as(name, "--help")[0])


if __name__ == "__main__":
    unittest_main()
