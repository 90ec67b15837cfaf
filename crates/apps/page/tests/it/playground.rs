//! Jobs of the playground.

use hopwright_page::playground::{Block, Listing, Request, Worker, run};
use hopwright_page::serve_playground;
use serde_json::{Value, json};

use super::{ACL, exchange, get, request};

fn job(program: &str, entries: &str, packets: &str) -> Value {
    run(
        &Request { program: program.into(), entries: entries.into(), packets: packets.into(), ..Request::default() },
        &[],
    )
}

#[test]
fn errors_have_places_and_carets() {
    let result = job("control c() { apply { x = 1; } }", "", "");
    let first = &result["diagnostics"][0];
    assert_eq!(
        (&first["severity"], &first["place"]["line"], &first["place"]["column"]),
        (&json!("error"), &json!(1), &json!(23))
    );
    assert!(first["text"].as_str().unwrap().contains("^"), "{first}");
    assert_eq!(result["engines"], Value::Null);
}

#[test]
fn no_file_of_the_server_is_read() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "const bit<8> SECRET = 42;").unwrap();
    let path = secret.path().display();
    for include in [
        format!("\"{path}\""),
        format!("<{path}>"),
        "\"/etc/passwd\"".into(),
        "\"../../../etc/passwd\"".into(),
        "\"/proc/self/environ\"".into(),
    ] {
        let result = job(&format!("#include {include}\n{ACL}"), "", "");
        let text = result.to_string();
        assert_eq!(result["diagnostics"][0]["code"], "E0001", "{include}: {}", result["diagnostics"]);
        assert!(!text.contains("SECRET") && !text.contains("root:"), "{text}");
    }
}

#[test]
fn lines_of_entries_and_packets_are_told_apart() {
    let result = job(ACL, "add acl 1 nothing:1 deny()", "1 00");
    assert_eq!((&result["problems"][0]["where"], &result["problems"][0]["line"]), (&json!("entries"), &json!(1)));
    let result = job(ACL, "# nothing", "1 00\n1 zz");
    assert_eq!((&result["problems"][0]["where"], &result["problems"][0]["line"]), (&json!("packets"), &json!(2)));
    // An expectation that fails.
    let result = job(ACL, "", "1 00\nexpect 2 00 $");
    assert_eq!(result["problems"], Value::Null);
    for engine in result["engines"].as_array().unwrap() {
        assert_eq!(
            (&engine["failures"][0]["where"], &engine["failures"][0]["line"]),
            (&json!("packets"), &json!(2)),
            "{engine}"
        );
    }
    let result = job(ACL, "", &"1 00\n".repeat(65));
    assert!(result["problems"][0]["message"].as_str().unwrap().contains("at most 64"), "{result}");
}

#[test]
fn a_trace_without_end_is_cut() {
    let endless = ACL.replace("packet.extract(hdr.udp);\n        transition accept;", "transition udp;");
    let packet = "1 020000000002 020000000001 0800 4500001c 00010000 4011 0000 0a010007 0a0a0a0a 04001388 00080000";
    let result = job(&endless, "", packet);
    assert_eq!(result["packets"][0]["truncated"], true, "{}", result["diagnostics"]);
    assert!(result["packets"][0]["fault"].is_string());
    assert!(result.to_string().len() < 4 << 20);
}

#[test]
fn a_listing_is_made_if_it_is_wanted() {
    fn make(_: &hopwright_ir::Pipeline) -> Result<Vec<Block>, String> {
        Ok(vec![Block { line: Some(3), text: "code".into() }])
    }
    let listings = [Listing { name: "code", make }, Listing { name: "none", make: |_| Err("it cannot".into()) }];
    let with = |listing: &str| {
        run(&Request { program: ACL.into(), listing: listing.into(), ..Request::default() }, &listings)["listing"]
            .clone()
    };
    assert_eq!(with("code"), json!({ "name": "code", "blocks": [{ "line": 3, "text": "code" }] }));
    assert_eq!(with("none"), json!({ "name": "none", "error": "it cannot" }));
    assert_eq!((with(""), with("other")), (Value::Null, Value::Null));
}

#[test]
fn jobs_are_served_a_few_at_a_time() {
    // Jobs end when the file is there.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("end");
    let wait = format!("while ! [ -e {} ]; do sleep 0.05; done; echo '{{\"done\": true}}'", file.display());
    let worker = Worker::new(vec!["/bin/sh".into(), "-c".into(), wait.into()], vec!["code".into()]);
    let worker = Worker { time: super::PATIENCE, ..worker };
    let page = serve_playground("127.0.0.1:0", worker).unwrap();
    let address = page.url().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    assert!(page.secret_url().is_none());
    let about = get(address, "/api/about").json();
    assert_eq!((&about["listings"], about["examples"].as_array().unwrap().len()), (&json!(["code"]), 3));
    let fields = "Host: localhost\r\nContent-Type: application/json\r\n";
    let run = move || request(address, "POST", "/api/run", fields, "{\"program\": \"\"}");
    let (to, statuses) = std::sync::mpsc::channel();
    for _ in 0..4 {
        let to = to.clone();
        std::thread::spawn(move || to.send(run().status));
    }
    // Two of them are done, and wait for the file.
    let next = || statuses.recv_timeout(super::PATIENCE).unwrap();
    assert_eq!([next(), next()], [429, 429]);
    std::fs::write(&file, "").unwrap();
    assert_eq!([next(), next()], [200, 200]);
    // As a form of another site would send it.
    let form = "Host: localhost\r\nContent-Type: text/plain\r\n";
    assert_eq!(request(address, "POST", "/api/run", form, "{\"program\": \"\"}").status, 415);
    assert_eq!(request(address, "POST", "/api/write/entry", fields, "{}").status, 403);
    assert_eq!(
        exchange(address, "POST /api/run HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").status,
        421
    );
}
