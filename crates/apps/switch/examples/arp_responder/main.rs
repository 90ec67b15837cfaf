//! An agent of one's own: it answers ARP requests for the hosts in a file, which SIGHUP has it read again.
//!
//! `arp_responder alone HOSTS 1@eth0 2@eth1` runs it alone, `arp_responder switch switch.toml` as a tenant with
//! `agent = { kind = "arp", hosts = "FILE" }`. A line of the file is an address and its MAC: `10.0.0.1 02:00:00:00:00:01`.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use hopwright_agent::hand_over::HandOver;
use hopwright_agent::{Agent, Environment, Kind, Metric, Needs, Settings, SettingsError, StartError, Table, alone};
use hopwright_dataplane::{Difference, EntrySpec, Tenant};
use hopwright_driver::{Compiled, Options, compile_text};
use hopwright_host::signals;
use hopwright_switch::Command;

/// The protocol: a name, a program, and how settings are read.
struct Arp;

impl Kind for Arp {
    fn name(&self) -> &'static str {
        "arp"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn compile(&self, _: &[String]) -> Compiled {
        compile_text("arp.p4", include_str!("arp.p4"), &Options::default(), true)
    }

    fn settings(&self, table: Table, folder: &Path) -> Result<Box<dyn Settings>, SettingsError> {
        match table.get("hosts").and_then(|file| file.as_str()) {
            Some(file) if table.len() == 1 => Ok(Box::new(Hosts(folder.join(file)))),
            _ => Err("expected one setting, `hosts`: the name of a file".into()),
        }
    }
}

/// The settings: the file of hosts.
#[derive(Clone)]
struct Hosts(PathBuf);

/// The table entry of a line.
fn entry(line: &str) -> Option<EntrySpec> {
    let (ip, mac) = line.split_once(' ')?;
    let mac = u64::from_str_radix(&mac.replace(':', ""), 16).ok()?;
    Some(EntrySpec::new("hosts", "answer").exact(u32::from(ip.parse::<Ipv4Addr>().ok()?)).arg(mac))
}

impl Hosts {
    fn entries(&self) -> Result<Vec<EntrySpec>, StartError> {
        let file = self.0.display();
        let text = std::fs::read_to_string(&self.0).map_err(|error| format!("{file}: {error}"))?;
        let wrong = |line| StartError::from(format!("{file}: `{line}`: expected an address and a MAC address"));
        text.lines().map(|line| entry(line).ok_or_else(|| wrong(line))).collect()
    }
}

impl Settings for Hosts {
    fn check(&self) -> Result<(), StartError> {
        self.entries().map(drop)
    }

    fn start(&self, environment: &Environment<'_>) -> Result<Box<dyn Agent>, StartError> {
        let agent = Responder { hosts: self.clone(), tenant: environment.tenant.clone() };
        agent.fill()?;
        Ok(Box::new(agent))
    }
}

/// The agent. It fills the table; the program answers.
struct Responder {
    hosts: Hosts,
    tenant: Arc<Tenant>,
}

impl Responder {
    fn fill(&self) -> Result<(), StartError> {
        let vdp = self.tenant.vdp();
        Difference::between(vdp.control(), &["hosts"], &self.hosts.entries()?)?.apply(vdp.control())?;
        Ok(())
    }
}

impl Agent for Responder {
    fn is_running(&self) -> bool {
        true
    }

    fn reload(&self) {
        if let Err(error) = self.fill() {
            tracing::error!("{error}: the table stays as it is");
        }
    }

    fn metrics(&self) -> Vec<Metric> {
        let answers = self.tenant.vdp().control().counter("answers").and_then(|counter| counter.read(0));
        vec![Metric::counter(
            "hopwright_arp_answers_total",
            "Requests answered.",
            answers.map_or(0, |count| count.packets),
        )]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_ansi(false).init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (tell, commands) = mpsc::channel();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["alone", hosts, ref devices @ ..] => {
            let device =
                |text: &&str| Some((text.split_once('@')?.0.parse().ok()?, text.split_once('@')?.1.to_string()));
            let devices: Option<BTreeMap<u32, String>> = devices.iter().map(device).collect();
            let options = alone::Options::new(devices.ok_or("expected NUMBER@DEVICE")?, 510);
            println!("{:?}", alone::run(&Arp, &Hosts(hosts.into()), &options, &|_| Ok(Box::new(())))?.agent);
        }
        ["switch", config] => {
            let (stop, reload) = (tell.clone(), tell.clone());
            let reload = move || drop(reload.send(Command::Reload));
            signals::handle(move || drop(stop.send(Command::Stop)), Some(Box::new(reload)))?;
            let alone = HandOver::default();
            hopwright_switch::run(config.as_ref(), &[&Arp], &commands, tell, &alone, &|_, _| Ok(Box::new(())))?;
        }
        _ => return Err("expected `alone HOSTS NUMBER@DEVICE…` or `switch switch.toml`".into()),
    }
    Ok(())
}
