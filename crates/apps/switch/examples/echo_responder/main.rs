//! An agent that gets packets from its program and sends others: it answers ICMP echo requests to an address of its own.
//!
//! `echo_responder alone ADDRESS DEVICE` runs it alone, `echo_responder switch switch.toml` as a tenant with
//! `agent = { kind = "echo", address = "10.0.0.1" }`. Its MAC address is 02:00 and the four bytes of the address.

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hopwright_agent::{Agent, Environment, Kind, Metric, Needs, Settings, SettingsError, StartError, Table, alone};
use hopwright_dataplane::{Difference, EntrySpec, Tenant};
use hopwright_driver::{Compiled, Options, compile_text};
use hopwright_host::signals;

struct Echo;

impl Kind for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn needs(&self) -> Needs {
        Needs { cpu_port: Some(510), ..Needs::default() }
    }

    fn compile(&self, _: &[String]) -> Compiled {
        compile_text("echo.p4", include_str!("echo.p4"), &Options::default(), true)
    }

    fn settings(&self, table: Table, _: &Path) -> Result<Box<dyn Settings>, SettingsError> {
        match table.get("address").and_then(|text| text.as_str()?.parse().ok()) {
            Some(address) if table.len() == 1 => Ok(Box::new(Own(address))),
            _ => Err("expected one setting, `address`: an IPv4 address".into()),
        }
    }
}

/// The settings: its address.
struct Own(Ipv4Addr);

impl Settings for Own {
    fn start(&self, environment: &Environment<'_>) -> Result<Box<dyn Agent>, StartError> {
        let (tenant, ip) = (environment.tenant.clone(), u32::from(self.0));
        let resolved = EntrySpec::new("resolved", "answer").exact(ip).arg(0x0200_0000_0000 | u64::from(ip));
        let entries = [resolved, EntrySpec::new("asked", "punt").exact(ip)];
        let vdp = tenant.vdp();
        Difference::between(vdp.control(), &["resolved", "asked"], &entries)?.apply(vdp.control())?;
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, its_stop) = (tenant.clone(), stop.clone());
        let thread = thread::Builder::new().spawn(move || answer(&of_thread, &its_stop))?;
        Ok(Box::new(Responder { tenant, stop, thread: Some(thread) }))
    }
}

struct Responder {
    tenant: Arc<Tenant>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn answer(tenant: &Tenant, stop: &AtomicBool) {
    let (requests, replies) = (tenant.cpu(), tenant.injector());
    while !stop.load(Ordering::Relaxed) {
        let Some(packet) = requests.receive(Duration::from_millis(100)) else { continue };
        // The program gives only IPv4 packets without options. Nothing that is exchanged changes IPv4's checksum.
        let mut reply = packet.to_vec();
        let parts = reply.get_disjoint_mut([0..6, 6..12, 26..30, 30..34, 34..38]);
        let Ok([dst, src, ip_src, ip_dst, icmp]) = parts else { continue };
        dst.swap_with_slice(src);
        ip_src.swap_with_slice(ip_dst);
        // An echo reply has type 0 instead of 8: the sum of the words is less by 0x0800 (RFC 1624).
        let (sum, carry) = u16::from_be_bytes([icmp[2], icmp[3]]).overflowing_add(0x0800);
        icmp[0] = 0;
        icmp[2..].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
        // If the worker is behind, a reply is lost, which the tenant counts.
        let _ = replies.transmit(packet.ingress_port(), &reply);
    }
}

impl Agent for Responder {
    fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn metrics(&self) -> Vec<Metric> {
        let requests = self.tenant.vdp().control().counter("requests").and_then(|counter| counter.read(0));
        let number = requests.map_or(0, |count| count.packets);
        vec![Metric::counter("hopwright_echo_requests_total", "Requests received.", number)]
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_ansi(false).init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["alone", address, device] => {
            let options = alone::Options::new([(1, device.into())].into(), 510);
            alone::run(&Echo, &Own(address.parse()?), &options, &|_| Ok(Box::new(())))?;
        }
        ["switch", config] => {
            let ((tell, commands), alone) = (mpsc::channel(), Default::default());
            let stop = tell.clone();
            signals::handle(move || drop(stop.send(hopwright_switch::Command::Stop)), None)?;
            hopwright_switch::run(config.as_ref(), &[&Echo], &commands, tell, &alone, &|_, _| Ok(Box::new(())))?;
        }
        _ => return Err("expected `alone ADDRESS DEVICE` or `switch switch.toml`".into()),
    }
    Ok(())
}
