#!/usr/bin/env python3
"""Draws what run.py measured: SVG and PNG files beside the results. Wants matplotlib (see requirements.txt).

Usage: plots.py DIRECTORY
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

# Text stays text, and the same figures make the same file.
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "hopwright"

COLOURS = {"reference": "#888888", "hopwright": "#c0392b", "forwarder": "#2c6fbb"}


def colour(router: str, number: int) -> str:
    return COLOURS.get(router.split("+")[0].split(":")[0], f"C{number}") if "+" not in router else f"C{number}"


class Drawing:
    """One figure, saved in both formats when it is left."""

    def __init__(self, directory: Path, name: str, title: str, x: str, y: str, busy: str | None):
        self._files = [directory / f"{name}.{kind}" for kind in ("svg", "png")]
        self._figure, self.axes = pyplot.subplots(figsize=(8, 4.8))
        self.axes.set_title(title + (f"\nMACHINE BUSY: {busy}" if busy else ""), fontsize=11,
                            color="#c0392b" if busy else "black")
        self.axes.set_xlabel(x)
        self.axes.set_ylabel(y)
        self.axes.grid(color="#dddddd")

    def __enter__(self):
        return self.axes

    def __exit__(self, *_) -> None:
        if self.axes.get_legend_handles_labels()[0]:
            self.axes.legend(fontsize=9)
        self._figure.tight_layout()
        for file in self._files:
            self._figure.savefig(file, dpi=120, metadata={"Date": None} if file.suffix == ".svg" else None)
        pyplot.close(self._figure)


def routers(points: list[dict]) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for point in sorted(points, key=lambda p: p["offered"]):
        found.setdefault(point["router"], []).append(point)
    return found


def load(directory: Path, name: str, result: dict, busy: str | None) -> None:
    """Forwarded against offered, and latency against offered."""
    for size in sorted({p["size"] for p in result["points"]}):
        points = [p for p in result["points"] if p["size"] == size]
        by_router, share = routers(points), points[0]["share"]
        of_core = "one core each" if share >= 1 else f"{share:.0%} of a core each"
        if all(len(own) < 3 for own in by_router.values()):
            continue
        with Drawing(directory, f"{name}-{size}", f"Forwarded against offered, {size} bytes, {of_core}",
                     "offered, thousand packets/s", "forwarded, thousand packets/s", busy) as axes:
            most = max(p["forwarded"] for p in points) / 1000
            axes.plot([0, most], [0, most], color="#dddddd", zorder=0)
            for number, (router, own) in enumerate(by_router.items()):
                axes.plot([p["offered"] / 1000 for p in own], [p["forwarded"] / 1000 for p in own], marker="o",
                          markersize=4, label=router, color=colour(router, number))
        with Drawing(directory, f"{name}-{size}-relative", f"Overload, {size} bytes, {of_core}",
                     "offered / best rate", "forwarded / best rate", busy) as axes:
            for number, (router, own) in enumerate(by_router.items()):
                best = max(p["forwarded"] for p in own)
                axes.plot([p["offered"] / best for p in own], [p["forwarded"] / best for p in own], marker="o",
                          markersize=4, label=f"{router}, best {best:,.0f}/s", color=colour(router, number))
            axes.set_ylim(0, 1.1)
        with Drawing(directory, f"{name}-{size}-latency", f"Latency, {size} bytes, {of_core}",
                     "offered, thousand packets/s", "µs from generator to generator", busy) as axes:
            for number, (router, own) in enumerate(by_router.items()):
                for percentile, style in (("p50", "-"), ("p99", "--"), ("p99.9", ":")):
                    with_any = [p for p in own if percentile in p["latency"]]
                    axes.plot([p["offered"] / 1000 for p in with_any], [p["latency"][percentile] for p in with_any],
                              style, label=f"{router} {percentile}", color=colour(router, number))
            axes.set_yscale("log")
    stages = {router: times for router, times in result["stages"].items() if times}
    if stages:
        with Drawing(directory, f"{name}-stages", "Where the time goes", "ns per packet", "", busy) as axes:
            names = list(next(iter(stages.values())))
            left = [0.0] * len(stages)
            for stage in names:
                width = [times.get(stage, 0.0) for times in stages.values()]
                axes.barh(list(stages), width, left=left, label=stage)
                left = [a + b for a, b in zip(left, width)]


def brload(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Packets per CPU second by case and size."""
    cases = list(dict.fromkeys((r["case"], r["size"]) for r in rows))
    names = list(dict.fromkeys(r["router"] for r in rows))
    with Drawing(directory, name, "The reference's load generator", "", "thousand packets per CPU second", busy) as axes:
        for number, router in enumerate(names):
            heights = []
            for case in cases:
                own = sorted(r["per_cpu_second"] for r in rows if (r["case"], r["size"]) == case and r["router"] == router)
                heights.append(own[len(own) // 2] / 1000)
            places = [i + number * 0.8 / len(names) for i in range(len(cases))]
            axes.bar(places, heights, 0.8 / len(names), label=router, color=colour(router, number))
        axes.set_xticks([i + 0.4 - 0.4 / len(names) for i in range(len(cases))],
                        [f"{case}\n{size} B" for case, size in cases], fontsize=8)


def scion(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Nanoseconds in memory by case, by hop fields, and packets by workers."""
    alone = [r for r in rows if r["workers"] == 1]
    cases = [r for r in alone if r["hops"] < 64 and r["working_set"] == "L2"]
    with Drawing(directory, name, "In memory, one core", "", "ns per packet", busy) as axes:
        labels = [f"{r['case']}\n{r['size']} B" for r in cases]
        axes.bar(labels, [r["ns_median"] for r in cases], color="#c0392b", label="router")
        axes.bar(labels, [r["floor_ns"] for r in cases], color="#2c6fbb", label="floor")
        axes.tick_params(axis="x", labelsize=6)
    hops = sorted(((r["hops"], r["ns_median"]) for r in alone
                   if r["case"] == "br_transit" and r["working_set"] == "L2" and r["size"] >= 1000))
    if len(hops) > 1:
        with Drawing(directory, f"{name}-hops", "br_transit in memory, by hop fields", "hop fields", "ns per packet",
                     busy) as axes:
            axes.plot(*zip(*hops), marker="o", color="#c0392b")
            axes.set_ylim(0)
    by_workers: dict[int, float] = {}
    for row in rows:
        if row["case"] == "br_transit" and row["working_set"] == "L2" and row["size"] == min(r["size"] for r in rows):
            by_workers[row["workers"]] = row["mpps"]
    if len(by_workers) > 1:
        with Drawing(directory, f"{name}-workers", "br_transit in memory, by workers", "workers",
                     "million packets/s of all", busy) as axes:
            axes.bar([str(w) for w in by_workers], list(by_workers.values()), color="#c0392b")


def programs(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Nanoseconds by table size."""
    with Drawing(directory, name, "P4 programs in memory, one core: every packet hits another entry", "entries",
                 "ns per packet", busy) as axes:
        for program in dict.fromkeys(r["program"] for r in rows):
            own = sorted((r["entries"], r["ns_median"]) for r in rows if r["program"] == program and r["flows"] == "all")
            if own:
                axes.plot(*zip(*own), marker="o", markersize=3, label=program)
        axes.set_xscale("log")
        axes.set_yscale("log")


def forwarding(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Packets per CPU second by case and forwarder, as fast as it goes."""
    rows = [r for r in rows if r["rate"] == 0]
    cases = list(dict.fromkeys((r["case"], r["entries"]) for r in rows))
    for kind, entries in cases:
        own = [r for r in rows if (r["case"], r["entries"]) == (kind, entries)]
        names = list(dict.fromkeys(r["forwarder"] for r in own))
        heights = [statistics.median(1e3 / r["cost"] for r in own if r["forwarder"] == n) for n in names]
        what = f"IPv4, {entries:,} routes" if kind == "ipv4" else f"layer 2, {entries:,} addresses"
        with Drawing(directory, f"{name}-{kind}-{entries}", what, "", "million packets per CPU second", busy) as axes:
            bars = axes.bar(names, heights, color=["#c0392b" if ":" in n else "#2c6fbb" for n in names])
            axes.bar_label(bars, fmt="%.2f", fontsize=7)
            axes.tick_params(axis="x", labelsize=7)


def tenants(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Packets a second by frame size, for one program and for tenants."""
    with Drawing(directory, name, "Tenants on one switch, in memory, one core", "bytes of a frame", "million packets/s", busy) as axes:
        for case in dict.fromkeys(r["case"] for r in rows):
            own = sorted((r["size"], r["mpps"]) for r in rows if r["case"] == case)
            axes.plot(*zip(*own), marker="o", markersize=3, label=case)
        axes.set_ylim(0)


def openflow_setup(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Latency of the first and the second packet of a flow."""
    with Drawing(directory, name, "First packets go through the controller, second ones find a flow", "", "µs, median (line: p99)",
                 busy) as axes:
        for number, row in enumerate(rows):
            places = [at + number * 0.4 for at in range(2)]
            heights = [row[f"{packet}_median_us"] for packet in ("first", "second")]
            above = [row[f"{packet}_p99_us"] - height for packet, height in zip(("first", "second"), heights)]
            axes.bar(places, heights, 0.4, yerr=[[0, 0], above], label=row["switch"], color=colour(row["switch"], number))
        axes.set_xticks([0.2, 1.2], ["first packet", "second packet"])
        axes.set_yscale("log")


def table_updates(directory: Path, name: str, figures: dict, busy: str | None) -> None:
    """Seconds of each step, of the slowest tenant, and packets lost meanwhile."""
    steps = list(dict.fromkeys(s["step"] for s in figures["steps"]))
    title = f"{len(figures['devices'])} tenants, {figures['entries']:,} entries each, written at the same time through P4Runtime"
    with Drawing(directory, name, title, "", "seconds", busy) as axes:
        bars = axes.bar(steps, [max(s["seconds"] for s in figures["steps"] if s["step"] == step) for step in steps], color="#c0392b")
        lost = []
        for step in steps:
            offered, forwarded = figures["forwarding"].get(step, (0, 0))
            lost.append(f"{max(0.0, 100 - 100 * forwarded / offered):.2f} % of packets lost" if offered else "")
        axes.bar_label(bars, labels=lost, fontsize=8)


def congestion(directory: Path, name: str, result: dict, busy: str | None) -> None:
    """The queue over time, with and without marks."""
    title = f"Eight senders into a port of {result['rate']}bit/s, 1,000-byte PDUs"
    with Drawing(directory, name, title, "seconds", "PDUs in the queue", busy) as axes:
        for row, colour_of in zip(result["rows"], ("#c0392b", "#888888")):
            what = "marks" if row["marks"] else "no marks"
            label = f"{what}: {row['lost']} lost, goodput {row['goodput']:.1%}, fairness {row['fairness']:.3f}"
            axes.plot(*zip(*row["queue"]), linewidth=0.8, color=colour_of, label=label)
        axes.axhline(result["threshold"], linestyle="--", linewidth=0.8, color="black", label="threshold of marks")
        axes.set_ylim(0)


def rina(directory: Path, name: str, rows: list[dict], busy: str | None) -> None:
    """Throughput by length and loss by time between frames, beside what the paper's router did."""
    labels = {"efcp": "EFCP", "efcp-vlan": "EFCP in a VLAN", "ipv4": "IPv4", "ipv4-vlan": "IPv4 in a VLAN", "linux": "IPv4, Linux kernel"}
    styles = {"efcp": "-", "efcp-vlan": "--", "ipv4": "-", "ipv4-vlan": "--", "linux": ":"}
    colours = {"efcp": "#c0392b", "efcp-vlan": "#c0392b", "ipv4": "#2c6fbb", "ipv4-vlan": "#2c6fbb", "linux": "#888888"}

    def lines(axes, way: str, x: str, y, rows: list[dict]) -> None:
        for kind, label in labels.items():
            own = [r for r in rows if (r["way"], r["kind"]) == (way, kind)]
            places = sorted({r[x] for r in own})
            if places:
                axes.plot(places, [statistics.median(y(r) for r in own if r[x] == place) for place in places], styles[kind], marker="o",
                          markersize=3, label=label, color=colours[kind])

    for way, title in (("memory", "in memory, one core"), ("veth", "on veth pairs")):
        fast = [r for r in rows if r["interval"] == 0]
        if not any(r["way"] == way for r in rows):
            continue
        with Drawing(directory, f"{name}-length-{way}", f"RINA interior router {title}", "bytes of a frame", "Gbit/s", busy) as axes:
            lines(axes, way, "length", lambda r: r["forwarded"] * r["length"] * 8 / 1e9, fast)
            for rate, what in ((1.0, "BMv2's best, IPv4"), (0.4, "BMv2's best, EFCP"), (0.06, "BMv2, small machine")):
                axes.axhline(rate, linewidth=0.8, color="black", linestyle=(0, (1, 1 + 3 * rate)))
                axes.annotate(what, (250, rate), fontsize=7, va="bottom")
            axes.set_yscale("log")
    with Drawing(directory, f"{name}-loss", "RINA interior router on veth pairs, frames of 250 bytes", "µs between two frames (0: as fast as possible)",
                 "% lost", busy) as axes:
        lines(axes, "veth", "interval", lambda r: 100 * max(0.0, 1 - r["forwarded"] / max(r["offered"], 1)),
              [r for r in rows if r["length"] == 250])
        axes.axvspan(0, 10, color="#eeeeee", label="where BMv2 loses", zorder=0)
        axes.set_ylim(-1, 100)


DRAWN = {"scion": scion, "workers": scion, "programs": programs, "brload": brload, "load": load, "overload": load,
         "forwarding": forwarding, "tenants": tenants, "openflow_setup": openflow_setup, "table_updates": table_updates,
         "congestion": congestion,
         "rina": rina}


def main() -> int:
    directory = Path(sys.argv[1])
    for name, draw in DRAWN.items():
        file = directory / f"{name}.json"
        if file.exists():
            content = json.loads(file.read_text())
            draw(directory, name, content["result"], content["busy"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
