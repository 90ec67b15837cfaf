//! What stands in for network devices in a build without them.

use hopwright_dataplane::{Pool, Port, Switch};

use super::{PortSource, Source};
use crate::RunError;

/// There are no devices to open in one way or another.
#[derive(Clone, Copy, Default)]
pub(crate) struct Choice;

pub(crate) type Receiving = ();

/// Open ports.
pub(crate) struct Opened {
    /// None: there are no devices that need packet buffers of their own.
    pub pools: Vec<Pool>,
    /// By port number.
    pub ports: Vec<(u32, Box<dyn Port>)>,
}

impl Opened {
    pub(crate) fn new(_: Choice, sources: Vec<(u32, PortSource)>, _headroom: u32) -> Result<Opened, RunError> {
        let ports = sources.into_iter().map(|(number, PortSource(Source::Port(port)))| (number, port)).collect();
        Ok(Opened { pools: Vec::new(), ports })
    }

    pub(crate) fn receive(_: &[(u32, String)], _: &Switch) -> Result<Receiving, RunError> {
        Ok(())
    }

    pub(crate) fn devices(&mut self) -> Vec<(u32, String)> {
        Vec::new()
    }
}
