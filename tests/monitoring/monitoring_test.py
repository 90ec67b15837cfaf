#!/usr/bin/env python3
"""The alert rules and the dashboard against a router that runs: Prometheus scrapes it, and the alerts of the faults that are made fire.

Also: promtool's tests of the rules; every expression is one that Prometheus evaluates; every metric in it, with its labels, is one that the
router has; every alert has a test and a section in docs/runbook.md; the dashboard is of the form that Grafana reads.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not run.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parent

from dashboard import expressions, faults_of
from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import ROOT, wait_until
from lab.netns import End, Namespace, remove_all, remove_lab, veth
from lab.process import Process
from lab.router import RouterKind, wait_ready
from lab.scion import deliver, hop_key, transit, udp_socket
from lab.scrape import fetch, parse

RULES = ROOT / "packaging/monitoring/hopwright-router.rules.yml"
DASHBOARD = ROOT / "packaging/monitoring/hopwright-router.dashboard.json"
RUNBOOK = ROOT / "docs/runbook.md"
TESTS = HERE / "rules_test.yml"
REASONS = ROOT / "p4/scion/reasons.p4"
PREFIX = f"hwm{os.getpid()}-"
METRICS, PROMETHEUS = "127.0.0.1:30442", "127.0.0.1:9090"
PORT = 50000
AS = "1-ff00:0:1"
# Labels that Prometheus adds, or makes of alerts.
ADDED = {"job", "instance", "alertname", "alertstate"}
# Labels of families that have no sample in this test.
WITHOUT_SAMPLES = {"hopwright_lost_packets_total": {"reason"}, "hopwright_slow_path_limited_packets_total": {"reason"},
                   "hopwright_slow_path_silent_packets_total": {"why"}}
# Alerts of the faults that the test makes.
FAULTS = {"HopwrightInterfaceDown", "HopwrightSiblingDown", "HopwrightLinkUnusable", "HopwrightErrorsLogged", "HopwrightHopMacFailures",
          "HopwrightExpiredPaths", "HopwrightPathErrors", "HopwrightDropsRising", "HopwrightNoRoute", "HopwrightPacketTooBig",
          "HopwrightReceiveLosses", "HopwrightReloadFailed", "HopwrightStatsNotWritten"}
# Those that a busy machine brings about, and one in which a router stands still.
BUSY = {"HopwrightCpuStarved", "HopwrightSlowPathBusy", "HopwrightInternalLosses", "HopwrightSendLosses", "HopwrightBfdFlapping",
        "HopwrightRouterDown"}
# Of each kind of bad packet, at a time. Prometheus sees no increase in a count that appears, so they come several times.
BAD = 300


class Lab:
    """A router with a link that works (1), one whose neighbour is silent (2), one whose address is missing (3), one with a small MTU (4), and
    a sibling that is silent; its neighbour; Prometheus beside it."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.conf = directory / "conf"
        (self.conf / "keys").mkdir(parents=True)
        for name in ("master0.key", "master1.key"):
            (self.conf / "keys" / name).write_text(base64.b64encode(b"0123456789abcdef").decode())
        self.key = hop_key(self.conf / "keys" / "master0.key")

        def link(number: int, local: str, remote: str, mtu: int, bfd: bool) -> dict:
            return {"isd_as": f"1-ff00:0:{10 + number}", "link_to": "core", "mtu": mtu, "bfd": {"disable": not bfd},
                    "underlay": {"local": f"{local}:{PORT}", "remote": f"{remote}:{PORT}"}}

        self.topology = {
            "isd_as": AS, "mtu": 1400, "attributes": ["core"],
            "border_routers": {
                "r1": {"internal_addr": "10.0.0.1:30042", "interfaces": {
                    "1": link(1, "10.1.0.1", "10.1.0.2", 1400, False), "2": link(2, "10.1.0.1", "10.1.0.3", 1400, True),
                    "3": link(3, "10.3.0.1", "10.3.0.2", 1400, False), "4": link(4, "10.4.0.1", "10.4.0.2", 1250, False)}},
                "r2": {"internal_addr": "10.0.0.2:30042", "interfaces": {"5": link(5, "10.5.0.1", "10.5.0.2", 1400, True)}}},
            "control_service": {"cs": {"addr": "10.0.0.9:30252"}}}
        self.write(json.dumps(self.topology))
        (self.conf / "router.toml").write_text(
            f'[general]\nid = "r1"\nconfig_dir = "{self.conf}"\n[metrics]\nprometheus = "{METRICS}"\n')
        self.outside, self.router, self.inside = (Namespace(PREFIX + name, ipv6=False) for name in ("outside", "router", "inside"))
        veth(End(self.router, "if1", ("10.1.0.1/24",)), End(self.outside, "out1", ("10.1.0.2/24",)), 1500)
        veth(End(self.router, "if4", ("10.4.0.1/24",)), End(self.outside, "out4", ("10.4.0.2/24",)), 1300)
        veth(End(self.router, "if0", ("10.0.0.1/24",)), End(self.inside, "in0", ("10.0.0.254/24",)), 1500)
        self.out = udp_socket(self.outside, "10.1.0.2", PORT)
        # The folder of the statistics file does not exist: an error in the log.
        self.process = RouterKind("hopwright").start("r1", self.router, self.conf / "router.toml", directory / "router.log",
                                                     directory / "missing" / "stats.json")
        wait_ready(self.process)
        # The test does not wait as long as alerts do.
        rules = re.sub(r"\n +for: .*", "", RULES.read_text()).replace("[5m]", "[15s]")
        (directory / "rules.yml").write_text(rules)
        (directory / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "hopwright-router", "static_configs": [{"targets": [METRICS]}]}]}))
        self.prometheus = Process(
            "prometheus", [str(HERE / "bin/prometheus"), f"--config.file={directory / 'prometheus.yml'}",
                           f"--storage.tsdb.path={directory / 'data'}", f"--web.listen-address={PROMETHEUS}"],
            directory / "prometheus.log", namespace=self.router)

    def write(self, topology: str) -> None:
        new = self.conf / "topology.new"
        new.write_text(topology)
        new.rename(self.conf / "topology.json")

    def ask(self, *paths: str) -> list[dict]:
        """Answers of Prometheus's API."""
        self.prometheus.check()
        answers = []
        for _, _, text in fetch(self.router, [("GET", f"http://{PROMETHEUS}/api/v1/{path}", None, None) for path in paths]):
            try:
                answers.append(json.loads(text))
            except ValueError:
                answers.append({"status": "error", "error": text})
        return answers

    def query(self, *expressions: str) -> list[dict]:
        return self.ask(*("query?" + urlencode({"query": expression}) for expression in expressions))

    def firing(self) -> set[str]:
        alerts = self.ask("alerts")[0].get("data", {}).get("alerts", [])
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def send(self, packet: bytes, count: int) -> None:
        for number in range(count):
            self.out.sendto(packet, ("10.1.0.1", PORT))
            if number % 50 == 0:
                time.sleep(0.005)

    def bad_packets(self) -> None:
        payload = bytes(100)
        for spoil in ("mac", "expired", "egress", "length"):
            self.send(transit(self.key, 1, 4, payload, spoil), BAD)
        self.send(transit(self.key, 1, 4, bytes(1250)), BAD)
        # There is no route to this host.
        self.send(deliver(self.key, 1, AS, "10.99.0.1", 31000, payload), BAD)
        self.send(transit(self.key, 1, 4, payload), 100)

    def overrun(self) -> None:
        """Frames that come while the router stands still fill its ring."""
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            self.send(transit(self.key, 1, 4, bytes(100)), 20_000)
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


