//! Integration tests of `hopwright-page`, in one program.

mod attacks;
mod playground;
mod switch;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_dataplane::memory::{MemoryPort, Wire};
use hopwright_dataplane::{EngineKind, Switch, SwitchBuilder, Tenant};
use hopwright_driver::compile_text;
use hopwright_p4runtime::{Device, EnginePolicy, Program};
use hopwright_page::{Page, Watched, serve_switch};
use serde_json::Value;

/// Longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program with an access list that has an `@entry_restriction` and counters.
const ACL: &str = include_str!("../../assets/examples/acl.p4");

/// What a server answered.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Sends a request and reads everything that comes back.
fn exchange(to: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_string() }
}

/// A request with these header fields, each ending a line.
fn request(to: SocketAddr, method: &str, path: &str, fields: &str, body: &str) -> Answer {
    let length = body.len();
    exchange(
        to,
        &format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{fields}\r\n{body}"),
    )
}

fn get(to: SocketAddr, path: &str) -> Answer {
    request(to, "GET", path, "Host: localhost\r\n", "")
}

/// Waits until a request yields what is wanted.
fn wait_for(to: SocketAddr, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let found = get(to, path).json();
        if wanted(&found) {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A switch with a page. It stops when this is dropped.
struct Shown {
    page: Page,
    switch: Arc<Switch>,
    /// Ports 1, 2 and 3.
    wires: Vec<Wire>,
    worker: Option<std::thread::JoinHandle<()>>,
}

/// A switch with a device, and what its agent says of itself.
struct One(Arc<Switch>, Arc<Device>, Option<Value>);

impl Watched for One {
    fn switch(&self) -> Arc<Switch> {
        self.0.clone()
    }

    fn tenants(&self) -> Vec<(Arc<Tenant>, Option<Arc<Device>>)> {
        vec![(self.0.default_tenant().clone(), Some(self.1.clone()))]
    }

    fn state(&self) -> Option<Value> {
        self.2.clone()
    }
}

impl Shown {
    fn new(program: &str, writable: bool) -> Shown {
        Shown::with_state(program, writable, None)
    }

    fn with_state(program: &str, writable: bool, state: Option<Value>) -> Shown {
        let compiled = compile_text("shown.p4", program, &Default::default(), true);
        let program = Program::from_compiled(&compiled, program.as_bytes().to_vec().into()).unwrap();
        let vdp = program.data_plane(EnginePolicy::Auto).unwrap();
        assert_eq!(vdp.engine_kind(), EngineKind::Jit);
        let mut builder = SwitchBuilder::new(vdp).cpu_port(510);
        let mut wires = Vec::new();
        for number in 1..=3 {
            let (port, wire) = MemoryPort::new(format!("wire-{number}"));
            builder = builder.port(number, Box::new(port));
            wires.push(wire);
        }
        let (switch, mut worker) = builder.build().unwrap();
        let device = Device::new(1, switch.default_tenant().clone(), EnginePolicy::Auto).with_program(program);
        let worker = std::thread::spawn(move || worker.run());
        let page =
            serve_switch("127.0.0.1:0", writable, Arc::new(One(switch.clone(), Arc::new(device), state))).unwrap();
        Shown { page, switch, wires, worker: Some(worker) }
    }

    fn address(&self) -> SocketAddr {
        self.page.url().trim_start_matches("http://").trim_end_matches('/').parse().unwrap()
    }

    fn get(&self, path: &str) -> Answer {
        get(self.address(), path)
    }

    /// Writes an entry with the page's token.
    fn write(&self, operation: &str, entry: &str) -> Answer {
        let secret = self.page.secret_url().unwrap();
        let token = secret.rsplit_once("#token=").unwrap().1.to_string();
        let body = serde_json::json!({ "tenant": self.tenant(), "table": "acl", "program": 1, "operation": operation, "entry": entry });
        let fields = format!("Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n");
        // The number of the program is made when it is first looked at.
        self.get(&format!("/api/live?tenant={}", self.tenant()));
        request(self.address(), "POST", "/api/write/entry", &fields, &body.to_string())
    }

    fn tenant(&self) -> String {
        self.switch.default_tenant().name().to_string()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.switch.stop();
        self.worker.take().map(std::thread::JoinHandle::join);
    }
}

/// A UDP packet from an address to a port.
fn udp(source: [u8; 4], port: u16) -> Vec<u8> {
    let ethernet = [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &[8, 0]].concat();
    let ip = [&[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0][..], &source, &[10, 10, 10, 10]].concat();
    [&ethernet[..], &ip, &[4, 0], &port.to_be_bytes(), &[0, 8, 0, 0], &[0; 18]].concat()
}
