//! What other sites and others on the network may try.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{ACL, Answer, Shown, get, request, udp};

const JSON: &str = "Content-Type: application/json\r\n";

fn entry(shown: &Shown, program: u64) -> String {
    serde_json::json!({ "tenant": shown.tenant(), "table": "acl", "program": program, "operation": "insert",
                        "entry": "dst_port=5000 priority=1 => deny()" })
    .to_string()
}

fn token(shown: &Shown) -> String {
    let secret = shown.page.secret_url().unwrap();
    format!("Authorization: Bearer {}\r\n", secret.rsplit_once("#token=").unwrap().1)
}

fn post(shown: &Shown, fields: &str) -> Answer {
    request(shown.address(), "POST", "/api/write/entry", fields, &entry(shown, 1))
}

#[test]
fn a_site_whose_name_leads_here_gets_nothing() {
    let shown = Shown::new(ACL, true);
    for path in ["/", "/switch.js", "/api/about", "/api/live", "/api/trace?seconds=1"] {
        let answer = request(shown.address(), "GET", path, "Host: evil.example\r\n", "");
        assert_eq!(answer.status, 421, "{path}");
    }
    let fields = format!("Host: evil.example\r\nOrigin: http://evil.example\r\n{JSON}{}", token(&shown));
    assert_eq!(post(&shown, &fields).status, 421);
}

#[test]
fn another_site_can_neither_read_nor_write() {
    let shown = Shown::new(ACL, true);
    let host = format!("Host: {}\r\n", shown.address());
    let token = token(&shown);
    let foreign = |field: &str| format!("{host}{field}\r\n{JSON}{token}");
    for field in
        ["Origin: http://evil.example", "Origin: null", "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: cross-site"]
    {
        assert_eq!(post(&shown, &foreign(field)).status, 403, "{field}");
        assert_eq!(request(shown.address(), "GET", "/api/about", &foreign(field), "").status, 403, "{field}");
    }
    // Nothing that a browser sends without a preflight is JSON; and preflights are refused.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        assert_eq!(post(&shown, &format!("{host}Content-Type: {kind}\r\n{token}")).status, 415, "{kind}");
    }
    let preflight = format!("{host}Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n");
    let answer = request(shown.address(), "OPTIONS", "/api/write/entry", &preflight, "");
    assert!(answer.status == 403 && !answer.head.contains("access-control"), "{answer:?}");
    // The same request of the page itself.
    get(shown.address(), &format!("/api/live?tenant={}", shown.tenant()));
    let own =
        format!("Host: {0}\r\nOrigin: http://{0}\r\nSec-Fetch-Site: same-origin\r\n{JSON}{token}", shown.address());
    assert_eq!(post(&shown, &own).status, 200);
}

#[test]
fn nothing_is_written_without_the_token() {
    let shown = Shown::new(ACL, true);
    let own = format!("Host: {}\r\n{JSON}", shown.address());
    let guess = token(&shown).replace(['0', '1', '2', '3'], "f");
    for field in ["", "Authorization: Bearer \r\n", &guess, "Cookie: token=x\r\n"] {
        assert_eq!(post(&shown, &format!("{own}{field}")).status, 401, "{field}");
    }
    let read_only = Shown::new(ACL, false);
    assert!(read_only.page.secret_url().is_none());
    let answer = post(&read_only, &format!("{own}{}", token(&shown)));
    assert!(answer.status == 403 && answer.body.contains("--http-write"), "{answer:?}");
    for shown in [&shown, &read_only] {
        let page = get(shown.address(), &format!("/api/table?tenant={}&table=acl", shown.tenant())).json();
        assert_eq!(page["total"], 0);
    }
}

#[test]
fn a_write_for_another_program_is_refused() {
    let shown = Shown::new(ACL, true);
    let fields = format!("Host: {}\r\n{JSON}{}", shown.address(), token(&shown));
    let answer = request(shown.address(), "POST", "/api/write/entry", &fields, &entry(&shown, 7));
    assert!(answer.status == 409 && answer.body.contains("another program"), "{answer:?}");
}

#[test]
fn every_response_forbids_scripts_of_others() {
    let shown = Shown::new(ACL, true);
    let refused = request(shown.address(), "GET", "/", "Host: evil.example\r\n", "");
    for answer in
        [get(shown.address(), "/"), get(shown.address(), "/api/about"), get(shown.address(), "/nothing"), refused]
    {
        for field in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(answer.head.contains(field), "{field}: {}", answer.head);
        }
        assert!(!answer.head.contains("unsafe") && !answer.head.contains("access-control"));
    }
}

#[test]
fn names_with_markup_are_only_ever_json() {
    let evil = "<img src=x onerror=alert(1)>";
    let shown = Shown::new(&ACL.replace("table acl {", &format!("@name(\"{evil}\") table acl {{")), true);
    for path in ["program", "tables"] {
        let answer = get(shown.address(), &format!("/api/{path}?tenant={}", shown.tenant()));
        assert!(answer.body.contains(evil), "{answer:?}");
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    }
    let answer = get(shown.address(), "/api/live?tenant=%3Cimg%3E");
    assert!(answer.status == 404 && answer.head.contains("content-type: application/json"), "{answer:?}");
}

#[test]
fn bodies_and_connections_are_bounded() {
    let shown = Shown::new(ACL, true);
    let fields = format!("Host: {}\r\n{JSON}{}", shown.address(), token(&shown));
    let answer = request(shown.address(), "POST", "/api/write/entry", &fields, &"x".repeat(1 << 20));
    assert_eq!(answer.status, 413);
    let long = serde_json::json!({ "tenant": shown.tenant(), "table": "acl", "program": 1, "operation": "insert", "entry": "x".repeat(20_000) });
    get(shown.address(), &format!("/api/live?tenant={}", shown.tenant()));
    let answer = request(shown.address(), "POST", "/api/write/entry", &fields, &long.to_string());
    assert!(answer.status == 400 && answer.body.contains("at most"), "{answer:?}");
    // Clients that send nothing do not keep others out.
    let idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(shown.address()).unwrap()).collect();
    assert_eq!(get(shown.address(), "/api/about").status, 200);
    drop(idle);
    let mut slow = TcpStream::connect(shown.address()).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
    let mut rest = Vec::new();
    // The server ends it.
    let _ = slow.read_to_end(&mut rest);
}

#[test]
fn many_traces_leave_the_switch_alone() {
    let shown = Shown::new(ACL, true);
    assert_eq!(shown.write("insert", "src=10.0.0.0/8 dst_port=5000 priority=1 => permit(port=2)").status, 200);
    let path = format!("/api/trace?tenant={}&seconds=20", shown.tenant());
    let (to, statuses) = std::sync::mpsc::channel();
    for _ in 0..6 {
        let (to, path, address) = (to.clone(), path.clone(), shown.address());
        std::thread::spawn(move || to.send(get(address, &path).status));
    }
    // Two of them wait for packets.
    let next = || statuses.recv_timeout(super::PATIENCE).unwrap();
    assert_eq!([next(), next(), next(), next()], [429; 4]);
    shown.wires[0].send(udp([10, 0, 0, 1], 5000));
    assert!(shown.wires[1].wait(super::PATIENCE).is_some());
    assert_eq!([next(), next()], [200, 200]);
}
