"""docs/conformance.md, from the known failures of all suites."""

import collections
import textwrap
from pathlib import Path

import known_failures

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/conformance.md"
# Written by `tests/ip/topotests.py --write`.
TOPOTESTS = ROOT / "tests/ip/topotests.md"

HEAD = """# Public tests as a score

Tests that others wrote for P4, P4Runtime, BfRuntime and OpenFlow run here from unmodified checkouts of their repositories, outside `make test`.
This page is written by `tests/conformance/run.py --write`. All engines that need no hardware must agree that a packet test passes.

"""

RERUN = """
Checkouts are folders with the files of a repository at the revision named above; each suite recognises its own. All suites of some checkouts, one suite,
and some cases of it:

```console
$ tests/conformance/run.py ../p4c ../open-p4studio
$ tests/conformance/run.py ../p4c --suite p4c-stf --jobs 2
$ tests/conformance/run.py ../p4c --suite p4c-reject --only duplicate
```

Tests with PTF, OFTest and os-ken need root, for network namespaces, and what these install: `tests/conformance/setup.sh` and
`tests/openflow/setup.sh`. OFTest needs Python 2.7, which the variable `PYTHON2` names. A machine that is busy with other things makes tests that
measure rates fail. [`suites`](../tests/conformance/suites) has a class for each suite, which finds its cases and runs one.

A run fails if a case fails that [`tests/conformance/known`](../tests/conformance/known) does not list, and says which listed cases pass. `--write` writes
the lists and this page again.

The SCION router is tested by the reference implementation itself, as part of `make test`: it passes [all plain
cases](../tests/interop/braccept-cases.txt) of the acceptance tool `braccept`, and those of BFD, and forwards beside the reference's routers in its networks
([`tests/interop`](../tests/interop/README.md)). The release is that of [`go.mod`](../tests/interop/go.mod); another one is tried by changing it there.
"""

ROUTERS = """
## FRR: topotests

Networks of routers with FRR's daemons, from the folder tests/topotests of [FRRouting/frr](https://github.com/FRRouting/frr) at the release that Debian
has. [`tests/ip/topotests.py`](../tests/ip/topotests.py) runs each test twice: as it is, so that the kernels of the routers forward; and with a
[`hopwright ip`](ip-router.md) that has the devices of every router that FRR's library starts, and the router's namespace with its daemons as control plane.
Counted are test functions; addresses of other routers that answer a ping of a router when the test is over, by all routers together; how many of these
answer with `hopwright ip`, too; packets that the fast paths of all routers have forwarded; and packets that their kernels have forwarded meanwhile. Routers
forward nothing where all are neighbours, and the kernel forwards multicast packets and those that come before a neighbour is resolved. Functions that are
skipped look for leaks of memory, or at what daemons print. On a machine with fifty runnable processes for each core `ospf_topo1` failed once, with another number of link
states than the test expects; what is shown is the next run.

```console
# tests/ip/topotests_setup.sh
# tests/ip/topotests.py ../frr
# tests/ip/topotests.py ../frr ospf_topo1 bfd_topo3
```

"""


def text(suites) -> str:
    """The page for suites that have run."""
    ran = [(suite, known) for suite in suites if (known := known_failures.read(suite.name))]
    lines = [HEAD.rstrip(), "", "| tests | passed | of | repository | revision |", "| --- | ---: | ---: | --- | --- |"]
    for suite, known in ran:
        lines.append(f"| [{suite.title}](#{anchor(suite.title)}) | {known.passed} | {known.of} "
                     f"| [{suite.repository}](https://github.com/{suite.repository}) | {known.revision} |")
    lines += [RERUN.rstrip()]
    for suite, known in ran:
        lines += ["", f"## {suite.title}", "", *section(suite, known)]
    lines += ["", (ROUTERS.strip() + "\n\n" + TOPOTESTS.read_text()).rstrip()]
    return "\n".join(lines) + "\n"


def section(suite, known) -> list[str]:
    lines = paragraph(suite.counts)
    if known.left_out:
        parts = "; ".join(f"{count} {what}" for what, count in sorted(known.left_out.items(), key=lambda p: (-p[1], p[0])))
        lines += ["", *paragraph(f"Not counted: {parts}.")]
    for peer, score in sorted(known.peers.items()):
        lines += ["", *paragraph(f"{peer}: {score}.")]
    lines += ["", f"`{suite.name}`: {known.passed} of {known.of} pass."]
    reasons = {}
    for case, failure in known.failures.items():
        reasons.setdefault(failure.why or failure.error, []).append(case)
    if reasons:
        lines.append("")
    for reason, cases in sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        labels = collections.Counter(suite.label(case) for case in sorted(cases))
        named = (f"{escaped(label)} ({count})" if count > 1 else escaped(label) for label, count in labels.items())
        lines += paragraph(f"- {len(cases)}: {escaped(reason)}: {', '.join(named)}", "  ")
    return lines


def escaped(words: str) -> str:
    """Words of a program in prose: nothing in them is Markdown, but code stays code."""
    parts = words.split("`")
    parts[::2] = [part.replace("<", "\\<").replace("*", "\\*").replace("[", "\\[") for part in parts[::2]]
    return "`".join(parts)


def paragraph(words: str, indent: str = "") -> list[str]:
    words = " ".join(words.split())
    return textwrap.wrap(words, 140, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def write(suites):
    PAGE.write_text(text(suites))
