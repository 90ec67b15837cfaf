#!/usr/bin/env python3
"""Does what docs/migrate.md says, in a network whose other routers are the reference's: one
router becomes ours, with the command, user and capabilities of the unit file, and the
reference's again. Pings go on meanwhile; how many are lost is told.

The unit's sandbox (file systems, system calls) is systemd's and not tried here.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import ROOT
from lab.router import RouterKind, hopwright_binary, wait_ready
from lab.scrape import fetch, metrics, total, wait_served

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "demo"))

from network import Network, built  # noqa: E402
from network_test import check_pings, wait_ping  # noqa: E402
from plan import LEAF_ROUTES, METRICS  # noqa: E402

UNIT = ROOT / "packaging" / "hopwright-router@.service"
MIGRATED = "br110a"
# They go on for longer than a busy machine takes to exchange the router.
PINGS = 200
# Any numbers do: a user without rights, and the group that may read the configuration.
USER, GROUP = 65534, 61234


def unit_settings() -> dict[str, str]:
    """The last value of each setting of the unit."""
    return dict(line.split("=", 1) for line in UNIT.read_text().splitlines()
                if "=" in line and not line.startswith("#"))


class Migration:
    def __init__(self, network: Network, checks: Checks):
        self.network, self.checks = network, checks
        self.router = network.routers[MIGRATED]
        self.base = network.directory / self.router.an_as.folder
        self.config = self.base / f"{MIGRATED}.toml"
        self.directory = network.directory / "run"
        self.directory.mkdir()
        os.chown(self.directory, USER, USER)
        # What `make install` installs.
        subprocess.run([ROOT / "packaging" / "dist.sh", hopwright_binary(), network.directory], check=True)
        self.binary = network.directory / "hopwright"

    def command(self, setting: str) -> list[str]:
        """A command of the unit file, as its user."""
        settings = unit_settings()
        rights = ",".join("+" + c.removeprefix("CAP_").lower()
                          for c in settings["AmbientCapabilities"].split())
        line = settings[setting].replace("/usr/bin/hopwright", str(self.binary))
        line = line.replace("/etc/scion/%i.toml", str(self.config))
        line = line.replace("%t/hopwright", str(self.directory)).replace("%i", MIGRATED)
        return ["setpriv", f"--reuid={USER}", f"--regid={USER}", f"--groups={GROUP}",
                f"--inh-caps=-all,{rights}", f"--ambient-caps=-all,{rights}",
                f"--bounding-set=-all,{rights}", "--no-new-privs", *line.split()]

    def rights_of_the_files(self) -> None:
        """`chgrp -R scion; chmod 640 keys; chmod g+rx`."""
        for path in (self.base, *self.base.rglob("*")):
            os.chown(path, -1, GROUP)
        for key in (self.base / "keys").glob("master?.key"):
            key.chmod(0o640)
        for directory in (self.base, self.base / "keys"):
            directory.chmod(directory.stat().st_mode | 0o050)

    def page(self) -> dict:
        return metrics(self.router.namespace, METRICS)

    def change(self, what: str, start) -> None:
        """Stops the router and starts the other one, under pings."""
        lost: list[int] = []

        def ping() -> None:
            answers, _ = self.network.ping(LEAF_ROUTES[0], count=PINGS)
            lost.append(PINGS - answers)

        pings = threading.Thread(target=ping)
        pings.start()
        time.sleep(1.5)
        status = self.router.process.stop()
        self.checks.that(f"{what}: the other ends with status 0", status == 0, f"{status}")
        begun = time.monotonic()
        start()
        wait_ready(self.router.process)
        wait_served(self.router.namespace, f"http://{METRICS}/")
        took = time.monotonic() - begun
        pings.join()
        self.checks.that(f"{what}: a pause with an end", lost[0] < PINGS,
                         f"{lost[0]} of {PINGS} pings lost, one each 100 ms; serves after {took:.1f} s")
        self.checks.that(f"{what}: everything is reached", all(
            wait_ping(self.network, route) for route in LEAF_ROUTES))

    def there(self) -> None:
        # Own settings need not be taken away for the way back.
        (self.base / "hopwright.toml").write_text("batch = 64\n")
        self.rights_of_the_files()
        check = subprocess.run(self.command("ExecStartPre"), capture_output=True, text=True)
        self.checks.that("scion check, as the unit's user", check.returncode == 0 and
                         re.search(rf"router {MIGRATED} of 1-ff00:0:110: 2 links, 1 sibling router",
                                   check.stdout) is not None and "warning" not in check.stderr,
                         check.stdout.strip() + check.stderr.strip())
        command = self.command("ExecStart")
        words = ["{stats}" if word == str(self.directory / f"{MIGRATED}.json") else
                 "{config}" if word == str(self.config) else word for word in command]
        self.router.stats_path = self.directory / f"{MIGRATED}.json"
        self.router.kind = RouterKind(" ".join(words))
        self.change("to ours", lambda: self.network.start_router(self.router))

    def look(self, before: dict) -> None:
        def down() -> list:
            return [labels for (name, labels), value in self.page().items()
                    if name in ("router_interface_up", "router_sibling_reachable") and value != 1]
        # On a busy machine a neighbour's BFD may get no time.
        self.checks.comes("all interfaces are up: down", down, lambda found: not found)
        page = self.page()
        reasons = {dict(labels)["reason"] for (name, labels), value in page.items()
                   if name == "hopwright_dropped_packets_total" and value}
        self.checks.that("no packet is dropped that should not be",
                         not reasons & {"invalid_hop_mac", "malformed"}, f"{sorted(reasons)}")
        names = {name for name, _ in before if name.startswith(("router_", "process_", "scion_"))}
        missing = names - {name for name, _ in page}
        self.checks.that("the reference's metrics are there", names and not missing, f"{missing}")
        self.checks.that("packets are counted", total(page, "router_input_pkts_total") > 0)
        uid = Path(f"/proc/{self.router.process.pid}/status").read_text()
        self.checks.that("it is not root", f"Uid:\t{USER}" in uid)
        stages = {dict(labels)["stage"]: value for (name, labels), value in page.items()
                  if name == "hopwright_stage_packets_total"}
        self.checks.that("times by stage", set(stages) == {
            "receive", "program", "sort", "send", "slow_path"}, f"{stages}")
        config = fetch(self.router.namespace, [("GET", f"http://{METRICS}/config", None, None)])[0]
        self.checks.that("its configuration is that of the file",
                         config[0] == 200 and str(self.base) in config[2])

    def back(self) -> None:
        self.router.kind = RouterKind("reference")
        self.change("back", lambda: self.network.start_router(self.router))
        stats = json.loads(self.router.stats_path.read_text())
        self.checks.that("the last figures balance", stats["ledger"]["packets_in"] ==
                         stats["ledger"]["packets_out"])


def main() -> int:
    choose(case_options(__doc__).parse_args(), ["migration"])

    def test(checks: Checks) -> None:
        network = built(lambda: Network(RouterKind("reference"), prefix=f"hwm{os.getpid()}-"))
        try:
            migration = Migration(network, checks)
            wait_ping(network, LEAF_ROUTES[0])
            before = migration.page()
            migration.there()
            migration.look(before)
            check_pings(network, checks, LEAF_ROUTES)
            migration.back()
        finally:
            network.close_after(checks)
    return carry_out("migration", test)


if __name__ == "__main__":
    sys.exit(main())
