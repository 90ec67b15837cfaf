//! A switch's part when another process takes over: tenants go on with what their controllers have written, and with their agents.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use hopwright_agent::Inheritance;
use hopwright_agent::hand_over::{
    HandOverError, Offer, StoppedAt, TakeOver, Workers, begin_at, duplicates, of_receptions, positions,
    refusal_of_ports,
};
use hopwright_p4runtime::Held;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::SwitchError;
use crate::admin::Socket;
use crate::cells::Cells;
use crate::running::{Hosted, NAMED, Running, load};

/// A tenant as it is handed over.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    tenant: String,
    /// The kind of its agent.
    kind: Option<String>,
    /// What its controllers have written.
    device: Option<Vec<u8>>,
    /// Its agent's state.
    agent: Vec<u8>,
}

/// What has changed of a tenant when it has stopped.
#[derive(Debug, Serialize, Deserialize)]
struct Changed {
    tenant: String,
    agent: Vec<u8>,
    /// Of a tenant without an agent.
    cells: Cells,
}

/// What a tenant gets of one in another process.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    pub kind: Option<String>,
    pub device: Option<Vec<u8>>,
    pub agent: Inheritance,
}

fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Writing to memory cannot fail.
    postcard::to_extend(value, Vec::new()).unwrap_or_default()
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, HandOverError> {
    postcard::from_bytes(bytes).map_err(|_| HandOverError::Unsound("its tenants cannot be read"))
}

/// The name of a tenant's descriptor among all.
fn descriptor(tenant: &str, name: &str) -> String {
    format!("{tenant}/{name}")
}

/// What tenants get, by their names, out of an offer.
pub(crate) fn inherited(offer: &mut Offer) -> Result<BTreeMap<String, Inherited>, HandOverError> {
    let saved: Vec<Saved> = read(&offer.state)?;
    let of = |Saved { tenant, kind, device, agent: state }: Saved| {
        let prefix = descriptor(&tenant, "");
        let (own, others) =
            std::mem::take(&mut offer.descriptors).into_iter().partition(|(n, _)| n.starts_with(&prefix));
        offer.descriptors = others;
        let own: Vec<(String, OwnedFd)> = own;
        let descriptors = own.into_iter().map(|(name, one)| (name[prefix.len()..].to_string(), one)).collect();
        (tenant, Inherited { kind, device, agent: Inheritance { descriptors, state } })
    };
    Ok(saved.into_iter().map(of).collect())
}

/// The administration socket, and what runs beside the switch.
pub(crate) type Beside = (Socket, Box<dyn Send>);

/// A switch, its worker's thread, and servers' sockets.
pub(crate) struct Process<'a> {
    pub running: Running,
    pub workers: Workers,
    /// Servers' sockets by their addresses.
    pub listeners: Vec<(String, OwnedFd)>,
    /// What keeps controllers from writing.
    pub held: Vec<Held>,
    /// Opens what a predecessor has had.
    pub open: &'a dyn Fn(&Running) -> Result<Beside, SwitchError>,
    /// What is open of that.
    pub beside: Option<Beside>,
}

impl Process<'_> {
    /// Serves what a predecessor has served.
    fn serve(&mut self) -> Result<(), SwitchError> {
        self.running.serve()?;
        self.beside = Some((self.open)(&self.running)?);
        Ok(())
    }

    fn hosted(&self) -> impl Iterator<Item = (&str, &Hosted)> {
        self.running.all_hosted().iter().map(|hosted| (hosted.config.name.as_str(), hosted))
    }
}

