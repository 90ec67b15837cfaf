#!/usr/bin/env python3
"""BMv2's Thrift interface, as BMv2's own command line, simple_switch_CLI of PyPI, sees it; packets show what its commands did."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
import grpc
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc
from thrift.protocol import TBinaryProtocol, TMultiplexedProtocol
from thrift.Thrift import TApplicationException
from thrift.transport import TSocket, TTransport

from bm_runtime.simple_pre_lag import SimplePreLAG
from bm_runtime.standard import Standard
from bm_runtime.standard.ttypes import (BmAddEntryOptions, BmMatchParam, BmMatchParamExact, BmMatchParamType, BmResourceType,
                                        InvalidRegisterOperation, InvalidTableOperation)
from lab.cases import unittest_main
from lab.command import HOPWRIGHT, PATIENCE, wait_until
from lab.netns import ip
from lab.switch import Switch, ethernet, ipv4, wait_for_links
from sswitch_runtime import SimpleSwitch

CLI = pathlib.Path(sys.executable).parent / "simple_switch_CLI"
PROMPT = "RuntimeCmd: "
PORT = 9090


class ThriftSwitch(Switch):
    """A switch that serves Thrift."""

    def __init__(self, program, *options):
        super().__init__(program, *options, address=f"127.0.0.1:{PORT}")

    def command(self, interfaces):
        return [HOPWRIGHT, "run", str(HERE / self.program), *interfaces, "--thrift-port", str(PORT), *self.options]


def cli(*commands):
    """What the command line prints for each command."""
    done = subprocess.run([CLI, "--thrift-port", str(PORT)], input="\n".join(commands) + "\n", text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = [answer.strip() for answer in done.stdout.split(PROMPT)[1:]]
    assert len(found) == len(commands) + 1, done.stdout
    return found[:-1]


CLIENTS = []


def client(service="standard", module=Standard):
    transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", PORT))
    transport.open()
    CLIENTS.append(transport)
    protocol = TMultiplexedProtocol.TMultiplexedProtocol(TBinaryProtocol.TBinaryProtocol(transport), service)
    found = module.Client(protocol)
    found.transport = transport
    return found


def close_clients():
    while CLIENTS:
        CLIENTS.pop().close()


def frame(dst="020000000001", src="020000000002"):
    return ethernet(dst, src, 0x1234, bytes(46))


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.switch = self.enterContext(ThriftSwitch("tables.p4"))
        self.addCleanup(close_clients)

    def says(self, command, text):
        (found,) = cli(command)
        self.assertIn(text, found)

    def gone(self, port, sent, out):
        """What leaves by a port for a frame."""
        self.switch.send(port, sent)
        found = self.switch.receive(out)
        self.assertIsNotNone(found)
        return found

    def test_what_there_is(self):
        tables, actions, routes, ports, info, pvs = cli(
            "show_tables", "show_actions", "table_info routes", "show_ports", "switch_info", "show_pvs")
        self.assertIn("MyIngress.acl                  [implementation=None, mk=ipv4.src(ternary, 32),\tipv4.protocol(range, 8),"
                      "\tipv4.ttl(ternary, 8),\tscalars.userMetadata.flow(exact, 16)]", tables)
        self.assertIn("MyIngress.spread               [implementation=MyIngress.paths, mk=ipv4.dst(exact, 32)]", tables)
        self.assertIn("MyIngress.fixed                [implementation=None, mk=ipv4_valid(exact, 1)]", tables)
        self.assertIn("MyIngress.forward              [dst(48),\tport(9)]", actions)
        self.assertIn("MyIngress.forward", routes)
        self.assertEqual(ports.splitlines()[2].split(), ["0", "sw0", "UP"])
        self.assertRegex(info, f"thrift_port +: {PORT}\\n")
        self.assertIn("TheParser.ip_types             [compressed bitwidth:16]", pvs)

    def test_entries_forward(self):
        route = "table_add routes forward 10.0.0.0/8 => 02:00:00:00:00:11 1"
        added, again, count, shown, by_key = cli(
            route, route, "table_num_entries routes", "table_dump_entry routes 0", "table_dump_entry_from_key routes 10.0.0.0/8")
        self.assertIn("Entry has been added with handle 0", added)
        self.assertIn("Invalid table operation (DUPLICATE_ENTRY)", again)
        self.assertEqual(count, "1")
        for text in (shown, by_key):
            self.assertEqual(text.splitlines(), [
                "Dumping entry 0x0", "Match key:", "* ipv4.dst            : LPM       0a000000/8",
                "Action entry: MyIngress.forward - 020000000011, 01"])
        self.assertEqual(self.gone(0, ipv4("10.9.9.9", "10.1.2.3"), 1)[:6].hex(), "020000000011")
        counter, *_ = cli("counter_read routed 0", "table_modify routes forward 0 02:00:00:00:00:22 2")
        self.assertIn("routed[0]= (60 bytes, 1 packets)", counter)
        self.assertEqual(self.gone(0, ipv4("10.9.9.9", "10.1.2.3"), 2)[:6].hex(), "020000000022")
        found = cli("counter_write routed 0 7 8", "counter_read routed 0", "counter_reset routed", "counter_read routed 0",
                    "table_delete routes 0", "table_delete routes 0", "table_add routes drop 10.0.0.0/8 =>", "table_dump_entry routes 0",
                    "table_clear routes", "table_num_entries routes", "table_add routes drop 10.0.0.0/8 =>")
        self.assertIn("(8 bytes, 7 packets)", found[1])
        self.assertIn("(0 bytes, 0 packets)", found[3])
        self.assertIn("INVALID_HANDLE", found[5])
        self.assertIn(f"handle {1 << 24}", found[6])
        self.assertIn("EXPIRED_HANDLE", found[7])
        self.assertEqual(found[9], "0")
        self.assertIn("handle 0", found[10])

    def test_priorities_and_kinds_of_match(self):
        found = cli("mirroring_add 5 3", "table_add routes forward 10.0.0.0/8 => 0x11 1",
                    # The lowest priority wins.
                    "table_add acl drop 10.0.0.0&&&0xff000000 0->255 0&&&0 0 => 10",
                    "table_add acl copy 10.0.0.1&&&0xffffffff 17->17 64&&&0xff 0 => 5 1",
                    "table_add acl copy 10.0.0.1&&&0xffffffff 17->17 64&&&0x0f 0 => 5 1", "table_dump acl")
        self.assertIn("BAD_MATCH_KEY", found[4])
        # The hash that is the last key differs for each source.
        lines = found[5].splitlines()
        for name, value in (("ipv4.ttl", "TERNARY   40 &&& ff"), ("ipv4.ttl", "TERNARY   00 &&& 00"), ("ipv4.protocol", "RANGE     11 -> 11")):
            self.assertIn(f"* {name:25}: {value}", lines)
        self.assertEqual([line for line in lines if "Priority" in line], ["Priority: 10", "Priority: 1"])
        self.assertIn("Action entry: MyIngress.copy - 05", lines)
        flow = found_hash("10.0.0.1")
        cli("table_clear acl", f"table_add acl drop 10.0.0.0&&&0xff000000 0->255 0&&&0 {flow} => 10",
            f"table_add acl copy 10.0.0.1&&&0xffffffff 17->17 64&&&0xff {flow} => 5 1")
        sent = ipv4("10.0.0.1", "10.1.2.3")
        self.assertEqual(self.gone(0, sent, 3), sent)
        self.assertEqual(self.gone(0, sent, 1)[:6].hex(), "000000000011")

    def test_refusals(self):
        for command, error in (
                ("table_add hosts send 0x1 => 600", "BAD_ACTION_DATA"), ("table_add fixed NoAction 0 =>", "IMMUTABLE_TABLE_ENTRIES"),
                ("table_set_default hosts send 1", "DEFAULT_ENTRY_IS_CONST"), ("table_delete hosts 77", "INVALID_HANDLE"),
                ("table_set_timeout hosts 0 1000", "does not support entry timeouts"),
                ("register_read last_ttl 16", "INVALID_INDEX"), ("counter_read by_port 99", "INVALID_INDEX"),
                ("meter_set_rates by_protocol 9 1:1 2:2", "INVALID_INDEX"),
                ("meter_set_rates by_protocol 0 2:1 1:2", "INVALID_INFO_RATE_VALUE"), ("meter_set_rates by_protocol 0 1:1", "Invalid number"),
                ("mirroring_get 3", "SESSION_NOT_FOUND"), ("mc_node_associate 1 0", "INVALID_L1_HANDLE"), ("mc_mgrp_create 0", "INVALID_MGID"),
                ("port_add no-such-device 9", "Invalid device manager operation"), ("swap_configs", "CONFIG_SWAP_DISABLED"),
                ("set_crc32_parameters calc 0x04c11db7 0 0 true true", "Invalid crc32_custom name (calc)"),
                ("set_crc16_parameters calc_9 0x1021 0 0 true true", "Invalid crc16_custom name (calc_9)"),
                ("table_indirect_set_default_with_group spread 0", "Invalid table operation (ERROR)")):
            with self.subTest(command):
                self.says(command, error)
        for number in range(4):
            cli(f"table_add hosts send {number} => 1")
        self.says("table_add hosts send 9 => 1", "TABLE_FULL")

    def test_crc_parameters(self):
        sent = ipv4("10.0.0.1", "10.1.2.3")
        cli("mirroring_add 5 3", "table_add routes forward 10.0.0.0/8 => 0x11 1")
        # CRC-16/ARC, which the hash has at first, and CRC-16/IBM-3740.
        for parameters, polynomial, initial, reflected in (("0x1021 0xffff 0 false false", 0x1021, 0xFFFF, False), ("0x8005 0 0 true true", 0x8005, 0, True)):
            with self.subTest(parameters):
                self.assertEqual(cli(f"set_crc16_parameters calc {parameters}"), [""])
                flow = found_hash("10.0.0.1", polynomial, initial, reflected)
                cli("table_clear acl", f"table_add acl copy 10.0.0.1&&&0xffffffff 17->17 64&&&0xff {flow} => 5 1")
                # Only a packet with this hash is copied.
                self.assertEqual(self.gone(0, sent, 3), sent)

    def test_default_entries(self):
        self.assertEqual(cli("table_set_default routes forward 0x33 3")[0].splitlines()[0], "Setting default action of routes")
        self.assertEqual(self.gone(0, ipv4("10.9.9.9", "10.1.2.3"), 3)[:6].hex(), "000000000033")
        self.assertIn("Action entry: MyIngress.forward - 33, 03", cli("table_dump routes")[0])
        cli("table_reset_default routes")
        self.assertIn("Action entry: MyIngress.drop", cli("table_dump routes")[0])

    def test_profiles(self):
        cli("table_set_default routes NoAction")
        found = cli("act_prof_create_member paths send 1", "act_prof_create_member paths send 2", "act_prof_create_group paths",
                    "act_prof_add_member_to_group paths 0 0", "act_prof_add_member_to_group paths 1 0",
                    "act_prof_add_member_to_group paths 1 0", "table_indirect_add_with_group spread 10.1.2.3 => 0",
                    "table_indirect_add spread 10.1.2.4 => 1", "act_prof_delete_member paths 1", "act_prof_delete_group paths 0",
                    "table_dump spread", "act_prof_remove_member_from_group paths 0 0", "act_prof_remove_member_from_group paths 0 0",
                    "act_prof_dump_group paths 0")
        self.assertIn("Member has been created with handle 1", found[1])
        self.assertIn("Group has been created with handle 0", found[2])
        self.assertIn("MBR_ALREADY_IN_GRP", found[5])
        self.assertIn("MBR_STILL_USED", found[8])
        self.assertIn("GRP_STILL_USED", found[9])
        self.assertEqual(found[10].splitlines(), [
            "==========", "TABLE ENTRIES", "**********", "Dumping entry 0x0", "Match key:", "* ipv4.dst            : EXACT     0a010203",
            "Index: group(0)", "**********", "Dumping entry 0x1", "Match key:", "* ipv4.dst            : EXACT     0a010204",
            "Index: member(1)", "==========", "MEMBERS", "**********", "Dumping member 0", "Action entry: MyIngress.send - 01", "**********",
            "Dumping member 1", "Action entry: MyIngress.send - 02", "==========", "GROUPS", "**********", "Dumping group 0", "Members: [0, 1]",
            "==========", "Dumping default entry", "Action entry: NoAction - ", "=========="])
        self.assertIn("MBR_NOT_IN_GRP", found[12])
        self.assertIn("Members: [1]", found[13])
        self.assertIsNotNone(self.gone(0, ipv4("10.9.9.9", "10.1.2.3"), 2))
        cli("act_prof_modify_member paths send 1 3")
        self.assertIsNotNone(self.gone(0, ipv4("10.9.9.9", "10.1.2.4"), 3))

        # A profile without a selector, and a member as default entry.
        found = cli("act_prof_create_member marks mark 9", "table_indirect_set_default marking 0", "table_dump marking",
                    "act_prof_delete_member marks 0")
        self.assertIn("Index: member(0)", found[2])
        self.assertIn("MBR_STILL_USED", found[3])
        self.assertEqual(self.gone(0, ipv4("10.9.9.9", "10.1.2.4"), 3)[15], 9)
        cli("act_prof_modify_member marks mark 0 8")
        self.assertEqual(self.gone(0, ipv4("10.9.9.9", "10.1.2.4"), 3)[15], 8)
        found = cli("table_indirect_reset_default marking", "act_prof_delete_member marks 0", "act_prof_dump marks",
                    "table_add marking mark 0 => 1", "table_indirect_create_member marking mark 4")
        self.assertEqual(found[1], "")
        self.assertNotIn("member 0", found[2])
        self.assertIn("WRONG_TABLE_TYPE", found[3])
        self.assertIn("Member has been created with handle 0", found[4])

    def test_multicast(self):
        found = cli("mc_mgrp_create 1", "mc_node_create 7 1 2", "mc_node_associate 1 0", "mc_node_create 8 | 4",
                    "mc_set_lag_membership 4 2 3", "mc_node_associate 1 1", "mc_node_associate 1 1", "mc_dump",
                    "table_add hosts flood 02:00:00:00:00:01 => 1")
        self.assertIn("node was created with handle 1", found[3])
        self.assertIn("Invalid PRE operation (ERROR)", found[6])
        self.assertIn("mgrp(1)\n  -> (L1h=0, rid=7) -> (ports=[1, 2], lags=[])\n  -> (L1h=1, rid=8) -> (ports=[], lags=[4])", found[7])
        self.switch.send(0, frame())
        for port, rid in ((1, 7), (2, 7), (3, 8)):
            self.assertEqual(self.switch.receive(port)[10:12], rid.to_bytes(2, "big"))
        found = cli("mc_node_update 0 3", "mc_node_destroy 1", "mc_dump")
        self.assertIn("mgrp(1)\n  -> (L1h=0, rid=7) -> (ports=[3], lags=[])\n=", found[2])
        self.assertEqual(self.gone(0, frame(), 3)[10:12], b"\0\7")
        cli("mc_node_dissociate 1 0", "mc_mgrp_destroy 1")
        left = json.loads(client("simple_pre_lag", SimplePreLAG).bm_mc_get_entries(0))
        self.assertEqual((left["mgrps"], left["l1_handles"], left["l2_handles"]), (
            [], [{"handle": 0, "rid": 7, "l2_handle": 0}], [{"handle": 0, "ports": [3], "lags": []}]))

    def test_clone_sessions(self):
        found = cli("mirroring_add 5 3", "mirroring_get 5", "mirroring_add_mc 6 1", "mirroring_get 6", "mirroring_delete 5",
                    "mirroring_get 5", "mirroring_delete 5")
        self.assertIn("port=3", found[1])
        self.assertIn("mgid=1", found[3])
        self.assertIn("SESSION_NOT_FOUND", found[5])
        self.assertIn("SESSION_NOT_FOUND", found[6])

    def test_registers_and_counters(self):
        cli("table_add routes forward 10.0.0.0/8 => 0x11 1")
        self.gone(2, ipv4("10.9.9.9", "10.1.2.3", ttl=33), 1)
        found = cli("register_read last_ttl 2", "register_write last_ttl 3 4294967295", "register_write last_ttl 4 -1",
                    "register_write last_ttl 4 4294967296", "register_read last_ttl", "register_reset last_ttl", "register_read last_ttl 3",
                    "register_read wide 1", "counter_read by_port 2", "counter_write by_port 2 5 6", "counter_read by_port 2",
                    "counter_reset by_port", "counter_read by_port 2")
        self.assertEqual(found[0], "last_ttl[2]= 33")
        self.assertIn("Invalid register operation (ERROR)", found[3])
        self.assertEqual(found[4], "last_ttl= 0, 0, 33, 4294967295, 4294967295" + ", 0" * 11)
        self.assertEqual(found[6], "last_ttl[3]= 0")
        self.assertEqual(found[7], f"wide[1]= {0x020000000002}")
        self.assertEqual(found[8], "by_port[2]= (60 bytes, 1 packets)")
        self.assertEqual(found[10], "by_port[2]= (6 bytes, 5 packets)")
        self.assertEqual(found[12], "by_port[2]= (0 bytes, 0 packets)")

    def test_meters(self):
        cli("table_add routes forward 10.0.0.0/8 => 0x11 1")
        found = cli("meter_get_rates by_protocol 1", "meter_set_rates by_protocol 1 0:1 0:1", "meter_get_rates by_protocol 1",
                    "meter_array_set_rates by_protocol 0.5:3 2:4", "meter_get_rates by_protocol 7", "meter_set_rates by_protocol 1 0:1 0:1")
        self.assertIn("expected 2 rates but only received 0", found[0])
        self.assertEqual(found[2].splitlines(), ["0: info rate = 0.0, burst size = 1", "1: info rate = 0.0, burst size = 1"])
        self.assertEqual(found[4].splitlines(), ["0: info rate = 0.5, burst size = 3", "1: info rate = 2.0, burst size = 4"])
        # One packet passes, then the buckets are empty for ever; another protocol has its own.
        self.gone(0, ipv4("10.9.9.9", "10.1.2.1"), 1)
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.2"))
        self.assertEqual(self.gone(0, ipv4("10.9.9.9", "10.1.2.3", protocol=6), 1)[33], 3)

        # The same with an entry's own meter.
        found = cli("table_add sources measure 02:00:00:00:00:09 =>", "meter_set_rates by_source 0 0:1 0:1", "meter_get_rates by_source 0",
                    "meter_set_rates by_source 4 0:1 0:1", "table_add hosts send 02:00:00:00:00:01 => 1")
        self.assertIn("info rate = 0.0, burst size = 1", found[2])
        self.assertIn("INVALID_HANDLE", found[3])
        self.gone(0, frame(src="020000000009"), 1)
        self.switch.send(0, frame(src="020000000009"))
        self.assertEqual(self.gone(0, frame(src="020000000008"), 1)[11], 8)

    def test_value_sets(self):
        cli("table_add routes forward 10.0.0.0/8 => 0x11 1")
        standard = client()
        standard.bm_parse_vset_add(0, "TheParser.ip_types", b"\x43\x21")
        standard.bm_parse_vset_add(0, "TheParser.ip_types", b"\0\x43\x21")
        self.assertEqual(cli("pvs_get ip_types"), ["4321"])
        sent = ipv4("10.9.9.9", "10.1.2.3")
        sent = sent[:12] + b"\x43\x21" + sent[14:]
        self.gone(0, sent, 1)
        cli("pvs_clear ip_types")
        self.assertEqual(standard.bm_parse_vset_get(0, "TheParser.ip_types"), [])

    def test_idle_entries(self):
        cli("table_add routes forward 10.0.0.0/8 => 0x11 1", "table_set_timeout routes 0 60000")
        found = self.life()
        self.assertEqual(found[1], 60000)
        wait_until("some time", lambda: self.life()[0] >= 300)
        before = self.life()[0]
        wait_until("a hit", lambda: self.gone(0, ipv4("10.9.9.9", "10.1.2.3"), 1) or self.life()[0] < before)

    def life(self):
        (entry,) = client().bm_mt_get_entries(0, "MyIngress.routes")
        return entry.life.time_since_hit_ms, entry.life.timeout_ms

    def test_ports_are_added_and_removed(self):
        ip("link", "add", "sw9", "type", "veth", "peer", "name", "host9")
        self.addCleanup(ip, "link", "del", "sw9")
        for name in ("sw9", "host9"):
            ip("link", "set", name, "up")
        wait_for_links("sw9")
        cli("table_add hosts send 02:00:00:00:00:01 => 1")
        found = cli("port_add sw9 9", "port_add sw9 10", "show_ports", "port_remove 3", "show_ports", "port_remove 3")
        self.assertEqual(found[0], "")
        self.assertIn("Invalid device manager operation", found[1])
        self.assertIn(["9", "sw9", "UP"], [line.split() for line in found[2].splitlines()])
        self.assertNotIn("sw3", found[4])
        self.assertIn("Invalid device manager operation", found[5])

    def test_the_configuration(self):
        standard = client()
        config = json.loads(standard.bm_get_config())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tables.json")
            cli(f"write_config_to_file {path}")
            self.assertEqual(json.loads(path.read_text()), config)
            self.assertEqual(standard.bm_get_config_md5(), hashlib.md5(path.read_bytes()).digest())
        (profile,) = [p for p in config["pipelines"][0]["action_profiles"] if p["name"] == "MyIngress.paths"]
        self.assertEqual(standard.bm_get_id_from_name(0, BmResourceType.ACTION_PROFILE, "MyIngress.paths"), profile["id"])
        (register,) = [r for r in config["register_arrays"] if r["name"] == "MyIngress.wide"]
        self.assertEqual(standard.bm_get_id_from_name(0, BmResourceType.REGISTER, "MyIngress.wide"), register["id"])
        self.assertEqual(config["calculations"], [{"name": "calc", "id": 0, "algo": "crc16_custom", "input": []}])

    def test_reset(self):
        cli("table_add routes forward 10.0.0.0/8 => 0x11 1", "act_prof_create_member paths send 1", "table_indirect_add spread 1.2.3.4 => 0",
            "register_write last_ttl 1 1", "counter_write by_port 1 1 1", "mc_mgrp_create 1", "table_set_default routes NoAction",
            "meter_set_rates by_protocol 1 0:1 0:1", "reset_state")
        found = cli("table_num_entries routes", "table_num_entries spread", "table_num_entries fixed", "register_read last_ttl 1",
                    "counter_read by_port 1", "mc_dump", "act_prof_dump paths", "table_dump routes", "meter_get_rates by_protocol 1")
        self.assertEqual(found[:4], ["0", "0", "1", "last_ttl[1]= 0"])
        self.assertIn("(0 bytes, 0 packets)", found[4])
        self.assertNotIn("mgrp(", found[5])
        self.assertNotIn("member 0", found[6])
        self.assertIn("MyIngress.drop", found[7])
        self.assertIn("only received 0", found[8])

    def test_clocks(self):
        elapsed, since_epoch = cli("get_time_elapsed", "get_time_since_epoch")
        self.assertLess(int(elapsed), 600e6)
        self.assertLess(abs(int(since_epoch) - time.time() * 1e6), 600e6)

    def test_other_control_planes(self):
        """Entries and groups that `hopwright table` and P4Runtime write are there, and those of Thrift for them."""
        subprocess.run([HOPWRIGHT, "table", "add", "hosts", "hdr.ethernet.dst=0x9 => send(port=2)"], check=True)
        found = cli("table_dump hosts", "table_delete hosts 0", "table_add hosts send 0x8 => 1")
        self.assertIn("Action entry: MyIngress.send - 02", found[0])
        shown = subprocess.run([HOPWRIGHT, "table", "show", "hosts"], check=True, capture_output=True, text=True).stdout
        self.assertIn("send(port=1)", shown)
        self.assertNotIn("send(port=2)", shown)
        subprocess.run([HOPWRIGHT, "table", "delete", "hosts", "--all"], check=True)
        self.assertIn("INVALID_HANDLE", cli(f"table_dump_entry hosts {1 << 24}")[0])

    def test_one_model(self):
        """Groups and sessions of Thrift are those of P4Runtime, which cannot insert them again."""
        cli("mc_mgrp_create 1", "mc_node_create 7 1 2", "mc_node_associate 1 0", "mirroring_add 5 3", "mirroring_add_mc 6 1")
        found = {}
        channel = grpc.insecure_channel("127.0.0.1:9559")
        self.addCleanup(channel.close)
        stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
        request = p4rt.ReadRequest(device_id=1)
        request.entities.add().packet_replication_engine_entry.SetInParent()
        for answer in stub.Read(request, timeout=PATIENCE):
            for entity in answer.entities:
                entry = entity.packet_replication_engine_entry
                kind = entry.WhichOneof("type")
                value = getattr(entry, kind)
                number = value.multicast_group_id if kind == "multicast_group_entry" else value.session_id
                found[kind, number] = [(r.egress_port, r.instance) for r in value.replicas]
        group = [(1, 7), (2, 7)]
        self.assertEqual(found, {("multicast_group_entry", 1): group, ("clone_session_entry", 5): [(3, 0)], ("clone_session_entry", 6): group})

    def test_a_file_of_commands_is_imported(self):
        """`hopwright table import` leaves the switch as the same commands of BMv2's command line do."""
        commands = ["table_add routes forward 10.0.0.0/8 => 02:00:00:00:00:11 1", "table_add routes drop 10.9.0.0/16 =>", "table_delete routes 1",
                    "table_add acl drop 10.0.0.0&&&0xff000000 0->255 0&&&0 7 => 10", "act_prof_create_member paths send 1",
                    "act_prof_create_member paths send 2", "act_prof_create_group paths", "act_prof_add_member_to_group paths 0 0",
                    "act_prof_add_member_to_group paths 1 0", "table_indirect_add_with_group spread 10.1.2.3 => 0",
                    "table_set_default routes forward 0x33 3", "mc_mgrp_create 1", "mc_node_create 7 1 2", "mc_node_associate 1 0",
                    "mirroring_add 5 3", "register_write last_ttl 3 9", "counter_write by_port 2 5 6", "meter_set_rates by_protocol 1 0.5:3 2:4",
                    "table_add hosts flood 02:00:00:00:00:01 => 1"]
        shows = ["table_dump routes", "table_dump acl", "table_dump hosts", "register_read last_ttl", "counter_read by_port 2",
                 "meter_get_rates by_protocol 1", "mirroring_get 5", "mc_dump"]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join([*commands, "table_add hosts send 1 => 600"]))
            file.flush()
            refused = subprocess.run([HOPWRIGHT, "table", "import", file.name], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"{file.name}:{len(commands) + 1}: ", refused.stderr)
            self.assertEqual(cli("table_num_entries routes"), ["0"])
            file.truncate(0)
            file.seek(0)
            file.write("\n".join(["# comment", *commands]))
            file.flush()
            subprocess.run([HOPWRIGHT, "table", "import", file.name], check=True)
        imported, spread = cli(*shows), cli("table_dump spread", "act_prof_dump paths")
        self.assertIn("Index: group(1)", spread[0])
        self.assertIn("Members: [1, 2]", spread[1])
        self.assertIsNotNone(self.gone(0, ipv4("10.9.9.9", "10.1.2.3"), 2))
        cli("reset_state", "mirroring_delete 5", *commands)
        self.assertEqual(imported, cli(*shows))

    def test_calls_that_make_no_sense(self):
        standard, pre = client(), client("no_such_service")
        with self.assertRaises(TApplicationException) as caught:
            pre.bm_get_config()
        self.assertIn("no service `no_such_service`", str(caught.exception))
        with self.assertRaises(TApplicationException):
            standard.bm_mt_get_num_entries(1, "MyIngress.hosts")
        with self.assertRaises(TApplicationException):
            standard.bm_mt_get_num_entries(0, None)
        with self.assertRaises(InvalidTableOperation):
            standard.bm_mt_get_num_entries(0, "no_such_table")
        # A code that is younger than this command line.
        with self.assertRaises(InvalidTableOperation) as caught:
            standard.bm_mt_add_entry(0, "keyless", [], "drop", [], BmAddEntryOptions())
        self.assertEqual(caught.exception.code, 27)
        with self.assertRaises(InvalidRegisterOperation):
            standard.bm_register_write(0, "MyIngress.last_ttl", 2**31 - 1, 0)
        exact = BmMatchParam(type=BmMatchParamType.EXACT, exact=BmMatchParamExact(b"\1"))
        with self.assertRaises(InvalidTableOperation):
            standard.bm_mt_add_entry(0, "hosts", [exact, exact], "send", [b"\1"], BmAddEntryOptions())
        with self.assertRaises(TApplicationException) as caught:
            client("simple_switch", SimpleSwitch).set_egress_queue_rate(0, -1)
        self.assertIn("-1 is no rate", str(caught.exception))
        # The connection is as good as before.
        self.assertEqual(standard.bm_mt_get_num_entries(0, "MyIngress.hosts"), 0)

    def test_many_clients(self):
        """The one that was silent for the longest time makes room."""
        clients = [client() for _ in range(64)]
        for one in clients:
            self.assertEqual(one.bm_mt_get_num_entries(0, "MyIngress.hosts"), 0)
        last = client()
        self.assertEqual(last.bm_mt_get_num_entries(0, "MyIngress.hosts"), 0)
        with self.assertRaises((TTransport.TTransportException, OSError)):
            clients[0].bm_mt_get_num_entries(0, "MyIngress.hosts")
        self.assertEqual(clients[1].bm_mt_get_num_entries(0, "MyIngress.hosts"), 0)

    def test_garbage(self):
        """Bytes that are no messages end the connection, and nothing else."""
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x80\x01\0\x01\x7f\xff\xff\xff", bytes(range(256)), b"\x80\x01\0\x01\0\0\0\x01m\0\0\0\0\x0b\0\x01\x7f\xff\xff\xff"):
            other = client()
            other.transport.write(garbage)
            other.transport.flush()
            try:
                self.assertEqual(other.transport.read(1), b"")
            except (TTransport.TTransportException, OSError):
                pass
        self.assertEqual(client().bm_mt_get_num_entries(0, "MyIngress.hosts"), 0)


