#!/usr/bin/env python3
"""What `tests/run.py` does with the targets of a stage."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import run

# Each target waits until $(TOGETHER) have begun, and fails if they have not after a minute.
MAKEFILE = """
%:
	@touch $@.begun
	@for i in $$(seq 1200); do [ $$(ls *.begun | wc -l) -ge $(TOGETHER) ] && break; sleep 0.05; done; [ $$(ls *.begun | wc -l) -ge $(TOGETHER) ]
	@[ $@ != fails ]
"""
# A target that needs what the first stage makes, and what it makes for root alone.
NEEDS = """
.PHONY: hopwright p4runtime-clients test
hopwright p4runtime-clients:
	echo $@ >>made
test: hopwright p4runtime-clients
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
        everything = ["hopwright", "p4runtime-clients", "test"]
        for needed, user, made in (True, 0, everything), (False, 0, everything[2:]), (True, 1000, everything), (False, 1000, everything[1:]):
            with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(run, ROOT=Path(folder), LOGS=Path(folder)), \
                    mock.patch.object(run.os, "geteuid", return_value=user), contextlib.redirect_stdout(io.StringIO()):
                Path(folder, "Makefile").write_text(NEEDS)
                run.run_stages([run.Stage("stage", 1, ["test"], needed=needed)], run.Results(), 0)
                self.assertEqual(Path(folder, "made").read_text().split(), made)

    def test_targets_that_need_root_run_beside_others_or_are_skipped(self):
        for user, passed, skipped in (0, ["a", "b"], []), (1000, ["a"], ["b"]):
            with mock.patch.object(run.os, "geteuid", return_value=user):
                results = self.stage(len(passed), 0.1, ["a", "b"], jobs=2, only_root=True, anybody=["a"])
            self.assertEqual((sorted(results.passed), results.failed, results.skipped), (passed, [], skipped))

    def test_networks_need_root(self):
        networks = set(re.findall(r"(?m)^([a-z0-9-]+):", (run.ROOT / "mk/networks.mk").read_text()))
        self.assertIn("test-starts", networks)
        for stage in run.STAGES:
            self.assertFalse(networks & set(stage.targets_for(root=False)), stage.what)
        self.assertFalse(networks & set(run.BESIDE))

    def test_what_computes_runs_beside_stages_with_low_priority_and_before_what_waits_for_it(self):
        makefile = MAKEFILE.replace("$(TOGETHER)", "1") + """
compile unit-computing:
	@[ `cut -d ' ' -f 19 /proc/$$$$/stat` -eq $(NICE) ]
	@for i in $$(seq 1200); do [ -e network.begun ] && break; sleep 0.05; done; [ -e network.begun ]
	@touch $@.begun
measures:
	@[ -e unit-computing.begun ]
"""
        for busy in (0, 1):
            # A lower priority than that of this process, which may be low itself.
            nice = os.nice(0) if busy else run.LOWEST
            with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(run, ROOT=Path(folder), LOGS=Path(folder), WATCHED=0.05), \
                    mock.patch.object(run, "BESIDE", ["compile", "unit-computing"]), contextlib.redirect_stdout(io.StringIO()) as printed:
                Path(folder, "Makefile").write_text(makefile.replace("$(NICE)", str(nice)))
                results = run.Results()
                stages = [run.Stage("first", 1, ["first"], needed=True), run.Stage("networks", 1, ["network"]),
                          run.Stage("alone", 1, ["measures"], after="unit-computing")]
                self.assertTrue(run.run_stages(stages, results, busy, ["compile", "unit-computing"]))
            self.assertEqual((sorted(results.passed), results.failed), (["compile", "first", "measures", "network", "unit-computing"], []),
                             printed.getvalue())

    def test_what_cannot_be_run_beside_stages_has_failed_and_nobody_waits_for_it(self):
        results = run.Results()
        with mock.patch.object(run, "run", side_effect=OSError("no space")), contextlib.redirect_stdout(io.StringIO()):
            run.run_beside(run.BESIDE, results, low=True)
        self.assertEqual(results.failed, run.BESIDE)
        self.assertTrue(all(ended.is_set() for ended in results.ended.values()))

    def test_what_failed_is_known_and_ends_the_run_only_if_the_rest_needs_it(self):
        results = self.stage(1, 0.1, ["fails", "a"], jobs=2)
        self.assertEqual((results.failed, results.passed, self.went_on), (["fails"], ["a"], True))
        self.assertIn("fails: FAILED", self.printed)
        self.stage(1, 0.1, ["fails", "a"], jobs=2, needed=True)
        self.assertFalse(self.went_on)


if __name__ == "__main__":
    unittest.main()
