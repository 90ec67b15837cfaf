"""What a scenario is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from .packets import echo, frame, ipv4, ipv6, tcp, udp


@dataclass(frozen=True)
class Do:
    """Commands for a shell in both routers' namespaces."""

    script: str
    # They change what netlink does not report: settings, filters, policies.
    settings: bool = False


@dataclass(frozen=True)
class Send:
    """Frames that hosts send, by port. What arrives anywhere has to be the same behind both routers."""

    frames: tuple[tuple[int, bytes], ...]
    # At least this many frames arrive behind the Linux router; waited for.
    least: int = 0
    # Every packet is forwarded by the fast path.
    fast: bool = False
    # Next hops of equal cost may be chosen differently: frames are compared without Ethernet addresses and ports.
    any_path: bool = False


@dataclass(frozen=True)
class Silent:
    """Hosts of these addresses answer no questions from now on."""

    addresses: tuple[str, ...]


@dataclass
class Scenario:
    about: str
    name: str
    steps: list = field(default_factory=list)


# Scenarios that leave something behind, and so come last.
LASTING = "lasting filters"
SCENARIOS: list[Scenario] = []
_SETTINGS = ("/proc/sys", "nft", "tables", "xfrm", "tc ")


def do(script: str) -> Do:
    return Do(script, any(word in script for word in _SETTINGS))


def row(about: str, name: str, *steps) -> None:
    """A row of the table. A text is commands."""
    SCENARIOS.append(Scenario(about, name, [do(step) if isinstance(step, str) else step for step in steps]))


def send(*frames: tuple[int, bytes], **kwargs) -> Send:
    return Send(tuple(frames), **kwargs)


# -- packets of the hosts ------------------------------------------------------------------------------------------------


def p4(dst: str, port: int = 1, src: str | None = None, **kwargs) -> tuple[int, bytes]:
    """From the host at a port, IPv4 to an address."""
    outer = {key: kwargs.pop(key) for key in ("pad",) if key in kwargs}
    return port, frame(port, ipv4(src or f"10.0.{port}.2", dst, **kwargs), **outer)


def p6(dst: str, port: int = 1, src: str | None = None, **kwargs) -> tuple[int, bytes]:
    """The same, IPv6."""
    return port, frame(port, ipv6(src or f"2001:db8:{port}::2", dst, **kwargs))


def several(dst: str, port: int = 1, **kwargs) -> list[tuple[int, bytes]]:
    """UDP, TCP and echo requests to an address."""
    make = p6 if ":" in dst else p4
    return [make(dst, port, payload=payload, **kwargs) for payload in (udp, tcp, echo)]


def flows(dst: str, count: int = 32, port: int = 1) -> list[tuple[int, bytes]]:
    make = p6 if ":" in dst else p4
    return [make(dst, port, sport=3000 + n, data=b"flow %d" % n) for n in range(count)]
