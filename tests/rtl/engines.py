"""Builds and runs the tests of the hardware engines.

NAME.cpp tests the module NAME of crates/targets/rtl/lib, or of NAME.sv here, which joins several. Each of its lines
`// config: PARAMETER=VALUE …` gives a simulation: verilator with all warnings as errors, a C++ compiler, runs with several
seeds of random initial state and random stimuli. Yosys reads each configuration and checks it, too.

Programs are kept in `build` by all that they are made of, and so is that yosys has found nothing: without a change a run only simulates.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parent.parent / "crates/targets/rtl/lib"
BUILD = HERE / "build"
SEEDS = (1, 2)
CXX = ["g++", "-std=c++20", "-O1", "-w"]


def run(*command):
    """Runs a command; its output is shown only if it fails."""
    result = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{result.stdout[-2500:]}")
    return result.stdout


def digest(*parts):
    """Of files, by what they contain, and of words."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode()
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()[:24]


def keep(folder, name, key):
    """The file of what is kept for a name and a key. Those for other keys are removed."""
    folder.mkdir(exist_ok=True)
    kept = folder / f"{name}-{key}"
    for other in folder.glob(f"{name}-" + "?" * len(key)):
        if other != kept:
            other.unlink()
    return kept


def verilator_root():
    return pathlib.Path(re.search(r"VERILATOR_ROOT\s*= (\S+)", run("verilator", "-V")).group(1))


def compile_runtime(include, tools):
    """Compiles what all simulations share. Returns the objects."""
    stamp = BUILD / "runtime"
    key = digest(tools, *CXX, HERE / "numbers.h")
    objects = [BUILD / f"{name}.o" for name in ("verilated", "verilated_threads")]
    if not stamp.exists() or stamp.read_text() != key:
        run(*CXX, f"-I{include}", "-x", "c++-header", HERE / "numbers.h", "-o", BUILD / "numbers.h.gch")
        for target in objects:
            run(*CXX, f"-I{include}", "-c", include / f"{target.stem}.cpp", "-o", target)
        stamp.write_text(key)
    return objects


def configurations(test):
    return [line.split()[2:] for line in test.read_text().splitlines() if line.startswith("// config:")]


def sources(name):
    """A module's file, and where those that it uses are found."""
    own = HERE / f"{name}.sv"
    return own if own.exists() else LIBRARY / f"{name}.sv"


def hardware(name):
    """The files that a module may be made of."""
    return sorted({*LIBRARY.glob("*.sv"), sources(name), HERE / "waivers.vlt"})


def simulate(test, parameters, include, runtime, tools):
    name = test.stem
    label = "-".join([name, *parameters]).replace("=", "")
    made_of = digest(tools, pathlib.Path(__file__), *hardware(name), test, *sorted(HERE.glob("*.h")), *parameters)
    binary = keep(BUILD / "programs", label, made_of)
    if not binary.exists():
        compile_program(test, parameters, BUILD / label, include, runtime, binary)
    for seed in SEEDS:
        run(binary, f"+seed={seed}")


def compile_program(test, parameters, build, include, runtime, binary):
    name = test.stem
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    run("verilator", "--cc", "-Wall", "--prefix", "Vdut", "--top-module", name, "--Mdir", build, "-O3", "--output-split", 0,
        "--x-assign", "unique", "--x-initial", "unique", *(f"-G{p}" for p in parameters), "-y", LIBRARY,
        HERE / "waivers.vlt", sources(name))
    # One translation unit, since most of a compiler's time goes into headers. Macros in front of a compiled header would
    # make it useless.
    whole = build / "whole.cc"
    parts = [*sorted(build.glob("*.cpp")), test]
    whole.write_text("\n".join([
        '#include "numbers.h"', *(f"#define {p.replace('=', ' ')}" for p in parameters), *(f'#include "{part}"' for part in parts),
        ""]))
    run(*CXX, f"-I{build}", f"-I{BUILD}", f"-I{include}", f"-I{HERE}", whole, *runtime, "-pthread", "-o", build / "test")
    (build / "test").rename(binary)
    shutil.rmtree(build)


def check(test):
    """Yosys reads every configuration: what it infers has no latch, no loop, no undriven or doubly driven signal."""
    from pyosys import libyosys

    name = test.stem
    files = " ".join(str(f) for f in sorted({*LIBRARY.glob("*.sv"), sources(name)}))
    design = libyosys.Design()
    for command in (f"read_verilog -sv {files}", "design -save library"):
        libyosys.run_pass(command, design)
    for parameters in configurations(test):
        chparam = "".join(" -chparam " + p.replace("=", " ") for p in parameters)
        for command in ("design -load library", f"hierarchy -check -top {name}{chparam}", "proc -norom", "check -assert",
                        "select -assert-none t:$dlatch t:$_DLATCH_*"):
            libyosys.run_pass(command, design)


def check_once(test):
    kept = keep(BUILD / "checked", test.stem, digest(pathlib.Path(__file__), HERE / "requirements.txt", *hardware(test.stem), *configurations(test)))
    if not kept.exists():
        run(sys.executable, __file__, "--check", test)
        kept.touch()


def job(kind, test, *arguments):
    begin = time.monotonic()
    label = " ".join([test.stem, *(arguments[0] if kind is simulate else ["yosys"])])
    try:
        kind(test, *arguments)
        return label, time.monotonic() - begin, None
    except RuntimeError as error:
        return label, time.monotonic() - begin, str(error)


def main():
    if sys.argv[1:2] == ["--check"]:
        check(pathlib.Path(sys.argv[2]))
        return 0
    tests = sorted(t for t in HERE.glob("*.cpp") if not sys.argv[1:] or t.stem in sys.argv[1:])
    for module in LIBRARY.glob("*.sv"):
        if not (HERE / f"{module.stem}.cpp").exists():
            print(f"rtl: {module.stem} has no test")
            return 1
    BUILD.mkdir(exist_ok=True)
    include = verilator_root() / "include"
    tools = run("verilator", "--version") + run(CXX[0], "--version")
    runtime = compile_runtime(include, tools)
    jobs = [(simulate, test, parameters, include, runtime, tools) for test in tests for parameters in configurations(test)]
    jobs += [(check_once, test) for test in tests]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        for label, seconds, error in pool.map(lambda arguments: job(*arguments), jobs):
            if error:
                failed += 1
                print(f"{label}: FAILED\n{error}")
            elif sys.argv[1:]:
                print(f"{label}: {seconds:.1f} s")
    print(f"rtl: {len(jobs) - failed} passed, {failed} failed")
    return int(failed > 0 or not jobs)


if __name__ == "__main__":
    sys.exit(main())
