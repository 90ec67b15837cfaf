#!/usr/bin/env python3
"""irati_test.py CHECKOUT: a member that says what IRATI says (irati_peer.py), in the DIF of two systems of ours in a row. It enrols them, and they it; they tell each other of
lower flows and applications; flows are allocated in both directions, over a neighbour, too, and carry data; a release ends them.

CHECKOUT is a clone of https://github.com/IRATI/stack, bare or not. Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be
carried out.
"""

import struct
import sys
import time

import irati_peer as irati
from irati_peer import ACK_FLOW, DATA, MANAGEMENT, OP, RUN, Link, Messages, pdu
from lab.cases import case_options, in_turn
from lab.command import PATIENCE, Failed, run, wait_for
from lab.leaf_spine import Fabric, carry_out, report

DIF, PEER = "normal.DIF", "test1.IRATI"
MANAGEMENT_AE = "Management"


def config(node, address):
    address = f"address = {address}\n" if address else ""
    links = "".join(f'[[ipcp.link]]\ndevice = "{device}"\n\n' for device in node.devices)
    return (f'[router]\nsocket = "{node.socket}"\n\n[[ipcp]]\nname = "{node.name}"\ndif = "{DIF}"\ndialect = "irati"\n{address}'
            f'keepalive_ms = 1000\ndead_after_ms = 20000\n\n{links}')


