#!/usr/bin/env python3
"""A member as IRATI makes it, of which the kernel modules cannot be built for this kernel: messages that Google's protobuf encodes by IRATI's own .proto files, with
the fields that IRATI's encoders set, in frames on a device.

It needs protoc, and Python with protobuf. irati_peer.py CHECKOUT prints the messages that crates/agents/rina/src/irati/recorded.txt has. CHECKOUT is a clone of https://github.com/IRATI/stack, bare or not.
"""

import importlib
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

from lab.command import Failed

OP = {name: number for number, name in enumerate(
    "CONNECT CONNECT_R RELEASE RELEASE_R CREATE CREATE_R DELETE DELETE_R READ READ_R CANCELREAD CANCELREAD_R WRITE WRITE_R START START_R STOP STOP_R".split())}
PROTOS = {"librina/src": ["CDAP"],
          "rinad/src/common/encoders": [
              "ApplicationProcessNamingInfoMessage", "CommonMessages", "ConnectionPoliciesMessage", "DataTransferConstantsMessage",
              "DirectoryForwardingTableEntryArrayMessage", "DirectoryForwardingTableEntryMessage", "EnrollmentInformationMessage", "FlowMessage",
              "FlowStateGroupMessage", "FlowStateMessage", "NeighborArrayMessage", "NeighborMessage", "PolicyDescriptorMessage", "QoSCubeArrayMessage",
              "QoSCubeMessage", "QoSSpecification"]}
NO_AUTHENTICATION = "PSOC_authentication-none"
RINA, ARP = 0xD1F0, 0x0806
MANAGEMENT, DATA, ACK_FLOW = 0x40, 0x80, 0xC5
RUN = 0x80
# Classes and names of objects.
ENROLLMENT, NEIGHBORS, WATCHDOG = ("Enrollment", "/difm/enr"), ("Neighbors", "/difm/enr/neighs"), ("watchdog_timer", "/difm/enr/wd")
STATUS, TRANSFER, CUBES = ("OperationalStatus", "/difm/ops"), ("DataTransfer", "/dt"), ("QoSCubes", "/ra/qoscubes")
DIRECTORY, FLOW_STATES = ("DirectoryForwardingTable", "/difm/nsm/dft"), ("FlowStateObjects", "/ra/fsos")