def selectors(expression: str) -> dict[str, set[str]]:
    """The metrics of an expression, each with the labels that the expression expects of it."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    grouped = {label for labels in re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", bare) for label in labels.split(",")}
    bare = re.sub(r"\b(?:by|on|without|ignoring)\s*\([^)]*\)", "", bare)
    found: dict[str, set[str]] = {}
    for name, matchers in re.findall(r"\b((?:hopwright|router|process|scion)_\w+|up|ALERTS)\b(?:\{([^}]*)\})?", bare):
        found.setdefault(name, set()).update(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers or ""))
    # A label that groups is one of those that the expression's metrics have.
    return {name: {label.strip() for label in labels if label} for name, labels in found.items()} | {
        "": {label.strip() for label in grouped}}


def check_names(what: str, expression: str, families: dict[str, set[str]], checks: Checks) -> None:
    """Whether the router has the metrics of an expression, with these labels."""
    wanted = selectors(expression)
    grouped = wanted.pop("") - ADDED
    wrong = []
    for name, labels in wanted.items():
        if name in ("up", "ALERTS"):
            continue
        if name not in families:
            wrong.append(f"no metric {name}")
            continue
        wrong += [f"no label {label} of {name}" for label in labels - ADDED - families[name]]
    known = set().union(*(families.get(name, set()) for name in wanted))
    wrong += [f"no label {label}" for label in grouped - known]
    checks.that(f"{what}: its metrics and labels exist", bool(wanted) and not wrong, "; ".join(wrong) or "none")


def families_of(page: str) -> dict[str, set[str]]:
    """The labels of each family of a page."""
    samples, types = parse(page)
    found = {name: set(WITHOUT_SAMPLES.get(name, ())) for name in types}
    for name, labels in samples:
        found[name] |= {label for label, _ in labels}
    return found


def alerts() -> dict[str, str]:
    """The rules' alerts and their expressions."""
    found = {}
    for name, body in re.findall(r"- alert: (\w+)\n((?:        .*\n)+)", RULES.read_text()):
        expression = re.search(r"expr: (?:>-\n((?:          .*\n)+)|(.*)\n)", body)
        found[name] = " ".join((expression[1] or expression[2]).split())
    return found


