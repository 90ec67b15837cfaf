#!/usr/bin/env python3
"""C programs over librina-api.so: one of ours on three systems in a row, in each dialect. With RLITE=FOLDER, a checkout of
https://github.com/rlite/rlite, rlite's own tools, compiled as they are against rlite's header.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys

from lab.command import HOPWRIGHT, ROOT, Failed, run, wait_for
from lab.leaf_spine import Fabric, carry_out, report

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

    def pump(self, node, source, sink, *command):
        """A program that reads from a file or a pipe, and writes to a file."""
        with open(sink, "wb") as out:
            process = subprocess.Popen(list(map(str, command)), env=self.environment(node), stdin=source, stdout=out, stderr=subprocess.DEVNULL)
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
    check_rinacat(net, programs, folder, tool("rinacat/rinacat"))


def bytes_of(size, which):
    """The same for a size each time, and others for another one: numbered, so that nothing can be in another place unnoticed."""
    words = b"".join(f"{which}{number:09}".encode() for number in range(size // 10 + 1))
    return words[:size]


def copied(net, programs, folder, cat, number, size, by_server):
    """Copies a file from one end to the other. rinacat ends when one of its inputs ends, so the other end's input is one that does not."""
    name, (source, sink, rest) = f"cat{number}", [folder / f"{kind}{number}" for kind in ("from", "to", "rest")]
    source.write_bytes(bytes_of(size, "f"))
    with open(source, "rb") as file:
        inputs = (file, subprocess.PIPE) if by_server else (subprocess.PIPE, file)
        sinks = (rest, sink) if by_server else (sink, rest)
        server = programs.pump(net["n3"], inputs[0], sinks[0], cat, "-l", "-A", name)
        wait_for(name, lambda: any(it["application"] == name for it in net["n1"].use("list")))
        client = programs.pump(net["n1"], inputs[1], sinks[1], cat, "-a", name, "-A", "client", "--reliable")
        if (client.wait(PATIENCE), server.wait(PATIENCE)) != (0, 0):
            raise Failed(f"rinacat: {client.returncode} and {server.returncode}")
    check_copy(source.read_bytes(), sink, f"rinacat, {size} bytes")


def check_copy(data, sink, what):
    got = sink.read_bytes()
    if hashlib.sha256(got).digest() != hashlib.sha256(data).digest():
        raise Failed(f"{what}: {len(got)} bytes arrived, or others")


def check_rinacat(net, programs, folder, cat):
    """Files of several sizes each way, data both ways at once, and a command behind the flow."""
    sizes = [0, 1, 1023, 1024, 1025, 18_890, 200_000, 1 << 20]
    for number, (size, by_server) in enumerate((size, by_server) for size in sizes for by_server in (False, True)):
        copied(net, programs, folder, cat, number, size, by_server)
    report(f"rinacat: files of {', '.join(map(str, sizes))} bytes each way, with the same checksums")
    # The client ends when it has sent its file, and leaves unread what the server sends without end.
    source, sink, rest = folder / "from", folder / "to", folder / "rest"
    source.write_bytes(bytes_of(1 << 20, "c"))
    endless = subprocess.Popen(["yes", "both ways at once"], stdout=subprocess.PIPE)
    programs.running.append(endless)
    server = programs.pump(net["n3"], endless.stdout, sink, cat, "-l", "-A", "both")
    endless.stdout.close()
    endless.stdout = None
    wait_for("both", lambda: any(it["application"] == "both" for it in net["n1"].use("list")))
    with open(source, "rb") as file:
        programs.pump(net["n1"], file, rest, cat, "-a", "both", "-A", "client", "--reliable").wait(PATIENCE)
    server.wait(PATIENCE)
    check_copy(source.read_bytes(), sink, "rinacat, both ways at once")
    text = b"both ways at once\n"
    if rest.read_bytes() != (text * (rest.stat().st_size // len(text) + 1))[:rest.stat().st_size]:
        raise Failed("rinacat, both ways at once: other bytes than were sent")
    # What a command sends back, while the client's input stays open.
    environment = {**programs.environment(net["n3"]), "SHELL": "/bin/sh"}
    server = subprocess.Popen([str(cat), "-l", "-A", "command", "-c", "cat"], env=environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    programs.running.append(server)
    wait_for("command", lambda: any(it["application"] == "command" for it in net["n1"].use("list")))
    client = programs.pump(net["n1"], subprocess.PIPE, sink, cat, "-a", "command", "-A", "client", "--reliable")
    client.stdin.write(source.read_bytes())
    client.stdin.flush()
    wait_for("the echo", lambda: sink.stat().st_size == source.stat().st_size)
    client.stdin.close()
    client.wait(PATIENCE)
    check_copy(source.read_bytes(), sink, "rinacat, cat behind the flow")
    report(f"rinacat: both ways at once, {rest.stat().st_size} bytes back until the file was sent; a MiB through a command and back")


def config(node, dialect):
    address = "address = 1\n" if node.name == NODES[0] else ""
    kind = f'dialect = "{dialect}"\n' if dialect != "hopwright" else 'credential = "dif.key"\nencryption = true\n'
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


def test(folder, dialects):
    (folder / "librina-api.so").symlink_to(LIBRARY)
    program = compiled(folder, ROOT / "tests/rina/api_test.c", HEADERS)
    for dialect in dialects:
        check(dialect, program, folder)


if __name__ == "__main__":
    sys.exit(carry_out("C programs over librina-api.so", test, ("hopwright", "rlite", "irati")))
