//! The API of a switch's page.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use super::{ACL, PATIENCE, Shown, udp, wait_for};

/// Packets that keep coming at the first port, until this is dropped.
struct Sending {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sending {
    fn new(shown: &Shown, packets: [Vec<u8>; 2]) -> Sending {
        let wire = shown.wires[0].clone();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
                packets.iter().for_each(|packet| wire.send(packet.clone()));
            }
        });
        Sending { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.stop.take();
        // A thread that panicked has said so; the test may be failing already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn entries_are_searched_paged_and_changed() {
    let shown = Shown::new(ACL, true);
    let tenant = shown.tenant();
    let about = shown.get("/api/about").json();
    assert_eq!(about["tenants"][0]["writable"], true);
    let tables = shown.get(&format!("/api/tables?tenant={tenant}")).json();
    assert_eq!((&tables[0]["name"], &tables[0]["priority"]), (&json!("AclIngress.acl"), &json!(true)));
    assert_eq!(
        tables[0]["keys"][1],
        json!({ "name": "hdr.udp.dst_port", "match": "range", "width": 16, "optional": true })
    );
    assert!(tables[0]["constraints"][0].as_str().unwrap().contains("src::mask"), "{tables}");
    for number in 1..=60 {
        let entry =
            format!("src=10.0.{number}.0/24 dst_port=2000..3000 priority={number} => permit(port={})", number % 4);
        let done = shown.write("insert", &entry);
        assert_eq!(done.status, 200, "{done:?}");
    }
    let page = |query: &str| shown.get(&format!("/api/table?tenant={tenant}&table=acl&{query}")).json();
    let first = page("count=7&from=56");
    assert_eq!((&first["total"], &first["accepted"]), (&json!(60), &json!(60)));
    assert_eq!(first["entries"].as_array().unwrap().len(), 4);
    let found = page("search=10.0.17.0%2F24+PERMIT");
    assert_eq!((&found["accepted"], &found["entries"][0]["action"]), (&json!(1), &json!("permit(port=1)")));
    let keys = json!({ "hdr.ipv4.src": "10.0.17.0/24", "hdr.udp.dst_port": "2000..3000" });
    assert_eq!((&found["entries"][0]["keys"], &found["entries"][0]["priority"]), (&keys, &json!(17)));
    assert_eq!(shown.write("modify", "src=10.0.17.0/24 dst_port=2000..3000 priority=17 => deny()").status, 200);
    assert_eq!(page("search=10.0.17.0")["entries"][0]["action"], "deny()");
    assert_eq!(shown.write("delete", "src=10.0.17.0/24 dst_port=2000..3000 priority=17").status, 200);
    assert_eq!(page("search=10.0.17.0")["accepted"], 0);
    assert_eq!(
        (shown.write("default", "permit(port=2)").status, &page("")["default"]),
        (200, &json!("permit(port=2)"))
    );
    assert_eq!((shown.write("default", "").status, &page("")["default"]), (200, &json!("deny()")));
}

#[test]
fn what_the_control_model_refuses_changes_nothing_and_says_why() {
    let shown = Shown::new(ACL, true);
    for (operation, entry, why) in [
        ("insert", "src=* dst_port=53 priority=1 => permit(port=2)", "restriction"),
        ("insert", "dst_port=5000 priority=1 => permit(port=512)", "does not fit 9 bits"),
        ("insert", "dst_port=5000 => permit(port=2)", "need priority"),
        ("insert", "dst_port=5000 priority=1", "the action is missing"),
        ("insert", "dst_prot=5000 priority=1 => deny()", "did you mean `dst_port`"),
        ("insert", "<img src=x onerror=alert(1)> priority=1 => deny()", "<img"),
        ("modify", "dst_port=5000 priority=1 => deny()", "no entry"),
        ("delete", "dst_port=5000 priority=1", "no entry"),
        ("default", "allow()", "no action of `acl`"),
    ] {
        let answer = shown.write(operation, entry);
        let error = answer.json()["error"].as_str().unwrap().to_string();
        assert!(answer.status == 400 && error.contains(why), "{entry}: {answer:?}");
    }
    assert_eq!(shown.get(&format!("/api/table?tenant={}&table=acl", shown.tenant())).json()["total"], 0);
    let unknown = shown.write("destroy", "");
    assert!(unknown.status == 400 && unknown.body.contains("unknown variant"), "{unknown:?}");
}

