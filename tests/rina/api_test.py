#!/usr/bin/env python3
"""C programs over librina-api.so: one of ours on three systems in a row, in both dialects. With RLITE=FOLDER, a checkout of
https://github.com/rlite/rlite, rlite's own tools, compiled as they are against rlite's header.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import os
import pathlib
import re
import subprocess
import sys

from leaf_spine import HOPWRIGHT, ROOT, Fabric, Failed, carry_out, report, run, wait_for

NODES = ["n1", "n2", "n3"]
LINKS = [("n1", "n2"), ("n2", "n3")]
LIBRARY = HOPWRIGHT.parent / "librina_api.so"
HEADERS = ROOT / "crates/apps/rina-api/include"
PATIENCE = 120


def compiled(folder, source, headers, *options):
    """A program, linked as users link it; the library is where programs look for it at run time."""
    program = folder / pathlib.Path(source).stem
    run("gcc", "-Wall", "-O1", *options, "-I", headers, "-o", program, source, "-L", folder, "-lrina-api", "-lpthread", "-lm")
    return program


class Programs:
    """Starts programs on a node, that is with its socket."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def environment(self, node):
        return {**os.environ, "LD_LIBRARY_PATH": str(self.folder), "HOPWRIGHT_RINA_SOCKET": str(node.socket),
                "HOPWRIGHT_RINA_REASONS": "1"}

    def run(self, node, *command):
        done = subprocess.run(list(map(str, command)), env=self.environment(node), capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise Failed(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, node, *command):
        process = subprocess.Popen(list(map(str, command)), env=self.environment(node), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def stop(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def check_ours(net, programs, program, count):
    names = ["echo", "echo|second"]
    server = programs.start(net["n3"], program, "server", *names)
    if server.stdout.readline() != "ready\n":
        raise Failed("the server is not ready")
    wait_for("the directory", lambda: {entry["application"] for entry in net["n1"].use("list")} == set(names))
    for name, kind in zip(names, ("reliable", "unreliable")):
        report(f"{name}, {kind}: {programs.run(net['n1'], program, 'client', name, count, kind).strip()}")
    programs.run(net["n1"], program, "refused", names[0])
    wait_for("the release of flows", lambda: not any(net[node].show()["flows"] for node in ("n1", "n3")))
    said, _ = server.communicate(timeout=PATIENCE)
    expected = ["client|1: accepted, gap none"] * 8 + ["client|1: accepted, gap any"] * 8 + ["unwanted: refused, gap any"]
    if server.returncode or said.splitlines() != expected:
        raise Failed(f"the server: status {server.returncode}: {said}")
    wait_for("the end of names", lambda: not net["n1"].use("list"))
    report("refused flows, wrong arguments, the end of names: as the header says")


def check_rlite(net, programs, folder, checkout):
    tool = lambda name: compiled(folder, checkout / f"user/tools/{name}.c", checkout / "include", "-D_GNU_SOURCE")
    perf, echo = tool("rinaperf"), tool("rina-echo-async")
    programs.start(net["n3"], perf, "-l")
    wait_for("rinaperf's server", lambda: net["n1"].use("list"))
    for what, options in ("ping", ("-c", 20, "-i", 1000)), ("reliable ping", ("-c", 20, "-i", 1000, "-g", 0)), \
            ("request and response", ("-t", "rr", "-c", 2000, "-g", 0)), ("one way", ("-t", "perf", "-c", 50000, "-s", 1400, "-g", 0)):
        said = programs.run(net["n1"], perf, *options)
        lines = [re.sub(r"\s+", " ", line).strip() for line in said.splitlines() if line.strip()]
        report(f"rinaperf, {what}: " + " | ".join(lines[-3:]))
    programs.start(net["n3"], echo, "-l")
    wait_for("rina-echo-async's server", lambda: len(net["n1"].use("list")) > 1)
    said = programs.run(net["n1"], echo, "-p", 16)
    report(f"rina-echo-async, 16 flows: {said.count('Response')} responses")
    if said.count("Response") != 16:
        raise Failed(f"rina-echo-async: {said}")


def config(node, dialect):
    address = "address = 1\n" if node.name == NODES[0] else ""
    kind = 'dialect = "rlite"\n' if dialect == "rlite" else 'credential = "dif.key"\nencryption = true\n'
    links = "".join(f'[[ipcp.link]]\ndevice = "{device}"\n\n' for device in node.devices)
    return (f'[router]\nsocket = "{node.socket}"\n\n[[ipcp]]\nname = "{node.name}"\ndif = "n.DIF"\n{kind}{address}'
            f'keepalive_ms = 1000\ndead_after_ms = 20000\n\n{links}')


def check(dialect, program, folder):
    work = folder / dialect
    work.mkdir()
    (work / "dif.key").write_text("what the members of this DIF know\n")
    programs = Programs(folder)
    with Fabric(work) as net:
        net.nodes = {}
        try:
            for node in NODES:
                net.add_node(node)
            for one, other in LINKS:
                net.add_link(one, other)
            print(f"C programs, dialect {dialect}", flush=True)
            for node in NODES:
                net[node].config.write_text(config(net[node], dialect))
                net[node].start()
            wait_for("all reach all", net.all_reached)
            check_ours(net, programs, program, 100)
            if checkout := os.environ.get("RLITE"):
                check_rlite(net, programs, folder, pathlib.Path(checkout))
        finally:
            programs.stop()


def test(folder):
    (folder / "librina-api.so").symlink_to(LIBRARY)
    program = compiled(folder, ROOT / "tests/rina/api_test.c", HEADERS)
    for dialect in "hopwright", "rlite", "irati":
        check(dialect, program, folder)


if __name__ == "__main__":
    sys.exit(carry_out("C programs over librina-api.so", test))