class Messages:
    """IRATI's messages, by its .proto files."""

    def __init__(self, checkout):
        self.folder = tempfile.TemporaryDirectory(prefix="irati")
        folder = pathlib.Path(self.folder.name)
        for path, names in PROTOS.items():
            for name in names:
                text = subprocess.run(["git", "-c", "safe.directory=*", "-C", checkout, "show", f"HEAD:{path}/{name}.proto"], capture_output=True)
                if text.returncode:
                    raise Failed(f"{checkout} has no {path}/{name}.proto: {text.stderr.decode()}")
                (folder / f"{name}.proto").write_bytes(text.stdout)
        done = subprocess.run(["protoc", f"-I{folder}", f"--python_out={folder}", *map(str, folder.glob("*.proto"))], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"protoc: {done.stderr}")
        sys.path.insert(0, str(folder))
        for names in PROTOS.values():
            for name in names:
                module = importlib.import_module(f"{name}_pb2")
                for kind in module.DESCRIPTOR.message_types_by_name:
                    setattr(self, kind, getattr(module, kind))

    def cdap(self, what, object=None, value=None, invoke_id=0, dest=None, src=None, result=0, reason="", auth=None):
        """A message, with what `GPBSerializer::serializeMessage` sets."""
        connect = what in ("CONNECT", "CONNECT_R")
        message = self.CDAPMessage(absSyntax=0x73 if connect else 0, opCode=OP[what], invokeID=invoke_id, result=result, resultReason=reason, scope=0,
                                   version=1 if connect else 0)
        message.authPolicy.name = auth if auth is not None else NO_AUTHENTICATION if what == "CONNECT" else ""
        if what == "CONNECT":
            message.authPolicy.versions.append("1")
        message.objClass, message.objName = object or ("", "")
        if value is not None:
            message.objValue.byteval = value.SerializeToString()
        for end, name in ("dest", dest), ("src", src):
            name = name or ("", "", "", "")
            for field, text in zip(("ApName", "ApInst", "AEName", "AEInst"), name):
                setattr(message, end + field, text)
        return message.SerializeToString()

    def parse(self, sdu):
        return self.CDAPMessage.FromString(sdu)

    def naming(self, name, instance="", entity="", entity_instance=""):
        return self.applicationProcessNamingInfo_t(applicationProcessName=name, applicationProcessInstance=instance, applicationEntityName=entity,
                                                   applicationEntityInstance=entity_instance)

    def enrollment(self, address, token=""):
        return self.enrollmentInformation_t(address=address, startEarly=False, token=token, supportingDifs=["100"])

    def neighbor(self, name, address, entity="", token=""):
        return self.neighbor_t(address=address, apname=name, apinstance="1", aename=entity, aeinstance=token, supportingDifs=["100"])

    def constants(self, **others):
        values = dict(maxPDUSize=1470, addressLength=2, portIdLength=2, cepIdLength=2, qosidLength=2, sequenceNumberLength=4, lengthLength=2,
                      seqRolloverThreshold=0, maxPDULifetime=60000, DIFConcatenation=False, DIFFragmentation=False, DIFIntegrity=False,
                      maxTimeToKeepRetransmitting=0, maxTimeToACK=0, rateLength=4, frameLength=4, ctrlSequenceNumberLength=4)
        return self.dataTransferConstants_t(**values | others)

    def policy(self, name="", version=""):
        return self.policyDescriptor_t(policyName=name, policyImplName=name, version=version)

    def dtp(self, dtcp):
        return self.dtpConfig_t(dtcpPresent=dtcp, rcvrtimerinactivitypolicy=self.policy(), sendertimerinactiviypolicy=self.policy(),
                                initialseqnumpolicy=self.policy(), seqnumrolloverthreshold=0, initialATimer=300, dtppolicyset=self.policy("default", "0"))

    def dtcp(self, flow_control, retransmission):
        config = self.dtcpConfig_t(flowControl=flow_control, rtxControl=retransmission, lostcontrolpdupolicy=self.policy(), rttestimatorpolicy=self.policy(),
                                   dtcppolicyset=self.policy("default", "0"))
        if flow_control:
            config.flowControlConfig.windowBased, config.flowControlConfig.rateBased = True, False
            config.flowControlConfig.windowBasedConfig.maxclosedwindowqueuelength = 50
            config.flowControlConfig.windowBasedConfig.initialcredit = 50
        if retransmission:
            config.rtxControlConfig.maxtimetoretry, config.rtxControlConfig.datarxmsnmax, config.rtxControlConfig.initialRtxTime = 0, 5, 1000
        return config

    def cube(self, number, name, reliable):
        return self.qosCube_t(qosId=number, name=name, averageBandwidth=0, averageSDUBandwidth=0, peakBandwidthDuration=0, peakSDUBandwidthDuration=0,
                              undetectedBitErrorRate=0, partialDelivery=False, order=reliable, maxAllowableGapSdu=0 if reliable else 0xFFFFFFFF, delay=0, jitter=0,
                              loss=10000, dtpConfiguration=self.dtp(reliable), dtcpConfiguration=self.dtcp(reliable, reliable))

    def cubes(self):
        return self.qosCubes_t(qosCube=[self.cube(1, "unreliable", False), self.cube(2, "reliable", True)])

    def flow_state(self, name, address, neighbor, neighbor_address, number, state=True, age=0, cost=1):
        return self.flowStateObject_t(name=name, addresses=[address], neighbor_name=neighbor, neighbor_addresses=[neighbor_address], cost=cost,
                                      sequence_number=number, state=state, age=age)

    def directory(self, *entries):
        """Entries: names, addresses and numbers."""
        return self.directoryForwardingTableEntrySet_t(directoryForwardingTableEntry=[
            self.directoryForwardingTableEntry_t(applicationName=name, ipcProcessSynonym=address, seqnum=number) for name, address, number in entries])

    def flow(self, source, destination, addresses, ports, ceps, qos_id, reliable, state=1, flow_control=None):
        flow = self.Flow(sourceNamingInfo=source, destinationNamingInfo=destination, sourcePortId=ports[0], destinationPortId=ports[1],
                         sourceAddress=addresses[0], destinationAddress=addresses[1], currentConnectionIdIndex=0, state=state, dtpConfig=self.dtp(reliable),
                         dtcpConfig=self.dtcp(reliable if flow_control is None else flow_control, reliable), maxCreateFlowRetries=1, createFlowRetries=0, hopCount=3)
        flow.connectionIds.add(qosId=qos_id, sourceCEPId=ceps[0], destinationCEPId=ceps[1])
        flow.qosParameters.MergeFrom(self.qosSpecification_t(
            averageBandwidth=0, averageSDUBandwidth=0, peakBandwidthDuration=0, peakSDUBandwidthDuration=0, undetectedBitErrorRate=0, partialDelivery=False,
            order=reliable, maxAllowableGapSdu=0 if reliable else -1, delay=0, jitter=0, loss=10000, msg_boundaries=False))
        return flow

    def a_data(self, addresses, inner):
        """A message for a member farther away."""
        return self.cdap("WRITE", ("a_data", "a_data"), self.a_data_t(sourceAddress=addresses[0], destAddress=addresses[1], cdapMessage=inner))


