"""The command under test, and where it and the checkout are; other commands, and waiting for what they bring about."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# $HOPWRIGHT, or the release build of this checkout.
NAMED = os.environ.get("HOPWRIGHT") or str(TARGET / "release/hopwright")
HOPWRIGHT = Path(shutil.which(NAMED) or NAMED).absolute()
# Seconds that a condition is waited for before a test gives up: many times what it takes on an idle machine.
PATIENCE = 120.0


class LabError(Exception):
    """The laboratory could not be built or used; the text says what to do."""


class Failed(LabError, AssertionError):
    """A command failed, or what was waited for did not come."""


def run(*command, check=True, timeout=PATIENCE, **options) -> str:
    """Runs a command and returns what it printed. It must go well, unless `check` is false."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(words)}: not within {timeout:.0f} s: {late.output}") from None
    if check and done.returncode:
        raise Failed(f"{' '.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def end(*processes, how=signal.SIGTERM, timeout=PATIENCE) -> int | None:
    """Asks processes to stop, all at once, and kills those that do not. Returns the last one's status."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(how)
    for process in processes:
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return processes[-1].returncode if processes else None


def hopwright(*args, ok=True) -> str:
    """What our command prints; it must go well, or with ok=False badly, and then this is what it says about it."""
    done = subprocess.run([HOPWRIGHT, *map(str, args)], capture_output=True, text=True, timeout=PATIENCE)
    if (done.returncode == 0) != ok:
        raise Failed(f"{args}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if ok else done.stderr


def alive(process, said) -> bool:
    """True while a process runs. Fails with its output, which `said` returns, once it has ended, so that nobody waits for it any longer."""
    if process.poll() is not None:
        raise Failed(f"a process has ended with {process.returncode}:\n{said()}")
    return True


def wait_until(what, condition, timeout=PATIENCE, interval=0.1):
    """Polls `condition` until it is true, and returns its value; raises after `timeout` seconds. `what` is a text, or makes one."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failed(f"timed out after {timeout:.0f} s waiting for {what() if callable(what) else what}")
        time.sleep(interval)
    return value


def wait_for(what, condition, timeout=PATIENCE, interval=0.1) -> float:
    """As `wait_until`, but where the condition fails or finds nothing it does not hold yet. Returns how long that took, in seconds."""
    begin, why = time.monotonic(), None

    def holds():
        nonlocal why
        try:
            why = condition()
            return why
        except (Failed, ValueError, LookupError, StopIteration, FileNotFoundError) as error:
            why = error

    wait_until(lambda: f"{what} ({why})", holds, timeout, interval)
    return time.monotonic() - begin
