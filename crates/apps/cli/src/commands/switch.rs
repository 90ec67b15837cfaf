//! `hopwright switch`: a switch with tenants.

use std::sync::{Arc, mpsc};

use hopwright_agent::Kinds;
use hopwright_dataplane::Switch;
#[cfg(feature = "page")]
use hopwright_dataplane::Tenant;
#[cfg(feature = "page")]
use hopwright_p4runtime::Device;
use hopwright_switch::{Command, Tenants, config};
use hopwright_telemetry::{Interfaces, Numbers};

use crate::cli::switch::{SwitchHostArgs, SwitchHostCommand};
use crate::commands::{hand_over, telemetry};
use crate::failure::Failure;
use hopwright_host::signals;

/// The agents that tenants can have.
const KINDS: Kinds = &[
    #[cfg(feature = "ip")]
    hopwright_ip::KIND,
    #[cfg(feature = "openflow")]
    hopwright_openflow::KIND,
    #[cfg(feature = "scion")]
    hopwright_scion::KIND,
];

/// Runs a switch until SIGTERM or SIGINT, with SIGHUP reloading its configuration; or checks a configuration; or prints a sample.
pub(crate) fn run(args: &SwitchHostArgs) -> Result<(), Failure> {
    if let Some(SwitchHostCommand::Sample) = args.command {
        print!("{}", config::SAMPLE);
        return Ok(());
    }
    let Some(file) = &args.config else { return Err(Failure::message("--config is missing")) };
    if args.check {
        hopwright_switch::check(file, KINDS)?.iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    if args.hand_over.background {
        return hand_over::start_in_background();
    }
    let (tell, commands) = mpsc::channel();
    // Fails only when the switch has ended.
    let send = |command: fn() -> Command| {
        let tell = tell.clone();
        move || drop(tell.send(command()))
    };
    signals::handle(send(|| Command::Stop), Some(Box::new(send(|| Command::Reload))))?;
    let options = hand_over::options(&args.hand_over);
    Ok(hopwright_switch::run(file, KINDS, &commands, tell, &options, &|switch, tenants| {
        starting(args, switch, tenants)
    })?)
}

/// Starts what the options ask for beside the switch.
fn starting(args: &SwitchHostArgs, switch: &Arc<Switch>, tenants: Tenants) -> Result<Box<dyn Send>, String> {
    let text = |failure: Failure| failure.reason();
    let interfaces = || telemetry::interfaces(Interfaces::of_switch(switch, Numbers::Kernel));
    let management = telemetry::start(&args.telemetry, switch, interfaces).map_err(text)?;
    #[cfg(feature = "page")]
    let watched = Arc::new(Hosted { switch: switch.clone(), tenants });
    #[cfg(feature = "page")]
    let page = super::page::start(&args.page, watched).map_err(text)?;
    #[cfg(not(feature = "page"))]
    let page = drop(tenants);
    Ok(Box::new((management, page)))
}

/// A switch with tenants that come and go.
#[cfg(feature = "page")]
struct Hosted {
    switch: Arc<Switch>,
    tenants: Tenants,
}

#[cfg(feature = "page")]
impl hopwright_page::Watched for Hosted {
    fn switch(&self) -> Arc<Switch> {
        self.switch.clone()
    }

    fn tenants(&self) -> Vec<(Arc<Tenant>, Option<Arc<Device>>)> {
        self.tenants.now()
    }

    #[cfg(feature = "profile")]
    fn profile(&self, tenant: &Tenant, duration: std::time::Duration) -> Result<serde_json::Value, String> {
        super::profile::of_running(tenant, duration).map_err(|failure| failure.reason())
    }
}
