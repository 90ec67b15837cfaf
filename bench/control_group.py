"""Control groups for CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lab.command import LabError
from lab.process import die_with_parent


class ControlGroup:
    """A control group, of the first or second version. `part`: of a core that its processes may use, less than one; `None`: no limit."""

    def __init__(self, name: str, part: float | None = None):
        old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
        is_old = (old / "cpu.cfs_quota_us").exists()
        if not is_old and not (new / "cgroup.controllers").exists():
            raise LabError("there is no control group for CPU time")
        if not is_old:
            (new / "cgroup.subtree_control").write_text("+cpu")
        self.path = (old if is_old else new) / f"hopwright-{name}-{os.getpid()}"
        self.path.mkdir()
        if part is None:
            return
        # The kernel gives a millisecond at least.
        period = max(10_000, int(1_000 / part))
        quota = max(1_000, round(part * period))
        if is_old:
            (self.path / "cpu.cfs_period_us").write_text(str(period))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self.path / "cpu.max").write_text(f"{quota} {period}")

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        try:
            self.path.rmdir()
        except OSError as error:
            print(f"{self.path}: {error}", file=sys.stderr)


class Hogs:
    """Processes that use all the CPU time they get on one CPU, each in a control group of its own."""

    def __init__(self, count: int, cpu: int):
        self._groups, self._processes = [], []
        for number in range(count):
            group = ControlGroup(f"hog{number}")
            self._groups.append(group)
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=die_with_parent)
            self._processes.append(process)
            os.sched_setaffinity(process.pid, [cpu])
            group.add(process.pid)

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for group in self._groups:
            group.remove()
