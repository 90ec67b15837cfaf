//! `hopwright scion`: the SCION border router.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hopwright_dataplane::offload::Forwarded;
use hopwright_dataplane::wait::Wakeup;
use hopwright_dataplane::{BuildError, EngineKind, VirtualDataPlane};
use hopwright_offload::PartialDesign;
use hopwright_scion::config::Config;
use hopwright_scion::config::layout::Layout;
use hopwright_scion::control::program::{self, BuiltIn};
use hopwright_scion::privileges::{self, Phase};
use hopwright_scion::{MakeDataPlane, Options, Setup, config};

use crate::cli::program::EngineChoice;
use crate::cli::scion::{SampleCommand, ScionArgs, ScionCommand};
use crate::commands::hand_over;
#[cfg(feature = "page")]
use crate::commands::page;
use crate::failure::Failure;
use crate::logging::{Console, Logging};
use crate::{compile, hardware};
use hopwright_host::signals::{self, Handlers};

/// How long a running router may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The log settings, as far as they can be read; errors in the configuration are reported later.
pub(crate) fn console(args: &ScionArgs) -> Console {
    let config = args.config.as_ref().and_then(|file| Config::read(file).ok());
    config.map(|c| Console { level: c.log.console.level, format: c.log.console.format }).unwrap_or_default()
}

/// Runs a border router until SIGTERM or SIGINT, with SIGHUP reloading its configuration, or runs the subcommand.
pub(crate) fn run(args: &ScionArgs, logging: Logging) -> Result<(), Failure> {
    match &args.command {
        Some(ScionCommand::Sample(SampleCommand::Config)) => {
            print!("{}", config::SAMPLE);
            return Ok(());
        }
        Some(ScionCommand::Sample(SampleCommand::Hopwright)) => {
            print!("{}", config::HOPWRIGHT_SAMPLE);
            return Ok(());
        }
        Some(ScionCommand::Version) => {
            println!("hopwright {}", env!("CARGO_PKG_VERSION"));
            return Ok(());
        }
        Some(ScionCommand::Check { config, config_dir, lenient }) => {
            return check(config, config_dir.as_deref(), *lenient);
        }
        Some(ScionCommand::SlowPath { config }) => return slow_path(config),
        Some(ScionCommand::Dump { config }) => return dump(config),
        None => {}
    }
    let Some(file) = &args.config else { return Err(Failure::message("--config is missing")) };
    if !args.define.is_empty() && args.engine != EngineChoice::Rtl {
        return Err(Failure::message("-D is for --engine rtl: software runs the whole program"));
    }
    if args.hand_over.background {
        return hand_over::start_in_background();
    }
    #[cfg(feature = "page")]
    let page = args.http.as_deref().map(page::open).transpose()?;
    // Before the first thread starts: privileges belong to threads.
    privileges::drop_privileges(Phase::Starting)?;
    let setup = Setup::load(file, args.lenient)?;
    let told = Arc::new(Wakeup::new()?);
    let options = Options {
        stats: args.stats.clone(),
        log_level: Some(Arc::new(logging.changing())),
        told: Some(told.clone()),
        hand_over: hand_over::options(&args.hand_over),
        data_plane: match args.engine {
            EngineChoice::Jit => None,
            EngineChoice::Interp => {
                Some(MakeDataPlane::new(|pipeline| VirtualDataPlane::new(pipeline.clone(), EngineKind::Interp)))
            }
            EngineChoice::Rtl if args.define.is_empty() => Some(MakeDataPlane::new(hardware::hardware)),
            EngineChoice::Rtl => Some(part_in_hardware(&args.define, &setup)?),
        },
        #[cfg(feature = "page")]
        watch: page.map(page::watch).transpose()?,
        ..Options::default()
    };
    let tell = |what: &Arc<AtomicBool>| {
        let (what, told) = (what.clone(), told.clone());
        move || {
            what.store(true, Ordering::Release);
            told.notify();
        }
    };
    signals::handle_all(Handlers {
        stop: tell(&options.stop),
        reload: Some(Box::new(tell(&options.reload))),
        dump: Some(Box::new(tell(&options.dump))),
    })?;
    let stats = hopwright_scion::run(setup, &options)?;
    tracing::info!(event = "router-stopped", forwarded = stats.packets_forwarded, "router stopped");
    Ok(())
}

/// Part of the program in simulated hardware, and software for the packets of the rest.
fn part_in_hardware(macros: &[String], setup: &Setup) -> Result<MakeDataPlane, Failure> {
    let part = compile::printed(program::compile_part(macros))?;
    let why = |reason: String| Failure::message(format!("the hardware with {}: {reason}", macros.join(" ")));
    if setup.config.hopwright.layout != Layout::Plain {
        return Err(why("it has no pipes: `layout` must be plain".into()));
    }
    if setup.config.hopwright.hummingbird {
        return Err(why(
            "it and the software beside it have no path type Hummingbird: `hummingbird` must be false".into()
        ));
    }
    let room = program::links_of_part(&part).map_err(|error| why(error.to_string()))?;
    let links = setup.links.external.len() + setup.links.siblings.len() + 1;
    if links as u64 > room {
        return Err(why(format!(
            "it has room for {room} links, and the configuration has {links}, siblings and the AS's network included"
        )));
    }
    Ok(MakeDataPlane::new(move |_| {
        let software = BuiltIn::read().run(EngineKind::Jit)?;
        let chip = hardware::chip(&part)?;
        let left_out = |sent: &Forwarded| program::is_left_out(sent.port, &sent.bytes);
        let whole = software.control().pipeline().clone();
        let design = PartialDesign::new(part.clone(), Box::new(chip), software, left_out)
            .map_err(|error| BuildError::Program(error.to_string()))?;
        VirtualDataPlane::offloaded(whole, Box::new(design))
    }))
}

/// Prints the script that sets up the namespace of the slow path's router.
fn slow_path(config: &Path) -> Result<(), Failure> {
    let setup = Setup::load(config, true)?;
    let Some(namespace) = setup.config.slow_path_netns() else {
        return Err(Failure::message("slow_path is not \"tap\" in hopwright.toml"));
    };
    print!("{}", hopwright_scion::tap::script(&namespace, &setup.links));
    Ok(())
}

/// Prints the state of the running router.
fn dump(config: &Path) -> Result<(), Failure> {
    let address = Config::load(config, true)?.metrics.prometheus;
    if address.is_empty() {
        return Err(Failure::message(
            "metrics.prometheus is not set: SIGQUIT makes the router write its state to its log",
        ));
    }
    // An address of all is one of this machine.
    let address = if address.starts_with(':') { format!("localhost{address}") } else { address };
    let failed = |error: io::Error| Failure::message(format!("http://{address}/state: {error}"));
    let mut stream = TcpStream::connect(&address).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    write!(stream, "GET /state HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, page)) if head.starts_with("HTTP/1.1 200 ") => print!("{page}"),
        _ => return Err(failed(io::Error::other(answer.lines().next().unwrap_or("no answer")))),
    }
    Ok(())
}

/// Reports errors in a router's files.
fn check(config: &Path, config_dir: Option<&Path>, lenient: bool) -> Result<(), Failure> {
    let report = config::check::check(config, config_dir, lenient);
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    for problem in &report.problems {
        eprintln!("error: {problem}");
    }
    match report.summary {
        Some(summary) => {
            println!("{summary}");
            for line in report.hosts.iter().chain(&report.links) {
                println!("  {line}");
            }
            Ok(())
        }
        None => Err(Failure::Reported),
    }
}
