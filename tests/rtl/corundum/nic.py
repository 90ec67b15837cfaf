"""Tests of Corundum's core with `examples/l3.p4` as its application block, by Corundum's own models of PCIe and of MACs.

Cocotb runs them in the simulator; `run.py` says how. DESIGN is the folder that `hopwright rtl` has written.
"""

import json
import logging
import os
import pathlib
import sys

import cocotb
from cocotb.triggers import with_timeout

sys.path.insert(0, os.environ["BENCH"])
import mqnic  # noqa: E402
from test_mqnic_core_pcie_us import TB  # noqa: E402

DESIGN = pathlib.Path(os.environ["DESIGN"])
CPU_PORT = 510
# The models log each word.
logging.getLogger("cocotb").setLevel(logging.WARNING)
logging.getLogger("cocotb.regression").setLevel(logging.INFO)
log = logging.getLogger("cocotb.nic")
log.setLevel(logging.INFO)
ROUTER, HOST = "020000000100", "020000000101"
# Destination, and the port that its route leads to.
ROUTES = {0: "0a000001", 1: "0a010001", CPU_PORT: "0a090001"}


def ipv4(destination, ttl, size):
    """A frame to the router for an address, and how it leaves the router."""
    header = bytearray.fromhex(f"4500{size - 14:04x}00010000{ttl:02x}110000c0a80001{destination}")
    payload = bytes(number % 251 for number in range(size - 34))

    def frame(ethernet, header):
        total = sum(int.from_bytes(header[at:at + 2], "big") for at in range(0, 20, 2))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        header = header[:10] + (total ^ 0xFFFF).to_bytes(2, "big") + header[12:]
        return bytes.fromhex(ethernet + "0800") + header + payload

    before = frame("0200000000fe0200000000ff", header)
    header[8] -= 1
    return before, frame(HOST + ROUTER, header)


async def within(event, what):
    """What an event brings, which comes within 50 simulated microseconds."""
    log.info("%s", what)
    return await with_timeout(event, 50, "us")


async def start(dut):
    """The NIC with its driver, and the design with the entries of `simulation/entries`."""
    tb = TB(dut, msix_count=2 ** len(dut.core_pcie_inst.irq_index))
    await tb.init()
    await tb.driver.init_pcie_dev(tb.rc.find_device(tb.dev.functions[0].pcie_id))
    # Interrupts need not be ten microseconds apart.
    await tb.driver.reg_blocks.find(mqnic.MQNIC_RB_IRQ_TYPE, mqnic.MQNIC_RB_IRQ_VER).write_dword(0xC, 0)
    for interface in tb.driver.interfaces:
        await interface.open()
        scheduler = interface.sched_blocks[0].schedulers[0]
        await scheduler.rb.write_dword(mqnic.MQNIC_RB_SCHED_RR_REG_CTRL, 1)
        await scheduler.hw_regs.write_dword(0, 3)
    await tb.driver.hw_regs.read_dword(0)

    # The registers of the design, through the application's region of the PCIe device.
    registers = tb.driver.app_hw_regs
    design = json.loads((DESIGN / "l3.json").read_text())
    magic, version, low, high, fresh = [await registers.read_dword(0x3000 + 4 * word) for word in range(5)]
    assert magic.to_bytes(4, "big") == b"HWRT" and version == design["version"], f"{magic:#x}, {version}"
    assert f"{high:08x}{low:08x}" == design["hash"], f"hash {high:08x}{low:08x}"
    assert fresh == 1, "the design is as it starts"
    await registers.write_dword(0x3010, 0)
    assert await registers.read_dword(0x3010) == 0
    count = 0
    for line in (DESIGN / "simulation/entries").read_text().splitlines():
        operation, address, *data = line.split()
        if operation == "w":
            await registers.write_dword(int(address, 16), int(data[0], 16))
        else:
            while await registers.read_dword(int(address, 16)):
                pass
        count += 1
    assert count > 0, "there are entries"
    # Writes are posted: a read comes back behind them. Without it, packets overtake the last ones.
    assert await registers.read_dword(0x3010) == 0, "nothing has been reset"
    log.info("%d accesses to the registers of the design", count)
    return tb


async def one_by_one(tb):
    """A packet from each MAC and from the host to each of them; the program does not know the host as a next hop of its own."""
    interface = tb.driver.interfaces[0]
    for size in (60, 65, 1514):
        for source in (0, 1, CPU_PORT):
            for target in (0, 1) if source == CPU_PORT else (0, 1, CPU_PORT):
                frame, wanted = ipv4(ROUTES[target], 64, size)
                if source == CPU_PORT:
                    await interface.start_xmit(frame, 0)
                else:
                    await tb.port_mac[source].rx.send(frame)
                receive = interface.recv if target == CPU_PORT else tb.port_mac[target].tx.recv
                packet = await within(receive(), f"{size} bytes from port {source} to port {target}")
                found = bytes(packet.data)
                assert found == wanted, f"{found.hex()} leaves, not {wanted.hex()}"
                if target == CPU_PORT:
                    assert packet.timestamp_ns, "the packet has the time at which it came"


async def at_once(tb):
    """Packets from both MACs and from the host at once, more than the bus takes, and between them some that the program drops."""
    interface = tb.driver.interfaces[0]
    wanted = {0: [], 1: [], CPU_PORT: []}
    for number in range(24):
        source, target = (0, 1, CPU_PORT)[number % 3], (0, 1, CPU_PORT)[number // 3 % 3]
        if source == target == CPU_PORT:
            continue
        frame, leaves = ipv4(ROUTES[target], 64 - number, 60 + 41 * number)
        dropped, _ = ipv4(ROUTES[target], 1, 60 + 41 * number)
        for packet in (dropped, frame):
            if source == CPU_PORT:
                await interface.start_xmit(packet, 0)
            else:
                await tb.port_mac[source].rx.send(packet)
        wanted[target].append(leaves)
    for target, packets in wanted.items():
        receive = interface.recv if target == CPU_PORT else tb.port_mac[target].tx.recv
        found = [bytes((await within(receive(), f"of a burst to port {target}")).data) for _ in packets]
        assert sorted(found) == sorted(packets), f"other packets leave by port {target}"


@cocotb.test()
async def a_router_between_macs_and_host(dut):
    tb = await start(dut)
    await one_by_one(tb)
    await at_once(tb)
