#!/usr/bin/env python3
"""What `tests/run.py` does with the targets of a stage."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import run

# Each target waits until as many have begun as it is told.
MAKEFILE = """
%:
	@touch $@.begun
	@until [ $$(ls *.begun | wc -l) -ge $(TOGETHER) ]; do sleep 0.05; done
	@[ $@ != fails ]
"""
# A target that needs what the first stage makes.
NEEDS = """
.PHONY: hopwright test
hopwright:
	echo hopwright >>made
test: hopwright
	echo test >>made
"""


class Stages(unittest.TestCase):
    def stage(self, together, busy, targets, **stage):
        """Runs a stage whose targets wait until so many have begun, on processors that are so busy."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(run, ROOT=Path(folder), LOGS=Path(folder), WATCHED=0.05), \
                mock.patch.object(run.Processors, "busy", lambda self: busy), contextlib.redirect_stdout(io.StringIO()) as printed:
            Path(folder, "Makefile").write_text(MAKEFILE.replace("$(TOGETHER)", str(together)))
            results = run.Results()
            self.went_on = run.run_stages([run.Stage("stage", targets=targets, **stage)], results, 0)
            run.print_times(results)
        self.printed = printed.getvalue()
        return results

    def test_more_targets_begin_while_processors_are_idle(self):
        targets = ["a", "b", "c", "d"]
        self.assertEqual(sorted(self.stage(4, 0.1, targets, jobs=1, most=4).passed), targets)
        for target in targets:
            self.assertRegex(self.printed, rf"(?m)^ +\d+ +\d+  {target}$")

    def test_not_more_than_the_jobs_of_a_stage_begin_on_busy_processors(self):
        begun = []
        begin = run.run

        def one(target, made, results):
            begun.append(target)
            self.assertLessEqual(len(begun) - len(results.seconds), 2)
            begin(target, made, results)

        with mock.patch.object(run, "run", one):
            self.assertEqual(len(self.stage(1, 0.9, ["a", "b", "c", "d", "e"], jobs=2, most=5).passed), 5)

    def test_what_the_first_stage_has_made_is_not_made_again(self):
        for needed in (True, False):
            with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(run, ROOT=Path(folder), LOGS=Path(folder)), \
                    contextlib.redirect_stdout(io.StringIO()):
                Path(folder, "Makefile").write_text(NEEDS)
                run.run_stages([run.Stage("stage", 1, ["test"], needed=needed)], run.Results(), 0)
                self.assertEqual(Path(folder, "made").read_text().split(), ["hopwright"] * needed + ["test"])

    def test_what_failed_is_known_and_ends_the_run_only_if_the_rest_needs_it(self):
        results = self.stage(1, 0.1, ["fails", "a"], jobs=2)
        self.assertEqual((results.failed, results.passed, self.went_on), (["fails"], ["a"], True))
        self.assertIn("fails: FAILED", self.printed)
        self.stage(1, 0.1, ["fails", "a"], jobs=2, needed=True)
        self.assertFalse(self.went_on)


if __name__ == "__main__":
    unittest.main()
