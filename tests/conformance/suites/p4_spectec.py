"""The programs on which P4-SpecTec tests its typing rules: p4c's, by its verdict."""

import re

from suite import Suite, one
from suites import p4c as p4c_suites

# A program that its lists name, with what it says of it.
PROGRAM = re.compile(r"^>>> Running typing test on \S*?/(testdata/\S+)\n(.*)", re.MULTILINE)


class SpecTec(Suite):
    repository = "kaist-plrg/p4-spectec"
    expected: str

    def found_in(self, checkout):
        return (checkout / "p4spec/test" / self.expected).is_file()

    def verdicts(self, checkout):
        """(path in p4c, what the rules say) of each program of its list."""
        return PROGRAM.findall((checkout / "p4spec/test" / self.expected).read_text(errors="replace"))

    def p4c(self):
        return next((c for c in self.checkouts if (c / "testdata/p4_16_samples").is_dir()), None)


class Positive(SpecTec):
    name = "spectec-positive"
    title = "P4-SpecTec: programs that are typed"
    expected = "run_sl_pos_p4c.expected"
    counts = """Programs of p4c that the mechanised specification's typing rules accept, by its own record. `hopwright check` must take them, as for
        p4c-programs, whose files they are; a checkout of p4c is needed, too."""

    def jobs(self, checkout):
        return jobs_of(self, checkout, r"Typecheck success", self.hopwright.types)


class Negative(SpecTec):
    name = "spectec-negative"
    title = "P4-SpecTec: programs that are not typed"
    expected = "run_sl_neg_p4c.expected"
    counts = """Programs of p4c that the mechanised specification's typing rules refuse, by its own record. `hopwright check` must report an error. A
        checkout of p4c is needed, too."""

    def jobs(self, checkout):
        return jobs_of(self, checkout, r"Error on typecheck", self.hopwright.refuses)


def jobs_of(suite, checkout, verdict, judge):
    jobs, left_out, p4c = [], {}, suite.p4c()
    for path, said in suite.verdicts(checkout):
        if not re.search(verdict, said):
            why = "that its rules exclude"
        elif not p4c or not (p4c / path).is_file():
            why = "that the checkout of p4c does not have"
        else:
            jobs.append(one(path.removeprefix("testdata/"), lambda p=p4c / path: judge(p, *p4c_suites.architectures(p4c))))
            continue
        left_out[why] = left_out.get(why, 0) + 1
    return jobs, left_out


SUITES = [Positive, Negative]