class Peer:
    """A member at a device. What comes is answered as long as somebody waits for something."""

    def __init__(self, messages, device, address):
        self.messages, self.link, self.address = messages, Link(device), address
        self.station, self.neighbour, self.reads, self.names = None, None, 0, []
        self.heard, self.data, self.acks = [], [], []

    def serve(self):
        """Takes a frame. Messages of the neighbour, data and acknowledgements are kept."""
        frame = self.link.receive()
        if not frame:
            return
        station, kind, payload = frame
        if kind == irati.ARP:
            arp = irati.read_arp(payload)
            if arp and arp[0] == 1 and arp[2][1] in self.names:
                self.link.arp(2, station, arp[2][1], arp[1][1], station)
            elif arp and arp[0] == 2:
                self.station = station
        elif kind == irati.RINA:
            got = irati.read_pdu(payload)
            if got["kind"] == MANAGEMENT:
                if got["dst"] or got["qos_id"] != 1:
                    raise Failed(f"a management PDU with other fields: {got}")
                self.take(station, self.messages.parse(got["payload"]))
            elif got["dst"] == self.address:
                {DATA: self.data, ACK_FLOW: self.acks}.get(got["kind"], []).append(got)

    def take(self, station, message):
        if message.objName == irati.WATCHDOG[1] and message.opCode == OP["READ"]:
            self.reads += 1
            return self.tell("READ_R", irati.WATCHDOG, self.messages.int_t(value=self.address), message.invokeID)
        if message.opCode == OP["CONNECT"] and self.station is None:
            self.station = station
        self.heard.append(message)
        return None

    def tell(self, *what, **fields):
        self.link.send(self.station, irati.RINA, pdu(MANAGEMENT, (self.address, 0), payload=self.messages.cdap(*what, **fields)))

    def wait(self, what, take):
        """Waits until what `take` returns says something."""
        end = time.monotonic() + PATIENCE
        while not (found := take()):
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {PATIENCE:.0f} s; heard {[(m.opCode, m.objName) for m in self.heard]}")
            self.serve()
        return found

    def expect(self, op, object=None):
        """The next message of an operation, about an object. Others stay."""
        def take():
            for at, message in enumerate(self.heard):
                if message.opCode == OP[op] and (object is None or message.objName.startswith(object[1])):
                    return self.heard.pop(at)
            return None
        return self.wait(f"M_{op} {object or ''}", take)

    def value(self, kind, message):
        return kind.FromString(message.objValue.byteval)

    # Enrollment.

    def find(self, name):
        """Asks for the station of a name, again and again."""
        def found():
            if self.station is None:
                self.link.arp(1, b"\xff" * 6, f"{PEER}/1//", name)
            return self.station
        self.wait(name, found)

    def enrol(self, address):
        """As enrollee, without an address or with one."""
        asked = address
        self.find(f"{DIF}///")
        me = (PEER, "1", MANAGEMENT_AE, "")
        self.tell("CONNECT", invoke_id=1, dest=(DIF, "", MANAGEMENT_AE, ""), src=me)
        answer = self.expect("CONNECT_R")
        if (answer.invokeID, answer.result, answer.absSyntax, answer.destApName, answer.destApInst) != (1, 0, 0x73, PEER, "1"):
            raise Failed(f"M_CONNECT_R: {answer}")
        self.neighbour = answer.srcApName
        self.tell("START", irati.ENROLLMENT, self.messages.enrollment(asked), 2)
        started = self.expect("START_R", irati.ENROLLMENT)
        if not asked:
            self.address = self.value(self.messages.enrollmentInformation_t, started).address
            constants = self.value(self.messages.dataTransferConstants_t, self.expect("CREATE", irati.TRANSFER))
            cubes = self.value(self.messages.qosCubes_t, self.expect("CREATE", irati.CUBES))
            if constants != self.messages.constants() or [cube.qosId for cube in cubes.qosCube] != [1, 2, 3]:
                raise Failed(f"{constants} {cubes}")
        elif started.objValue.byteval:
            raise Failed("a valid address is given again")
        members = self.value(self.messages.neighbors_t, self.expect("CREATE", irati.NEIGHBORS))
        stop = self.expect("STOP", irati.ENROLLMENT)
        self.tell("STOP_R", invoke_id=stop.invokeID)
        status = self.expect("START", irati.STATUS)
        token = self.value(self.messages.enrollmentInformation_t, stop).token
        self.tell("START_R", irati.STATUS, self.messages.neighbor(PEER, 0, MANAGEMENT_AE, token), status.invokeID)
        return members.neighbor[0].address

    def enroller(self, given):
        """Enrols the neighbour, which asks for the DIF."""
        self.names = [f"{DIF}///"]
        connect = self.expect("CONNECT")
        self.neighbour = connect.srcApName
        if (connect.destApName, connect.destAEName, connect.srcApInst, connect.authPolicy.name) != (DIF, MANAGEMENT_AE, "1", irati.NO_AUTHENTICATION):
            raise Failed(f"M_CONNECT: {connect}")
        self.tell("CONNECT_R", invoke_id=connect.invokeID, dest=(self.neighbour, "1", MANAGEMENT_AE, ""), src=(PEER, "1", MANAGEMENT_AE, ""))
        start = self.expect("START", irati.ENROLLMENT)
        self.tell("START_R", irati.ENROLLMENT, self.messages.enrollment(given), start.invokeID)
        self.tell("CREATE", irati.TRANSFER, self.messages.constants())
        self.tell("CREATE", irati.CUBES, self.messages.cubes())
        self.tell("CREATE", irati.DIRECTORY, self.messages.directory((self.messages.naming("irati.app", "1"), self.address, 1)))
        self.tell("CREATE", irati.NEIGHBORS, self.messages.neighbors_t(neighbor=[self.messages.neighbor(PEER, self.address)]))
        self.tell("STOP", irati.ENROLLMENT, self.messages.enrollment(given, "1804289383"), 3)
        if self.expect("STOP_R").invokeID != 3:
            raise Failed("M_STOP_R has another number")
        self.tell("START", irati.STATUS, None, 4)
        answer = self.expect("START_R", irati.STATUS)
        who = self.value(self.messages.neighbor_t, answer)
        if (answer.invokeID, who.apname, who.apinstance, who.aename, who.aeinstance) != (4, self.neighbour, "1", MANAGEMENT_AE, "1804289383"):
            raise Failed(f"M_START_R: {who}")

    def announce(self, neighbour_address, number=1):
        """Its lower flow."""
        state = self.messages.flow_state(PEER, self.address, self.neighbour, neighbour_address, number)
        self.tell("WRITE", irati.FLOW_STATES, self.messages.flowStateObjectGroup_t(flow_state_objects=[state]))

    # Flows.

    def send_data(self, to, ceps, qos_id, number, flags, payload):
        self.link.send(self.station, irati.RINA, pdu(DATA, (self.address, to), qos_id, ceps, flags, number, payload))

    def acknowledge(self, to, ceps, qos_id, number, control):
        numbers = struct.pack("<8I", number, 0, number, (number + 50) & 0xFFFFFFFF, 0, 0, 0, 0)
        self.link.send(self.station, irati.RINA, pdu(ACK_FLOW, (self.address, to), qos_id, ceps, 0, control, numbers))

    def a_data(self, to, *what, **fields):
        self.link.send(self.station, irati.RINA, pdu(MANAGEMENT, (self.address, 0), payload=self.messages.a_data((self.address, to), self.messages.cdap(*what, **fields))))

    def expect_a_data(self, op):
        """The message inside, and the member that sent it."""
        data = self.value(self.messages.a_data_t, self.expect("WRITE", ("a_data", "a_data")))
        inner = self.messages.parse(data.cdapMessage)
        if data.destAddress != self.address or inner.opCode != OP[op]:
            raise Failed(f"expected M_{op}: {inner}")
        return data.sourceAddress, inner

    def ask_flow(self, to, application, reliable, port):
        """A flow to an application, and an SDU there and back."""
        messages, qos_id, cep, first = self.messages, 2 if reliable else 1, port + 100, 0xFFFFFFFF
        object = ("Flow", f"/fa/flows/key={self.address}-{port}")
        asked = messages.flow(messages.naming("irati.client", "1"), messages.naming(*application), (self.address, to), (port, 0), (cep, 0), qos_id, reliable)
        self.a_data(to, "CREATE", object, asked, 7)
        source, answer = self.expect_a_data("CREATE_R")
        flow = self.value(messages.Flow, answer)
        if (source, answer.invokeID, answer.result, answer.objName, flow.destinationPortId) != (to, 7, 0, object[1], port):
            raise Failed(f"M_CREATE_R: {answer} {flow}")
        there = flow.connectionIds[0].sourceCEPId
        # Numbers begin anywhere, and go on with 0 behind the greatest one.
        for step, text in enumerate((b"first", b"second", b"third")):
            number = (first + step) & 0xFFFFFFFF
            self.data.clear()
            self.send_data(to, (cep, there), qos_id, number, RUN if step == 0 else 0, text)
            got = self.wait(f"{text} back", lambda: self.data and self.data.pop(0))
            if (got["payload"], got["src_cep"], got["dst_cep"], got["number"]) != (text, there, cep, step):
                raise Failed(f"data: {got}")
            if reliable:
                self.acknowledge(to, (cep, there), qos_id, step, step)
                acked = self.wait(f"the acknowledgement of {text}", lambda: next((a for a in self.acks if a["payload"][:4] == struct.pack("<I", number)), None))
                left, right = struct.unpack("<2I", acked["payload"][8:16])
                if left != number or len(acked["payload"]) != 32 or not (right - left) & 0xFFFFFFFF:
                    raise Failed(f"an acknowledgement: {acked}")
        self.a_data(to, "DELETE", object)

    def ask_in_vain(self, to, application):
        """A flow as `unreliablewithflowcontrol` of IRATI's default.dif has it."""
        object = ("Flow", f"/fa/flows/key={self.address}-20")
        naming = self.messages.naming
        asked = self.messages.flow(naming("irati.client", "1"), naming(*application), (self.address, to), (20, 0), (120, 0), 1, False, flow_control=True)
        self.a_data(to, "CREATE", object, asked, 8)
        source, answer = self.expect_a_data("CREATE_R")
        if (source, answer.invokeID, answer.objName) != (to, 8, object[1]) or not answer.result or "flow control" not in answer.resultReason:
            raise Failed(f"M_CREATE_R: {answer}")

    def answer_flow(self, count):
        """Accepts a flow, and sends back what comes."""
        messages = self.messages
        source, request = self.expect_a_data("CREATE")
        flow = self.value(messages.Flow, request)
        if request.objName != f"/fa/flows/key={source}-{flow.sourcePortId}" or flow.destinationNamingInfo.applicationProcessName != "irati.app":
            raise Failed(f"M_CREATE: {request.objName} {flow}")
        there, qos_id, reliable = flow.connectionIds[0].sourceCEPId, flow.connectionIds[0].qosId, flow.dtcpConfig.rtxControl
        answer = messages.flow(flow.destinationNamingInfo, flow.sourceNamingInfo, (self.address, source), (9, flow.sourcePortId), (0, there), qos_id, reliable, 2)
        self.data.clear()
        self.a_data(source, "CREATE_R", ("Flow", request.objName), answer, request.invokeID)
        number = 41
        for step in range(count):
            got = self.wait("data", lambda: self.data and self.data.pop(0))
            if step == 0 and not got["flags"] & RUN:
                raise Failed("the first PDU begins no run")
            if reliable:
                self.acknowledge(source, (0, there), qos_id, got["number"], step)
            self.send_data(source, (0, there), qos_id, number + step, RUN if step == 0 else 0, got["payload"])
        _, deleted = self.expect_a_data("DELETE")
        if deleted.objName != request.objName:
            raise Failed(f"M_DELETE {deleted.objName}")
        return source


