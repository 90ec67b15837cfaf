"""Gives the block RAMs of a design sites of their own, near what they connect to.

`floorplan.py PLACED.json NETLIST.json OUT.json` reads a design that nextpnr has placed (`--write`) and writes the netlist with an
attribute `BEL` for each block RAM. nextpnr's static placer knows the rows of block RAMs only after it has spread all cells, and then takes
any site that is free: the block RAMs of a memory are scattered, and all that they connect to is placed for sites that are not the best.
A second run begins with good ones.

The sites are those of an LFE5UM5G-85F. Wires are counted as half the perimeters of the nets of block RAMs. Block RAMs move to a free site, or
swap with another one, where that makes wires shorter.
"""

import json
import random
import re
import sys
from collections import defaultdict

COLUMNS = [x for first in (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114) for x in range(first, first + 8, 2)]
ROWS = [22, 46, 70, 82]
SITES = [(x, y) for x in COLUMNS for y in ROWS]
# Nets of more pins are the clock and the like.
MOST_PINS = 600


def placed(design):
    """Where each cell is, the block RAMs, and the cells of each net."""
    where, memories, nets = {}, [], defaultdict(list)
    for name, cell in design["cells"].items():
        bel = re.match(r"X(\d+)/Y(\d+)/", cell["attributes"].get("NEXTPNR_BEL", ""))
        if not bel:
            continue
        where[name] = (int(bel[1]), int(bel[2]))
        if cell["type"] == "DP16KD":
            memories.append(name)
        for bits in cell["connections"].values():
            for bit in bits:
                if isinstance(bit, int):
                    nets[bit].append(name)
    return where, memories, nets


class Floorplan:
    """Block RAMs on sites."""

    def __init__(self, where, memories, nets):
        self.where = where
        self.memories = sorted(memories)
        self.on = {where[name]: name for name in self.memories}
        ours = set(self.memories)
        self.nets = defaultdict(list)  # Of each block RAM: the other cells of each net.
        for cells in nets.values():
            if 2 <= len(cells) <= MOST_PINS:
                for name in ours.intersection(cells):
                    others = [cell for cell in cells if cell != name]
                    if others:
                        self.nets[name].append(others)

    def costs(self, name):
        """For each site how much longer wires are that have to reach it."""
        by_column, by_row = dict.fromkeys(COLUMNS, 0), dict.fromkeys(ROWS, 0)
        for others in self.nets[name]:
            at = [self.where[cell] for cell in others]
            for costs, places in ((by_column, [x for x, _ in at]), (by_row, [y for _, y in at])):
                low, high = min(places), max(places)
                for place in costs:
                    costs[place] += max(0, low - place, place - high)
        return {(x, y): by_column[x] + by_row[y] for x, y in SITES}

    def improve(self):
        """Moves each block RAM once to where that helps most."""
        costs = {name: self.costs(name) for name in self.memories}
        for name in random.sample(self.memories, len(self.memories)):
            here, mine = self.where[name], self.costs(name)

            def gain(site):
                other = self.on.get(site)
                swapped = costs[other][site] - costs[other][here] if other else 0
                return mine[here] - mine[site] + swapped

            best = max(SITES, key=gain)
            if gain(best) <= 0:
                continue
            other = self.on.pop(best, None)
            self.on[best], self.where[name] = name, best
            del self.on[here]
            if other:
                self.on[here], self.where[other] = other, here


def main():
    source, netlist, out = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        plan = Floorplan(*placed(json.load(file)["modules"]["top"]))
    random.seed(1)
    for _ in range(12):
        plan.improve()
    with open(netlist, encoding="utf-8") as file:
        design = json.load(file)
    for name in plan.memories:
        x, y = plan.where[name]
        bel = f"X{x}/Y{y}/EBR{COLUMNS.index(x) % 4}"
        design["modules"]["top"]["cells"][name]["attributes"]["BEL"] = bel
    with open(out, "w", encoding="utf-8") as file:
        json.dump(design, file)


if __name__ == "__main__":
    main()