def found_hash(source, polynomial=0x8005, initial=0, reflected=True):
    """CRC-16 of an address, as the program computes it."""
    reverse = lambda number, bits: int(f"{number:0{bits}b}"[::-1], 2) if reflected else number
    crc = initial
    for byte in map(int, source.split(".")):
        crc ^= reverse(byte, 8) << 8
        for _ in range(8):
            crc = (crc << 1 ^ polynomial if crc & 0x8000 else crc << 1) & 0xFFFF
    return reverse(crc, 16)


COMMANDS = """
# What the switch starts with.
table_set_default routes drop

//creates a route
table_add routes forward 10.0.0.0/8 => 02:00:00:00:00:11 1
table_add hosts flood 02:00:00:00:00:01 => 1
act_prof_create_member paths send 2
act_prof_create_group paths
act_prof_add_member_to_group paths 0 0
table_indirect_add_with_group spread 10.1.2.9 => 0
mc_mgrp_create 1
mc_node_create 7 2 3
mc_node_associate 1 0
mirroring_add 5 3
register_write last_ttl 1 99
meter_set_rates by_protocol 2 1:1 2:2
pvs_add ip_types 0x4321
set_queue_rate 100000
set_queue_depth 30 2 7
set_queue_rate 10 400
table_dump routes
"""


