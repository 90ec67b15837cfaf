#!/usr/bin/env python3
"""Compares the metrics and status pages of our router with the reference router's,
both started with the configuration of braccept. Ours runs without root here, as a
service manager would start it.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not run.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import PATIENCE, wait_until
from lab.netns import End, Namespace, veth
from lab.reference import copy_tree, module_dir
from lab.router import RouterKind, hopwright_binary
from lab.scrape import fetch, parse, wait_served

STATUS = "http://127.0.0.1:30442"
API = "http://127.0.0.1:31142"
# Our own page, of which the reference has nothing.
PAGE = "http://127.0.0.1:31143"
PAGE_REQUESTS = [("GET", f"{PAGE}/api/about", None, None), ("GET", f"{PAGE}/api/state", None, None),
                 ("GET", f"{PAGE}/api/tables?tenant={{tenant}}", None, None),
                 ("GET", f"{PAGE}/api/program?tenant={{tenant}}", None, None),
                 ("POST", f"{PAGE}/api/write/entry", "{}", "application/json")]
PAGES = [f"{STATUS}/{path}" for path in ("", "info", "config", "log/level", "topology", "metrics")] + \
        [f"{API}/{path}" for path in ("", "openapi.json", "api/v1/info", "api/v1/config",
                                      "api/v1/log/level", "api/v1/interfaces", "api/v1/nothing")]
# Addresses of braccept's router.
DEVICES = {"veth_int": "192.168.0.11/24", "veth_121": "192.168.12.2/31",
           "veth_131": "192.168.13.2/31", "veth_141": "192.168.14.2/31",
           "veth_151": "192.168.15.2/31"}
JSON = "application/json"
LEVELS = [  # requests in turn, of which the status and the level afterwards must be the same
    ("PUT", f"{STATUS}/log/level", '{"level":"debug"}', JSON),
    ("GET", f"{API}/api/v1/log/level", None, None),
    ("PUT", f"{API}/api/v1/log/level", '{"level":"error"}', JSON),
    ("GET", f"{STATUS}/log/level", None, None),
    ("PUT", f"{STATUS}/log/level", "level=info", "application/x-www-form-urlencoded"),
    ("PUT", f"{STATUS}/log/level", '{"level":"loud"}', JSON),
    ("PUT", f"{STATUS}/log/level", "{}", JSON),
    ("PUT", f"{API}/api/v1/log/level", "nonsense", JSON),
    ("POST", f"{STATUS}/log/level", '{"level":"info"}', JSON),
    ("GET", f"{STATUS}/log/level", None, None),
]


# Who runs our router, and what with, as packaging/hopwright-router@.service has it:
# CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON and CAP_BPF.
NOBODY = 65534
CAPABILITIES = "+net_admin,+net_raw,+bpf,+perfmon"
CAPABILITY_BITS = 1 << 12 | 1 << 13 | 1 << 38 | 1 << 39


class ServiceManager:
    """The other end of sd_notify(3): collects what a service says."""

    def __init__(self, directory: Path):
        self.path = directory / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))
        self.path.chmod(0o777)
        # Who says something waits while nobody has read the last ten messages.
        self._told: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def environment(self) -> dict[str, str]:
        return {"NOTIFY_SOCKET": str(self.path), "WATCHDOG_USEC": "1000000"}

    def _listen(self) -> None:
        while True:
            self._told += self._socket.recv(4096).decode().split()

    def told(self) -> list[str]:
        """What the service has said, once it has said that it stops and has left its sockets for another one."""
        wait_until("the end", lambda: self._told[-1:] == ["FDPOLL=0"])
        return self._told


def unprivileged(directory: Path) -> RouterKind:
    """Our router as a user without rights, but for two capabilities."""
    binary = directory / "hopwright"
    shutil.copy(hopwright_binary(), binary)
    capabilities = " ".join(f"--{kind}=-all,{CAPABILITIES}"
                            for kind in ("inh-caps", "ambient-caps", "bounding-set"))
    for path in (directory, *directory.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    return RouterKind(f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {capabilities} "
                      f"{binary} scion --config {{config}} --stats {{stats}} --http {PAGE.removeprefix('http://')}")


def privileges(pid: int) -> set[tuple[str, str]]:
    """User, capabilities and no_new_privs of a process's threads."""
    wanted = ("Uid:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:")
    return {tuple(line.split()[:2]) for status in Path(f"/proc/{pid}/task").glob("*/status")
            for line in status.read_text().splitlines() if line.startswith(wanted)}


