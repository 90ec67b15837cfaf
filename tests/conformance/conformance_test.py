"""What the runner of public tests relies on: phrases, lists of known failures, protobuf text, dialects, the page."""

import tempfile
import unittest
from pathlib import Path

import known_failures
import p4info
import page
import phrases
import protobuf_text
import ptf
import run
import stf_dialect
from known_failures import Failure, Known
from suite import Job, Ran
from suites import ALL, fourward, openflow


class Phrases(unittest.TestCase):
    def test_places_names_and_numbers_are_left_out(self):
        said = "warning[W0025]: action `a` is never used\n --> x.p4:3:4\nerror[E0203]: `Meter<bit<12>>` has no member `x`\n --> x.p4:7:1"
        self.assertEqual(phrases.reason(Ran(1, "", said)), "E0203 `…` has no member `…`")
        self.assertEqual(phrases.reason(Ran(1, "", "hopwright: /tmp/a.stf:12: no entry was named `$A`")), "no entry was named `…`")
        self.assertEqual(phrases.reason(Ran(1, "t.stf: FAILED", "t.stf:3: port 0: expected 0102\n    found    0103")), "a packet is not as expected")

    def test_a_panic_comes_first(self):
        said = "error: something\nthread 'main' panicked at src/x.rs:1:2:\nindex out of bounds: 7\n"
        self.assertEqual(phrases.reason(Ran(101, "", said)), "panic: index out of bounds: N")

    def test_ptf_says_the_last_exception_and_what_the_switch_refused(self):
        said = ("Traceback\n  File x\n    raise E(e)\nclient.BfruntimeReadWriteRpcException: Error(s):\n"
                "\t* At index 0: INVALID_ARGUMENT, '`port` is missing'\n\nFAILED (errors=1)\n")
        self.assertEqual(ptf.raised(said), "BfruntimeReadWriteRpcException: `…` is missing")
        self.assertEqual(ptf.raised("Traceback\n    assert 0\nAssertionError\nFAILED"), "assertion: assert N")


class KnownFailures(unittest.TestCase):
    def test_what_is_written_is_read(self):
        known = Known("abc", 3, 5, {"for PNA": 2}, {"a \"b\"": Failure("E1 <…>", "because"), "c": Failure("x")}, {"BMv2": "4 of 5"})
        with tempfile.TemporaryDirectory() as folder:
            known_failures.write("suite", known, Path(folder))
            self.assertEqual(known_failures.read("suite", Path(folder)), known)

    def test_only_unlisted_failures_count(self):
        known = Known(failures={"a": Failure("x"), "b": Failure("x"), "old": Failure("x")})
        compared = known_failures.compare(known, {"a": "y", "b": None, "c": "z", "d": None})
        self.assertEqual((compared.unlisted, compared.passing, compared.gone), ({"c": "z"}, ["b"], ["old"]))

    def test_reasons_written_by_hand_are_kept(self):
        before = Known(failures={"a": Failure("x", "why")}, peers={"p": "1"})
        after = known_failures.updated(before, "r", {"a": "y", "b": None}, {})
        self.assertEqual((after.failures, after.passed, after.of, after.peers), ({"a": Failure("y", "why")}, 1, 2, {"p": "1"}))

    def test_every_list_is_of_a_suite(self):
        self.assertEqual({f.stem for f in known_failures.FOLDER.glob("*.toml")} - {s.name for s in ALL}, set())


class Text(unittest.TestCase):
    def test_protobuf_text(self):
        text = 'a { b: 0x10 c: [1, -2] } # comment\na < d: "x\\001\\n" "y" >\ne: BOTH; f [ { g: 1 }, { g: 2 } ]'
        self.assertEqual(protobuf_text.parse(text), {"a": [{"b": [16], "c": [1, -2]}, {"d": [b"x\x01\ny"]}], "e": ["BOTH"], "f": [{"g": [1]}, {"g": [2]}]})
        with self.assertRaises(ValueError):
            protobuf_text.parse("a { b: ` }")

    def test_p4info_is_compared_by_meaning(self):
        one = protobuf_text.parse('tables { preamble { id: 1 } size: 2 } tables { preamble { id: 2 } }')
        two = protobuf_text.parse('tables { preamble { id: 2 } } tables { preamble { id: 1 } size: 3 }')
        places = []
        p4info.compare(p4info.canonical(one), p4info.canonical(two), "", places)
        self.assertEqual(places, ["tables.size"])

    def test_dialect(self):
        dialect = stf_dialect.Dialect('actions { preamble { name: "I.to" alias: "to" } params { name: "port" } params { name: "v" } }')
        self.assertEqual(dialect.line("add t d.a:10.0.1.0/24 to(1 0x2)"), "add t d.a:0xa000100/24 to(port:0x1, v:0x2)")
        self.assertEqual(dialect.line("add t 5 d.a:0x6&&&0xe to(port=3 v=4) # why"), "add t 5 d.a:0b011* to(port:0x3, v:0x4)")
        self.assertEqual(dialect.line("member s 2 to port=3 v=4"), "member_add s 2 to(port:0x3, v:0x4)")
        self.assertEqual(dialect.line("add t d.a:1 group=7"), "add t d.a:1 -> group 7")

    def test_ways_through_a_trace_tree(self):
        sent = 'packet_outcome { output { dataplane_egress_port: %d payload: "x" } }'
        choice = "fork_outcome { reason: ACTION_SELECTOR branches { subtree { %s } } branches { subtree { %s } } }" % (sent % 1, sent % 2)
        tree = "fork_outcome { reason: CLONE branches { subtree { %s } } branches { subtree { %s } } }" % (choice, sent % 3)
        self.assertEqual(list(fourward.ways(protobuf_text.parse(tree))), [[(1, b"x"), (3, b"x")], [(2, b"x"), (3, b"x")]])

    def test_outcomes_of_the_switch_tester(self):
        said = ("--- Test start ---\naction: X\n    a test      OK\n    another 'x'    ERROR\n        Failed to add flows: OFPErrorMsg[type=0x02, code=0x0d]\n"
                "--- Test report ---\nOK(1) / ERROR(1)\n")
        self.assertEqual(openflow.outcomes(said), [None, "Failed to add flows: OFPBAC_BAD_SET_TYPE"])


class Running(unittest.TestCase):
    def test_cases_without_an_outcome_failed(self):
        suite = ALL[0](None, [])
        jobs = [Job(["a", "b"], lambda: {"a": None}), Job(["c"], lambda: {"c": "x"})]
        self.assertEqual(run.run(suite, jobs, 2), {"a": None, "b": "did not run", "c": "x"})

    def test_the_page_is_the_lists(self):
        """docs/conformance.md was written after the lists."""
        self.assertEqual(page.PAGE.read_text(), page.text([kind(None, []) for kind in ALL]))

    def test_reasons_are_no_markdown(self):
        self.assertEqual(page.escaped("`a<b>` <c> *"), "`a<b>` \\<c> \\*")


if __name__ == "__main__":
    unittest.main()
