"""The dashboard: its expressions, and whether Grafana reads it.

The form is that of Grafana's schema of dashboards (kinds/dashboard/dashboard_kind.cue), as far as this dashboard uses it.
"""

from __future__ import annotations

PANELS = {"row", "timeseries", "stat", "state-timeline", "table"}
VARIABLES = {"datasource", "query"}
REQUIRED = ("title", "uid", "schemaVersion", "panels", "templating", "time", "annotations", "editable")
# What stands for a variable in a test. Grafana's own interval is never shorter than four scrapes.
VALUES = {"$__rate_interval": "5m", "$job": "hopwright-router", "$instance": ".*", "$interface": ".*"}


def expressions(dashboard: dict) -> list[tuple[str, str]]:
    """Where an expression stands, and the expression."""
    found = [(f"panel {panel['title']}", target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]
    found += [(f"annotation {annotation['name']}", annotation["expr"]) for annotation in dashboard["annotations"]["list"]]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            inner = variable["query"]["query"].removeprefix("label_values(").removesuffix(")")
            selector, _, label = inner.rpartition(", ")
            found.append((f"variable {variable['name']}", f"count by ({label}) ({selector})"))
    return [(where, _filled(expression)) for where, expression in found]


def _filled(expression: str) -> str:
    for name, value in VALUES.items():
        expression = expression.replace(name, value)
    return expression


def faults_of(dashboard: dict) -> list[str]:
    """What is wrong with a dashboard."""
    faults = [f"no {field}" for field in REQUIRED if field not in dashboard]
    names = [variable["name"] for variable in dashboard["templating"]["list"]]
    faults += [f"variable {v['name']} is a {v['type']}" for v in dashboard["templating"]["list"] if v["type"] not in VARIABLES]
    ids, taken = set(), {}
    for panel in dashboard["panels"]:
        where = f"panel {panel['title']}"
        if panel["type"] not in PANELS:
            faults.append(f"{where} is a {panel['type']}")
        if panel["id"] in ids:
            faults.append(f"{where} has the id of another one")
        ids.add(panel["id"])
        grid = panel["gridPos"]
        if not (0 <= grid["x"] and grid["x"] + grid["w"] <= 24 and grid["h"] > 0 and grid["w"] > 0):
            faults.append(f"{where} does not fit the grid")
        for cell in ((x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])):
            if cell in taken:
                faults.append(f"{where} lies upon {taken[cell]}")
                break
            taken[cell] = where
        if panel["type"] == "row":
            continue
        references = [target["refId"] for target in panel["targets"]]
        if not references or len(references) != len(set(references)):
            faults.append(f"{where} has no targets, or two of one name")
        faults += [f"{where} has another data source" for part in [panel, *panel["targets"]]
                   if part["datasource"] != {"type": "prometheus", "uid": "${datasource}"}]
        if "defaults" not in panel["fieldConfig"] or "overrides" not in panel["fieldConfig"]:
            faults.append(f"{where} has no fieldConfig")
    for where, expression in expressions(dashboard):
        if "$" in expression:
            faults.append(f"{where} uses a variable that is none of {', '.join(names)}: {expression}")
    return faults
