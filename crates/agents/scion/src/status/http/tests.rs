//! Tests of the servers over real sockets, with a switch that forwards nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::OnceLock;
use std::time::Duration;

use hopwright_dataplane::{EngineKind, SwitchBuilder, VirtualDataPlane};

use hopwright_host::http::Level;

use super::*;
use crate::config::links::Links;
use crate::config::topology::Topology;
use crate::status::ActiveConfig;

const TOPOLOGY: &str = r#"{"isd_as": "1-ff00:0:1", "mtu": 1400, "border_routers": {
    "a": {"internal_addr": "10.0.0.1:30042", "interfaces": {
        "3": {"isd_as": "1-ff00:0:3", "link_to": "PARENT", "mtu": 1280, "bfd": {"detect_mult": 7},
              "underlay": {"local": "10.3.0.1:50000", "remote": "10.3.0.2:50001"}}}},
    "b": {"internal_addr": "10.0.0.2:30042", "interfaces": {
        "9": {"isd_as": "1-ff00:0:9", "link_to": "peer", "mtu": 1500}}}},
    "control_service": {"cs": {"addr": "10.0.0.7:30252"}}}"#;

#[derive(Debug)]
struct Log(Mutex<Level>);

impl LogLevel for Log {
    fn get(&self) -> Level {
        *self.0.lock().unwrap()
    }

    fn set(&self, level: Level) {
        *self.0.lock().unwrap() = level;
    }
}

struct Servers {
    status: SocketAddr,
    api: SocketAddr,
    _server: Server,
}

fn servers() -> Servers {
    static PIPELINE: OnceLock<Arc<hopwright_ir::Pipeline>> = OnceLock::new();
    let pipeline = PIPELINE.get_or_init(|| Arc::new(crate::control::program::compile(true).pipeline.unwrap()));
    let vdp = VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp).unwrap();
    let (switch, _worker) = SwitchBuilder::new(vdp).cpu_port(crate::control::program::CPU_PORT).build().unwrap();
    let topology = Topology::parse("t".as_ref(), TOPOLOGY.as_bytes()).unwrap();
    let links = Links::of(&topology, "a").unwrap();
    let text = "general.id = 'a'\nmetrics.prometheus = '127.0.0.1:0'\napi.addr = 'localhost:0'";
    let config = Config::parse("t".as_ref(), text).unwrap();
    let listeners = Listeners::open(&config, Vec::new()).unwrap();
    let address = |l: &Option<Listener>| l.as_ref().unwrap().local_addr().unwrap();
    let (status, api) = (address(&listeners.status), address(&listeners.api));
    let shown = Status::new(switch.clone(), switch.default_tenant().clone(), ActiveConfig { config, topology, links });
    let _server = listeners.serve(shown, Arc::new(Log(Mutex::new(Level::Info)))).unwrap();
    Servers { status, api, _server }
}

/// Sends bytes, and returns everything received until the server closes the connection.
fn exchange(to: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn ask(to: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: r\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    let answer = exchange(to, request.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0), body.to_string())
}

#[test]
fn pages_are_where_the_reference_has_them() {
    let servers = servers();
    for (to, path, wanted) in [
        (servers.status, "/", "<a href=\"log/level\">"),
        (servers.status, "/info", "  pid:           "),
        (servers.status, "/config", "id = \"a\""),
        (servers.status, "/topology", "\"LinkType\": \"parent\""),
        (servers.status, "/metrics", "router_input_pkts_total{interface=\"sibling->10.0.0.2:30042\""),
        (servers.api, "/", "openapi.json"),
        (servers.api, "/openapi.json", "\"/interfaces\""),
        (servers.api, "/api/v1/info", "euid/egid:"),
        (servers.api, "/api/v1/config", "[router.bfd]"),
        (servers.api, "/api/v1/interfaces", "\"detection_multiplier\": 7"),
        (servers.api, "/api/v1/log/level", "{\"level\":\"info\"}\n"),
    ] {
        let (status, body) = ask(to, "GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        assert!(body.contains(wanted), "{path}: {body}");
    }
    for (to, path, status) in [(servers.status, "/nothing", 404), (servers.api, "/api/v1/nothing", 404)] {
        assert_eq!(ask(to, "GET", path, "").0, status, "{path}");
    }
    assert_eq!(ask(servers.api, "DELETE", "/api/v1/info", "").0, 405);
}

#[test]
fn the_log_level_changes() {
    let servers = servers();
    let (path, api) = ("/log/level", "/api/v1/log/level");
    assert_eq!(ask(servers.status, "PUT", path, "{\"level\":\"debug\"}"), (200, "{\"level\":\"debug\"}\n".into()));
    assert_eq!(ask(servers.api, "GET", api, ""), (200, "{\"level\":\"debug\"}\n".into()));
    for bad in ["", "{}", "{\"level\":7}", "{\"level\":\"loud\"}", "level=info", "\u{7f}"] {
        let (status, body) = ask(servers.api, "PUT", api, bad);
        assert_eq!(status, 400, "{bad:?}");
        assert!(body.starts_with("{\"error\":\""), "{body}");
    }
    assert_eq!(ask(servers.status, "POST", path, "{}").0, 405);
    assert_eq!(ask(servers.api, "GET", api, "").1, "{\"level\":\"debug\"}\n");
    assert_eq!(ask(servers.api, "PUT", api, &" ".repeat(1 << 20)).0, 413);
}

#[test]
fn an_address_that_cannot_be_had() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config = Config::parse("t".as_ref(), &format!("general.id = 'a'\napi.addr = '{address}'")).unwrap();
    let message = Listeners::open(&config, Vec::new()).unwrap_err().to_string();
    assert!(message.starts_with(&format!("api.addr = \"{address}\": ")), "{message}");
}