def begin(folder, names, first):
    net = Fabric(folder)
    net.nodes = {}
    for node in names:
        net.add_node(node)
    for one, other in zip(names, names[1:]):
        net.add_link(one, other)
    node = net[names[0]]
    device = f"irati{first}"
    run("ip", "link", "add", device, "type", "veth", "peer", "name", "peer", "netns", node.net)
    run("ip", "link", "set", device, "up")
    run("ip", "-n", node.net, "link", "set", "peer", "up")
    node.devices.append("peer")
    return net, device


def routes(net, node):
    return {route["member"] for route in net[node].show()["routes"] if route["links"]}


def with_applications(net, peer, addresses):
    """Flows in both directions."""
    wait_for("the peer's application", lambda: any(it["application"] == "irati.app|1" for it in net["n2"].use("list")))
    net["n2"].serve("echo", "mirror|2")
    entry = peer.value(peer.messages.directoryForwardingTableEntrySet_t, peer.expect("CREATE", irati.DIRECTORY)).directoryForwardingTableEntry[0]
    name = entry.applicationName
    if (name.applicationProcessName, name.applicationProcessInstance, entry.ipcProcessSynonym) != ("mirror", "2", addresses["n2"]):
        raise Failed(f"the directory: {entry}")
    for port, reliable in enumerate((True, False), 5):
        peer.ask_flow(addresses["n2"], ("mirror", "2"), reliable, port)
    peer.ask_in_vain(addresses["n2"], ("mirror", "2"))
    wait_for("the release", lambda: not net["n2"].show()["flows"])
    report("flows of IRATI's member to an application two members away: allocated, data there and back, acknowledged, released")
    for qos in "reliable", "unreliable":
        client = net["n2"].use("echo", "irati.app|1", "--count", 3, "--interval", 0.01, "--timeout", 10, "--qos", qos, background=True)
        source = peer.answer_flow(3)
        out, err = client.communicate(timeout=60)
        if client.returncode or source != addresses["n2"]:
            raise Failed(f"echo, {qos}: {out}{err}")
    wait_for("the release", lambda: not net["n2"].show()["flows"])
    report("flows to its application: the same")