def write_config(directory: Path, bfd: bool) -> Path:
    conf = directory / "conf"
    if not conf.exists():
        copy_tree(module_dir() / "acceptance" / "router_multi" / "conf", conf)
    path = directory / f"router{'-bfd' if bfd else ''}.toml"
    path.write_text(f"""[general]
id = "brA"
config_dir = "{conf}"
[metrics]
prometheus = "127.0.0.1:30442"
[api]
addr = "127.0.0.1:31142"
[router.bfd]
disable = {str(not bfd).lower()}
""")
    return path


def run(kind: RouterKind, directory: Path, config: Path,
        environment: dict[str, str] | None = None, own: bool = False) -> dict:
    """Starts a router on devices of its own and asks for every page."""
    namespace = Namespace(f"hwpages{os.getpid()}", ipv6=False)
    peers = Namespace(f"hwpages{os.getpid()}p", ipv6=False)
    try:
        for device, address in DEVICES.items():
            veth(End(namespace, device, (address,)), End(peers, f"{device}_p"), 8000)
        process = kind.start(kind.name, namespace, config, directory / f"{kind.name}.log",
                             directory / f"{kind.name}.json", environment=environment)
        try:
            for base in (STATUS, API):
                wait_served(namespace, f"{base}/")
            process.check()
            pages = fetch(namespace, [("GET", url, None, None) for url in PAGES])
            levels = fetch(namespace, LEVELS)
            rights = privileges(process.pid)
            own_pages = fetch_page(namespace) if own else []
            process.check()
        finally:
            status = process.stop()
        return {"pages": dict(zip(PAGES, pages)), "levels": levels, "status": status,
                "rights": rights, "own": own_pages}
    finally:
        namespace.remove()
        peers.remove()


def fetch_page(namespace: Namespace) -> list:
    """What our own page says, of the only tenant."""
    wait_served(namespace, f"{PAGE}/")
    [about] = fetch(namespace, PAGE_REQUESTS[:1])
    tenant = json.loads(about[2])["tenants"][0]["name"]
    further = [(method, url.format(tenant=tenant), *rest) for method, url, *rest in PAGE_REQUESTS[1:]]
    deadline = time.monotonic() + PATIENCE
    while True:
        answers = fetch(namespace, further)
        # The state is published five times a second: it may be older than the tables.
        if same_entries(*(json.loads(answer[2]) for answer in answers[:2])) or time.monotonic() > deadline:
            return [about, *answers]


def same_entries(state: dict, tables: list[dict]) -> bool:
    """Whether tables have as many entries as the state counts."""
    entries = {table["name"]: table["entries"] for table in tables}
    return all(entries[name] == table["entries"] for name, table in state["tables"].items() if name in entries) and sum(entries.values()) > 0


def compare(ours: dict, reference: dict, secrets: list[str], checks: Checks) -> None:
    for url in PAGES:
        got, want = ours["pages"][url], reference["pages"][url]
        checks.that(f"{url}: status {want[0]}, {want[1]}",
                    got[0] == want[0] and got[1].split(";")[0] == want[1].split(";")[0], got[:2])
        checks.that(f"{url}: no key in it", not any(s in got[2] for s in secrets))

    def page(answers: dict, url: str) -> str:
        return answers["pages"][url][2]

    samples, types = parse(page(ours, f"{STATUS}/metrics"))
    wanted, wanted_types = parse(page(reference, f"{STATUS}/metrics"))
    families = [n for n in wanted_types if n.startswith(("router_", "process_", "scion_"))]
    differ = [n for n in families if types.get(n) != wanted_types[n]]
    checks.that(f"all {len(families)} families of the reference, with their types",
                families and not differ, differ)
    own_labels = ("scion_build_info",)
    missing = [s for s in wanted if s[0].startswith(("router_", "scion_"))
               and s[0] not in own_labels and s not in samples]
    checks.that(f"all samples of the reference's {len(wanted)}, with their labels", not missing,
                missing[:5])
    checks.that("metrics of our own", any(n.startswith("hopwright_") for n in types))

    for url, read in ((f"{STATUS}/topology", json.loads), (f"{STATUS}/config", tomllib.loads),
                      (f"{API}/api/v1/config", tomllib.loads),
                      (f"{API}/api/v1/interfaces", json.loads)):
        got, want = read(page(ours, url)), read(page(reference, url))
        for content in (got, want):
            for key, value in content.items():
                if isinstance(value, list):
                    value.sort(key=lambda v: v["interface_id"])
            # The reference shows how many processors it took.
            content.get("router", {}).pop("num_processors", None)
            # What the reference does not have.
            content.pop("hopwright", None)
        checks.that(f"{url}: the same content", got == want, f"{got} instead of {want}")
    paths = [sorted(json.loads(page(a, f"{API}/openapi.json"))["paths"]) for a in (ours, reference)]
    checks.that("the same paths in openapi.json", paths[0] == paths[1], paths)
    for request, got, want in zip(LEVELS, ours["levels"], reference["levels"]):
        same = got[0] == want[0] and (want[0] != 200 or json.loads(got[2]) == json.loads(want[2]))
        checks.that(f"{request[0]} {request[1]} {request[2] or ''}: {want[0]}", same, got)
    checks.that("status 0 on SIGTERM", ours["status"] == 0, ours["status"])


