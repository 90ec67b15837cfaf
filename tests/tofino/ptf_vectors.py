#!/usr/bin/env python3
"""Writes the PTF tests of scion-p4's tofino-crypto as programs and packet tests.

    ptf_vectors.py CHECKOUT FOLDER

Their programs run in pipes of one switch, which the files name `pipe0` and so on: each is preprocessed, its names get a prefix, and
one `Switch` takes all pipelines. Their tests and controllers run as they are: this script stands for the client of BfRuntime
and for PTF, and writes what they ask for as `add`, `packet` and `expect`. Ports of all pipes but the last are loopback ports.
"""

import importlib
import pathlib
import sys

from stand_ins import Program, Recorder, forget, loopback, stand_ins, switch_of

PROGRAMS = {
    "aes_1pipe": (["aes_1pipe", "aes_1pipe_test"], "test_aes"),
    "aes_2pipes": (["aes_pipe0", "aes_pipe1", "aes_test"], "test_aes"),
    "cmac_1pipe": (["cmac_1pipe", "cmac_1pipe_test"], "test_cmac"),
    "cmac_2pipes": (["cmac_pipe0", "cmac_pipe1", "cmac_test"], "test_cmac"),
}


def main(checkout, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (files, test) in PROGRAMS.items():
        root = checkout / "tofino-crypto" / name
        programs = [Program(root / "p4src" / f"{file}.p4", f"pipe{i}_") for i, file in enumerate(files)]
        (folder / f"{name}.p4").write_text(switch_of(programs, [p.pipeline for p in programs]))

        recorder = Recorder(programs)
        recorder.files = dict(zip(files, programs))
        for pipe in range(len(files) - 1):
            loopback(recorder, pipe)
        stand_ins(recorder)
        forget(test, "controller")
        sys.path[:0] = [str(root), str(root / "ptf-tests")]
        case = next(c for n, c in vars(importlib.import_module(test)).items() if n.endswith("Test") and "runTest" in vars(c))
        del sys.path[:2]
        run = case()
        run.setUp()
        run.runTest()
        (folder / f"{name}.stf").write_text(recorder.text())
        print(f"{name}: {sum(l.startswith('packet') for l in recorder.lines)} packets, {len(recorder.entries)} entries")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
