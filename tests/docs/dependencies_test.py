"""The dependencies between crates that ARCHITECTURE.md draws are those of the Cargo manifests. What build scripts share
with the router is compiled once."""

import json
import os
import re
import subprocess
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def short(name):
    return name.removeprefix("hopwright-")


def manifests():
    """Crate to the crates of this workspace that it depends on, in [dependencies] and in [build-dependencies]."""
    found = subprocess.run(["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout
    packages = json.loads(found)["packages"]
    members = {p["name"] for p in packages}
    edges = {}
    for package in packages:
        for kind, suffix in (None, ""), ("build", " (build)"):
            needs = {short(d["name"]) for d in package["dependencies"] if d["name"] in members and d["kind"] == kind}
            if needs or not suffix:
                edges[short(package["name"]) + suffix] = needs
    return edges


def rows():
    """Crate to its row, which is the folder under `crates/` that it is in."""
    return {short(tomllib.loads(path.read_text())["package"]["name"]): path.parent.parent.name
            for path in (ROOT / "crates").glob("*/*/Cargo.toml")}


def outdated(lock, manifests):
    """The crates of the workspace whose dependencies in a lock file are not those of their manifests: the required ones, and any of
    the optional ones."""
    for package in tomllib.loads(lock)["package"]:
        crate = short(package["name"])
        if "source" not in package and crate in manifests:
            locked = {short(name.split()[0]) for name in package.get("dependencies", ())}
            required, optional = ({short(name) for name in names} for names in manifests[crate])
            if wrong := (required - locked) | (locked - required - optional):
                yield f"{crate}: {' '.join(sorted(wrong))}"


def drawing(page):
    """The same from the block of ARCHITECTURE.md whose language is `dependencies`: `crate → crates`, a line each."""
    block = re.search(r"^```dependencies\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert block, "ARCHITECTURE.md has no block of dependencies"
    edges = {}
    for line in block[1].splitlines():
        crate, _, needs = line.partition("→")
        assert crate.strip() not in edges, f"{crate.strip()} is drawn twice"
        edges[crate.strip()] = set(needs.split())
    return edges


def differences(drawn, actual):
    """Lines that say how the drawing and the manifests differ."""
    for crate in sorted(drawn.keys() | actual.keys()):
        if crate not in drawn:
            yield f"{crate} is not drawn: {crate} → {' '.join(sorted(actual[crate]))}"
        elif crate not in actual:
            yield f"{crate} is drawn, but there is no such crate or it has no such dependencies"
        else:
            for needs in sorted(drawn[crate] - actual[crate]):
                yield f"{crate} → {needs} is drawn, but not in the manifest"
            for needs in sorted(actual[crate] - drawn[crate]):
                yield f"{crate} → {needs} is in the manifest, but not drawn"


class FuzzTargets(unittest.TestCase):
    def test_their_lock_file_is_up_to_date(self):
        """Otherwise `cargo fuzz` resolves anew, or fails with --locked: run `cargo metadata --manifest-path fuzz/Cargo.toml`."""
        found = subprocess.run(["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"], cwd=ROOT,
                               capture_output=True, text=True, check=True).stdout
        needs = {short(p["name"]): [{d["name"] for d in p["dependencies"] if d["kind"] != "dev" and d["optional"] == optional}
                                    for optional in (False, True)]
                 for p in json.loads(found)["packages"]}
        lock = (ROOT / "fuzz/Cargo.lock").read_text()
        self.assertEqual(list(outdated(lock, needs)), [])
        # A crate less, or one more, is found.
        broken = lock.replace(' "hopwright-syntax",\n', "", 1)
        self.assertEqual(len(list(outdated(broken, needs))), 1)

    def test_each_target_is_in_the_manifest_and_what_it_calls_exists(self):
        manifest = tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())
        names = {target["name"] for target in manifest["bin"]}
        self.assertEqual({path.stem for path in (ROOT / "fuzz/fuzz_targets").glob("*.rs")}, names)
        library = (ROOT / "crates/devtools/fuzz-targets/src/lib.rs").read_text()
        for name in sorted(names):
            text = (ROOT / f"fuzz/fuzz_targets/{name}.rs").read_text()
            called = re.search(r"hopwright_fuzz_targets::(?:\w+::)*{?(\w+)", text)[1]
            self.assertTrue(re.search(rf"^pub (fn|use).*\b{called}\b", library, re.MULTILINE), f"{name}: {called}")


class Dependencies(unittest.TestCase):
    def test_the_drawing_is_what_the_manifests_say(self):
        drawn, actual = drawing((ROOT / "ARCHITECTURE.md").read_text()), manifests()
        self.assertGreater(sum(map(len, actual.values())), 30)
        if found := list(differences(drawn, actual)):
            self.fail("ARCHITECTURE.md and the Cargo manifests differ:\n  " + "\n  ".join(found))

    def test_the_drawing_leads_from_the_top_to_the_bottom(self):
        """Each crate comes after those that it depends on."""
        above = set()
        for crate, needs in drawing((ROOT / "ARCHITECTURE.md").read_text()).items():
            self.assertLessEqual(needs, above, f"{crate} is drawn above what it depends on")
            above.add(crate)

    def test_the_tables_name_each_crate_in_its_row(self):
        page = (ROOT / "ARCHITECTURE.md").read_text()
        named = {}
        for row, table in re.findall(r"^\*\*`([a-z]+)/`\*\*(.*?)(?=^\*\*|^#)", page, re.MULTILINE | re.DOTALL):
            named |= dict.fromkeys(re.findall(r"^\| `([a-z0-9-]+)` \|.*\|.*\|$", table, re.MULTILINE), row)
        self.assertEqual(named, rows())

    def test_arrows_lead_down_the_rows(self):
        """A crate depends on crates of its own row and of rows above it; nothing but tests depends on `devtools`."""
        order = re.findall(r"^\*\*`([a-z]+)/`\*\*", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
        place = {crate: order.index(row) for crate, row in rows().items()}
        for crate, needs in manifests().items():
            for other in needs:
                self.assertLessEqual(place[other], place[crate.removesuffix(" (build)")], f"{crate} → {other}")

    def test_what_differs_is_found(self):
        page = "```dependencies\na →\nb → a c\nc → a\n```\n"
        actual = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"c"}}
        self.assertEqual(list(differences(drawing(page), actual)),
                         ["b → c is drawn, but not in the manifest", "c → b is in the manifest, but not drawn",
                          "d is not drawn: d → c"])


def examples(text):
    """The first words of the examples in documentation that `cargo test` runs or compiles."""
    fences = re.findall(r"^ *//[/!] *```(\w*)", text, re.MULTILINE)
    return [word for word in fences[::2] if word in ("", "rust", "no_run", "should_panic", "compile_fail")]


class Tests(unittest.TestCase):
    """A library without unit tests has `test = false`, and one without examples `doctest = false`: it is compiled once less."""

    def test_libraries_that_are_not_compiled_for_tests_have_none(self):
        for manifest in (ROOT / "crates").glob("*/*/Cargo.toml"):
            library = tomllib.loads(manifest.read_text()).get("lib", {})
            text = "\n".join(path.read_text() for path in manifest.parent.glob("src/**/*.rs"))
            with self.subTest(manifest.parent.name):
                tests = re.search(r"cfg\(test\)|#\[(\w+::)?test\b|proptest!", text)
                self.assertFalse(tests and not library.get("test", True), "its [lib] has `test = false`, but there are unit tests")
                self.assertFalse(examples(text) and not library.get("doctest", True), "its [lib] has `doctest = false`, but there are examples")

    def test_examples_are_found(self):
        self.assertEqual(examples("/// ```text\n/// x\n/// ```\n    //! ```no_run\n    //! f()\n    //! ```\n///```\n/// g()\n///```"), ["no_run", ""])


def packages(*arguments):
    """The packages, as `name version`, that `cargo tree` names."""
    command = ["cargo", "tree", "--offline", "--prefix", "none", "--format", "{p}", *arguments]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {" ".join(line.split()[:2]).replace(" v", " ") for line in found.splitlines() if line}


def libraries(*features):
    """Package to the features and settings that a release build of the command compiles its library with, each time."""
    command = ["cargo", "build", "--offline", "--release", "-p", "hopwright-cli", *features, "-Z", "unstable-options", "--unit-graph"]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}  # The unit graph is not a stable feature of Cargo.
    graph = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment).stdout
    found = {}
    for unit in json.loads(graph)["units"]:
        if unit["mode"] == "build" and "lib" in unit["target"]["kind"]:
            package = re.search(r"([^/#]+)#(?:(.*)@)?(.*)$", unit["pkg_id"])
            settings = {key: unit["profile"][key] for key in ("opt_level", "codegen_units", "debug_assertions", "overflow_checks")}
            found.setdefault(f"{package[2] or package[1]} {package[3]}", []).append((unit["features"], settings))
    return found