def check_page(ours: dict, secrets: list[str], checks: Checks) -> None:
    """The page of a router alone: links, tables and graphs, and nothing to write."""
    about, state, tables, program = (json.loads(answer[2]) for answer in ours["own"][:4])
    checks.that("page: a router, read only", about["router"] and not about["writable"] and not about["tenants"][0]["writable"], about)
    interfaces = {int(link["name"].split()[1]) for link in state["links"] if link["name"].startswith("interface ")}
    wanted = {link["interface_id"] for link in json.loads(ours["pages"][f"{API}/api/v1/interfaces"][2])["interfaces"]}
    checks.that(f"page: the interfaces of the API, {sorted(wanted)}", interfaces == wanted, state["links"])
    checks.that("page: tables have the entries that the state counts", same_entries(state, tables), (tables, state["tables"]))
    checks.that("page: graphs of the parser and of ingress", {"parser", "ingress"} <= {graph["name"] for graph in program["graphs"]})
    checks.that("page: a write is refused", ours["own"][4][0] in (401, 403, 404, 405), ours["own"][4][:2])
    checks.that("page: no key in it", not any(s in answer[2] for s in secrets for answer in ours["own"]))


def check_service(ours: dict, told: list[str], checks: Checks) -> None:
    checks.that("the service manager is told READY=1 first, STOPPING=1 at the end, WATCHDOG=1 between, and what to keep",
                told[:1] == ["READY=1"] and told[-4:] == ["STOPPING=1", "FDSTORE=1", "FDNAME=hand-over", "FDPOLL=0"]
                and "WATCHDOG=1" in told, told)
    bits = f"{CAPABILITY_BITS:016x}"
    wanted = {("Uid:", str(NOBODY)), ("CapInh:", f"{0:016x}"), ("CapPrm:", bits), ("CapEff:", bits),
              ("CapBnd:", bits), ("CapAmb:", f"{0:016x}"), ("NoNewPrivs:", "1")}
    checks.that("no thread may more than send and receive packets and configure the network",
                ours["rights"] == wanted, ours["rights"])


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="hopwright (default), or a command with {config} in it")
    args = parser.parse_args()
    choose(args, ["pages"])

    def test(checks: Checks) -> None:
        with tempfile.TemporaryDirectory(prefix="hopwright-pages-") as name:
            directory = Path(name)
            config, with_bfd = (write_config(directory, bfd) for bfd in (False, True))
            keys = [(directory / "conf" / "keys" / f"master{n}.key").read_text().strip()
                    for n in (0, 1)]
            # Neither as they stand in the files nor as bytes in hexadecimal.
            secrets = keys + [base64.b64decode(k).hex() for k in keys]
            reference = run(RouterKind("reference"), directory, config)
            manager = ServiceManager(directory)
            service = args.router == "hopwright"
            kind = unprivileged(directory) if service else RouterKind(args.router)
            ours = run(kind, directory, config, manager.environment(), own=service)
            compare(ours, reference, secrets, checks)
            if service:
                check_service(ours, manager.told(), checks)
                check_page(ours, secrets, checks)
            print("with BFD, which nobody answers:")
            compare(run(kind, directory, with_bfd), run(RouterKind("reference"), directory, with_bfd),
                    secrets, checks)
            for log in directory.glob("*.log"):
                text = log.read_text(errors="replace")
                checks.that(f"{log.name}: no key in it", not any(s in text for s in secrets))
                if checks.failed:
                    print(f"--- {log.name}\n{text[-3000:]}", file=sys.stderr)
    return carry_out("status pages", test, long_details=True)


if __name__ == "__main__":
    sys.exit(main())
