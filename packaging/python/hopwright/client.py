"""Reads and changes the tables, counters, registers and meters of a running switch, by the `hopwright` command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, Mapping, Union

Value = Union[int, str, bool]


class HopwrightError(Exception):
    """The command failed; its message says why."""


class CommandMissing(HopwrightError):
    """There is no `hopwright` command."""


class Unreachable(HopwrightError):
    """No switch answers at the address."""


class InvalidArgument(HopwrightError):
    """The program has no such table, action, field or object, or a value does not fit."""


class Refused(HopwrightError):
    """The switch refuses; `code` is gRPC's, such as OutOfRange."""

    code = ""


class AlreadyExists(Refused):
    """The table has an entry with these keys and this priority."""


class NotFound(Refused):
    """The table has no entry with these keys and this priority."""


class PermissionDenied(Refused):
    """The client may not do this: another controller is primary (`force=True`), or the role forbids it."""


_CODES = {"AlreadyExists": AlreadyExists, "NotFound": NotFound, "PermissionDenied": PermissionDenied}


def command() -> str:
    """The path of the command: $HOPWRIGHT, else the one beside this Python, else the one in PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "hopwright")
    for path in os.environ.get("HOPWRIGHT"), beside if os.access(beside, os.X_OK) else None, shutil.which("hopwright"):
        if path:
            return path
    raise CommandMissing("there is no command `hopwright`; set HOPWRIGHT to its path")


@dataclass(frozen=True)
class Entry:
    """An entry of a table: keys by field, as the command prints them, its action and the action's arguments."""

    match: Mapping[str, str]
    action: str
    args: Mapping[str, str]
    priority: int | None = None
    packets: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Cell:
    """A cell of a counter."""

    index: int
    packets: int
    bytes: int


@dataclass(frozen=True)
class Switch:
    """A running switch. `address` is where it serves P4Runtime: HOST:PORT.

    Names may be shortened to what stands behind a dot. Values are numbers, or strings in the forms of `hopwright table --help`:
    addresses, `10.0.0.0/8`, `1&&&3`, `1..5`, `*`.
    """

    address: str = "127.0.0.1:9559"
    device_id: int = 1
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_name: str | None = None
    force: bool = False
    timeout: float = field(default=30.0, compare=False)

    def tables(self) -> list[dict[str, Any]]:
        """The tables with their keys and actions."""
        return self._json("table", "list")

    def table_entries(self, table: str) -> list[Entry]:
        """The entries of a table. Of an entry with several actions, by a selector, the first is told."""
        entries = []
        for entry in self._json("table", "show", table)["entries"]:
            action, counter = entry["actions"][0], entry.get("counter") or {}
            entries.append(Entry(entry["match"], action["name"], action["args"], entry.get("priority"),
                                 counter.get("packets"), counter.get("bytes")))
        return entries

    def table_add(self, table: str, match: Mapping[str, Value], action: str, args: Mapping[str, Value] | None = None,
                  priority: int | None = None) -> None:
        """Adds an entry: `table_add("mac", {"dst": "02:00:00:00:00:01"}, "forward", {"port": 1})`."""
        self._run("table", "add", table, f"{_keys(match, priority)} => {_call(action, args)}")

    def table_set(self, table: str, match: Mapping[str, Value], action: str, args: Mapping[str, Value] | None = None,
                  priority: int | None = None) -> None:
        """Changes the action of an entry."""
        self._run("table", "set", table, f"{_keys(match, priority)} => {_call(action, args)}")

    def table_delete(self, table: str, match: Mapping[str, Value], priority: int | None = None) -> None:
        """Deletes an entry."""
        self._run("table", "delete", table, _keys(match, priority))

    def table_default(self, table: str, action: str, args: Mapping[str, Value] | None = None) -> None:
        """Sets a table's default action."""
        self._run("table", "default", table, _call(action, args))

    def counters(self) -> list[dict[str, Any]]:
        """The counters, with their sizes or their tables."""
        return self._json("counter", "list")

    def counter_read(self, counter: str, index: int) -> Cell:
        """One cell of an indexed counter."""
        return next((cell for cell in self._cells(counter, index) if cell.index == index), Cell(index, 0, 0))

    def counter_cells(self, counter: str) -> list[Cell]:
        """The cells of an indexed counter that are not zero."""
        return self._cells(counter)

    def counter_reset(self, counter: str, index: int | None = None) -> None:
        """Sets a counter's cells to zero, or one."""
        self._run("counter", "reset", counter, *([] if index is None else [str(index)]))

    def register_read(self, register: str, index: int) -> int:
        """One cell of a register."""
        return next((int(c["value"]) for c in self._json("register", "show", register, str(index)) if c["index"] == index), 0)

    def register_write(self, register: str, index: int, value: Value) -> None:
        """Sets one cell of a register."""
        self._run("register", "set", register, str(index), _text(value))

    def meter_set(self, meter: str, index: int, *, cir: int, cburst: int, pir: int, pburst: int) -> None:
        """Sets the rates of a meter's cell: bytes or packets a second, as the program declares the meter."""
        self._run("meter", "set", meter, str(index), f"cir={cir}", f"cburst={cburst}", f"pir={pir}", f"pburst={pburst}")

    def meter_clear(self, meter: str, index: int) -> None:
        """Takes the rates from a meter's cell: every packet is green."""
        self._run("meter", "set", meter, str(index), "off")

    def _cells(self, counter: str, *index: int) -> list[Cell]:
        return [Cell(c["index"], c["packets"], c["bytes"]) for c in self._json("counter", "show", counter, *map(str, index))]

    def _json(self, *arguments: str) -> Any:
        return json.loads(self._run(*arguments, "--json"))

    def _run(self, *arguments: str) -> str:
        options = ["--server", self.address, "--device-id", str(self.device_id)]
        for name in "tls_ca", "tls_cert", "tls_key", "tls_name":
            if getattr(self, name) is not None:
                options += [f"--{name.replace('_', '-')}", getattr(self, name)]
        if self.force:
            options.append("--force")
        program = command()
        try:
            done = subprocess.run([program, arguments[0], *options, *arguments[1:]], capture_output=True, text=True,
                                  timeout=self.timeout)
        except FileNotFoundError:
            raise CommandMissing(f"there is no command {program}") from None
        except subprocess.TimeoutExpired:
            raise Unreachable(f"{self.address} does not answer within {self.timeout} seconds") from None
        if done.returncode:
            raise error(done.stderr)
        return done.stdout


def error(message: str) -> HopwrightError:
    """The error that the command's message means."""
    text = message.strip().removeprefix("hopwright: ").removeprefix("error: ")
    if "cannot reach a switch" in text:
        return Unreachable(text)
    if "the switch refuses" in text:
        code = re.search(r"\((\w+)\)\s*$", text)
        refused = _CODES.get(code[1] if code else "", Refused)(text)
        refused.code = code[1] if code else ""
        return refused
    return InvalidArgument(text)


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _keys(match: Mapping[str, Value], priority: int | None) -> str:
    keys = [f"{name}={_text(value)}" for name, value in match.items()]
    return " ".join(keys + ([] if priority is None else [f"priority={priority}"]))


def _call(action: str, args: Mapping[str, Value] | None) -> str:
    return f"{action}({', '.join(f'{name}={_text(value)}' for name, value in (args or {}).items())})"