class CommandFile(unittest.TestCase):
    def run_with(self, text):
        file = self.enterContext(tempfile.NamedTemporaryFile("w", suffix="-commands.txt"))
        file.write(text)
        file.flush()
        return ["--entries", file.name]

    def test_a_file_of_commands(self):
        switch = self.enterContext(ThriftSwitch("tables.p4", *self.run_with(COMMANDS)))
        switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertEqual(switch.receive(1)[:6].hex(), "020000000011")
        switch.send(0, ipv4("10.9.9.9", "10.1.2.9"))
        self.assertIsNotNone(switch.receive(2))
        switch.send(0, frame())
        self.assertEqual(switch.receive(3)[10:12], b"\0\7")
        found = cli("register_read last_ttl 1", "meter_get_rates by_protocol 2", "pvs_get ip_types", "mirroring_get 5", "mc_dump")
        self.assertEqual(found[0], "last_ttl[1]= 99")
        self.assertIn("info rate = 2.0", found[1])
        self.assertEqual(found[2], "4321")
        self.assertIn("port=3", found[3])
        self.assertIn("(L1h=0, rid=7) -> (ports=[2, 3]", found[4])

    def test_mistakes(self):
        for text, message in (
                ("table_add routes forward 10.0.0.0/8 => 1", "commands.txt:1: action `MyIngress.forward` has 2 parameters, not 1"),
                ("\n# x\ntable_add nowhere drop 1 =>", "commands.txt:3: the program has no table `nowhere`"),
                ("table_add routes drop 10.0.0.0/8 =>\ntable_add routes drop 10.0.0.0/8 =>", "commands.txt:2: table `MyIngress.routes` already"),
                ("set_queue_rate 100 2 8", "commands.txt:1: there is no priority 8, only 0 to 7"),
                ("set_queue_depth 5000", "commands.txt:1: a queue has 0 to 4096 packets, not 5000"),
                ("set_queue_rate 100 511", "commands.txt:1: `set_queue_rate`: there is no port 511"),
                ("table_add acl drop 1&&&1 1->2 1&&&1 0 =>", "commands.txt:1: an entry of this table ends in its priority")):
            done = subprocess.run([HOPWRIGHT, "run", str(HERE / "tables.p4"), "-i", "0@lo", *self.run_with(text)], text=True,
                                  capture_output=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest_main()
