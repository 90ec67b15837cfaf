//! `hopwright switch`: a switch with tenants.

use std::sync::{Arc, mpsc};

use hopwright_dataplane::Switch;
#[cfg(feature = "page")]
use hopwright_dataplane::Tenant;
#[cfg(feature = "page")]
use hopwright_p4runtime::Device;
use hopwright_switch::{Command, Tenants, config};

use crate::cli::switch::{SwitchHostArgs, SwitchHostCommand};
use crate::failure::Failure;
use crate::signals;

/// Runs a switch until SIGTERM or SIGINT, with SIGHUP reloading its configuration; or checks a configuration; or prints a sample.
pub(crate) fn run(args: &SwitchHostArgs) -> Result<(), Failure> {
    if let Some(SwitchHostCommand::Sample) = args.command {
        print!("{}", config::SAMPLE);
        return Ok(());
    }
    let Some(file) = &args.config else { return Err(Failure::message("--config is missing")) };
    if args.check {
        hopwright_switch::check(file)?.iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    let (tell, commands) = mpsc::channel();
    // Fails only when the switch has ended.
    let told = |command: fn() -> Command| {
        let tell = tell.clone();
        move || drop(tell.send(command()))
    };
    signals::handle(told(|| Command::Stop), Some(Box::new(told(|| Command::Reload))))?;
    Ok(hopwright_switch::run(file, &commands, tell, &|switch, tenants| starting(args, switch, tenants))?)
}

/// Serves the page, if the options ask for it.
#[cfg(feature = "page")]
fn starting(args: &SwitchHostArgs, switch: &Arc<Switch>, tenants: Tenants) -> Result<Box<dyn Send>, String> {
    let watched = Arc::new(Hosted { switch: switch.clone(), tenants });
    let page = super::page::start(&args.page, watched).map_err(|failure| match failure {
        Failure::Error(error) => Failure::text(&error),
        Failure::Reported => "the page cannot be served".into(),
    })?;
    Ok(Box::new(page))
}

#[cfg(not(feature = "page"))]
fn starting(_: &SwitchHostArgs, _: &Arc<Switch>, _: Tenants) -> Result<Box<dyn Send>, String> {
    Ok(Box::new(()))
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
}
