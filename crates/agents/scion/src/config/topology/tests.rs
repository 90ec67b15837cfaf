//! Good and bad topologies.

use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn parse(value: &Value) -> Result<Topology, TopologyError> {
    Topology::parse(Path::new("topology.json"), value.to_string().as_bytes())
}

fn good() -> Value {
    json!({
        "isd_as": "1-ff00:0:1", "mtu": 1400, "attributes": [], "dispatched_ports": "31000-32767",
        "timestamp": 168562800, "sigs": {"ignored": 1},
        "border_routers": {
            "brA": {"internal_addr": "192.168.0.11:30001", "ctrl_addr": "x", "interfaces": {
                "141": {"underlay": {"provider": "udpip", "local": "192.168.14.2:50000", "remote": "192.168.14.3:40000"},
                        "isd_as": "1-ff00:0:4", "link_to": "CHILD", "mtu": 1280,
                        "bfd": {"disable": true, "detect_mult": 4, "desired_min_tx_interval": "25ms"}},
                "121": {"underlay": {"local": "[fd00::2]:50000", "remote": "[fd00::3]:40000"},
                        "isd_as": "1-ff00:0:2", "link_to": "peer", "mtu": 1472, "remote_interface_id": 5}}},
            "brB": {"internal_addr": "192.168.0.12:30002", "interfaces": {
                "171": {"isd_as": "2-ff00:0:7", "link_to": "Parent"}}}},
        "control_service": {"cs1": {"addr": "192.168.0.71:20007"}, "cs2": {"addr": "192.168.0.71:20007"}},
        "discovery_service": {"ds1": {"addr": "192.168.0.72:20008"}}
    })
}

#[test]
fn a_good_one() {
    let topology = parse(&good()).unwrap();
    assert_eq!(topology.ia.to_string(), "1-ff00:0:1");
    assert_eq!((topology.core, topology.mtu, topology.dispatched_ports), (false, 1400, Some((31000, 32767))));
    let a = &topology.border_routers["brA"];
    assert_eq!(a.internal.socket, "192.168.0.11:30001".parse().unwrap());
    let child = &a.interfaces[&141];
    assert_eq!(child.relation, Relation::Child);
    assert_eq!(child.neighbour.to_string(), "1-ff00:0:4");
    assert_eq!((child.bfd.disable, child.bfd.detect_mult), (Some(true), 4));
    assert_eq!(child.bfd.desired_min_tx_interval, Duration::from_millis(25));
    let peer = &a.interfaces[&121];
    assert_eq!(peer.underlay.clone().unwrap().remote.socket, "[fd00::3]:40000".parse().unwrap());
    assert_eq!(peer.remote_id, Some(5));
    assert_eq!(topology.border_routers["brB"].interfaces[&171].underlay, None);
    assert_eq!(topology.control_service, ["192.168.0.71:20007".parse().unwrap()]);
    assert_eq!(topology.discovery_service, ["192.168.0.72:20008".parse().unwrap()]);
}