def enrols_with_us(folder, messages):
    """The peer is the enrollee, then comes again with its address."""
    net, device = begin(folder, ["n1", "n2"], 1)
    with net:
        for node, address in ("n1", 1), ("n2", None):
            net[node].config.write_text(config(net[node], address))
            net[node].start()
        wait_for("our members", lambda: routes(net, "n1") == {"n2"})
        peer = Peer(messages, device, 0)
        first = peer.enrol(0)
        if peer.neighbour != "n1" or first != 1 or not peer.address:
            raise Failed(f"enrolled at {peer.neighbour}, {first}, with {peer.address}")
        peer.announce(first)
        states = lambda: peer.value(messages.flowStateObjectGroup_t, peer.expect("WRITE", irati.FLOW_STATES)).flow_state_objects[0]
        known = {}
        while not {("n1", "n2"), ("n2", "n1"), ("n1", PEER)} <= set(known):
            state = states()
            known[state.name, state.neighbor_name] = (list(state.addresses), state.state, state.cost)
        addresses = {node: net[node].show()["address"] for node in ("n1", "n2")}
        if known["n2", "n1"] != ([addresses["n2"]], True, 1):
            raise Failed(f"flow state objects: {known}")
        wait_for("routes to the peer", lambda: PEER in routes(net, "n1") and PEER in routes(net, "n2"))
        report(f"IRATI's member is enrolled, with address {peer.address}; all know the way")
        peer.tell("CREATE", irati.DIRECTORY, messages.directory((messages.naming("irati.app", "1"), peer.address, 1)))
        with_applications(net, peer, addresses)
        peer.tell("DELETE", ("DirectoryForwardingTableEntry", "/difm/nsm/dft/key=irati.app-1--"))
        wait_for("the end of its application", lambda: not any(it["application"] == "irati.app|1" for it in net["n2"].use("list")))
        peer.wait("signs of life are asked for", lambda: peer.reads)
        peer.tell("RELEASE")
        wait_for("the end of the neighbour", lambda: PEER not in routes(net, "n2"))
        peer.enrol(peer.address)
        peer.announce(first, 2)
        wait_for("the peer again", lambda: PEER in routes(net, "n2"))
        report("it leaves, and comes again with its address")


def enrols_us(folder, messages):
    """The peer is a member, and enrols one of ours, which enrols another one."""
    net, device = begin(folder, ["n1", "n2"], 2)
    with net:
        for node in "n1", "n2":
            net[node].config.write_text(config(net[node], None))
            net[node].start()
        peer = Peer(messages, device, 16)
        peer.enroller(17)
        peer.announce(17)
        wait_for("the address", lambda: net["n1"].show()["address"] == 17)
        wait_for("routes to the peer", lambda: PEER in routes(net, "n2"))
        addresses = {node: net[node].show()["address"] for node in ("n1", "n2")}
        report(f"a member of IRATI has enrolled one of ours, which has enrolled another one: addresses {addresses}")
        with_applications(net, peer, addresses)


def main():
    parser = case_options(__doc__)
    parser.add_argument("checkout", metavar="CHECKOUT")
    args = parser.parse_args()

    def test(folder, parts):
        messages = Messages(args.checkout)
        for part in parts:
            work = folder / part.__name__
            work.mkdir()
            in_turn("RINA in the dialect of IRATI", [part], work, messages)
    return carry_out("RINA in the dialect of IRATI", test, (enrols_with_us, enrols_us), args)


if __name__ == "__main__":
    sys.exit(main())
