//! Members of a small DIF in memory, for tests and fuzzing.

use std::time::Duration;

use crate::credential::Credential;
use crate::dialect::Dialect;
use crate::efcp::{Qos, congestion};
use crate::ipcp::{LINK_MTU, Settings};
use crate::pdu::Syntax;

/// A cube without retransmission and one with it.
pub(crate) fn cubes(window: u32) -> Vec<Qos> {
    let cube = |id, name: &str, reliable| Qos {
        id,
        name: name.into(),
        reliable,
        window,
        congestion: congestion::POLICIES[0],
        rate: None,
        priority: 0,
    };
    vec![cube(1, "unreliable", false), cube(2, "reliable", true)]
}

/// The dialect of a DIF whose credential has 16 of these bytes.
pub(crate) fn dialect(credential: u8) -> Dialect {
    Dialect::Hopwright(Credential::new(&[credential; 16]).expect("16 bytes are enough"))
}

/// A member of the DIF `net`, with this number of links.
pub(crate) fn settings(name: &str, address: Option<u16>, links: usize) -> Settings {
    Settings {
        name: name.parse().expect("a name"),
        dif: "net".parse().expect("a name"),
        address,
        dialect: dialect(1),
        syntax: Syntax::Checksum,
        routing: crate::routing::POLICIES[0],
        identity: None,
        encryption: false,
        mtu: LINK_MTU,
        keepalive: Duration::from_millis(200),
        dead_after: Duration::from_millis(600),
        qos: cubes(64),
        links: vec![1; links],
    }
}