#[test]
fn errors_name_file_and_field() {
    let interface = "/border_routers/brA/interfaces/141";
    let cases: &[(&str, Value, &str, &str)] = &[
        ("/isd_as", json!(1), "isd_as", "string"),
        ("/isd_as", json!("1-0"), "isd_as", "wildcard"),
        ("/isd_as", json!("one"), "isd_as", "ISD-AS"),
        ("/attributes", json!(["core", "cool"]), "attributes[1]", "`cool`"),
        ("/dispatched_ports", json!("9-8"), "dispatched_ports", "beyond"),
        ("/dispatched_ports", json!("0-8"), "dispatched_ports", "`0` is no port"),
        ("/dispatched_ports", json!("1-65536"), "dispatched_ports", "`65536`"),
        ("/dispatched_ports", json!("80"), "dispatched_ports", "no range"),
        ("/border_routers/brA/internal_addr", json!(""), "border_routers.brA.internal_addr", "missing"),
        ("/border_routers/brA/internal_addr", json!("10.0.0.1"), "border_routers.brA.internal_addr", "host and port"),
        ("/border_routers/brA/interfaces", json!([]), "border_routers.brA.interfaces", "map"),
        ("/control_service/cs1/addr", json!("nonsense"), "control_service.cs1.addr", "`nonsense`"),
        (&format!("{interface}/isd_as"), json!("x"), "border_routers.brA.interfaces.141.isd_as", "ISD-AS"),
        ("/mtu", json!(1.5), "mtu", "i64"),
        (&format!("{interface}/isd_as"), json!("0-0"), "border_routers.brA.interfaces.141.isd_as", "no AS"),
        (&format!("{interface}/underlay"), json!([]), "interfaces.141.underlay", "an object"),
        (
            "/border_routers/brA/interfaces/121/remote_interface_id",
            json!(null),
            "remote_interface_id",
            "no interface id",
        ),
        (&format!("{interface}/link_to"), json!("core"), "interfaces.141.link_to", "only a core AS"),
        (&format!("{interface}/link_to"), json!("uncle"), "interfaces.141.link_to", "`uncle`"),
        (&format!("{interface}/mtu"), json!("big"), "interfaces.141.mtu", "string"),
        (&format!("{interface}/bfd/detect_mult"), json!(256), "interfaces.141.bfd.detect_mult", "256"),
        (&format!("{interface}/bfd/desired_min_tx_interval"), json!("x"), "desired_min_tx_interval", "no duration"),
        (&format!("{interface}/underlay/local"), json!("192.168.14.2"), "underlay.local", "address and port"),
        (&format!("{interface}/underlay/local"), json!("localhost:1"), "underlay.local", "address and port"),
        (&format!("{interface}/underlay/local"), json!(""), "underlay.local", "missing"),
    ];
    for (pointer, value, field, what) in cases {
        let mut bad = good();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
        let message = parse(&bad).unwrap_err().to_string();
        assert!(message.starts_with("topology.json: "), "{message}");
        assert!(message.contains(field) && message.contains(what), "{pointer}: {message}");
    }
}

#[test]
fn interfaces_are_unique() {
    let mut twice = good();
    twice["border_routers"]["brB"]["interfaces"]["141"] = json!({"isd_as": "1-ff00:0:9", "link_to": "child"});
    let message = parse(&twice).unwrap_err().to_string();
    assert!(message.contains("brB.interfaces.141") && message.contains("border router brA"), "{message}");

    for id in ["0", "65536", "x", "-1", "+5"] {
        let mut bad = good();
        bad["border_routers"]["brB"]["interfaces"][id] = json!({"isd_as": "1-ff00:0:9", "link_to": "child"});
        let message = parse(&bad).unwrap_err().to_string();
        assert!(message.contains("interface id"), "{message}");
    }
}

/// The reference reads JSON as Go does.
#[test]
fn nulls_and_names_in_any_case() {
    let mut file = good();
    for pointer in ["/mtu", "/attributes", "/dispatched_ports", "/border_routers/brB/interfaces", "/control_service"] {
        *file.pointer_mut(pointer).unwrap() = Value::Null;
    }
    let mut interface = file["border_routers"]["brA"]["interfaces"]["121"].take();
    interface["Link_To"] = interface["link_to"].take();
    interface["remote_interface_id"] = json!("70000");
    interface["mtu"] = json!(-1);
    file["border_routers"]["brA"]["interfaces"]["121"] = interface;
    let topology = parse(&file).unwrap();
    assert_eq!((topology.mtu, topology.core, topology.dispatched_ports), (0, false, None));
    assert!(topology.border_routers["brB"].interfaces.is_empty() && topology.control_service.is_empty());
    let peer = &topology.border_routers["brA"].interfaces[&121];
    assert_eq!((peer.relation, peer.remote_id, peer.mtu), (Relation::Peer, Some(70000), 0));
}

#[test]
fn core_ases_have_no_parent() {
    let mut core = good();
    core["attributes"] = json!(["core", "voting"]);
    let message = parse(&core).unwrap_err().to_string();
    assert!(message.contains("brB.interfaces.171.link_to") && message.contains("no parent"), "{message}");
    core["border_routers"]["brB"]["interfaces"]["171"]["link_to"] = json!("CORE");
    assert!(parse(&core).unwrap().core);
}

#[test]
fn text_that_is_no_json() {
    for text in ["", "{", "[]", "{\"isd_as\": \"1-ff00:0:1\"} x", "\u{0}"] {
        assert!(Topology::parse(Path::new("t"), text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn port_ranges() {
    for (text, range) in [("", None), ("-", None), ("all", Some((1, 65535))), ("5-5", Some((5, 5)))] {
        assert_eq!(port_range(text), Ok(range));
    }
    for text in ["+1-5", "1-", "1-2-3", "a-b"] {
        assert!(port_range(text).is_err(), "{text}");
    }
}
