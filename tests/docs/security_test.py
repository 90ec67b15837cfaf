"""What docs/security.md says is shown by a test: the tests it names are there."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Security(unittest.TestCase):
    def test_every_named_test_exists(self):
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout.split()
        fuzzed = {Path(f).stem for f in files if f.startswith("fuzz/fuzz_targets/")}
        found = 0
        for line in (ROOT / "docs" / "security.md").read_text().splitlines():
            shown = line.split("|")[3] if line.startswith("|") else line
            here: list[str] = []
            for name in re.findall(r"`([^`]+)`", shown):
                name = name.split()[0]
                if name.endswith((".rs", ".py", ".stf")):
                    here = [f for f in files if f.endswith(f"/{name}") or f == name]
                    self.assertTrue(here, f"{name}: no such file: {line}")
                elif here and re.fullmatch(r"[a-z0-9_*]+", name) and name not in fuzzed | {"braccept"}:
                    test = re.compile(rf"(fn|def) {name.replace('*', r'[a-z0-9_]*')}\(")
                    self.assertTrue(any(test.search((ROOT / f).read_text()) for f in here),
                                    f"{name} is not in {here}: {line}")
                    found += 1
        self.assertGreater(found, 25)

    def test_unsafe_code_is_where_the_table_says(self):
        text = (ROOT / "docs" / "security.md").read_text()
        section = text.split("## Unsafe code\n")[1].split("\n## ")[0]
        places = {place for row in section.splitlines() if row.startswith("| `") for place in re.findall(r"`([^`]+)`", row.split("|")[1])}
        unsafe = {str(f.relative_to(ROOT)) for f in ROOT.glob("crates/*/*/src/**/*.rs")
                  if re.search(r"\bunsafe (\{|fn|impl|extern)", f.read_text())}
        within = lambda file, place: file == place or file.startswith(f"{place}/")
        self.assertEqual([f for f in sorted(unsafe) if not any(within(f, place) for place in places)], [])
        self.assertEqual([p for p in sorted(places) if not any(within(f, p) for f in unsafe)], [])


if __name__ == "__main__":
    unittest.main()
