//! Flows of a DIF that encrypts, over relays that listen.

use super::*;

/// Hosts at two leaves in a DIF that encrypts or does not.
fn encrypting(encryption: bool) -> Network {
    let mut network = Network::leaf_spine(2);
    for node in &mut network.nodes {
        *node = Ipcp::new(Settings { encryption, ..node.settings().clone() }, 1_000_000);
    }
    network.run(Duration::from_secs(4));
    network
}

#[test]
fn relays_cannot_read_encrypted_flows() {
    let secret = [0xa5; 64];
    for encryption in [false, true] {
        for cube in ["reliable", "unreliable"] {
            let mut network = encrypting(encryption);
            let (id, other) = network.flow(4, 5, cube);
            network.overheard.clear();
            for (from, to) in [((4, id), (5, other)), ((5, other), (4, id))] {
                for _ in 0..20 {
                    network.nodes[from.0].write(from.1, &secret);
                    network.run(STEP);
                    assert_eq!(network.nodes[to.0].read(to.1).as_deref(), Some(&secret[..]), "{cube}");
                }
            }
            let readable = network.overheard.iter().any(|pdu| pdu.windows(16).any(|part| part == [0xa5; 16]));
            assert_eq!(readable, !encryption, "{cube}");
            // Of the PDUs to the second host, one that somebody has changed.
            let to = network.nodes[5].address();
            let is_data = |pdu: &&Vec<u8>| Syntax::Checksum.parse(pdu).is_ok_and(|(header, _)| header.dst == to);
            let mut changed = network.overheard.iter().find(is_data).unwrap().clone();
            *changed.last_mut().unwrap() ^= 1;
            let discarded = network.nodes[5].counts().discarded;
            network.nodes[5].receive(0, [3; 6], &changed, network.now);
            assert_eq!(network.nodes[5].counts().discarded - discarded, u64::from(encryption), "{cube}");
        }
    }
}

#[test]
fn both_ends_encrypt_or_there_is_no_flow() {
    for hosts in [[true, false], [false, true]] {
        let mut network = encrypting(false);
        for (node, _) in [4, 5].into_iter().zip(hosts).filter(|(_, encrypts)| *encrypts) {
            network.nodes[node].flows.encrypt();
        }
        network.nodes[5].register(name("server"), network.now).unwrap();
        network.run(Duration::from_millis(500));
        let id = network.nodes[4].request_flow(name("client"), name("server"), "reliable", network.now).unwrap();
        network.run(Duration::from_millis(500));
        assert_eq!(network.nodes[4].next_event(), Some((id, FlowEvent::Ended(End::Secrecy))));
        assert_eq!(network.nodes[5].next_event(), None, "no application is asked");
        assert_eq!(network.nodes[5].flows().iter().count() + network.nodes[4].flows().iter().count(), 0);
    }
}
