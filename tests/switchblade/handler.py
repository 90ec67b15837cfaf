"""The example handler of exceptions, as a process."""

import json
import pathlib
import subprocess
import sys

HANDLER = pathlib.Path(__file__).resolve().parents[2] / "examples/exception_handler/handler.py"
PATIENCE = 20


class Handler:
    """Decides about the flows of a VDP; use it with `with`. Afterwards `counts` are its own."""

    def __init__(self, server, vdp, *options):
        rules = ["10.1.0.0/16=1:1", "0.0.0.0/0=drop"]
        self.command = [sys.executable, HANDLER, "--server", server, "--vdp", str(vdp), *options, *rules]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if "handling" not in line:
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"the handler ended: {line}")
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends it; its counts."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.counts = json.loads(self.process.communicate(timeout=PATIENCE)[0])
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
        return self.counts