#[test]
fn counts_move_and_nodes_are_counted_while_somebody_looks() {
    let shown = Shown::new(ACL, true);
    assert_eq!(shown.write("insert", "src=10.0.0.0/8 dst_port=5000 priority=1 => permit(port=2)").status, 200);
    let live = format!("/api/live?tenant={}", shown.tenant());
    let program = shown.get(&format!("/api/program?tenant={}", shown.tenant())).json();
    let nodes = program["graphs"].as_array().unwrap().iter().flat_map(|g| g["nodes"].as_array().unwrap());
    let lines: Vec<&str> = nodes.map(|node| node["lines"][0].as_str().unwrap()).collect();
    let (udp_state, table) =
        (lines.iter().position(|l| *l == "udp").unwrap(), lines.iter().position(|l| *l == "AclIngress.acl").unwrap());
    assert!(program["files"].as_array().unwrap().iter().any(|file| file["name"] == "shown.p4" && file["text"] == ACL));
    // Every second packet is UDP.
    let _sending = Sending::new(&shown, [udp([10, 0, 0, 1], 5000), vec![0; 60]]);
    assert_eq!(shown.wires[1].wait(PATIENCE), Some(udp([10, 0, 0, 1], 5000)));
    let first = wait_for(shown.address(), &live, |live| live["tenant"]["tx_packets"].as_u64() > Some(0));
    wait_for(shown.address(), &live, |live| {
        live["tenant"]["tx_packets"].as_u64() > first["tenant"]["tx_packets"].as_u64()
    });
    let counted =
        wait_for(shown.address(), &format!("{live}&nodes=1"), |live| live["nodes"]["packets"].as_f64() > Some(40.0));
    for node in [udp_state, table] {
        let share = counted["nodes"]["shares"][node].as_f64().unwrap();
        assert!((0.3..0.7).contains(&share), "{}: {share}", lines[node]);
    }
    assert_eq!(counted["nodes"]["shares"][0], 1.0);
    assert!(counted["tenant"]["drops"]["by the program"].as_u64() > Some(0));
    let ports = counted["ports"].as_array().unwrap();
    assert!(
        ports[0]["rx_packets"].as_u64() >= ports[1]["tx_packets"].as_u64() && ports[1]["name"] == "wire-2",
        "{ports:?}"
    );
    // The entry's counter.
    let page = shown.get(&format!("/api/table?tenant={}&table=acl", shown.tenant())).json();
    assert!(page["entries"][0]["counter"]["packets"].as_i64() > Some(0), "{page}");
}

#[test]
fn a_packet_that_matches_is_followed_step_by_step() {
    let shown = Shown::new(ACL, true);
    assert_eq!(shown.write("insert", "src=10.0.0.0/8 dst_port=5000 priority=1 => permit(port=2)").status, 200);
    let sending = Sending::new(&shown, [udp([192, 168, 0, 1], 7), udp([10, 9, 8, 7], 5000)]);
    let path =
        format!("/api/trace?tenant={}&where=ipv4.src%3D10.0.0.0%2F8&port=1&packets=2&seconds=20", shown.tenant());
    let answer = wait_for(shown.address(), &path, |answer| answer["packets"].as_array().unwrap().len() == 2);
    let packet = &answer["packets"][0];
    assert_eq!((&packet["port"], &packet["sent"][0]["port"], &packet["otherwise"]), (&json!(1), &json!(2), &json!("")));
    let events = packet["passes"][0]["events"].as_array().unwrap();
    let hit = events.iter().find(|event| event["event"] == "table").unwrap();
    assert_eq!(
        (&hit["keys"][0]["value"], &hit["action"], &hit["hit"]),
        (&json!("10.9.8.7"), &json!("AclIngress.permit"), &json!(true))
    );
    let line = hit["line"].as_u64().unwrap() as usize;
    assert_eq!(ACL.lines().nth(line - 1).unwrap().trim(), "acl.apply();");
    drop(sending);
    for (query, why) in [
        ("where=ipv4.scr%3D1", "no header field"),
        ("where=ipv4.src", "expected FIELD=VALUE"),
        ("packets=x", "expected a number"),
        ("port=-1", "expected a number"),
    ] {
        let refused = shown.get(&format!("/api/trace?tenant={}&seconds=1&{query}", shown.tenant()));
        assert!(refused.status == 400 && refused.body.contains(why), "{query}: {refused:?}");
    }
    let none = shown.get(&format!("/api/trace?tenant={}&seconds=0", shown.tenant())).json();
    assert_eq!(none["packets"], json!([]));
}

#[test]
fn the_state_of_a_router_is_that_of_its_agent() {
    let state = json!({ "isd_as": "1-ff00:0:110", "links": [{ "name": "<script>alert(1)</script>", "state": "up" }] });
    let router = Shown::with_state(ACL, false, Some(state.clone()));
    assert_eq!(router.get("/api/about").json()["router"], true);
    let answer = router.get("/api/state");
    assert_eq!((answer.status, answer.json()), (200, state));
    assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
    let switch = Shown::new(ACL, false);
    assert_eq!(
        (switch.get("/api/about").json()["router"].clone(), switch.get("/api/state").status),
        (json!(false), 404)
    );
}

#[test]
fn what_there_is_not_is_not_found() {
    let shown = Shown::new(ACL, false);
    for path in [
        "/api/live?tenant=nobody",
        "/api/tables?tenant=%3Cscript%3E",
        "/api/nothing",
        "/../../etc/passwd",
        "/page.css/",
        "/api/write/entry/x",
    ] {
        assert_eq!(shown.get(path).status, 404, "{path}");
    }
    assert_eq!(shown.get(&format!("/api/table?tenant={}&table=nothing", shown.tenant())).status, 400);
}
