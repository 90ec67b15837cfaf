//! BMv2's Thrift services of `hopwright run`, and files of `simple_switch_CLI`'s commands.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hopwright_dataplane::{Digest, EgressQueues, QueueLimit, Switch, VirtualDataPlane};
use hopwright_ports::{FrameMatch, Opener, Reception};
use hopwright_thrift::{Options, PortManager, Server, SharedModel, commands};

use super::queues::Queues;
use crate::cli::RunArgs;
use crate::commands::interfaces::{self, Interface};
use crate::failure::Failure;

/// Executes the commands of a file, those for queues if there are any. Returns whether it is such a file.
pub(super) fn load_commands(
    file: &Path,
    vdp: &Arc<VirtualDataPlane>,
    queues: Option<&Queues>,
) -> Result<bool, Failure> {
    let text = std::fs::read_to_string(file).map_err(|e| Failure::message(format!("{}: {e}", file.display())))?;
    let are_commands = commands::are(&text);
    if are_commands {
        let (name, model) = (file.display().to_string(), SharedModel::of(vdp.clone()));
        match queues {
            Some(queues) => commands::execute_with_queues(&name, &text, &model, &mut |port, priority, limit| {
                queues.limit(port, priority, limit)
            })?,
            None => commands::execute(&name, &text, &model)?,
        }
    }
    Ok(are_commands)
}

/// Serves the switch, if the command line wants it. Returns the server, or what else keeps the ports open.
pub(super) fn start(
    args: &RunArgs,
    switch: &Arc<Switch>,
    controllers: &super::Server,
    opener: Opener,
    queues: Queues,
) -> Result<(Option<Server>, Option<Opener>), Failure> {
    let Some(address) = args.thrift.address() else { return Ok((None, Some(opener))) };
    let notifications = args.thrift.notifications_addr.clone();
    let options = Options { address, device_id: args.serve.device_id, notifications };
    let ports = Ports { switch: switch.clone(), opener, queues, receptions: BTreeMap::new() };
    let (device, tenant) = (controllers.device(), switch.default_tenant().clone());
    // Controllers get digests, too.
    let shared = device.as_ref().map(|device| device.listen_to_digests());
    let digests: Box<dyn FnMut() -> Option<Digest> + Send> = match shared {
        Some(mut shared) => Box::new(move || shared.try_recv().ok()),
        None => {
            let tenant = tenant.clone();
            Box::new(move || tenant.next_digest())
        }
    };
    let model = Box::new(move || device.as_ref()?.model());
    let server =
        Server::start(&options, hopwright_thrift::Switch { tenant, model, ports: Some(Box::new(ports)), digests });
    let server = server.map_err(|e| Failure::message(format!("{e} (see --thrift)")))?;
    let address = server.address();
    tracing::info!("Thrift at {address}");
    if !address.ip().is_loopback() {
        tracing::warn!("Thrift: anybody who reaches {address} can control this switch");
    }
    Ok((Some(server), None))
}

/// The ports of the switch.
struct Ports {
    switch: Arc<Switch>,
    opener: Opener,
    queues: Queues,
    /// By number, of the ports that clients have added.
    receptions: BTreeMap<u32, Reception>,
}

impl PortManager for Ports {
    fn add(&mut self, number: u32, device: &str) -> Result<(), String> {
        let there = self.switch.ports();
        if let Some(port) = there.iter().find(|port| port.number == number || port.name == device) {
            return Err(format!("port {} is {}", port.number, port.name));
        }
        let opened = self.opener.open(device, &FrameMatch::Everything).map_err(|error| error.to_string())?;
        let ports = self.queues.attach(number, &EgressQueues::without_rate(), opened.ports);
        self.switch.add_ports(number, ports).map_err(|error| error.to_string())?;
        let interface = Interface { number, name: device.into() };
        match interfaces::receive(&self.switch, &[interface]) {
            Ok(receptions) => self.receptions.extend(receptions.into_iter().map(|reception| (number, reception))),
            Err(failure) => {
                let _ = self.switch.remove_port(number);
                return Err(match failure {
                    Failure::Error(error) => Failure::text(&error),
                    Failure::Reported => format!("{device} does not receive"),
                });
            }
        }
        tracing::info!("port {number} is {device}, {}", opened.how);
        Ok(())
    }

    fn remove(&mut self, number: u32) -> Result<(), String> {
        self.switch.remove_port(number).map_err(|error| error.to_string())?;
        self.receptions.remove(&number);
        self.queues.remove(number);
        tracing::info!("port {number} is removed");
        Ok(())
    }

    fn limit_queues(&mut self, port: Option<u32>, priority: Option<u8>, limit: QueueLimit) -> Result<(), String> {
        self.queues.limit(port, priority, limit)
    }
}
