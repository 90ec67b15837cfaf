"""What `make demo-fpga` shows of a router whose data plane is simulated hardware: its pipeline, what packets do there, and what
that means on a chip."""

from __future__ import annotations

import json
import re
import subprocess

from lab.command import ROOT, LabError
from lab.router import hopwright_binary
from network import Network
from page import Page, number, total

PROGRAM = ROOT / "p4/scion/border_router.p4"
# Kinds of engines by the beginning of their names; all others are ciphers.
KINDS = (("fetch ", "fetches from the packet"), ("table ", "tables"), ("counter ", "counters"),
         ("register ", "registers"), ("hash ", "checksums"), ("", "AES ciphers"))
COLUMNS = 72
LEVELS = " ▁▂▃▄▅▆▇█"
STOPPED = re.compile(r"simulated hardware stopped.*?packets=(\d+) cycles=(\d+) seconds=([\d.e-]+) clock_mhz=(\d+)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def command(*arguments: str) -> dict | list:
    """What a command of Hopwright prints as JSON."""
    done = subprocess.run([hopwright_binary(), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"hopwright {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def columns(stages: int) -> list[range]:
    """The stages of each column of the picture."""
    return [range(c * stages // COLUMNS, max((c + 1) * stages // COLUMNS, c * stages // COLUMNS + 1))
            for c in range(COLUMNS)]


def ruler(stages: int) -> str:
    """Numbers of stages above the columns where they begin."""
    line = [" "] * (COLUMNS + 8)
    for quarter in range(5):
        text = str(quarter * (stages - 1) // 4)
        at = quarter * (COLUMNS - 1) // 4
        line[at:at + len(text)] = text
    return "".join(line).rstrip()


def show_pipeline(page: Page) -> dict:
    """Draws the pipeline; returns the report on it."""
    report = command("rtl", str(PROGRAM), "--report=json")
    stages, clock = report["stages"], report["clock_mhz"]
    page.heading(f"The border router as hardware ({report['target']}): a packet passes {stages} stages, one a cycle")
    page.line(f"{'stage':>24}  {ruler(stages)}")
    shown = columns(stages)
    for prefix, kind in KINDS:
        used = [e for e in report["engines"] if e["name"].startswith(prefix) and
                all(not e["name"].startswith(other) for other, _ in KINDS[:-1] if other != prefix)]
        if not used:
            continue
        busy = {stage for e in used for stage in range(e["first"], max(e["ready"], e["first"] + 1))}
        bar = "".join("█" if busy.intersection(column) else "·" for column in shown)
        page.line(f"{f'{len(used)} {kind}':>24}  {bar}")
    bits = report["bits_by_stage"]
    most = max(bits)
    means = [sum(bits[s] for s in column) / len(column) for column in shown]
    bar = "".join(LEVELS[round(mean / most * (len(LEVELS) - 1))] for mean in means)
    page.line(f"{'bits from stage to stage':>24}  {bar}  at most {most:,}")
    page.line()
    page.line(f"The pipeline never stalls: {report['latency_ns']:,} ns at the {clock} MHz that it is made for. A packet may enter "
              f"every {report['gap']} cycles,")
    page.line(f"so that up to {stages // report['gap']} are in it; {report['mpps']} million packets a second, "
              f"and {report['bus_gbps']} Gbit/s on the bus.")
    total, has = report["total"], report["capacity"]
    page.line(f"It takes {total['luts']:,} LUTs, {total['registers']:,} flip-flops and {total['blocks']:,} block RAMs; "
              f"the chip ({report['chip']}) has {has['luts']:,},")
    page.line(f"{has['registers']:,} and {has['blocks']:,}. Most is taken by (hopwright rtl p4/scion/border_router.p4 --report):")
    for line in report["lines"][:5]:
        cost = line["cost"]
        page.line(f"  {cost['luts']:>7,} LUT {cost['registers']:>7,} FF {cost['blocks']:>6,} blocks   "
                  f"{line['file'].rsplit('/')[-1]}:{line['line']}  {line['text'][:60]}")
    return report


def show_crossing(network: Network, name: str, page: Page) -> None:
    """What crossed the pipeline of a router that has ended."""
    router = network.routers[name]
    stats = router.stats()
    found = STOPPED.search(COLOUR.sub("", router.process.log.read_text(errors="replace")))
    if not found:
        page.outcome(False, f"{name} does not say what its hardware did")
        return
    packets, cycles, seconds, clock = int(found[1]), int(found[2]), float(found[3]), int(found[4])
    page.heading(f"What crossed the pipeline of {name}")
    punted = stats.get("packets_punted", {})
    rows = [("in", packets, "packets of the network and of the agent"),
            ("forwarded", stats.get("packets_forwarded", 0), ""),
            ("to the agent", total(punted), ", ".join(f"{why} {n:,}" for why, n in sorted(punted.items()) if n)
             if isinstance(punted, dict) else ""),
            ("dropped", total(stats.get("packets_dropped", 0)), "")]
    for what, count, why in rows:
        page.line(f"{what:>13}  {number(count):>9}  {why}")
    page.line()
    page.line(f"The simulation took {seconds:.1f} s for {cycles:,} cycles: {packets / max(seconds, 1e-9):,.0f} packets a second. "
              f"A chip takes {cycles / clock:,.0f} µs.")


def show_rates(page: Page) -> None:
    """Packets back to back: the cycles of a packet, and what they mean at the clock of the target."""
    page.heading("Packets back to back (hopwright bench scion --engine rtl)")
    records = command("bench", "scion", "--engine", "rtl", "--size", "512,1500", "--json")
    page.line(f"{'case':<12}{'bytes':>7}{'cycles/packet':>15}{'lost':>6}{'latency':>22}{'packets/s':>13}{'on a full link':>18}")
    for r in records:
        latency = f"{r['latency_cycles']:,} cycles, {r['latency_ns'] / 1000:.2f} µs"
        rate, link = f"{r['mpps']:.1f} million", f"{r['gbps_on_wire']:.1f} Gbit/s"
        page.outcome(r["dropped"] == 0, f"{r['case']:<12}{r['size']:>7.0f}{r['cycles_per_packet']:>15.2f}{r['dropped']:>6}"
                                        f"{latency:>22}{rate:>13}{link:>18}")
    page.line(f"Rates are those at {records[0]['clock_mhz']} MHz. The simulation does "
              f"{records[0]['simulated_per_second']:,.0f} packets a second on this machine.")
