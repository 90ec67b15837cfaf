"""Runs `nic.py` on Corundum's core with our application block, in Icarus Verilog, which yosys makes plain Verilog for.

`run.py CHECKOUT`: CHECKOUT is one of https://github.com/corundum/corundum at the commit whose application block ours is. Sources,
parameters, driver and models are those of the test of its application template; the application block is that of `hopwright rtl`.
HOPWRIGHT is the command to use.
"""

import os
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import app_block  # noqa: E402
from engines import BUILD, run  # noqa: E402

ROOT = HERE.parent.parent.parent
HOPWRIGHT = os.environ.get("HOPWRIGHT", ROOT / "target/release/hopwright")
DESIGN = BUILD / "corundum"
VERILOG = BUILD / "corundum.v"
MACS = 2
# The driver opens all queues that there are, one register access after the other.
FEW_QUEUES = {"TX_QUEUE_INDEX_WIDTH": 2, "RX_QUEUE_INDEX_WIDTH": 2, "CQN_WIDTH": 3, "TX_QUEUE_PIPELINE": 3, "RX_QUEUE_PIPELINE": 3, "CQ_PIPELINE": 3,
              "RX_INDIR_TBL_ADDR_WIDTH": 2, "TX_SCHEDULER_PIPELINE": 3}
NAME = "test_mqnic_core_pcie_us"


class Request:
    """What the test asks pytest for."""

    class node:
        name = "hopwright"


def design():
    """The design, with a route to each MAC and one to the host."""
    shutil.rmtree(DESIGN, ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    entries = BUILD / "corundum.stf"
    entries.write_text("".join(
        f"add routes hdr.ipv4.dst:0x0a{network:02x}0000/16 next_hop(port:{port}, src:02:00:00:00:01:00, dst:02:00:00:00:01:01)\n"
        for network, port in ((0, 0), (1, 1), (9, 510))))
    run(HOPWRIGHT, "rtl", ROOT / "examples/l3.p4", "--target", "xcup-512", "--entries", entries, "-o", DESIGN)


def plain(verilog):
    """The design without the application block, in Verilog of 2005, with the parameters that the application block gives it.

    Icarus takes what it does not know for unknown forever. Registers that nothing resets begin with values at random, and memories with zeros, as
    block RAMs do."""
    from pyosys import libyosys

    files = " ".join(str(file) for file in sorted(DESIGN.glob("*.sv")) if file.name != "mqnic_app_block.sv")
    yosys = libyosys.Design()
    for command in (f"read_verilog -sv {files}", f"hierarchy -check -top l3_corundum -chparam PORT_COUNT {MACS} "
                    f"-chparam AXIL_APP_CTRL_ADDR_WIDTH 24", "proc -norom", "opt_clean", "select -set rest * t:$mem* %d",
                    "setundef -random 1 @rest", "setundef -init -random 1 @rest", f"write_verilog -noattr {verilog}"):
        libyosys.run_pass(command, yosys)

    def begin(found):
        name, *ends = found.groups()
        first, last = sorted(map(int, ends))
        at = "\\" + name.lstrip("\\") + "_at "
        return f"{found[0]}  integer {at};\n  initial for ({at}= {first}; {at}<= {last}; {at}= {at}+ 1) {name} [{at}] = 0;\n"

    text = pathlib.Path(verilog).read_text()
    pathlib.Path(verilog).write_text(re.sub(r"^  reg \[\d+:0\] (\S+) +\[(\d+):(\d+)\];\n(?!  initial)", begin, text, flags=re.M))


def simulate(checkout):
    import cocotb_test.simulator

    folder = checkout / "fpga/app/template/tb/mqnic_core_pcie_us"
    sys.path.insert(0, str(folder))
    bench = __import__(NAME)
    start = cocotb_test.simulator.run

    def ours(verilog_sources, module, parameters, extra_env, sim_build, python_search, **others):
        parameters |= FEW_QUEUES
        sources = [file for file in verilog_sources if not file.endswith("/mqnic_app_block.v")]
        assert len(sources) == len(verilog_sources) - 1, "the application block is among the sources"
        sources += [str(DESIGN / "mqnic_app_block.sv"), str(VERILOG)]
        extra_env |= {"DESIGN": str(DESIGN), "BENCH": str(folder), "COCOTB_RESULTS_FILE": str(BUILD / "corundum-results.xml")}
        extra_env |= {f"PARAM_{name}": str(value) for name, value in FEW_QUEUES.items()}
        start(verilog_sources=sources, module="nic", parameters=parameters, extra_env=extra_env, sim_build=str(BUILD / "corundum-simulation"),
              python_search=[str(HERE)], timescale="1ns/1ps", **others)

    bench.cocotb_test.simulator.run = ours
    getattr(bench, NAME)(Request(), if_count=MACS, ports_per_if=1, axis_pcie_data_width=512, axis_eth_data_width=512, axis_eth_sync_data_width=512,
                         ptp_ts_enable=1)


def main():
    if sys.argv[1] == "--plain":
        return plain(sys.argv[2])
    checkout = pathlib.Path(sys.argv[1]).resolve()
    design()
    differences = app_block.differences(DESIGN / "mqnic_app_block.sv", checkout / "fpga/app/template/rtl/mqnic_app_block.v")
    if differences:
        print(f"The application block of {checkout} is not that of commit {app_block.COMMIT}:", *differences, sep="\n")
        return 1
    run(sys.executable, __file__, "--plain", VERILOG)
    simulate(checkout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
