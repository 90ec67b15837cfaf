"""The example handler of exceptions, as a process."""

import json
import pathlib
import subprocess
import sys
import tempfile

HANDLER = pathlib.Path(__file__).resolve().parents[2] / "examples/exception_handler/handler.py"
PATIENCE = 60


class Handler:
    """Decides about the flows of a VDP; use it with `with`. Afterwards `counts` are its own."""

    def __init__(self, server, vdp, *options):
        rules = ["10.1.0.0/16=1:1", "0.0.0.0/0=drop"]
        self.command = [sys.executable, HANDLER, "--server", server, "--vdp", str(vdp), *options, *rules]
        self.counts = None

    def __enter__(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        if "handling" not in line:
            self.process.kill()
            self.process.communicate()
            raise self.failure("does not start")
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends it; its counts. Fails if it has ended by itself with an error."""
        if self.counts is None:
            self.process.terminate()
            try:
                printed = self.process.communicate(timeout=PATIENCE)[0]
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()
                raise
            if not printed:
                raise self.failure(f"ended with status {self.process.returncode}")
            self.counts = json.loads(printed)
        return self.counts

    def failure(self, what):
        self.errors.seek(0)
        return AssertionError(f"the handler {what}: {self.errors.read()}")
