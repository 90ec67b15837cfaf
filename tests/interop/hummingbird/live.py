#!/usr/bin/env python3
"""Writes the files of the border router that record_test.go sends packets to, all of it on loopback addresses: live.py FOLDER PORT.

PORT of 127.0.0.1 is for metrics. The router is that of `rich_links` in crates/agents/scion/src/synthetic with addresses of 127/8, without
links to core ASes, because an AS has those or parents.
"""

import base64
import json
import pathlib
import sys

MASTER = b"a key for tests and benchmarks only"
EXTERNAL = {2: "child", 3: "child", 4: "parent", 5: "peer", 8: "parent"}
SIBLINGS = {"b": ("127.0.0.2:30042", {12: "child", 13: "parent", 14: "peer"}),
            "c": ("127.0.0.3:30042", {21: "child", 22: "parent"})}


def main():
    folder, port = pathlib.Path(sys.argv[1]), sys.argv[2]

    def interface(number, kind):
        # As the reference's control service calls them: what the neighbour is.
        return {"underlay": {"local": f"127.{number}.0.1:50000", "remote": f"127.{number}.0.2:50000"},
                "isd_as": f"1-ff00:0:{100 + number}", "link_to": kind, "mtu": 1472, "bfd": {"disable": True}}

    routers = {"a": {"internal_addr": "127.0.0.1:30042", "interfaces": {str(n): interface(n, k) for n, k in EXTERNAL.items()}}}
    for name, (address, interfaces) in SIBLINGS.items():
        routers[name] = {"internal_addr": address, "interfaces": {str(n): interface(n, k) for n, k in interfaces.items()}}
    topology = {"isd_as": "1-ff00:0:1", "mtu": 1472, "attributes": [], "border_routers": routers, "dispatched_ports": "1024-65535"}
    (folder / "keys").mkdir(parents=True)
    for name in ["master0.key", "master1.key"]:
        (folder / "keys" / name).write_bytes(base64.b64encode(MASTER))
    (folder / "topology.json").write_text(json.dumps(topology, indent=1))
    (folder / "router.toml").write_text(f'''[general]
id = "a"
config_dir = "{folder}"
[metrics]
prometheus = "127.0.0.1:{port}"
[router.bfd]
disable = true
''')
    (folder / "hopwright.toml").write_text("hummingbird = true\n[scmp]\nrate = 100000\nburst = 100000\n")


main()