def pdu(kind, addresses=(0, 0), qos_id=1, ceps=(0, 0), flags=0, number=0, payload=b""):
    """Addresses and endpoints are those of the source and of the destination."""
    head = struct.pack("<BHHHHHBBHI", 1, addresses[1], addresses[0], qos_id, ceps[1], ceps[0], kind, flags, 19 + len(payload), number)
    return head + payload


class Link:
    """A device, on which the shim DIF over Ethernet is spoken."""

    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((device, 0))
        self.socket.settimeout(0.2)
        self.mac = self.socket.getsockname()[4]

    def send(self, to, kind, payload):
        self.socket.send(to + self.mac + struct.pack("!H", kind) + payload.ljust(46, b"\0"))

    def arp(self, operation, to, name, target, target_mac=bytes(6)):
        names = [name.encode(), target.encode()]
        length = max(map(len, names))
        both = [mac + text.ljust(length, b"\0") for mac, text in zip((self.mac, target_mac), names)]
        self.send(to, ARP, struct.pack("!HHBBH", 1, RINA, 6, length, operation) + b"".join(both))

    def receive(self):
        """The next frame: station, kind and payload; None if none comes for some time."""
        try:
            frame, source = self.socket.recvfrom(2048)
        except TimeoutError:
            return None
        if source[2] == socket.PACKET_OUTGOING:
            return ()
        return frame[6:12], struct.unpack("!H", frame[12:14])[0], frame[14:]


def read_arp(payload):
    """Operation, and of sender and target station and name."""
    _, kind, _, length, operation = struct.unpack("!HHBBH", payload[:8])
    if kind != RINA:
        return None
    at = lambda offset: (payload[offset:offset + 6], payload[offset + 6:offset + 6 + length].rstrip(b"\0").decode())
    return operation, at(8), at(14 + length)


def read_pdu(payload):
    version, dst, src, qos_id, dst_cep, src_cep, kind, flags, length, number = struct.unpack("<BHHHHHBBHI", payload[:19])
    if version != 1:
        raise Failed(f"version {version}")
    return {"dst": dst, "src": src, "qos_id": qos_id, "dst_cep": dst_cep, "src_cep": src_cep, "kind": kind, "flags": flags, "number": number,
            "payload": payload[19:length]}


