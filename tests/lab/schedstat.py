"""What processes wait for CPUs, as schedstat in proc(5) counts it."""

import pathlib


def waited_for_cpu(pid: int, threads: tuple[str, ...] = ("",)) -> float:
    """Seconds that a process's threads have waited for a CPU until now: those whose names begin so."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().startswith(threads):
                total += int((task / "schedstat").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            # The thread has ended.
            continue
    return total / 1e9
