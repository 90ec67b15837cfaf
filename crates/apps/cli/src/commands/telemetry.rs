//! What network management reads of a switch: SNMP and sFlow.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hopwright_dataplane::Switch;
use hopwright_telemetry::Interfaces;
use hopwright_telemetry::agentx::Subagent;
use hopwright_telemetry::sflow::{Sampler, Settings};

use crate::cli::telemetry::TelemetryArgs;
use crate::failure::Failure;

/// What runs until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Running {
    _subagent: Option<Subagent>,
    _sampler: Option<Sampler>,
}

/// The interfaces, if the kernel lists them.
pub(crate) fn interfaces(open: io::Result<Interfaces>) -> Result<Arc<Interfaces>, Failure> {
    Ok(Arc::new(open.map_err(|error| Failure::message(format!("the interfaces: {error}")))?))
}

/// Starts what the options ask for. `interfaces` is called if something needs them.
pub(crate) fn start(
    args: &TelemetryArgs,
    switch: &Arc<Switch>,
    interfaces: impl FnOnce() -> Result<Arc<Interfaces>, Failure>,
) -> Result<Running, Failure> {
    if args.agentx.is_none() && args.sflow.is_none() {
        return Ok(Running::default());
    }
    let interfaces = interfaces()?;
    let subagent = args.agentx.as_ref().map(|socket| Subagent::start(interfaces.clone(), socket)).transpose()?;
    let start = |collector| {
        let interval = Duration::from_secs(args.sflow_interval);
        let settings = Settings { collector, agent: args.sflow_agent, rate: args.sflow_rate, interval };
        let sampler = Sampler::start(switch, interfaces, &settings);
        sampler.map_err(|error| Failure::message(format!("--sflow {collector}: {error}")))
    };
    Ok(Running { _subagent: subagent, _sampler: args.sflow.map(start).transpose()? })
}