impl TakeOver for Process<'_> {
    type Error = SwitchError;

    fn name(&self) -> String {
        "switch".into()
    }

    fn refusal(&self) -> Option<String> {
        let cannot = |(name, hosted): (&str, &Hosted)| {
            let cannot = hosted.agent.is_there() && hosted.agent.succession(|_| ()).is_none();
            cannot.then(|| format!("the agent of tenant {name} cannot be taken over"))
        };
        self.hosted().find_map(cannot).or_else(|| refusal_of_ports(self.running.opener()))
    }

    fn rounds(&self) -> u64 {
        self.running.switch().rounds()
    }

    fn sockets(&self) -> io::Result<Offer> {
        let mut descriptors = duplicates(&self.listeners)?;
        descriptors.extend(of_receptions(self.running.receptions())?);
        for (tenant, hosted) in self.hosted() {
            let own = hosted.agent.succession(|agent| agent.descriptors()).transpose()?.unwrap_or_default();
            descriptors.extend(own.into_iter().map(|(name, one)| (descriptor(tenant, &name), one)));
        }
        Ok(Offer {
            descriptors,
            devices: self.running.opener().share()?,
            memory: self.running.opener().share_memory()?,
            ..Offer::default()
        })
    }

    fn state(&mut self) -> Vec<u8> {
        let mut held = Vec::new();
        let save = |(name, hosted): (&str, &Hosted)| {
            let kind = hosted.config.agent.as_ref().map(|agent| agent.kind.name().to_string());
            let device = hosted.device.as_ref().filter(|_| kind.is_none()).and_then(|device| {
                let saved = device.hold().map(|hold| held.push(hold)).and_then(|()| device.save());
                let failed = |failure: &hopwright_p4runtime::Failure| {
                    tracing::warn!(
                        tenant = name,
                        error = failure.message,
                        "what controllers have written is not handed over"
                    );
                };
                warn_of_hashes(name, &device.changed_hashes());
                warn_of_others(name, &device.beside());
                saved.inspect_err(failed).ok()
            });
            let agent = hosted.agent.succession(|agent| agent.state()).unwrap_or_default();
            Saved { tenant: name.into(), kind, device, agent }
        };
        let saved: Vec<Saved> = self.hosted().map(save).collect();
        self.held = held;
        bytes(&saved)
    }

    fn keep_state(&mut self) {
        self.held.clear();
        for (_, hosted) in self.hosted() {
            hosted.agent.succession(|agent| agent.keep_state());
        }
    }

    fn stop(&mut self) -> Result<StoppedAt, SwitchError> {
        for (_, hosted) in self.hosted() {
            hosted.agent.succession(|agent| agent.pause());
        }
        let Process { running, workers, .. } = self;
        let agents = || {
            let finish = |hosted: &Hosted| hosted.agent.succession(|agent| agent.finish()).unwrap_or_default();
            running.all_hosted().iter().fold(false, |any, hosted| finish(hosted) | any)
        };
        workers.pause(running.switch(), agents).map_err(|_| SwitchError::Worker)?;
        let changed = |(name, hosted): (&str, &Hosted)| Changed {
            tenant: name.into(),
            agent: hosted.agent.succession(|agent| agent.changes()).unwrap_or_default(),
            cells: if hosted.agent.is_there() { Cells::default() } else { Cells::of(&hosted.tenant.vdp()) },
        };
        let changed: Vec<Changed> = self.hosted().map(changed).collect();
        Ok(StoppedAt { state: bytes(&changed), positions: positions(self.running.opener(), &self.workers) })
    }

    fn go_on(&mut self) -> Result<(), SwitchError> {
        self.workers.go_on(self.running.switch()).map_err(SwitchError::Thread)?;
        for (_, hosted) in self.hosted() {
            hosted.agent.succession(|agent| agent.go_on());
        }
        Ok(())
    }

    fn last_state(&mut self) -> Vec<u8> {
        self.running.opener().leave();
        let last =
            |(name, hosted): (&str, &Hosted)| Some((name.to_string(), hosted.agent.succession(|agent| agent.leave())?));
        bytes(&self.hosted().filter_map(last).collect::<Vec<_>>())
    }

    fn follow(&mut self, stopped: &StoppedAt) -> Result<(), SwitchError> {
        begin_at(self.running.opener(), stopped);
        for Changed { tenant, agent: changes, cells } in read::<Vec<Changed>>(&stopped.state)? {
            let Some(hosted) = self.running.hosted(&tenant) else { continue };
            match hosted.agent.is_there() {
                true => agent_done(&tenant, hosted.agent.succession(|agent| agent.follow(&changes)))?,
                false => cells.write(&hosted.tenant.vdp()),
            }
        }
        Ok(())
    }

    fn renew(&mut self, state: &[u8]) -> Result<(), SwitchError> {
        for Saved { tenant, device, agent: state, .. } in read::<Vec<Saved>>(state)? {
            let Some(hosted) = self.running.hosted(&tenant) else { continue };
            agent_done(&tenant, hosted.agent.succession(|agent| agent.renew(&state)))?;
            if let (Some(saved), Some(device)) = (&device, &hosted.device) {
                load(device, &tenant, saved)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), SwitchError> {
        self.workers.go();
        Ok(())
    }

    fn take_charge(&mut self) {
        for (_, hosted) in self.hosted() {
            hosted.agent.succession(|agent| agent.begin());
        }
        if let Err(error) = self.running.opener().take_charge() {
            tracing::warn!(event = "socket-filter", %error, "cannot update the filters of sockets");
        }
    }

    fn predecessor_has_gone(&mut self, last: &[u8]) -> Result<(), SwitchError> {
        self.running.opener().predecessor_has_gone();
        self.running.opener().forget_predecessor();
        let last: Vec<(String, Vec<u8>)> = read(last).unwrap_or_default();
        for (name, hosted) in self.hosted() {
            let state = last.iter().find(|(tenant, _)| tenant == name).map_or(&[][..], |(_, state)| state);
            hosted.agent.succession(|agent| agent.predecessor_has_gone(state));
        }
        if let Err(error) = self.serve() {
            tracing::error!(%error, "what the process before has served is not served any more");
        }
        Ok(())
    }
}

/// Names some of the hashes that a controller has changed: another process computes them as the program declares them.
fn warn_of_hashes(tenant: &str, changed: &[String]) {
    if !changed.is_empty() {
        let names = changed[..changed.len().min(NAMED)].join(", ");
        tracing::warn!(
            tenant,
            hashes = changed.len(),
            names,
            "what controllers have changed of hashes is not handed over: they must write it again"
        );
    }
}

/// Names what BfRuntime clients have written to tables and attributes that P4Runtime does not have: another process does not have it.
fn warn_of_others(tenant: &str, written: &[&str]) {
    if !written.is_empty() {
        tracing::warn!(
            tenant,
            tables = written.join(", "),
            "what BfRuntime clients have written to these is not handed over: they must write it again"
        );
    }
}

fn agent_done(tenant: &str, done: Option<Result<(), hopwright_agent::StartError>>) -> Result<(), SwitchError> {
    let wrong =
        |error: hopwright_agent::StartError| SwitchError::Agent { tenant: tenant.into(), message: error.to_string() };
    done.unwrap_or(Ok(())).map_err(wrong)
}
