//! DIFs in memory whose members speak a dialect of others.

use super::*;

/// Members that say what others say: they enrol, route, allocate and release flows.
#[test]
fn difs_in_the_dialects_of_others() {
    for (dialect, syntax) in [(Dialect::Rlite, Syntax::Rlite), (Dialect::Irati, Syntax::Irati)] {
        a_dif_in(&dialect, syntax);
    }
}

fn a_dif_in(dialect: &Dialect, syntax: Syntax) {
    let mut network = Network::new(&[("a", 1), ("b", 0), ("c", 0), ("d", 0)], &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    for (node, (own, address)) in [("a", Some(1)), ("b", None), ("c", None), ("d", None)].into_iter().enumerate() {
        let settings = Settings { dialect: dialect.clone(), syntax, ..settings(own, address, 1, 2) };
        network.nodes[node] = Ipcp::new(settings, 1_000_000);
    }
    network.run(Duration::from_secs(10));
    assert!(network.is_connected(), "{dialect:?}");
    let downs = (0..4).flat_map(|node| (0..2).map(move |link| (node, link)));
    let downs: Vec<u64> = downs.map(|(node, link)| network.nodes[node].link_counts(link).downs).collect();
    assert_eq!(downs, [0; 8], "{dialect:?}: they begin at once, and no session ends");
    let now = network.now;
    let refused = network.nodes[0].register("mirror|".parse().unwrap(), now);
    assert!(refused.unwrap_err().to_string().contains("mirror|"));
    let up =
        |network: &Network, node: usize| (0..2).filter(|link| network.nodes[node].neighbour(*link).is_some()).count();
    assert_eq!(
        (0..4).map(|node| up(&network, node)).collect::<Vec<_>>(),
        [2; 4],
        "lower flows beyond those of enrollment"
    );
    for (cube, count) in [("reliable", 3000u32), ("unreliable", 200)] {
        let (id, other) = network.flow(0, 2, cube);
        let (mut sent, mut received) = (0u32, 0u32);
        // A link of the path is down for some time.
        while received < count {
            if sent == 1000 {
                network.down.insert(0);
                network.run(Duration::from_secs(2));
                network.down.clear();
            }
            if sent < count && network.nodes[0].has_room(id) {
                network.nodes[0].write(id, &sent.to_be_bytes());
                sent += 1;
            }
            network.run(STEP);
            while let Some(sdu) = network.nodes[2].read(other) {
                assert_eq!(sdu, received.to_be_bytes());
                received += 1;
            }
            assert!(network.now < Duration::from_secs(600), "{received} of {count}");
        }
        assert_eq!(network.nodes[0].longest_sdu(), 1400);
        network.nodes[2].write(other, b"back");
        network.run(Duration::from_millis(100));
        assert_eq!(network.nodes[0].read(id), Some(b"back".to_vec()));
        network.nodes[0].close_flow(id, network.now);
        network.run(Duration::from_millis(500));
        assert_eq!(network.nodes[0].next_event(), Some((id, FlowEvent::Ended(End::Closed))));
        assert_eq!(network.nodes[2].next_event(), Some((other, FlowEvent::Ended(End::Closed))));
        assert_eq!((open_flows(&network, 0), open_flows(&network, 2)), (0, 0));
    }
    // A member stops.
    network.nodes[1].stop(network.now);
    network.deliver();
    network.dead.insert(1);
    network.run(STEP);
    assert!(network.nodes[0].neighbour(0).is_none() && network.nodes[2].neighbour(0).is_none());
    assert!(network.is_connected(), "by the other way");
}
