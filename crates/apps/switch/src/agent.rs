//! The place of a tenant's agent in the switch's process. An agent has the program, the CPU queues and the tables of its tenant; P4Runtime
//! clients only read.

use std::sync::{Arc, Mutex};

use hopwright_agent::{Environment, Inheritance, Kind, Metric, Succession, own_port_name};
use hopwright_dataplane::{Switch, Tenant};

use crate::config;
use crate::running::lock;

/// A tenant's agent, which comes and goes.
#[derive(Clone, Default)]
pub(crate) struct Agent(Arc<Mutex<Option<Box<dyn hopwright_agent::Agent>>>>);

/// Reads and checks the files that an agent's settings name.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn check_files(agent: &config::Agent) -> Result<(), String> {
    agent.read().map_err(|error| error.to_string())?.check().map_err(|error| error.to_string())
}

/// Which macro the program of a kind of agent does not have, if any.
pub(crate) fn unknown_macro<'a>(kind: &dyn Kind, defines: &'a [String]) -> Option<&'a String> {
    defines.iter().find(|name| !kind.needs().macros.contains(&name.as_str()))
}

/// The port that a tenant's agent adds to the switch: the program's number, and a name that no device has.
pub(crate) fn own_port(tenant: &config::Tenant) -> Option<(u32, String)> {
    let port = tenant.agent.as_ref()?.kind.needs().own_port?;
    Some((port, own_port_name(&tenant.name)))
}

impl Agent {
    /// Starts the agent of a tenant, if it is to have one.
    ///
    /// # Errors
    /// Why it cannot start.
    pub(crate) fn start(
        &self,
        config: &config::Tenant,
        tenant: &Arc<Tenant>,
        switch: &Arc<Switch>,
        inherited: Option<&Inheritance>,
    ) -> Result<(), String> {
        let Some(agent) = &config.agent else { return Ok(()) };
        let environment =
            Environment { switch, tenant, devices: &config.ports, inherited, lasting: &Inheritance::default() };
        let settings = agent.read().map_err(|error| error.to_string())?;
        let running = settings.start(&environment).map_err(|error| error.to_string())?;
        *lock(&self.0) = Some(running);
        Ok(())
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Does something with the agent's part in a hand-over; `None` if there is no agent, or it has no such part.
    pub(crate) fn succession<R>(&self, work: impl FnOnce(&dyn Succession) -> R) -> Option<R> {
        lock(&self.0).as_ref()?.succession().map(work)
    }

    /// Has the agent read its files again, if it has some.
    pub(crate) fn reload(&self) {
        lock(&self.0).iter().for_each(|agent| agent.reload());
    }

    /// Stops the agent. The tables stay as they are.
    pub(crate) fn stop(&self) {
        let running = lock(&self.0).take();
        drop(running);
    }

    /// The agent's metrics now.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        lock(&self.0).as_ref().map_or_else(Vec::new, |agent| agent.metrics())
    }
}
