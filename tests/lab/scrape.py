"""Pages of a router over HTTP, fetched in its namespace; and metrics as numbers."""

from __future__ import annotations

import json
import re
import time

from .command import PATIENCE, LabError
from .netns import Namespace

# Run inside the namespace: prints one JSON list [status, content type, body] per request of its argument.
_FETCH = """
import json, sys, urllib.error, urllib.request
for method, url, body, kind in json.loads(sys.argv[1]):
    headers = {"Content-Type": kind} if kind else {}
    data = body.encode() if body is not None else None
    request = urllib.request.Request(url, data=data, method=method, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    except OSError as error:
        print(json.dumps([0, "", str(error)]))
        continue
    print(json.dumps([answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()]))
"""

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (\S+)")
_COMMENT = re.compile(rf"# (?:HELP ({_NAME}) .*|TYPE ({_NAME}) (counter|gauge|summary|histogram|untyped))")

Labels = frozenset  # of (name, value)
Sample = tuple[str, Labels]


def fetch(namespace: Namespace, requests: list[tuple]) -> list[tuple[int, str, str]]:
    """Answers to requests (method, URL, body or None, content type or None)."""
    done = namespace.run("python3", "-c", _FETCH, json.dumps(requests), timeout=2 * PATIENCE)
    answers = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        raise LabError(f"fetching {requests}: {done.stderr.strip()}")
    return answers


def wait_served(namespace: Namespace, url: str, timeout: float = PATIENCE) -> None:
    """Waits until something answers at a URL."""
    deadline = time.monotonic() + timeout
    while fetch(namespace, [("GET", url, None, None)])[0][0] != 200:
        if time.monotonic() > deadline:
            raise LabError(f"nothing answers at {url}")
        time.sleep(0.2)


def parse(page: str) -> tuple[dict[Sample, float], dict[str, str]]:
    """A page in Prometheus's text format: samples, and types of families.

    Strict: a line that is not of the format raises.
    """
    samples: dict[Sample, float] = {}
    types: dict[str, str] = {}
    for line in page.splitlines():
        if comment := _COMMENT.fullmatch(line):
            if comment[3]:
                if comment[2] in types:
                    raise LabError(f"metrics: the family {comment[2]} appears twice")
                types[comment[2]] = comment[3]
            continue
        sample = _SAMPLE.fullmatch(line)
        if not sample:
            raise LabError(f"metrics: not a line of the format: {line!r}")
        key = (sample[1], frozenset(re.findall(_LABEL, sample[2] or "")))
        if key in samples:
            raise LabError(f"metrics: {line!r} appears twice")
        samples[key] = float(sample[sample.lastindex])
    return samples, types


def metrics(namespace: Namespace, address: str) -> dict[Sample, float]:
    """The samples that a router serves at an address."""
    status, _, page = fetch(namespace, [("GET", f"http://{address}/metrics", None, None)])[0]
    if status != 200:
        raise LabError(f"metrics of {namespace.name} at {address}: status {status}: {page}")
    return parse(page)[0]


def total(samples: dict[Sample, float], name: str, **labels: str) -> float:
    """The sum of a family's samples that have these labels."""
    wanted = set(labels.items())
    return sum(value for (n, have), value in samples.items() if n == name and wanted <= have)
