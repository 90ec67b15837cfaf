"""The table of log events in docs/runbook.md is complete: every line that the SCION router logs has an event, and each event a row."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ["crates/agents/scion/src/**/*.rs", "crates/agents/agent/src/hand_over/*.rs",
           "crates/runtime/host/src/**/*.rs", "crates/apps/cli/src/commands/scion.rs"]


def logged() -> dict[str, set[str]]:
    """Events and their levels in the sources; the event of a line without one is empty."""
    found: dict[str, set[str]] = {}
    for pattern in SOURCES:
        for file in ROOT.glob(pattern):
            for level, first in re.findall(r"\btracing::(info|warn|error)!\(\s*([^,)]*)", file.read_text()):
                event = re.fullmatch(r'event = "([a-z-]+)"', first.strip())
                found.setdefault(event[1] if event else f"{file.relative_to(ROOT)}: {first}", set()).add(level)
    return found


class Events(unittest.TestCase):
    def test_the_table_is_complete(self):
        section = (ROOT / "docs/runbook.md").read_text().split("\n## The log\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `([a-z-]+)` \| ([\w, ]+) \|", section, re.MULTILINE)
        self.assertEqual([event for event, _ in rows], sorted(event for event, _ in rows))
        self.assertEqual({event: set(levels.split(", ")) for event, levels in rows}, logged())


if __name__ == "__main__":
    unittest.main()
