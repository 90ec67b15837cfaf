//! A router as one tenant among others: the switch has the devices and the worker.
//!
//! The router's devices and the worker belong to the switch, and its addresses and routes to the kernel. The UDP sockets on
//! its addresses are one more port of the tenant, as they are of a router alone. The program gets every frame that the
//! switch receives for the tenant, so that the sockets deliver only what arrives by other devices, and datagrams that the
//! kernel has reassembled.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use hopwright_agent::own_port_name;
use hopwright_dataplane::wait::Wakeup;
use hopwright_dataplane::{ControlError, Switch, Tenant, TenantPorts};
use hopwright_host::http::{self, NoLog};
use hopwright_host::netlink::Netlink;
use hopwright_ports::UdpSockets;

use super::{Agent, AgentError, Options, Place};
use crate::config::{Config, ConfigError, Hopwright};
use crate::control::program::{CPU_PORT, LOCAL_PORT, Reason, object};
use crate::setup::change::ReloadCounts;
use crate::setup::{Setup, SetupError};
use crate::status::Status;
use crate::status::http::Listeners;
use crate::underlay::{self, Underlay, next_hop};

/// Reads and checks the configuration of a router that is a tenant. As [`Setup::load`], but a `general.config_dir` that is
/// empty is the folder of the file, and settings that the switch decides about are refused.
pub fn load(file: &Path, lenient: bool) -> Result<Setup, SetupError> {
    let mut config = Config::load(file, lenient)?;
    if config.general.config_dir.as_os_str().is_empty() {
        config.general.config_dir = file.parent().unwrap_or(Path::new("")).to_path_buf();
    }
    if let Some((field, why)) = refused(&config.hopwright) {
        let file = config.hopwright_file.as_deref().unwrap_or(file).to_path_buf();
        return Err(ConfigError::Field { file, field: field.into(), message: why.into() }.into());
    }
    let mut setup = Setup::from_config(config)?;
    if let Some(address) = underlay::own_addresses(&setup.links).iter().find(|address| address.ip().is_loopback()) {
        return Err(SetupError::Loopback(*address));
    }
    setup.file = Some(file.to_path_buf());
    Ok(setup)
}

/// The first setting that a tenant cannot have, and why.
fn refused(settings: &Hopwright) -> Option<(&'static str, &'static str)> {
    let default = Hopwright::default();
    let of_switch = "not for a tenant: the switch opens the devices and runs the worker (see [switch] of switch.toml)";
    let own = "not for a tenant: it answers punted packets itself";
    [
        ("ports", settings.ports != default.ports, of_switch),
        ("busy_poll_us", settings.busy_poll_us != default.busy_poll_us, of_switch),
        ("cpus", settings.cpus != default.cpus, of_switch),
        ("rest_us", settings.rest_us != default.rest_us, of_switch),
        ("batch", settings.batch != default.batch, of_switch),
        ("layout", settings.layout != default.layout, of_switch),
        (
            "hummingbird",
            settings.hummingbird,
            "not for a tenant: give it the macro, defines = [\"HUMMINGBIRD\"], in switch.toml",
        ),
        ("slow_path", settings.slow_path != default.slow_path, own),
        ("slow_path_netns", settings.slow_path_netns != default.slow_path_netns, own),
    ]
    .into_iter()
    .find_map(|(field, is_set, why)| is_set.then_some((field, why)))
}

/// The control plane of a tenant that runs the program. It stops when it is dropped.
#[derive(Debug)]
pub struct TenantAgent {
    options: Options,
    told: Arc<Wakeup>,
    thread: Option<JoinHandle<()>>,
    status: Arc<Status>,
    _http: http::Server,
    _sockets: SocketsPort,
}

/// The UDP sockets as a port of the switch. The port is taken away and the sockets are closed when this is dropped.
#[derive(Debug)]
struct SocketsPort {
    switch: Arc<Switch>,
    /// The switch's number.
    number: u32,
    sockets: UdpSockets,
}

impl Drop for SocketsPort {
    fn drop(&mut self) {
        // The worker holds the port a little longer, but the addresses must be free for a successor.
        self.sockets.close_all(&self.sockets.addresses());
        if let Err(error) = self.switch.remove_port(self.number) {
            tracing::warn!(event = "port-not-removed", %error, "cannot remove the port of the UDP sockets");
        }
    }
}

/// The counts of a router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets forwarded.
    pub forwarded: u64,
    /// Packets dropped by the program.
    pub dropped: u64,
    /// Packets that the agent got: to be answered, and BFD.
    pub punted: u64,
    /// BFD sessions, and how many of them are up.
    pub bfd_sessions: u64,
    /// See [`Counts::bfd_sessions`].
    pub bfd_sessions_up: u64,
    /// Changes of the configuration.
    pub reloads: ReloadCounts,
}

