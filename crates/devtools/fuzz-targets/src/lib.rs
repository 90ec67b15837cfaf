//! Fuzz targets: one function for each kind of untrusted bytes. The fuzzers in `fuzz/` call them with inputs that they make, and a
//! test of this crate with the corpora. A function panics exactly if it found a bug.

use std::path::Path;

use hopwright_driver::compile_text;
use hopwright_scion::config::Config;
use hopwright_scion::config::links::Links;
use hopwright_scion::config::topology::Topology;
use hopwright_syntax::{Options, render};

mod bfd;
mod netlink;
mod packets;
mod reload;
mod repair;
mod slow_path;

pub use bfd::{Outcome as BfdOutcome, bfd};
pub use hopwright_bfruntime::fuzz::Controller as BfRuntimeController;
pub use hopwright_lsp::fuzz::edits as lsp_edits;
pub use hopwright_openflow::fuzz::Controllers;
pub use hopwright_rina::fuzz::management as rina_management;
pub use hopwright_switch::fuzz::{Configs, Outcome as ConfigOutcome};
pub use hopwright_telemetry::agentx::fuzz::unit as agentx;
pub use hopwright_telemetry::gnmi::fuzz::request as gnmi;
pub use hopwright_thrift::fuzz::Client as ThriftClient;
pub use netlink::netlink;
pub use packets::{IPV6_INSIDE, Outcome, PORTS, Routers, encode};
pub use reload::Reloads;
pub use repair::{LENGTHS, SIGNATURES};
pub use slow_path::{AUTHENTICATE, encode_punted, slow_path};

/// Any bytes are a P4 program: it compiles, or there are diagnostics that can be printed.
pub fn p4_source(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let options = Options { no_disk: true, ..Options::default() };
    let compiled = compile_text("fuzz.p4", text, &options, true);
    assert!(compiled.pipeline.is_some() || compiled.diagnostics.has_errors(), "refused without a reason");
    let _ = render::render(&compiled.diagnostics, &compiled.sources, false);
    let _ = render::to_json(&compiled.diagnostics, &compiled.sources);
    for diagnostic in compiled.diagnostics.iter() {
        assert_ne!(diagnostic.code, "E0900", "the compiler built a wrong pipeline: {}", diagnostic.message);
    }
}

/// Any bytes are BMv2's JSON: it is read as a sound pipeline, or the error has a place and a reason.
pub fn bmv2_json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = hopwright_bmv2::read(text, "fuzz", true) {
        assert!(!error.path.is_empty() && !error.message.is_empty(), "{error:?}");
        assert!(!error.message.contains("makes no sound pipeline"), "the reader built a wrong pipeline: {error}");
    }
}

/// Any text is formatted with the same tokens, or refused with a place in it.
pub fn format(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match hopwright_fmt::format(text) {
        Ok(formatted) => assert!(hopwright_fmt::format(&formatted).is_ok()),
        Err(hopwright_fmt::Error::Lex(diagnostic)) => {
            assert!(diagnostic.span().is_some_and(|span| span.end as usize <= text.len()))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Any bytes are a STUN message: a binding request that is answered has the length that it says, a transaction id, and an
/// answer that is hardly longer.
pub fn stun(data: &[u8]) {
    let Some(id) = hopwright_scion::stun::parse_request(data) else { return };
    assert_eq!((&data[8..20], usize::from(u16::from_be_bytes([data[2], data[3]]))), (&id[..], data.len() - 20));
    let answer = hopwright_scion::stun::response(&id, std::net::SocketAddr::from(([0xfd00; 8], 30042)));
    assert!(answer.len() <= data.len() + 16 && hopwright_scion::stun::parse_request(&answer).is_none());
}

/// Any bytes are a message between a process and the one that takes over from it, or refused: a message is encoded as one that is read
/// as the same, and no longer.
pub fn hand_over(data: &[u8]) {
    use hopwright_agent::hand_over::message::Message;
    let Ok(message) = Message::decode(data) else { return };
    let encoded = message.encode();
    assert!(encoded.len() <= data.len());
    assert_eq!(Message::decode(&encoded), Ok(message));
}

/// Any bytes are a pipeline's text form: the error says where it is not, or it can be verified, and one that is sound prints
/// as it is read.
pub fn pipeline_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match hopwright_ir::text::parse(text) {
        Ok(pipeline) => {
            if hopwright_ir::verify::verify(&pipeline).is_ok() {
                let printed = pipeline.to_string();
                let again = hopwright_ir::text::parse(&printed).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(again.to_string(), printed);
            }
        }
        Err(error) => assert!(error.line > 0 && error.column > 0 && !error.message.is_empty()),
    }
}

/// Any bytes are a topology: it is accepted, or the error says why; of accepted ones each router has links, or the
/// error says why not.
pub fn topology(data: &[u8]) {
    match Topology::parse(Path::new("topology.json"), data) {
        Ok(topology) => {
            let routers = topology.border_routers.keys().map(String::as_str);
            for id in routers.chain(["no such router"]) {
                if let Err(error) = Links::of(&topology, id) {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        Err(error) => assert!(error.to_string().starts_with("topology.json"), "{error}"),
    }
}

/// Any text is a router configuration: it is accepted, or the error says why.
pub fn router_config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = Config::parse(Path::new("router.toml"), text) {
        assert!(error.to_string().starts_with("router.toml"), "{error}");
    }
    if let Err(error) = Config::default().add_hopwright(Path::new("hopwright.toml"), text) {
        assert!(error.to_string().starts_with("hopwright.toml"), "{error}");
    }
}

/// Any text is a packet test: it is accepted, or the errors name file and line.
pub fn stf(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(errors) = hopwright_stf::parse("fuzz.stf", text) {
        assert!(!errors.is_empty());
        for error in errors {
            assert!(error.to_string().starts_with("fuzz.stf:"), "{error}");
        }
    }
}

/// A fuzzer of files of switches, all of whose tenants run a small program.
pub fn switch_configs() -> Configs {
    const PROGRAM: &str = include_str!("../../../../examples/l2.p4");
    let compiled = compile_text("l2.p4", PROGRAM, &Options::default(), true);
    const KINDS: hopwright_agent::Kinds = &[hopwright_openflow::KIND, hopwright_scion::KIND];
    Configs::new(compiled.pipeline.expect("the program compiles"), KINDS)
}

/// A fuzzer of requests by BfRuntime, with a Tofino program that has tables of all kinds.
pub fn bfruntime_controller() -> BfRuntimeController {
    BfRuntimeController::new(include_str!("../../../../tests/bfruntime/router.p4"))
}

/// A fuzzer of calls by Thrift, with a program that has objects of all kinds.
pub fn thrift_client() -> ThriftClient {
    const PROGRAM: &str = include_str!("../../../../tests/thrift/tables.p4");
    let compiled = compile_text("tables.p4", PROGRAM, &Options::default(), true);
    ThriftClient::new(compiled.pipeline.expect("the program compiles").into())
}
