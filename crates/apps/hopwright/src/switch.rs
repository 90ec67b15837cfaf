//! A program as a switch between ports.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::port::PortSource;
use crate::port::devices::{Choice, Opened, Receiving};
use crate::{BuildError, Control, ControlError, Engine, Program, SwitchStats, dataplane};

type Setup = Box<dyn FnOnce(&Control) -> Result<(), ControlError>>;

/// Collects what a switch is made of; [`SwitchBuilder::run`] starts it.
pub struct SwitchBuilder {
    program: Program,
    engine: Engine,
    ports: Vec<(u32, PortSource)>,
    cpu_port: Option<u16>,
    setup: Vec<Setup>,
    devices_by: Choice,
    #[cfg(feature = "p4runtime")]
    p4runtime: Option<std::net::SocketAddr>,
}

/// Why a switch does not run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The engine does not run the program.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// What [`SwitchBuilder::setup`] was given failed.
    #[error(transparent)]
    Setup(#[from] ControlError),
    /// A port number is given twice, or is none.
    #[error(transparent)]
    Switch(#[from] dataplane::SwitchError),
    /// A device cannot be opened.
    #[cfg(feature = "ports")]
    #[error(transparent)]
    Device(#[from] crate::port::OpenerError),
    /// A device does not receive what is sent to others than itself.
    #[cfg(feature = "ports")]
    #[error(transparent)]
    Reception(#[from] crate::port::DeviceError),
    /// P4Runtime cannot be served.
    #[cfg(feature = "p4runtime")]
    #[error(transparent)]
    Serve(#[from] crate::p4runtime::ServeError),
    /// The program has no P4Info: it gives an id twice.
    #[cfg(feature = "p4runtime")]
    #[error("{0}")]
    P4Info(String),
    /// There is no thread for the switch.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

debug_is_display!(RunError);

impl SwitchBuilder {
    pub(crate) fn new(program: Program) -> SwitchBuilder {
        SwitchBuilder {
            program,
            engine: Engine::Auto,
            ports: Vec::new(),
            cpu_port: None,
            setup: Vec::new(),
            devices_by: Choice::default(),
            #[cfg(feature = "p4runtime")]
            p4runtime: None,
        }
    }

    /// Adds a port with the number that the program knows it by, from 0 to 510: anything that implements
    /// [`Port`](crate::port::Port), or a [`Device`](crate::port#structs).
    #[must_use]
    pub fn port(mut self, number: u16, port: impl Into<PortSource>) -> SwitchBuilder {
        self.ports.push((number.into(), port.into()));
        self
    }

    /// Packets that the program sends to this port are [packet-ins](Switch::packet_in). Without it they have no port and are dropped.
    #[must_use]
    pub fn cpu_port(mut self, number: u16) -> SwitchBuilder {
        self.cpu_port = Some(number);
        self
    }

    /// Selects the engine. The default is [`Engine::Auto`].
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> SwitchBuilder {
        self.engine = engine;
        self
    }

    /// Writes tables before the first packet: `run` calls this when the program is there and no packet flows yet.
    #[must_use]
    pub fn setup(mut self, setup: impl FnOnce(&Control) -> Result<(), ControlError> + 'static) -> SwitchBuilder {
        self.setup.push(Box::new(setup));
        self
    }

    /// Selects how devices are opened: by packet sockets, which is the default, by AF_XDP, or by what is faster for each.
    #[cfg(feature = "ports")]
    #[must_use]
    pub fn devices_by(mut self, choice: crate::port::PortChoice) -> SwitchBuilder {
        self.devices_by = choice;
        self
    }

    /// Serves P4Runtime at this address, without encryption, for device 1; port 0 is any free one. Controllers take the packet-ins and
    /// digests, which [`Switch::packet_in`] and [`Control::next_digest`] do not see then, and may replace the program by others, which
    /// have no extern types of [`Compiler::extern_type`](crate::Compiler::extern_type).
    #[cfg(feature = "p4runtime")]
    #[must_use]
    pub fn p4runtime(mut self, address: std::net::SocketAddr) -> SwitchBuilder {
        self.p4runtime = Some(address);
        self
    }

    /// Opens the ports and starts the switch on a thread of its own. The thread sleeps while nothing comes, if all ports can wake it;
    /// see [`port`](crate::port). A switch without ports is one whose ports come later, by [`Switch::inner`]; it runs until it is stopped.
    ///
    /// # Errors
    /// The program, a port or what was to be set up is refused. Nothing runs then.
    pub fn run(self) -> Result<Switch, RunError> {
        let vdp = self.engine.start(&self.program)?;
        let control = Control::new(vdp.clone());
        self.setup.into_iter().try_for_each(|setup| setup(&control))?;
        let mut opened = Opened::new(self.devices_by, self.ports, vdp.headroom())?;
        let devices = opened.devices();
        let mut builder = dataplane::SwitchBuilder::new(vdp).pools(opened.pools);
        if let Some(number) = self.cpu_port {
            builder = builder.cpu_port(number.into());
        }
        for (number, port) in opened.ports {
            builder = builder.port(number, port);
        }
        let (switch, mut worker) = builder.build()?;
        let running = Switch {
            _receiving: Opened::receive(&devices, &switch)?,
            #[cfg(feature = "p4runtime")]
            server: match self.p4runtime {
                Some(address) => Some(self.program.config.serve(address, switch.default_tenant())?),
                None => None,
            },
            cpu_port: self.cpu_port,
            control,
            worker: Some(std::thread::Builder::new().name("hopwright".into()).spawn(move || worker.run())?),
            switch,
        };
        Ok(running)
    }
}

/// A running switch. It stops when it is dropped.
pub struct Switch {
    switch: Arc<dataplane::Switch>,
    control: Control,
    worker: Option<JoinHandle<()>>,
    cpu_port: Option<u16>,
    _receiving: Receiving,
    #[cfg(feature = "p4runtime")]
    server: Option<crate::p4runtime::Server>,
}

/// A packet that the program sent to the CPU port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketIn {
    /// The port that received it.
    pub port: u16,
    /// The packet. It begins with the program's packet-in header (`@controller_header("packet_in")`), if it has one.
    pub bytes: Vec<u8>,
}

/// A packet of the control plane was not sent.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketOutError {
    /// [`SwitchBuilder::cpu_port`] was not called.
    #[error("the switch has no CPU port")]
    NoCpuPort,
    /// The switch is behind, or the packet longer than its buffers.
    #[error(transparent)]
    Full(#[from] dataplane::NotInjected),
}

debug_is_display!(PacketOutError);

impl Switch {
    /// The program's tables and objects.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The next packet that the program sent to the CPU port; waits for it for so long at most.
    pub fn packet_in(&self, timeout: Duration) -> Option<PacketIn> {
        let packet = self.switch.default_tenant().cpu().receive(timeout)?;
        Some(PacketIn { port: packet.ingress_port() as u16, bytes: packet.to_vec() })
    }

    /// Runs a packet through the program as if received at the CPU port. It begins with the program's packet-out header
    /// (`@controller_header("packet_out")`), if it has one.
    ///
    /// # Errors
    /// There is no CPU port, or no room for the packet.
    pub fn packet_out(&self, packet: &[u8]) -> Result<(), PacketOutError> {
        let port = self.cpu_port.ok_or(PacketOutError::NoCpuPort)?;
        Ok(self.switch.default_tenant().injector().packet_out(port.into(), packet)?)
    }

    /// Sends a packet by a port, past the program. Ports come and go, so one that the switch does not have is no error: the packet is
    /// counted as sent to no port.
    ///
    /// # Errors
    /// There is no room for the packet.
    pub fn transmit(&self, port: u16, packet: &[u8]) -> Result<(), PacketOutError> {
        Ok(self.switch.default_tenant().injector().transmit(port.into(), packet)?)
    }

    /// What the switch has counted, by port and in total.
    pub fn stats(&self) -> SwitchStats {
        self.switch.stats()
    }

    /// The switch itself, for what this type does not reach: ports that come and go, samples of packets, tenants.
    pub fn inner(&self) -> &Arc<dataplane::Switch> {
        &self.switch
    }

    /// Where P4Runtime is served, if [`SwitchBuilder::p4runtime`] asked for it.
    #[cfg(feature = "p4runtime")]
    pub fn p4runtime_address(&self) -> Option<std::net::SocketAddr> {
        self.server.as_ref().map(crate::p4runtime::Server::address)
    }

    /// Waits until the switch is done: it is stopped, or all its ports are at their end, such as capture files.
    ///
    /// # Panics
    /// If the switch's thread panicked: a port of your own may.
    pub fn wait(mut self) {
        self.join();
    }

    /// Stops the switch. Packets that it has taken are processed and sent.
    ///
    /// # Panics
    /// As [`Switch::wait`].
    pub fn stop(mut self) {
        self.switch.stop();
        self.join();
    }

    fn join(&mut self) {
        if let Some(worker) = self.worker.take()
            && let Err(panic) = worker.join()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.switch.stop();
        if let Some(worker) = self.worker.take() {
            // What it panicked with has been printed.
            let _ = worker.join();
        }
    }
}

impl fmt::Debug for SwitchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchBuilder")
            .field("program", &self.program)
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch").field("control", &self.control).finish_non_exhaustive()
    }
}
