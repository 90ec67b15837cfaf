//! What ports of a device are called: connectors at its front have channels, and a port is a channel of one of them.

use super::Generation;

/// Pipes of a device, and the bits of a port's number within its pipe.
const PIPES: u32 = 4;
const LOCAL_BITS: u32 = 7;

/// How the ports of a device lie behind its connectors, as Tofino's model has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connectors {
    /// The first port of a pipe that has a connector, and how many connectors a pipe has.
    first: u32,
    of_pipe: u32,
    /// Channels of a connector.
    channels: u32,
    /// The first of the four ports of pipe 0 to which a CPU may be attached, which have the last connector.
    cpu: u32,
}

/// Channels of the CPU's connector.
const CPU_CHANNELS: u32 = 4;

impl Connectors {
    pub(crate) fn of(generation: Option<Generation>) -> Connectors {
        match generation {
            Some(generation) if generation.device == "tf2" => Connectors { first: 8, of_pipe: 8, channels: 8, cpu: 2 },
            _ => Connectors { first: 0, of_pipe: 16, channels: 4, cpu: 64 },
        }
    }

    /// The connector and channel of a port, if it has any.
    pub(crate) fn of_port(&self, port: u32) -> Option<(u32, u32)> {
        let (pipe, local) = (port >> LOCAL_BITS, port & ((1 << LOCAL_BITS) - 1));
        if pipe == 0 && (self.cpu..self.cpu + CPU_CHANNELS).contains(&local) {
            return Some((PIPES * self.of_pipe + 1, local - self.cpu));
        }
        let behind = local.checked_sub(self.first)?;
        let within = pipe < PIPES && behind < self.of_pipe * self.channels;
        within.then(|| (pipe * self.of_pipe + behind / self.channels + 1, behind % self.channels))
    }

    /// All ports that have a connector.
    pub(crate) fn ports(self) -> impl Iterator<Item = u32> {
        (0..PIPES << LOCAL_BITS).filter(move |port| self.of_port(*port).is_some())
    }

    /// The name of a port, such as `3/0`: its connector and channel. Those without one lead back to ingress.
    pub(crate) fn name(&self, port: u32) -> String {
        self.of_port(port).map_or("recirc".into(), |(connector, channel)| format!("{connector}/{channel}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_at_the_front_has_a_connector_of_its_own() {
        let tofino = Connectors::of(None);
        let names: Vec<String> = [0, 3, 28, 52, 64, 128, 508, 68].iter().map(|port| tofino.name(*port)).collect();
        assert_eq!(names, ["1/0", "1/3", "8/0", "14/0", "65/0", "17/0", "recirc", "recirc"]);
        assert_eq!(tofino.ports().count(), 4 * 64 + 4);
        let second = Connectors::of(Some(Generation { device: "tf2", ..Generation::default() }));
        let names: Vec<String> = [8, 15, 16, 136, 2, 6, 0].iter().map(|port| second.name(*port)).collect();
        assert_eq!(names, ["1/0", "1/7", "2/0", "9/0", "33/0", "recirc", "recirc"]);
        for connectors in [tofino, second] {
            let mut all: Vec<_> = connectors.ports().filter_map(|port| connectors.of_port(port)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), connectors.ports().count());
        }
    }
}
