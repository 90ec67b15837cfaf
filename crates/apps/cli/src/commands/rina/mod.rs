//! `hopwright rina`: a RINA router or host, and applications that use it.

mod echo;
mod perf;
mod show;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hopwright_dataplane::wait::Wakeup;
use hopwright_p4runtime::{Access, Device, EnginePolicy, Options, Program, Server};
use hopwright_rina::client::{ClientError, Flow};
use hopwright_rina::{Config, Name, Orders, Router};

use crate::cli::rina::{Peer, RinaArgs, RinaCommand, RinaSample};
#[cfg(feature = "page")]
use crate::commands::page;
use crate::failure::Failure;
use crate::logging::{Console, Logging};
use hopwright_host::signals;

/// Time between two attempts to reach an application that is not in the directory yet.
const AGAIN: Duration = Duration::from_millis(100);

/// The log settings, as far as they can be read; errors in the configuration are reported later.
pub(crate) fn console(args: &RinaArgs) -> Console {
    let config = args.config.as_ref().and_then(|file| Config::read(file).ok());
    let mut console = Console::default();
    if let Some(config) = config {
        console.level = config.log_level;
    }
    console
}

/// Runs a router or host until SIGTERM or SIGINT, or the subcommand.
pub(crate) fn run(args: &RinaArgs, logging: Logging) -> Result<(), Failure> {
    match &args.command {
        Some(RinaCommand::Sample(RinaSample::Config)) => {
            print!("{}", hopwright_rina::SAMPLE);
            return Ok(());
        }
        Some(RinaCommand::Check { config }) => {
            let config = Config::read(config)?;
            for (line, policies) in config.summary().iter().zip(config.policies()) {
                println!("{line}\n{policies}");
            }
            return Ok(());
        }
        Some(RinaCommand::Echo(args)) => return echo::run(args),
        Some(RinaCommand::Perf(args)) => return perf::run(args),
        Some(RinaCommand::List(args)) => return show::list(args),
        Some(RinaCommand::Show(args)) => return show::show(args),
        Some(RinaCommand::Capture { file }) => return capture(file),
        Some(RinaCommand::Dissector) => {
            print!("{}", hopwright_rina::capture::dissector());
            return Ok(());
        }
        None => {}
    }
    let Some(file) = &args.config else { return Err(Failure::message("--config is missing")) };
    let config = Config::read(file)?;
    #[cfg(feature = "page")]
    if config.switch.is_some() && args.http.is_some() {
        return Err(Failure::message(
            "--http shows the switch of this machine: that of [switch] has a page of its own",
        ));
    }
    let orders = Orders {
        stop: Arc::new(AtomicBool::new(false)),
        reload: Arc::new(AtomicBool::new(false)),
        told: Arc::new(Wakeup::new()?),
        stats: args.stats.clone(),
        #[cfg(feature = "page")]
        watch: args.http.as_deref().map(|address| page::watch(page::open(address)?)).transpose()?,
        #[cfg(not(feature = "page"))]
        watch: None,
    };
    let tell = |what: &Arc<AtomicBool>| {
        let (what, told) = (what.clone(), orders.told.clone());
        move || {
            what.store(true, Ordering::Release);
            told.notify();
        }
    };
    signals::handle(tell(&orders.stop), Some(Box::new(tell(&orders.reload))))?;
    match args.p4runtime {
        Some(address) => with_controller(&config, address, &orders.stop),
        None => Ok(hopwright_rina::run(config, Arc::new(logging.changing()), &orders)?),
    }
}

/// Prints what is in a capture.
fn capture(file: &Path) -> Result<(), Failure> {
    let mut reader = hopwright_ports::pcap::open(file)?;
    let mut first = None;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|error| Failure::message(format!("{}: {error}", file.display())))?;
        let begin = *first.get_or_insert(packet.timestamp);
        if let Some(line) = hopwright_rina::capture::describe(&packet.data) {
            println!("{:12.6} {line}", packet.timestamp.saturating_sub(begin).as_secs_f64());
        }
    }
    Ok(())
}

/// Runs the program for a controller, which fills the tables.
fn with_controller(config: &Config, address: SocketAddr, stop: &AtomicBool) -> Result<(), Failure> {
    if config.switch.is_some() {
        return Err(Failure::message(
            "[switch] is driven by the IPC processes here: --p4runtime has another controller do so",
        ));
    }
    let compiled = hopwright_rina::program::compile(config.program(), false, &[]);
    let bundle = hopwright_rina::program::bundle(config.program(), &[]);
    let program = Program::from_compiled(&compiled, bundle.to_bytes()).map_err(|f| Failure::message(f.message))?;
    let policy = EnginePolicy::Auto;
    let vdp = program.data_plane(policy).map_err(|f| Failure::message(f.message))?;
    let mut router = Router::open(config, vdp, true)?;
    let switch = router.switch.clone();
    let device = Device::new(1, switch.default_tenant().clone(), policy).with_program(program);
    let server = Server::start(&Options { address, tls: None, access: Access::Everybody }, [device])?;
    tracing::info!("P4Runtime: device 1 at {}; a controller fills the tables", server.address());
    let threads = router.forward()?;
    while !stop.load(Ordering::Acquire) && !threads.iter().any(|thread| thread.is_finished()) {
        std::thread::sleep(AGAIN);
    }
    switch.stop();
    drop(server);
    for thread in threads {
        thread.join().map_err(|_| Failure::message("a worker died"))?;
    }
    Ok(())
}

/// Allocates a flow to an application; waits until it is known.
fn allocate(peer: &Peer, from: &str) -> Result<Flow, Failure> {
    let to = peer.to.clone().ok_or_else(|| Failure::message("the application's name is missing"))?;
    let from: Name = format!("{from}-{}", std::process::id()).parse()?;
    let end = Instant::now() + Duration::from_secs_f64(peer.wait.clamp(0.0, 3600.0));
    loop {
        match Flow::allocate(&peer.socket.socket, from.clone(), to.clone(), &peer.qos, peer.dif.clone()) {
            Ok(flow) => return Ok(flow),
            Err(ClientError::Failed(_)) if Instant::now() < end => std::thread::sleep(AGAIN),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Serves flows, each on a thread of its own, until the IPC process ends.
fn serve(peer: &Peer, name: &Name, work: fn(&Flow) -> std::io::Result<String>) -> Result<(), Failure> {
    let listener = hopwright_rina::client::Listener::register(&peer.socket.socket, name.clone(), peer.dif.clone())?;
    tracing::info!("{name} waits for flows; stop with Ctrl-C");
    loop {
        let incoming = listener.next()?;
        let flow = match listener.accept(&incoming) {
            Ok(flow) => flow,
            Err(error) => {
                tracing::warn!(from = %incoming.from, "{error}");
                continue;
            }
        };
        let serve = move || match work(&flow) {
            Ok(summary) => tracing::info!(from = %incoming.from, qos = incoming.qos, "{summary}"),
            Err(error) => tracing::warn!(from = %incoming.from, "{error}"),
        };
        std::thread::Builder::new().name("flow".into()).spawn(serve)?;
    }
}