class BuildScripts(unittest.TestCase):
    """The build script of `scion` compiles a P4 program with our compiler and Cranelift, which the router contains, too.
    Cargo unifies features of build scripts and of the router separately, and compiles a package twice if they differ.
    Build dependencies of `scion` that only request features prevent that."""

    # The crates that the build script calls, with everything they depend on.
    SHARED = packages("--edges", "normal", "-p", "hopwright-driver", "-p", "hopwright-jit")

    def test_the_compiler_is_compiled_once(self):
        # The whole command, and that of the demonstration.
        for features in [(), ("--no-default-features", "--features", "scion")]:
            with self.subTest(features=features):
                built = libraries(*features)
                shared = {p: built[p] for p in self.SHARED & built.keys()}
                self.assertGreater(sum(p.startswith("cranelift") for p in shared), 5)
                self.assertGreater(sum(p.startswith("hopwright") for p in shared), 5)
                twice = {p: features for p, features in shared.items() if len(features) > 1}
                self.assertEqual(twice, {}, "crates/agents/scion/Cargo.toml: [dependencies] and [build-dependencies] must request the same "
                                            "features, and Cargo.toml: [profile.release.build-override] the same settings")

    def test_dependencies_that_only_request_features_are_of_the_compiler(self):
        manifest = tomllib.loads((ROOT / "crates/agents/scion/Cargo.toml").read_text())
        script = (ROOT / "crates/agents/scion/build.rs").read_text()
        requested = {d for d in manifest["build-dependencies"] if not d.startswith("hopwright-")}
        unused = {d for d in requested if f"{d}::" not in script}
        self.assertGreater(len(unused), 0)
        self.assertEqual(unused - {p.split()[0] for p in self.SHARED}, set())


if __name__ == "__main__":
    unittest.main()
