"""The border routers that can be put under test, and when one is ready for packets.

Every router takes the same configuration files. `hopwright` also gets
`--stats FILE` where the caller asks for its counters.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from .command import HOPWRIGHT, PATIENCE, ROOT, TARGET, LabError, wait_until
from .netns import Namespace
from .process import Process
from .reference import tool


def hopwright_binary() -> str:
    """Our binary: $HOPWRIGHT, else the release build of this checkout."""
    if not HOPWRIGHT.is_file():
        raise LabError(f"{HOPWRIGHT} is missing: run `make hopwright`, or name the binary in $HOPWRIGHT")
    return str(HOPWRIGHT)


def _setting(text: str) -> str:
    """One line of TOML from `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals:
        raise LabError(f"{text}: expected KEY=VALUE")
    is_word = re.fullmatch(r"[\w+]*[a-z][\w+]*", value)
    return f'{key} = "{value}"' if is_word else f"{key} = {value}"


# A border router, and a layer-2 switch for the frames of a VLAN on the same devices.
SWITCH = """[switch]
socket = "switch.sock"
{ports}
[[tenant]]
name = "border"
ports = {{ {numbers} }}
match = [{{ vlan = 0 }}]
[tenant.agent]
kind = "scion"
config = "{config}"

[[tenant]]
name = "bridge"
program = "{repository}/examples/l2.p4"
entries = "bridge.stf"
ports = {{ {numbers} }}
match = [{{ vlan = 10 }}]

[metrics]
address = "127.0.0.1:30443"
"""
# By the third port, the bridge reaches this address.
BRIDGED_MAC = "020000000002"


def write_switch(config: Path, namespace: Namespace) -> Path:
    """A switch.toml with a router of this router.toml on all of the namespace's devices."""
    devices = [link["ifname"] for link in json.loads(namespace.ip("-j", "link"))
               if link["ifname"] != "lo"]
    directory = config.with_name(f"{config.stem}-switch")
    directory.mkdir(exist_ok=True)
    (directory / "bridge.stf").write_text(f"add mac hdr.ethernet.dst:0x{BRIDGED_MAC} forward(port:3)\n")
    file = directory / "switch.toml"
    file.write_text(SWITCH.format(
        ports="".join(f'[[port]]\ndevice = "{device}"\n' for device in devices),
        numbers=", ".join(f'{n} = "{device}"' for n, device in enumerate(devices, 1)),
        config=config, repository=ROOT))
    return file


class RouterKind:
    """A way to start a border router: `reference`, `hopwright`, or a command line.

    With `tenant` our router is a tenant of `hopwright switch`, which has another one on the same devices.

    With `hopwright+slow_path=tap` the reference's router runs beside ours, in a
    namespace of its own, and has the slow path.

    `hopwright+KEY=VALUE+…` is hopwright with settings in `hopwright.toml` beside
    a copy of its router.toml, for example `hopwright+ports="af_packet"+workers=2`;
    quotes around a word may be left out.

    `arm64` is our router on an emulated machine, which `tests/arm64/router.py prepare` has made in target/arm64-machine.

    In a command line `{config}` stands for the path of router.toml and
    `{stats}`, where it appears, for the path of the statistics file.
    """

    def __init__(self, choice: str):
        self.choice = choice
        self._settings: list[str] = []
        # Whether it tells a service manager when it is ready.
        self._announces = choice in ("tenant", "arm64") or choice.split("+")[0] == "hopwright"
        if choice == "reference":
            self.name = "reference"
            self._template = [tool("router"), "--config", "{config}"]
        elif choice == "tenant":
            self.name = choice
            self._template = [hopwright_binary(), "switch", "--config", "{switch}"]
        elif choice == "arm64":
            self.name = "hopwright, 64-bit Arm"
            self._template = [str(ROOT / "tests/arm64/router.py"), "run", str(TARGET / "arm64-machine"),
                              "--config", "{config}", "--stats", "{stats}"]
        elif choice.split("+")[0] == "hopwright":
            self.name = choice.replace('"', "")
            # Not at the plus within a value, as in `layout=1br+1aes`.
            words = re.split(r"\+(?=\w+=)", choice)[1:]
            # Options of the command, not settings.
            options = [word for word in words if word.startswith(("engine=", "define="))]
            self._settings = [_setting(word) for word in words if word not in options]
            self._template = [hopwright_binary(), "scion", "--config", "{config}",
                              "--stats", "{stats}", *(f"--{option}" for option in options)]
        else:
            self._template = shlex.split(choice)
            if not any("{config}" in word for word in self._template):
                raise LabError("a router command must contain {config}")
            self.name = Path(self._template[0]).name

    @property
    def by_tap(self) -> bool:
        """Whether the reference has the slow path."""
        return 'slow_path = "tap"' in self._settings

    def start(
        self,
        name: str,
        namespace: Namespace,
        config: Path,
        log: Path,
        stats: Path,
        cpus: str | None = None,
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
        as_user: str | None = None,
        options: tuple[str, ...] = (),
        kept: dict[str, int] | None = None,
    ) -> Process:
        """Starts the router in its namespace, with further options of the command; with `as_user` without any privileges; with what
        the service manager has `kept` of the one before.

        `cwd` is where relative paths of the configuration begin.
        """
        settings, companions, plain = self._settings, [], config
        if self.by_tap:
            settings = [*settings, f'slow_path_netns = "{namespace.name}-slow"']
        if settings:
            # Routers of one AS may share a directory, and need not have the same settings.
            directory = config.with_name(f"{config.stem}-own-settings")
            directory.mkdir(exist_ok=True)
            config = Path(shutil.copy(config, directory))
            (directory / "hopwright.toml").write_text("\n".join([*settings, ""]))
        if self.by_tap:
            # As an operator would. Not `ip netns exec`: what is mounted there is not seen here.
            done = subprocess.run(
                ["nsenter", f"--net=/run/netns/{namespace.name}", "sh", "-c",
                 '"$0" scion slow-path --config "$1" | sh', hopwright_binary(), str(config)],
                capture_output=True, text=True)
            if done.returncode != 0:
                raise LabError(f"{name}: cannot make the slow path: {done.stderr.strip()}")
            slow = Namespace.existing(f"{namespace.name}-slow")
            companions = [Process(f"{name}, slow path", [tool("router"), "--config", str(plain)],
                                  log.with_suffix(".slow.log"), namespace=slow)]
        if self.choice == "tenant":
            config = write_switch(config, namespace)
        command = [
            word.replace("{config}", str(config)).replace("{switch}", str(config)).replace("{stats}", str(stats))
            for word in self._template
        ] + list(options)
        if as_user:
            command = ["setpriv", "--reuid", as_user, "--regid", as_user, "--clear-groups",
                       "--inh-caps=-all", *command]
        process = Process(name, command, log, namespace=namespace, cpus=cpus, environment=environment,
                          cwd=cwd, companions=companions, announces=self._announces, kept=kept)
        process.has_machine = self.choice == "arm64"
        return process


def _packet_inputs(process: Process) -> tuple[int, int, int]:
    """How many UDP and packet sockets a process has, and BPF maps, which lead to AF_XDP sockets."""
    own, maps = set(), 0
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            name = os.readlink(entry)
        except FileNotFoundError:
            continue
        maps += name == "anon_inode:bpf-map"
        if name.startswith("socket:["):
            own.add(name[8:-1])
    base = Path(f"/proc/{process.pid}/net")
    counts = []
    # The column of a socket's inode number in each table.
    for tables, column in (((("udp", "udp6"), 9), (("packet",), 8))):
        lines = [line.split() for t in tables if (base / t).exists()
                 for line in (base / t).read_text().splitlines()[1:]]
        counts.append(sum(line[column] in own for line in lines))
    return counts[0], counts[1], maps


def wait_ready(process: Process, timeout: float = PATIENCE, settle: float = 0.5) -> None:
    """Waits until the router has opened its packet inputs and opens no more, and until ours says that it is ready:
    simulated hardware takes some time for its tables.

    Works for any implementation, also beside other processes in one namespace.
    """
    for companion in process.companions:
        wait_ready(companion, timeout, settle)
    if process.has_machine:
        wait_until(f"{process.name} to be ready", lambda: process.check() or process.is_ready(), timeout)
        return
    deadline = time.monotonic() + timeout
    last, since = (0, 0, 0), time.monotonic()
    while True:
        process.check()
        try:
            now = _packet_inputs(process)
        except FileNotFoundError:
            continue
        if now != last:
            last, since = now, time.monotonic()
        elif any(now) and time.monotonic() - since >= settle and process.is_ready():
            return
        if time.monotonic() > deadline:
            raise LabError(f"{process.name} was not ready within {timeout:.0f} s\n{process.tail()}")
        time.sleep(0.05)


def read_stats(path: Path) -> dict:
    """The counters that a router wrote; empty if it wrote none."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
