"""Processes inside namespaces: started with a log file, stopped with certainty.

A started process dies with the program that started it, even if that one is
killed by SIGKILL, so no run can leave a router behind.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import subprocess
from pathlib import Path

from .command import PATIENCE, LabError
from .netns import Namespace

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Announcements:
    """What a process tells its service manager (sd_notify(3))."""

    def __init__(self, path: Path):
        path.unlink(missing_ok=True)
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))
        # The process may run as another user.
        path.chmod(0o666)

        # All that it has said, and what it wants to have kept for the next process.
        self.lines: list[str] = []
        self.kept: dict[str, int] = {}

    def read(self) -> list[str]:
        """All that the process has said."""
        try:
            while True:
                text, descriptors, *_ = socket.recv_fds(self._socket, 4096, 1)
                lines = text.decode().split("\n")
                self.lines += lines
                name = next((line.partition("=")[2] for line in lines if line.startswith("FDNAME=")), "")
                if descriptors:
                    self.kept[name], descriptors[0] = descriptors[0], self.kept.get(name)
                if "FDSTOREREMOVE=1" in lines:
                    descriptors = [self.kept.pop(name, None)]
                for descriptor in descriptors:
                    if descriptor is not None:
                        os.close(descriptor)
        except BlockingIOError:
            return self.lines

    def close(self) -> None:
        """Closes what was to be kept, as a service manager does when the service has stopped."""
        self.read()
        for descriptor in self.kept.values():
            os.close(descriptor)
        self.kept.clear()

    def is_ready(self) -> bool:
        """Whether the process has said that it is ready."""
        return "READY=1" in self.read()


class Process:
    """A background process with its output in a log file."""

    def __init__(
        self,
        name: str,
        command: list[str],
        log: Path,
        namespace: Namespace | None = None,
        environment: dict[str, str] | None = None,
        cpus: str | None = None,
        cwd: Path | None = None,
        companions: list[Process] | None = None,
        announces: bool = False,
        kept: dict[str, int] | None = None,
    ):
        """`companions` are watched and stopped together with this one. A process that `announces` tells a
        service manager when it is ready. `kept` are descriptors by name that the service manager has kept for it."""
        self.name = name
        environment = environment or {}
        self._announcements = None
        if announces:
            self._announcements = Announcements(log.with_suffix(".notify"))
            environment = {**environment, "NOTIFY_SOCKET": str(self._announcements.path)}
        self.companions = companions or []
        # Whether it is a machine of its own, whose sockets cannot be seen.
        self.has_machine = False
        self.command = command
        self.log = log
        prefix = ["ip", "netns", "exec", namespace.name] if namespace else []
        if cpus is not None:
            prefix += ["taskset", "-c", cpus]
        # Out of the way of the numbers that they get.
        given = {name: fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 1000) for name, descriptor in (kept or {}).items()}
        if given:
            # As sd_listen_fds(3) says. The processes of the prefix become the one that is started, with the same number.
            environment = {**environment, "LISTEN_FDS": str(len(given)), "LISTEN_FDNAMES": ":".join(given)}
            moved = " ".join(f"{number}<&{descriptor} {descriptor}<&-" for number, descriptor in enumerate(given.values(), 3))
            prefix = ["bash", "-c", f'exec {moved}; LISTEN_PID=$$ exec "$@"', "bash", *prefix]
        with open(log, "ab") as out:
            self._child = subprocess.Popen(
                [*prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
                pass_fds=tuple(given.values()),
                env={**os.environ, **environment},
                cwd=cwd,
            )
        for descriptor in given.values():
            os.close(descriptor)

    @property
    def pid(self) -> int:
        return self._child.pid

    def running(self) -> bool:
        return self._child.poll() is None

    def is_ready(self) -> bool:
        """Whether it has said so, if it is one that does."""
        return self._announcements is None or self._announcements.is_ready()

    def left(self) -> dict[str, int]:
        """What it wants the service manager to keep for the next process, by name."""
        self.announced()
        return self._announcements.kept if self._announcements else {}

    def forget(self) -> None:
        """Closes what it has left, which the next process has."""
        if self._announcements:
            self._announcements.close()

    def announced(self) -> list[str]:
        """What it has told its service manager."""
        return self._announcements.read() if self._announcements else []

    def check(self) -> None:
        """Raises with the end of its log if the process has ended."""
        for companion in self.companions:
            companion.check()
        if not self.running():
            raise LabError(
                f"{self.name} ended with status {self._child.returncode}; "
                f"command: {' '.join(self.command)}\n{self.tail()}"
            )

    def tail(self, lines: int = 15) -> str:
        """The last lines that the process printed."""
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  | {line}" for line in text[-lines:])

    def wait(self, timeout: float, keep: bool = False) -> int | None:
        """Waits for the end; returns the status, or None after `timeout` seconds. `keep`: another process will get what this one has
        [`left`](Process.left)."""
        try:
            status = self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        if self._announcements and not keep:
            self._announcements.close()
        return status

    def ask_to_stop(self) -> None:
        """SIGTERM without waiting."""
        for companion in self.companions:
            companion.ask_to_stop()
        if self.running():
            self._child.terminate()

    def stop(self, patience: float = PATIENCE, keep: bool = False) -> int | None:
        """SIGTERM, then SIGKILL after `patience` seconds; returns the exit status. `keep`: as for [`wait`](Process.wait)."""
        for companion in self.companions:
            companion.stop(patience)
        if self.running():
            self._child.terminate()
            if self.wait(patience, keep) is None:
                self._signal_group(signal.SIGKILL)
                self._child.wait()
        if self._announcements and not keep:
            self._announcements.close()
        return self._child.returncode

    def kill(self) -> None:
        """Ends it without a chance to say goodbye."""
        for companion in self.companions:
            companion.kill()
        self._signal_group(signal.SIGKILL)
        self._child.wait()

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self._child.pid, number)
        except ProcessLookupError:
            pass

    def cpu_seconds(self) -> float:
        """User plus system time of all its threads so far, from /proc."""
        text = Path(f"/proc/{self.pid}/stat").read_text()
        fields = text[text.rindex(")") + 2:].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_port(pid: int, port: int) -> bool:
    """Whether a UDP socket of a process's network namespace has a port: what is sent to it before is lost."""
    lines = Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") for line in lines)


def unwind_on_signals() -> None:
    """Makes SIGINT, SIGTERM and SIGHUP unwind the program, so that clean-up runs.

    The first signal unwinds; later ones are ignored, also by children, so that
    an impatient second Ctrl-C cannot cut the clean-up short.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def unwind(number, _frame):
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in numbers:
        signal.signal(number, unwind)
