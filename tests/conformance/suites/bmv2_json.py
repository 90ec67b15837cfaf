"""Public files of BMv2's JSON that p4c has written, beside the P4 text that they were made from."""

import hashlib
import json
import random
import re
import tempfile
from pathlib import Path

import phrases
import sources
from suite import LeftOut, one
from suites.programs import ENTRIES, PACKETS, Engines, capture, difference, entries, packets

# Beyond this size a file is no program that one would read.
MOST = 8 << 20


class Json(Engines):
    """The JSON does with each engine what its P4 text does. Without a text, the engines agree."""

    counts = f"""All files with BMv2's JSON. Each runs with up to {ENTRIES} random entries in each table and {PACKETS} random packets, the same in every
        run. A file that lies with the P4-16 text it was made from passes if the file does with each engine what the text does in the interpreter; any
        other file passes if the engines agree. What is compared are the packets that leave, by content and port, and faults."""

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for path in files(checkout):
            text, why = source_of(path, checkout), None
            if not is_simple_switch(json.loads(path.read_text(errors="replace"))):
                why = "for PSA and PNA"
            elif re.search(r"\bmodify_field_rng_uniform\b", sources.text(path)):
                why = "that use random numbers"
            if why:
                left_out[why] = left_out.get(why, 0) + 1
            else:
                name = str(path.relative_to(checkout))
                jobs.append(one(name, lambda p=path, t=text: self.same(t, p)))
        return jobs, left_out

    def same(self, text, compiled) -> str | None:
        of_file = self.hopwright("p4info", compiled, "--format", "json")
        if of_file.code != 0:
            return phrases.reason(of_file)
        info, first = json.loads(of_file.out), compiled
        if text is not None:
            of_text = self.hopwright("p4info", text, "--format", "json")
            # A text of another version, or for a compiler of its time, says nothing of the file.
            if of_text.code == 0 and shape(json.loads(of_text.out)) == shape(info):
                first = text
        seed = random.Random(hashlib.sha256(compiled.name.encode()).digest())
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            folder = Path(folder)
            (folder / "in.pcap").write_bytes(capture(packets(seed)))
            lines = self.accepted([first], folder, entries(info, seed))
            if lines is None:
                return LeftOut("that do not run")
            (folder / "entries.stf").write_text("\n".join(lines) + "\n")
            wanted = self.run_engine([first], folder, "interp")
            for engine in ("interp", "jit"):
                found = self.run_engine([compiled], folder, engine)
                if found != wanted:
                    return f"{engine}: {found}" if isinstance(found, str) else f"{engine}: {difference(wanted, found)}"
        return wanted if isinstance(wanted, str) else None


class BehavioralModel(Json):
    name = "bmv2-json"
    title = "BMv2's JSON: files of behavioral-model"
    repository = "p4lang/behavioral-model"

    def found_in(self, checkout):
        return (checkout / "targets/simple_switch_grpc").is_dir()


class P4Guide(Json):
    name = "bmv2-json-p4-guide"
    title = "BMv2's JSON: files of p4-guide"
    repository = "jafingerhut/p4-guide"

    def found_in(self, checkout):
        return (checkout / "v1model-special-ops").is_dir()


def files(checkout: Path):
    """The files of a checkout with programs for BMv2."""
    for path in sorted(checkout.rglob("*.json")):
        if path.is_file() and path.stat().st_size < MOST and is_program(path):
            yield path


def is_program(path: Path) -> bool:
    text = path.read_text(errors="replace")
    if '"header_types"' not in text or '"deparsers"' not in text:
        return False
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and "hopwright" not in found and isinstance(found.get("pipelines"), list)


def is_simple_switch(program) -> bool:
    return len(program.get("parsers", [])) == 1 and {p["name"] for p in program["pipelines"]} <= {"ingress", "egress"}


def source_of(path: Path, checkout: Path) -> Path | None:
    """The P4-16 text of a file: the program it names, or one of its own name, in its folder or the nearest one above it."""
    program = json.loads(path.read_text(errors="replace")).get("program")
    names = [Path(program).name] if isinstance(program, str) and program.endswith(".p4") else []
    names.append(f"{path.stem}.p4")
    for folder in path.parents:
        for name in names:
            for place in (folder, folder / "p4src", folder / "solution"):
                if (found := place / name).is_file() and sources.is_program(found):
                    return found
        if folder == checkout:
            break
    return None


def shape(info) -> dict:
    """The tables with their keys, actions and default actions, by name."""
    actions = {a["preamble"]["id"]: (a["preamble"]["name"], [p.get("bitwidth") for p in a.get("params", [])]) for a in info.get("actions", [])}
    table = lambda t: ([(f["name"], f.get("bitwidth"), f.get("matchType")) for f in t.get("matchFields", [])],
                       sorted(actions[ref["id"]] for ref in t.get("actionRefs", [])))
    default = lambda t: actions.get(t.get("initialDefaultAction", {}).get("actionId"))
    return {t["preamble"]["name"]: (*table(t), default(t)) for t in info.get("tables", []) if t.get("matchFields")}


SUITES = [BehavioralModel, P4Guide]
