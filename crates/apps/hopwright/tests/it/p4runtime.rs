//! P4Runtime.

use hopwright::MemoryPort;
use hopwright::p4runtime::proto::v1::CapabilitiesRequest;
use hopwright::p4runtime::proto::v1::p4_runtime_client::P4RuntimeClient;
use tonic::transport::Endpoint;

use crate::L2;

#[test]
fn programs_have_their_p4info() {
    let program = hopwright::compile(L2).unwrap();
    let info = program.p4info().unwrap();
    let names: Vec<&str> = info.tables.iter().filter_map(|t| Some(t.preamble.as_ref()?.name.as_str())).collect();
    assert_eq!(names, ["Forwarding.l2"]);
    assert!(program.p4info_text().unwrap().contains("Forwarding.sent"));
}

#[test]
fn a_controller_connects() {
    let (one, _wire) = MemoryPort::new("one");
    let switch =
        hopwright::compile(L2).unwrap().switch().port(1, one).p4runtime("127.0.0.1:0".parse().unwrap()).run().unwrap();
    let address = switch.p4runtime_address().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let version = runtime.block_on(async {
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        let mut client = P4RuntimeClient::new(channel);
        client.capabilities(CapabilitiesRequest::default()).await.unwrap().into_inner().p4runtime_api_version
    });
    assert!(version.starts_with("1."), "{version}");
}