def check_files(checks: Checks) -> None:
    """What can be said without a router."""
    promtool = HERE / "bin/promtool"
    for command in (["check", "rules", str(RULES)], ["test", "rules", TESTS.name]):
        done = subprocess.run([str(promtool), *command], cwd=HERE, capture_output=True, text=True)
        checks.that(f"promtool {' '.join(command[:2])}", done.returncode == 0, done.stdout + done.stderr)
    tested = set(re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- ", TESTS.read_text()))
    sections = set(re.findall(r"^### (Hopwright\w+)$", RUNBOOK.read_text(), re.MULTILINE))
    names = set(alerts())
    checks.that("each alert has a test in which it fires", names == tested, f"{names ^ tested}")
    checks.that("each alert has a section in the runbook", names == sections, f"{names ^ sections}")
    named = re.findall(r'hopwright_(?:punted|dropped)_packets_total\{[^}]*reason=~?"([^"]*)"', RULES.read_text())
    known = {name.lower() for name in re.findall(r"^    ([A-Z_0-9]+) += \d+", REASONS.read_text(), re.MULTILINE)}
    unknown = {reason for reasons in named for reason in reasons.split("|")} - known
    checks.that("each reason in the rules is one of the program's", bool(named) and not unknown, unknown)
    faults = faults_of(json.loads(DASHBOARD.read_text()))
    checks.that("the dashboard has the form that Grafana reads", not faults, "; ".join(faults))


def check_expressions(lab: Lab, checks: Checks) -> None:
    _, _, page = fetch(lab.router, [("GET", f"http://{METRICS}/metrics", None, None)])[0]
    families = families_of(page)
    all_of = list(alerts().items()) + expressions(json.loads(DASHBOARD.read_text()))
    for (what, expression), answer in zip(all_of, lab.query(*(expression for _, expression in all_of))):
        checks.that(f"{what}: Prometheus evaluates it", answer["status"] == "success", answer.get("error", ""))
        check_names(what, expression, families, checks)


def run(lab: Lab, checks: Checks) -> None:
    wait_until("Prometheus to scrape the router",
               lambda: any(float(r["value"][1]) == 1 for r in lab.query("up")[0].get("data", {}).get("result", [])))
    lab.write("{")
    fired: set[str] = set()

    def missing() -> set[str]:
        lab.bad_packets()
        if "HopwrightReceiveLosses" not in fired:
            lab.overrun()
        fired.update(lab.firing())
        return FAULTS - fired

    checks.comes("the alerts of these faults fire: missing", missing, lambda left: not left)
    checks.that("and no others but those of a busy machine", fired <= FAULTS | BUSY, fired - FAULTS)
    lab.write(json.dumps(lab.topology))
    checks.comes("a configuration that is right ends its alert", lab.firing, lambda now: "HopwrightReloadFailed" not in now)
    check_expressions(lab, checks)
    lab.process.stop()
    checks.comes("a router that has ended is down", lab.firing, lambda now: "HopwrightRouterDown" in now)


def main() -> int:
    names = choose(case_options(__doc__).parse_args(), ["files", "alerts"])

    def test(checks: Checks) -> None:
        if "files" in names:
            check_files(checks)
        if "alerts" not in names:
            return
        directory = Path(tempfile.mkdtemp(prefix="hopwright-monitoring-"))
        remove_all(PREFIX)
        try:
            run(Lab(directory), checks)
        finally:
            remove_lab(PREFIX, directory, bool(checks.failed) or isinstance(sys.exc_info()[1], Exception))
    return carry_out("monitoring", test, long_details=True)


if __name__ == "__main__":
    sys.exit(main())
