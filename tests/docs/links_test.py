"""Links in the documentation lead somewhere, and the paths it names exist."""

import fnmatch
import re
import unittest

from pages import ROOT, anchors, pages, parts, tracked


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        found = 0
        for page in pages():
            text = (ROOT / page).read_text()
            for number, language, lines in parts(text):
                for at, line in enumerate(lines, number) if language is None else ():
                    for link in re.findall(r"\]\(([^)\s]+)\)", line):
                        if re.match(r"[a-z]+:", link):
                            continue
                        path, _, anchor = link.partition("#")
                        to = (ROOT / page).parent / path if path else ROOT / page
                        self.assertTrue(to.exists(), f"{page}:{at}: {link} does not exist")
                        if anchor and to.suffix == ".md":
                            self.assertIn(anchor, list(anchors(to.read_text())), f"{page}:{at}: no such heading: {link}")
                        found += 1
        self.assertGreater(found, 40)

    def test_named_paths_exist(self):
        """Inline code that begins with a folder of the checkout is a path in it, or a pattern that matches some."""
        files = tracked()
        paths = set(files) | {"/".join(f.split("/")[:n]) for f in files for n in range(1, f.count("/") + 1)}
        folders = {f.split("/")[0] for f in files if "/" in f}
        # What appears when something is built, and places where a user's own things go.
        made = re.compile(r"(bench/results|bench/\.venv|tests/interop/bin|fuzz/corpus/[A-Z]+)(/.*)?")
        found = 0
        for page in pages():
            for number, language, lines in parts((ROOT / page).read_text()):
                for at, line in enumerate(lines, number) if language is None else ():
                    for code in re.findall(r"`([^`\s]+)`", line):
                        path = code.rstrip("/").split("::")[0]
                        if path.split("/")[0] not in folders or "/" not in path or made.fullmatch(path):
                            continue
                        self.assertTrue(path in paths or fnmatch.filter(paths, path),
                                        f"{page}:{at}: {code} does not exist")
                        found += 1
        self.assertGreater(found, 20)

    def test_every_packet_test_is_listed(self):
        named = set(re.findall(r"\w+", (ROOT / "tests/stf/README.md").read_text()))
        self.assertEqual([f for f in tracked() if re.fullmatch(r"tests/stf/\w+\.stf", f) and f[10:-4] not in named], [])


if __name__ == "__main__":
    unittest.main()