impl TenantAgent {
    /// Starts the control plane of a tenant. `devices` are the names of its ports' devices by their numbers in the
    /// program. The tenant needs both CPU ports, and a port [`LOCAL_PORT`] that the switch does not have yet. Needs
    /// CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The configuration is wrong, an address of the router is not on this machine or is in use, or the tenant does not
    /// run the program.
    pub fn start(
        switch: &Arc<Switch>,
        tenant: &Arc<Tenant>,
        devices: &BTreeMap<u32, String>,
        file: &Path,
    ) -> Result<TenantAgent, AgentError> {
        let mut setup = load(file, false)?;
        let number = match tenant.port_numbers() {
            TenantPorts::Numbered(numbers) if tenant.cpu_port() == Some(CPU_PORT) => numbers.get(&LOCAL_PORT).copied(),
            _ => None,
        };
        let number = number.ok_or(AgentError::TenantPorts)?;
        let mut kernel = Netlink::open().map_err(AgentError::Netlink)?;
        let numbers = devices.iter().map(|(number, device)| (device.clone(), *number)).collect();
        let mut underlay = Underlay::of_switch(numbers)?;
        setup.links.choose_ports();
        underlay.bind(&kernel, &setup.links, false)?;
        let used = next_hop::used_devices(&mut kernel, &setup.links);
        underlay.follow(&kernel, &[&setup.links], &used);
        let listeners = Listeners::open(&setup.config, Vec::new())?;
        let (_, ports) = underlay.udp_port(&own_port_name(tenant.name()))?;
        switch.add_ports(number, ports)?;
        let _sockets = SocketsPort { switch: switch.clone(), number, sockets: underlay.sockets().clone() };
        let place = Place { load, switch: switch.clone(), tenant: tenant.clone(), kernel, underlay, taps: None };
        let mut agent = Agent::new(setup, place)?;
        agent.start_bfd()?;
        let status = agent.status.clone();
        let _http = listeners.serve(status.clone(), Arc::new(NoLog)).map_err(AgentError::HttpThread)?;
        let told = Arc::new(Wakeup::new().map_err(AgentError::Thread)?);
        let options = Options { told: Some(told.clone()), ..Options::default() };
        let (name, its) = (tenant.name().to_string(), options.clone());
        let run = move || {
            let ended = loop {
                match agent.turn(&its, |_| ()) {
                    Ok(true) => {}
                    ended => break ended,
                }
            };
            if let Err(error) = ended {
                tracing::error!(
                    event = "control-plane-lost", tenant = name, %error,
                    "the router has lost its control plane; tables stay as they are"
                );
            }
        };
        let thread = std::thread::Builder::new().name("scion".into()).spawn(run).map_err(AgentError::Thread)?;
        Ok(TenantAgent { options, told, thread: Some(thread), status, _http, _sockets })
    }

    /// Reads the configuration again and applies what has changed, soon.
    pub fn reload(&self) {
        self.tell(&self.options.reload);
    }

    fn tell(&self, what: &AtomicBool) {
        what.store(true, Ordering::Release);
        self.told.notify();
    }

    /// Whether the agent works. It ends by itself only after a failure, which the log describes.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// The counts now.
    ///
    /// # Errors
    /// The tenant no longer runs the program.
    pub fn counts(&self) -> Result<Counts, ControlError> {
        let snapshot = self.status.snapshot();
        let reasons = self.status.tenant().vdp().control().counter(object::REASONS).map(|c| c.read_all())?;
        let mut counts = Counts {
            bfd_sessions: snapshot.sessions.len() as u64,
            bfd_sessions_up: snapshot.sessions.values().filter(|session| session.up).count() as u64,
            reloads: snapshot.reloads.clone(),
            ..Counts::default()
        };
        for reason in Reason::ALL {
            let packets = reasons.get(*reason as usize).map_or(0, |count| count.packets);
            match *reason {
                Reason::None => counts.forwarded += packets,
                reason if reason.is_punt() => counts.punted += packets,
                _ => counts.dropped += packets,
            }
        }
        Ok(counts)
    }
}

impl Drop for TenantAgent {
    fn drop(&mut self) {
        self.tell(&self.options.stop);
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SlowPathBy;

    const TOPOLOGY: &str = r#"{
        "isd_as": "1-ff00:0:110", "mtu": 1400, "border_routers": {
            "br1": {"internal_addr": "10.0.0.1:30042", "interfaces": {}},
            "br2": {"internal_addr": "127.0.0.1:30042", "interfaces": {}}
        }
    }"#;

    /// The configuration of a router of the topology, with these settings in `hopwright.toml`.
    fn loaded(id: &str, settings: &str) -> Result<Setup, String> {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir(folder.path().join("keys")).unwrap();
        write("router.toml", &format!("[general]\nid = \"{id}\"\n"));
        write("hopwright.toml", settings);
        write("topology.json", TOPOLOGY);
        write("keys/master0.key", "MTIzNDU2Nzg5MDEyMzQ1Ng==");
        write("keys/master1.key", "MTIzNDU2Nzg5MDEyMzQ1Ng==");
        load(&folder.path().join("router.toml"), false).map_err(|error| error.to_string())
    }

    #[test]
    fn files_are_beside_the_configuration() {
        let setup = loaded("br1", "strict_arrival = true\n[scmp]\nrate = 7\n").unwrap();
        assert_eq!(setup.links.internal, "10.0.0.1:30042".parse().unwrap());
        assert!(setup.file.is_some() && setup.config.hopwright.slow_path == SlowPathBy::Own);
        let error = loaded("br2", "").unwrap_err();
        assert!(error.contains("127.0.0.1:30042") && error.contains("tenant"), "{error}");
    }

    #[test]
    fn what_the_switch_decides_is_refused() {
        for setting in [
            "ports = \"af_packet\"",
            "busy_poll_us = 20",
            "cpus = [0]",
            "rest_us = 0",
            "batch = 32",
            "layout = \"1br\"",
            "hummingbird = true",
            "slow_path = \"tap\"",
            "slow_path_netns = \"x\"",
        ] {
            let key = setting.split_once(" = ").unwrap().0;
            let error = loaded("br1", &format!("{setting}\n")).unwrap_err();
            assert!(error.contains(&format!("hopwright.toml: {key}: not for a tenant")), "{error}");
        }
    }
}
