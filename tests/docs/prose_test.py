"""Words that the field does not use for what is meant, and turns of phrase that readers stumbled over, do not come back."""

import re
import subprocess
import unittest

from pages import ROOT

# Names in Rust, and what to write instead.
NAMES = {
    "said": "`request`, `entry`, `given`: what it is",
    "Meaning": "a plan, a request, a value: what it is",
    "mends": "what is repaired, as `completes_checksums`",
    "attend": "what is done, as `take_over`",
    "FEWEST": "`MIN_` and what is counted",
    "UNCOUNTED": "`MAX_` and what is counted",
}

# Turns of phrase, in code and in pages.
PHRASES = {
    r"\b[Ss]o many\b(?![^.;:]{0,40}\bthat\b)(?! hosts)": "this many, or the name of the number",
    r"\bof which there are\b": "name the number",
    r"\bnobody gets\b": "unreachable, or who does not",
    r"\bDoes not live here\b": "a better name",
}

# How often a name may be that of a type. These mean many things; no further one is added.
HOMONYMS = {"State": 17, "Place": 18}


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            yield name, path.read_text()


def found(pattern, texts):
    """`file:line` of each match."""
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}" for name, text in texts for match in re.finditer(pattern, text)]


def code(text):
    """Rust without its comments and strings."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)


class Prose(unittest.TestCase):
    RUST = list(files("crates/*.rs"))
    TEXTS = RUST + list(files("*.md", "*.py", "*.mk", "*.sh", "*.p4", "Makefile"))

    def test_names_say_what_things_are(self):
        self.assertGreater(len(self.RUST), 500)
        for name, instead in NAMES.items():
            rust = [(path, code(text)) for path, text in self.RUST if name in text and "/generated/" not in path]
            with self.subTest(name=name):
                self.assertEqual(found(rf"\b{name}\b", rust), [], f"write {instead}")

    def test_phrases(self):
        texts = [(name, text) for name, text in self.TEXTS if name != "tests/docs/prose_test.py"]
        for phrase, instead in PHRASES.items():
            with self.subTest(phrase=phrase):
                self.assertEqual(found(phrase, texts), [], f"write {instead}")

    def test_a_name_has_one_meaning(self):
        for name, most in HOMONYMS.items():
            types = found(rf"\b(?:struct|enum|type|trait) {name}\b", self.RUST)
            self.assertLessEqual(len(types), most, f"{name}: {types}")

    def test_what_is_looked_for_is_found(self):
        self.assertEqual(found(r"\bsaid\b", [("a.rs", code('// said\nlet text = "said";\nlet said = 1;\n'))]), ["a.rs:3"])


if __name__ == "__main__":
    unittest.main()
