#!/usr/bin/env python3
"""Types pages of the documentation, docs/tutorial.md or those named, into a shell, as a newcomer would, and compares
what comes with what the page says.

A comment before a block says what to do with it: `file NAME` writes it, `background` leaves its last command running
until it has said all that the page shows, `fails` wants its last command to fail, `skip` leaves it out. Lines of a
console block that begin with `# ` and are not output are commands; a line `…` stands for any lines, `…` in a line for
any text. Needs root: run.sh has a network for it.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from lab.command import HOPWRIGHT, ROOT, alive, wait_until

VENV = ROOT / "tests/p4runtime/.venv-finsy/bin"
# The machine may be busy.
PATIENCE = 60.0


def blocks(text):
    """Directives, language, lines and line number of each code block."""
    directives, language, lines = [], None, []
    for number, line in enumerate(text.splitlines(), 1):
        if language is not None:
            if line.startswith("```"):
                yield directives, language, lines, number - len(lines)
                directives, language = [], None
            else:
                lines.append(line)
        elif line.startswith("```"):
            language, lines = line[3:].strip(), []
        elif found := re.fullmatch(r"<!-- (.*) -->", line):
            directives = found[1].split()
        elif line:
            directives = []


def steps(lines):
    """Commands of a console block, each with the output that is shown. The page's own outputs begin with `# `, too:
    those of `table show` say a table's or default's name."""
    found = []
    for line in lines:
        is_output = re.match(r"# (\S+\.\S+: |default: )", line)
        if line.startswith("# ") and not is_output:
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern(shown):
    """What output must look like: each line of the page, in order."""
    out = ""
    for line in shown:
        if line == "…":
            out += r"(?:.*\n)*?"
        else:
            # Log lines have a time and a colour in front; trailing blanks do not count.
            out += "(?:.* )?" if line.startswith("INFO") else ""
            words = [".*?".join(re.escape(part) for part in word.split("…")) for word in line.split()]
            out += r"[ \t]*" + r"[ \t]*".join(words) + r"[ \t]*\n"
    return re.compile(r"^" + out, re.MULTILINE)


class Shell:
    """Runs commands; variables live on."""

    def __init__(self, folder):
        self.folder = folder
        path = f"{HOPWRIGHT.parent}:{VENV}:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "NO_COLOR": "1"}
        self.before, self.background = "", []

    def run(self, command, shown, fails):
        if name := re.match(r"(\w+)=", command):
            command = f"{command}; printf %s \"${name[1]}\""
            self.env[name[1]] = subprocess.check_output(["bash", "-c", command], cwd=self.folder, env=self.env, text=True)
            return
        # What goes on in the background does so next to the command that follows.
        if command.endswith("&"):
            self.before = command
            return
        script, self.before = f"{self.before}\n{command}", ""
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        self.compare(command, shown, done.stdout)
        if (done.returncode != 0) != fails:
            raise AssertionError(f"`{command}` ended with {done.returncode}:\n{done.stdout}")

    def start(self, command, shown):
        log = open(self.folder / f"background-{len(self.background)}.log", "w+")
        process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.env, stdout=log,
                                   stderr=subprocess.STDOUT)
        self.background.append((command, process, log))
        output = pathlib.Path(log.name).read_text
        instead = lambda: f"`{command}` says\n{output()}\ninstead of\n" + "\n".join(shown)
        wait_until(instead, lambda: pattern(shown).search(output()) or not alive(process, instead))

    @staticmethod
    def compare(command, shown, output):
        if not shown and output.strip():
            raise AssertionError(f"`{command}` says what the page does not show:\n{output}")
        if not pattern(shown).match(output):
            raise AssertionError(f"`{command}` says\n{output}\ninstead of\n" + "\n".join(shown))

    def stop(self):
        for command, process, log in reversed(self.background):
            alive = process.poll() is None
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
            text = pathlib.Path(log.name).read_text()
            if not alive or "panicked" in text:
                raise AssertionError(f"`{command}` ended by itself:\n{text}")


def end_processes():
    """What still runs in namespaces: all of them are the page's."""
    for namespace in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.split("\n"):
        if namespace:
            pids = subprocess.run(["ip", "netns", "pids", namespace.split()[0]], capture_output=True, text=True).stdout
            for pid in pids.split():
                os.kill(int(pid), signal.SIGKILL)


def type_page(name):
    page = ROOT / name
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(pathlib.Path(folder))
        # Pages may be typed in the checkout.
        (shell.folder / "examples").symlink_to(ROOT / "examples")
        count = 0
        try:
            for directives, language, lines, number in blocks(page.read_text()):
                try:
                    match directives:
                        case ["file", file]:
                            (shell.folder / file).write_text("\n".join(lines) + "\n")
                        case ["skip"]:
                            pass
                        case _ if language == "console":
                            *others, (last, shown) = steps(lines)
                            for command, output in others:
                                shell.run(command, output, False)
                            if directives == ["background"]:
                                shell.start(last, shown)
                            else:
                                shell.run(last, shown, directives == ["fails"])
                            count += len(others) + 1
                except AssertionError as error:
                    sys.exit(f"{name}, block at line {number}: {error}")
        finally:
            shell.stop()
            end_processes()
    assert count > 20, "the page has lost its commands"
    print(f"{name}: {count} commands, as the page says")


if __name__ == "__main__":
    # Who runs in the background of a shell ignores it, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for page in sys.argv[1:] or ["docs/tutorial.md"]:
        type_page(page)