def recorded(messages):
    """Names and bytes of messages as IRATI's daemons send them to each other."""
    one, two = ("test1.IRATI", "1", "Management", ""), ("test2.IRATI", "1", "Management", "")
    server, client = messages.naming("rina.apps.echotime.server", "1"), messages.naming("rina.apps.echotime.client", "1")
    flow = ("Flow", "/fa/flows/key=17-5")
    asked = messages.flow(client, server, (17, 16), (5, 0), (3, 0), 2, True)
    answered = messages.flow(server, client, (16, 17), (9, 5), (7, 3), 2, True, 2)
    yield "connect", messages.cdap("CONNECT", invoke_id=1, dest=("normal.DIF", "", "Management", ""), src=two)
    yield "connect_r", messages.cdap("CONNECT_R", invoke_id=1, dest=two, src=one)
    yield "connect_password", messages.cdap("CONNECT", invoke_id=1, dest=one, src=two, auth="PSOC_authentication-password")
    yield "start", messages.cdap("START", ENROLLMENT, messages.enrollment(0), 2)
    yield "start_member", messages.cdap("START", ENROLLMENT, messages.enrollment(17), 2)
    yield "start_r", messages.cdap("START_R", ENROLLMENT, messages.enrollment(17), 2)
    yield "start_r_member", messages.cdap("START_R", ENROLLMENT, None, 2)
    yield "constants", messages.cdap("CREATE", TRANSFER, messages.constants())
    yield "constants_wide", messages.cdap("CREATE", TRANSFER, messages.constants(addressLength=4))
    yield "cubes", messages.cdap("CREATE", CUBES, messages.cubes())
    yield "directory", messages.cdap("CREATE", DIRECTORY, messages.directory((server, 16, 1)))
    yield "neighbors", messages.cdap("CREATE", NEIGHBORS, messages.neighbors_t(neighbor=[messages.neighbor("test1.IRATI", 16)]))
    yield "stop", messages.cdap("STOP", ENROLLMENT, messages.enrollment(17, "1804289383"), 3)
    yield "stop_r", messages.cdap("STOP_R", None, None, 3)
    yield "read_constants", messages.cdap("READ", TRANSFER, None, 6)
    yield "status", messages.cdap("START", STATUS, None, 4)
    yield "status_r", messages.cdap("START_R", STATUS, messages.neighbor("test2.IRATI", 0, "Management", "1804289383"), 4)
    yield "flow_states", messages.cdap("WRITE", FLOW_STATES, messages.flowStateObjectGroup_t(flow_state_objects=[
        messages.flow_state("test1.IRATI", 16, "test2.IRATI", 17, 1), messages.flow_state("test1.IRATI", 16, "test3.IRATI", 18, 4)]))
    yield "flow_state_down", messages.cdap("WRITE", FLOW_STATES, messages.flowStateObjectGroup_t(flow_state_objects=[
        messages.flow_state("test1.IRATI", 16, "test3.IRATI", 18, 5, state=False, age=100001)]))
    yield "directory_delete", messages.cdap("DELETE", ("DirectoryForwardingTableEntry", "/difm/nsm/dft/key=rina.apps.echotime.server-1--"))
    yield "watchdog", messages.cdap("READ", WATCHDOG, None, 5)
    yield "watchdog_r", messages.cdap("READ_R", WATCHDOG, messages.int_t(value=16), 5)
    yield "flow", messages.a_data((17, 16), messages.cdap("CREATE", flow, asked, 7))
    yield "flow_r", messages.a_data((16, 17), messages.cdap("CREATE_R", flow, answered, 7))
    yield "flow_refused", messages.a_data((16, 17), messages.cdap("CREATE_R", flow, answered, 7, result=-1, reason="refused"))
    yield "flow_paced", messages.a_data((17, 16), messages.cdap("CREATE", flow, messages.flow(client, server, (17, 16), (5, 0), (3, 0), 1, False, flow_control=True), 7))
    yield "flow_delete", messages.a_data((17, 16), messages.cdap("DELETE", flow))
    yield "release", messages.cdap("RELEASE")
    yield "@data", pdu(DATA, (17, 16), 2, (3, 7), RUN, 3_456_789_012, b"hello")
    # What was received last in order, the last control PDU, edges of windows, rate and time.
    yield "@ack_flow", pdu(ACK_FLOW, (16, 17), 2, (7, 3), 0, 1, struct.pack("<8I", 3_456_789_012, 0, 3_456_789_012, 3_456_789_062, 0, 0, 0, 0))


if __name__ == "__main__":
    print("# Messages that Google's protobuf has encoded by IRATI's .proto files, with the fields that IRATI sets (tests/rina/irati_peer.py). @: PDUs.")
    for name, data in recorded(Messages(sys.argv[1])):
        print(name, data.hex())
