//! Any bytes as messages of a controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_dataplane::{EngineKind, FrameSize, SwitchBuilder, VirtualDataPlane};
use tokio::sync::mpsc;

use crate::codec::reply::PortDescription;
use crate::codec::{HEADER, Header, Version};
use crate::datapath::Datapath;
use crate::journal::Journal;
use crate::switch::Switch;

/// A switch without ports that move packets, and a controller of each version.
pub struct Controllers {
    switch: Switch,
    ids: [(u64, Version); 2],
    /// Messages that the controllers did not ask for.
    events: mpsc::Receiver<Vec<u8>>,
}

/// What became of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Messages.
    pub messages: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Flows that there were at the end.
    pub flows: u64,
}

impl Controllers {
    /// A switch with three ports.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Controllers {
        let pipeline = Arc::new(crate::compile().pipeline.expect("the program compiles"));
        let vdp = VirtualDataPlane::new(pipeline, EngineKind::Jit).expect("the program runs");
        let datapath = Datapath::new(&vdp).expect("the program has the tables");
        let builder = SwitchBuilder::new(vdp).cpu_port(510).cpu_queue(8).pool(64, FrameSize::JUMBO);
        let (switch, _) = builder.build().expect("a switch without ports");
        let injector = switch.default_tenant().injector();
        let mut switch = Switch::new(datapath, 1, "fuzz".into(), injector, Box::new(BTreeMap::new));
        let port = |number| PortDescription { number, mac: [2; 6], name: format!("p{number}"), config: 0, down: false };
        switch.set_ports((1..=3).map(port).collect());
        let (sender, events) = mpsc::channel(64);
        let mut id = |version| (switch.connected(version, false, sender.clone()), version);
        let ids = [id(Version::V10), id(Version::V13)];
        Controllers { switch, ids, events }
    }

    /// Messages one behind the other, as their lengths say; a version that there is not is made 1.3. All that is answered
    /// is well formed, and nothing is left of flows and groups once they are removed.
    pub fn messages(&mut self, data: &[u8]) -> Outcome {
        let before = self.switch.counters;
        let mut rest = data;
        while let Some(header) = rest.first_chunk::<HEADER>().map(Header::read) {
            let Some(message) = rest.get(..usize::from(header.length)).filter(|message| message.len() >= HEADER) else {
                break;
            };
            rest = &rest[message.len()..];
            let (id, version) = self.ids[usize::from(header.version != Version::V10.wire())];
            let header = Header { version: version.wire(), ..header };
            let (answers, _) = self.switch.handle(id, header, message);
            for answer in answers {
                well_formed(&answer, version);
            }
            while let Ok(event) = self.events.try_recv() {
                assert!(event.len() >= HEADER, "an event without a header");
            }
        }
        let now = self.switch.counters;
        let flows = self.switch.flow_count();
        let state = self.switch.save();
        self.switch.load(&state).expect("a process that takes over can have any state");
        assert_eq!(self.switch.flow_count(), flows, "flows are lost when a process takes over");
        self.switch.journal = Journal::default();
        self.switch.clear();
        Outcome { messages: now.messages - before.messages, refused: now.refused - before.refused, flows }
    }
}

fn well_formed(answer: &[u8], version: Version) {
    let header = answer.first_chunk::<HEADER>().map(Header::read).expect("an answer has a header");
    assert_eq!(usize::from(header.length), answer.len(), "an answer of another length than it says");
    assert_eq!(header.version, version.wire());
}
