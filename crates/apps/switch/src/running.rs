//! A running switch with its tenants, and how it comes to match a configuration.
//!
//! A change is prepared completely, programs compiled and devices opened, before anything is changed. Then tenants and devices go, come
//! and change one after the other. A tenant that stays loses no packet; one whose ports, matches or queues change is replaced by a new
//! one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_agent::hand_over::Heir;
use hopwright_dataplane::{
    Limits, Rate, Rule, Switch, SwitchBuilder, Tenant, TenantPorts, TenantSpec, VirtualDataPlane, Worker, free_memory,
};
use hopwright_p4runtime::{Access, Client, Device, Options, Server, Tls};
use hopwright_ports::opener::{Opened, Opener};
use hopwright_ports::{FrameMatch, Reception, Wanted};
use hopwright_telemetry::{Interfaces, Numbers, gnmi};

use crate::SwitchError;
use crate::agent::{self, Agent};
use crate::config::{self, Config, SwitchSettings};
use crate::memory::{self, Shares};
use crate::program::{Compiled, Programs};
use crate::succession::{self, Inherited};

/// The shortest time that a rate's burst covers, as a part of a second: a worker that sleeps or is interrupted takes up what came
/// meanwhile at once.
const BURST: u64 = 20;
/// The smallest bursts, in packets and in bits: two of the longest frames.
const MIN_PACKETS: u64 = 64;
const MIN_BITS: u64 = 2 * 8 * 9216;

/// Passes that a packet may cause, unless the configuration says otherwise. A worker makes them without looking at other tenants: these
/// wait for some tens of microseconds.
const PASSES: u32 = 128;

/// A tenant with what serves it.
pub(crate) struct Hosted {
    pub config: config::Tenant,
    pub tenant: Arc<Tenant>,
    pub device: Option<Arc<Device>>,
    program: Arc<Compiled>,
    pub agent: Agent,
}

/// The tenants, for threads that look at them.
pub(crate) type Board = Arc<Mutex<Vec<Shown>>>;

/// The tenants of a running switch, for threads that look at them.
#[derive(Clone)]
pub struct Tenants(Board);

impl Tenants {
    /// The tenants there are now, with their P4Runtime devices.
    pub fn now(&self) -> Vec<(Arc<Tenant>, Option<Arc<Device>>)> {
        lock(&self.0).iter().map(|shown| (shown.tenant.clone(), shown.device.clone())).collect()
    }
}

impl std::fmt::Debug for Tenants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.now().iter().map(|(tenant, _)| tenant.name().to_string()).collect();
        f.debug_tuple("Tenants").field(&names).finish()
    }
}

/// What is shown of a tenant.
#[derive(Clone)]
pub(crate) struct Shown {
    pub tenant: Arc<Tenant>,
    pub device: Option<Arc<Device>>,
    pub agent: Agent,
}

/// A switch with tenants.
pub(crate) struct Running {
    config: Config,
    switch: Arc<Switch>,
    opener: Opener,
    /// The switch's port number of each device, and of each port that an agent adds ([`agent::own_port`]).
    numbers: BTreeMap<String, u32>,
    /// By device: the kind of its ports, and why.
    how: BTreeMap<String, String>,
    /// By device: which frames it receives.
    receptions: BTreeMap<String, Reception>,
    hosted: Vec<Hosted>,
    server: Option<Server>,
    board: Board,
    /// What tenants get of those in another process, by their names, until that has gone.
    inherited: BTreeMap<String, Inherited>,
}

/// A program that a tenant is to have, and a data plane for it.
type NewProgram = (Arc<Compiled>, Arc<VirtualDataPlane>);

/// A prepared change.
struct Prepared {
    shares: Shares,
    /// By tenant: what is new.
    programs: BTreeMap<String, NewProgram>,
    /// By device.
    ports: BTreeMap<String, Opened>,
}

/// What a change did, in words.
pub(crate) type Changes = Vec<String>;

/// The most changes, or objects of one kind, that a line of the log names.
pub(crate) const NAMED: usize = 10;

/// What a change did, in a line of the log.
pub(crate) fn in_a_line(changes: &[String]) -> String {
    let (named, others) = changes.split_at(changes.len().min(NAMED));
    match others.len() {
        0 => named.join(", "),
        others => format!("{} changes: {}, and {others} others", changes.len(), named.join(", ")),
    }
}

impl Running {
    /// Builds the switch. The worker does not run yet. If it takes over from another process, nothing is served before [`Running::serve`].
    pub(crate) fn start(config: Config, heir: &mut Heir) -> Result<(Running, Worker), SwitchError> {
        let names: Vec<&str> = config.ports.iter().map(String::as_str).collect();
        let (opener, pools) = Opener::new(&Wanted {
            choice: config.switch.ports,
            mtu: config.switch.mtu,
            headroom: config.switch.headroom,
            devices: config.ports.len().max(1),
            memory: heir.memory(&names),
            ..Wanted::default()
        })?;
        heir.bequeath(&opener);
        let takes_over = heir.takes_over();
        let inherited = if takes_over { succession::inherited(&mut heir.offer)? } else { BTreeMap::new() };
        let (switch, worker) = SwitchBuilder::without_tenants().pools(pools).batch(config.switch.batch).build()?;
        let settings = config.p4runtime.as_ref().filter(|_| !takes_over);
        let server = settings.map(|settings| serve(settings, &switch)).transpose()?;
        let empty = Config { ports: Vec::new(), queues: BTreeMap::new(), tenants: Vec::new(), ..config.clone() };
        let mut running = Running {
            config: empty,
            switch,
            opener,
            numbers: BTreeMap::new(),
            how: BTreeMap::new(),
            receptions: BTreeMap::new(),
            hosted: Vec::new(),
            server,
            board: Board::default(),
            inherited,
        };
        running.change(config)?;
        Ok((running, worker))
    }

    /// Serves P4Runtime, once the process that this one has taken over from has gone.
    ///
    /// # Errors
    /// The address is in use.
    pub(crate) fn serve(&mut self) -> Result<(), SwitchError> {
        self.inherited.clear();
        let Some(settings) = &self.config.p4runtime else { return Ok(()) };
        let server = serve(settings, &self.switch)?;
        self.hosted.iter().filter_map(|hosted| hosted.device.as_ref()).try_for_each(|d| server.add_shared(d))?;
        server.set_access(access(settings, &self.config));
        self.server = Some(server);
        Ok(())
    }

    pub(crate) fn opener(&self) -> &Opener {
        &self.opener
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn switch(&self) -> &Arc<Switch> {
        &self.switch
    }

    /// The kind of a device's ports, and why; `None` for ports that agents add.
    pub(crate) fn how(&self, device: &str) -> Option<&str> {
        self.how.get(device).map(String::as_str)
    }

    /// What keeps devices receiving.
    pub(crate) fn receptions(&self) -> impl Iterator<Item = &Reception> {
        self.receptions.values()
    }

    pub(crate) fn tenants(&self) -> Tenants {
        Tenants(self.board.clone())
    }

    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    pub(crate) fn hosted(&self, name: &str) -> Option<&Hosted> {
        self.hosted.iter().find(|h| h.config.name == name)
    }

    pub(crate) fn all_hosted(&self) -> &[Hosted] {
        &self.hosted
    }

    /// Where P4Runtime is served.
    pub(crate) fn p4runtime(&self) -> Option<std::net::SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Makes the switch match a configuration, and tells what has changed.
    ///
    /// # Errors
    /// If the configuration cannot be prepared, or needs a restart: nothing was changed then. [`SwitchError::Incomplete`] if
    /// something that should not fail did.
    pub(crate) fn change(&mut self, config: Config) -> Result<Changes, SwitchError> {
        self.check_restart(&config)?;
        let prepared = self.prepare(&config)?;
        let mut changes = Changes::new();
        let result = self.apply(config, prepared, &mut changes);
        if result.is_err() {
            self.divide_again();
        }
        self.publish();
        // Of what was removed, and of compiling.
        free_memory::give_back();
        match result {
            Ok(()) => Ok(changes),
            Err(error) if changes.is_empty() => Err(error),
            Err(error) => Err(SwitchError::Incomplete { done: changes, error: Box::new(error) }),
        }
    }

    /// Changes what a tenant may use, until the next change of its configuration.
    pub(crate) fn set_limits(&mut self, name: &str, limits: config::Limits) -> Result<(), SwitchError> {
        let mut config = self.config.clone();
        let tenant = config.tenants.iter_mut().find(|t| t.name == name);
        tenant.ok_or_else(|| SwitchError::NoSuchTenant(name.into()))?.limits = limits;
        let shares = Shares::of(&config).map_err(SwitchError::Memory)?;
        // The other tenants' shares change, too.
        self.divide(&config, shares, |_| false)?;
        let mut of_tenant = self.hosted.iter().filter(|hosted| hosted.config.name == name);
        if let Err(error) = of_tenant.try_for_each(|hosted| hosted.tenant.set_limits(limits_of(&limits, shares))) {
            self.divide_again();
            return Err(error.into());
        }
        for hosted in self.hosted.iter_mut().filter(|hosted| hosted.config.name == name) {
            hosted.config.limits = limits;
        }
        self.config = config;
        Ok(())
    }

    /// Gives the tenants that stay the memory that they may have. Those of which a program is to be replaced get the greater of both
    /// limits, until they have it.
    ///
    /// # Errors
    /// One has more already; then nothing was changed.
    fn divide(&self, config: &Config, shares: Shares, replaced: impl Fn(&str) -> bool) -> Result<(), SwitchError> {
        let mut others = Vec::new();
        for hosted in &self.hosted {
            let Some(new) = config.tenant(&hosted.config.name) else { continue };
            let limits = hosted.tenant.limits();
            let mut memory = Some(shares.limit(new.limits.memory));
            if replaced(&new.name) {
                memory = memory.max(limits.memory);
            }
            others.push((&hosted.tenant, limits, memory));
        }
        // Those that get less first: only they can refuse, and then nobody has got more, which might be in use when it is taken back.
        others.sort_by_key(|(_, before, memory)| *memory > before.memory);
        for (at, (tenant, before, memory)) in others.iter().enumerate() {
            if let Err(error) = tenant.set_limits(Limits { memory: *memory, ..*before }) {
                for (tenant, before, _) in others.iter().take(at) {
                    let restored = tenant.set_limits(*before);
                    restored.unwrap_or_else(|error| tracing::error!("a limit cannot be restored: {error}"));
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Divides the memory among the tenants that there are, after a change that was not made, or not completely.
    fn divide_again(&self) {
        let tenants = self.hosted.iter().map(|hosted| hosted.config.clone()).collect();
        let config = Config { tenants, ..self.config.clone() };
        let shares = Shares::of(&config).map_err(SwitchError::Memory);
        if let Err(error) = shares.and_then(|shares| self.divide(&config, shares, |_| false)) {
            tracing::error!("the memory cannot be divided as before: {error}");
        }
    }

    fn check_restart(&self, new: &Config) -> Result<(), SwitchError> {
        let stays = |device: &&String| new.ports.contains(device);
        let other_queues = |device: &String| self.config.queues.get(device) != new.queues.get(device);
        let service = |config: &Config| config.p4runtime.as_ref().map(|p| (p.address, p.tls.clone()));
        let settings = |config: &Config| SwitchSettings { memory: None, ..config.switch.clone() };
        let key = if settings(&self.config) != settings(new) {
            "[switch]"
        } else if self.config.metrics != new.metrics {
            "[metrics]"
        } else if self.config.ports.iter().filter(stays).any(other_queues) {
            "[[port]] rate, queue_packets or queue_weights"
        } else if service(&self.config) != service(new) {
            "[p4runtime] address, certificate, key or client_ca"
        } else {
            return Ok(());
        };
        Err(SwitchError::NeedsRestart(key))
    }

    /// Compiles programs and opens devices that are new.
    fn prepare(&self, config: &Config) -> Result<Prepared, SwitchError> {
        let shares = Shares::of(config).map_err(SwitchError::Memory)?;
        let mut prepared = Prepared { shares, programs: BTreeMap::new(), ports: BTreeMap::new() };
        let mut programs = Programs::default();
        for tenant in &config.tenants {
            let wrong = |message: String| SwitchError::Program { tenant: tenant.name.clone(), message };
            let compiled = programs.compile(&tenant.program).map_err(wrong)?;
            let old = self.hosted(&tenant.name).filter(|old| !needs_new_tenant(&old.config, tenant));
            if let Some(agent) = &tenant.agent
                && old.is_none_or(|old| old.config.agent != tenant.agent)
            {
                let name = tenant.name.clone();
                agent::check_files(agent).map_err(|message| SwitchError::Agent { tenant: name, message })?;
            }
            if old.is_some_and(|old| old.program.same(&compiled)) {
                continue;
            }
            let may = shares.limit(tenant.limits.memory);
            // Before anything is allocated; then with machine code and entries.
            let (ports, queue) = ([Some(tenant.cpu_port), urgent_cpu_port(tenant)], tenant.cpu_queue);
            memory::check(&tenant.name, self.switch.needs(&compiled.program.pipeline, ports, queue), may)?;
            let vdp = compiled.data_plane().map_err(wrong)?;
            memory::check(&tenant.name, self.switch.needs_with(&vdp, ports, queue), may)?;
            prepared.programs.insert(tenant.name.clone(), (compiled, vdp));
        }
        for device in config.ports.iter().filter(|device| !self.numbers.contains_key(*device)) {
            if self.opener.is_occupied(device) {
                return Err(SwitchError::Occupied(device.clone()));
            }
            let mut opened = self.opener.open(device, &FrameMatch::Everything)?;
            if let Some(queues) = config.queues.get(device) {
                opened.ports = queues.attach(opened.ports);
            }
            prepared.ports.insert(device.clone(), opened);
        }
        Ok(prepared)
    }

    fn apply(&mut self, new: Config, mut prepared: Prepared, changes: &mut Changes) -> Result<(), SwitchError> {
        let shares = prepared.shares;
        self.divide(&new, shares, |tenant| prepared.programs.contains_key(tenant))?;
        // What goes, or makes room for another of its name.
        for old in std::mem::take(&mut self.hosted) {
            match new.tenant(&old.config.name) {
                Some(tenant) if !needs_new_tenant(&old.config, tenant) => self.hosted.push(old),
                _ => self.remove(old, changes)?,
            }
        }
        for device in self.config.ports.clone() {
            if !new.ports.contains(&device)
                && let Some(number) = self.numbers.remove(&device)
            {
                self.switch.remove_port(number)?;
                self.receptions.remove(&device);
                self.how.remove(&device);
                changes.push(format!("device {device} removed"));
            }
        }
        for (device, opened) in prepared.ports {
            let number = self.free_number();
            self.switch.add_ports(number, opened.ports)?;
            self.numbers.insert(device.clone(), number);
            self.receptions.insert(device.clone(), Reception::open(&device)?);
            changes.push(format!("device {device} added, {}", opened.how));
            self.how.insert(device, opened.how);
        }
        for tenant in &new.tenants {
            let program = prepared.programs.remove(&tenant.name);
            match self.hosted.iter().position(|h| h.config.name == tenant.name) {
                Some(at) => self.update(at, tenant, shares, program, changes)?,
                None => {
                    let Some(program) = program else { continue };
                    self.add(tenant, shares, program, changes)?;
                }
            }
        }
        for (device, reception) in &mut self.receptions {
            if let Some(number) = self.numbers.get(device) {
                reception.set(&self.switch.addresses(*number))?;
            }
        }
        if let (Some(server), Some(settings)) = (&self.server, &new.p4runtime) {
            server.set_access(access(settings, &new));
        }
        self.config = new;
        Ok(())
    }

    /// A number that no port of the switch has.
    fn free_number(&self) -> u32 {
        (0..).find(|n| !self.numbers.values().any(|taken| taken == n)).unwrap_or(0)
    }

    fn add(
        &mut self,
        config: &config::Tenant,
        shares: Shares,
        (program, vdp): NewProgram,
        changes: &mut Changes,
    ) -> Result<(), SwitchError> {
        if let Some((_, name)) = agent::own_port(config) {
            self.numbers.insert(name, self.free_number());
        }
        let tenant = self.switch.add_tenant(&spec(config, &self.numbers, shares, vdp))?;
        warn_of_headroom(&tenant);
        let mut hosted = Hosted { config: config.clone(), tenant, device: None, program, agent: Agent::default() };
        let served = self.serve_tenant(&mut hosted).and_then(|()| self.start_agent(&hosted));
        self.hosted.push(hosted);
        served?;
        changes.push(format!("tenant {} added", config.name));
        Ok(())
    }

    fn remove(&mut self, old: Hosted, changes: &mut Changes) -> Result<(), SwitchError> {
        old.agent.stop();
        if let (Some(server), Some(device)) = (&self.server, &old.device) {
            server.remove(device.id());
        }
        if let Some((_, name)) = agent::own_port(&old.config) {
            self.numbers.remove(&name);
        }
        self.switch.remove_tenant(&old.config.name)?;
        changes.push(format!("tenant {} removed", old.config.name));
        Ok(())
    }

    /// Changes a tenant that stays.
    fn update(
        &mut self,
        at: usize,
        new: &config::Tenant,
        shares: Shares,
        program: Option<NewProgram>,
        changes: &mut Changes,
    ) -> Result<(), SwitchError> {
        let hosted = &mut self.hosted[at];
        let name = &new.name;
        let other_agent = hosted.config.agent != new.agent;
        let restart = program.is_some() || other_agent;
        if restart {
            hosted.agent.stop();
        }
        if let Some((compiled, vdp)) = program {
            let wrong = |message: String| SwitchError::Program { tenant: name.clone(), message };
            match &hosted.device {
                Some(device) => {
                    device.set_program(compiled.program.clone(), vdp).map_err(|f| wrong(f.message))?;
                }
                None => {
                    hosted.tenant.replace(vdp).map_err(|e| wrong(e.to_string()))?;
                    warn_of_headroom(&hosted.tenant);
                }
            }
            hosted.program = compiled;
            changes.push(format!("tenant {name}: another program"));
        }
        // The memory may be an equal share, which others change.
        hosted.tenant.set_limits(limits_of(&new.limits, shares))?;
        if hosted.config.limits != new.limits {
            changes.push(format!("tenant {name}: other limits"));
        }
        let other_id = hosted.config.device_id != new.device_id;
        hosted.config = new.clone();
        if other_id {
            let mut hosted = self.hosted.swap_remove(at);
            if let (Some(server), Some(device)) = (&self.server, hosted.device.take()) {
                server.remove(device.id());
            }
            let served = self.serve_tenant(&mut hosted);
            self.hosted.push(hosted);
            served?;
            changes.push(format!("tenant {name}: another device id"));
        }
        if restart && let Some(hosted) = self.hosted(name) {
            self.start_agent(hosted)?;
        }
        if other_agent {
            changes.push(format!("tenant {name}: another agent"));
        }
        Ok(())
    }

    /// Gives a tenant its P4Runtime device.
    fn serve_tenant(&self, hosted: &mut Hosted) -> Result<(), SwitchError> {
        let Some(id) = hosted.config.device_id.filter(|_| self.config.p4runtime.is_some()) else { return Ok(()) };
        let device = Device::new(id, hosted.tenant.clone(), hosted.config.program.engine);
        let device = match hosted.config.count_fcs {
            Some(count) => device.count_fcs(count),
            None => device,
        };
        let device = device.with_program(hosted.program.program.clone());
        let device = Arc::new(if hosted.config.agent.is_some() { device.read_only() } else { device });
        if let Some(server) = &self.server {
            server.add_shared(&device)?;
        }
        let inherited = self.inherited.get(&hosted.config.name).filter(|_| hosted.config.agent.is_none());
        if let Some(saved) = inherited.and_then(|inherited| inherited.device.as_deref()) {
            load(&device, &hosted.config.name, saved)?;
        }
        hosted.device = Some(device);
        Ok(())
    }

    fn start_agent(&self, hosted: &Hosted) -> Result<(), SwitchError> {
        let kind = hosted.config.agent.as_ref().map(|agent| agent.kind.name());
        let inherited = self.inherited.get(&hosted.config.name).filter(|inherited| inherited.kind.as_deref() == kind);
        let inherited = inherited.map(|inherited| &inherited.agent);
        let started = hosted.agent.start(&hosted.config, &hosted.tenant, &self.switch, inherited);
        started.map_err(|message| SwitchError::Agent { tenant: hosted.config.name.clone(), message })
    }

    /// Has agents read their files again.
    pub(crate) fn reload_agents(&self) {
        self.hosted.iter().for_each(|hosted| hosted.agent.reload());
    }

    fn publish(&self) {
        let shown = |h: &Hosted| Shown { tenant: h.tenant.clone(), device: h.device.clone(), agent: h.agent.clone() };
        *lock(&self.board) = self.hosted.iter().map(shown).collect();
    }
}

/// Gives a tenant's device the state of one in another process.
pub(crate) fn load(device: &Device, tenant: &str, saved: &[u8]) -> Result<(), SwitchError> {
    let refused = device.load(saved).map_err(|failure| SwitchError::Program {
        tenant: tenant.into(),
        message: format!("it cannot be taken over: {}", failure.message),
    })?;
    if refused > 0 {
        tracing::warn!("tenant {tenant}: {refused} of the entries that it had do not fit its program now");
    }
    Ok(())
}

/// A tenant on a switch with devices of these numbers.
pub(crate) fn spec(
    config: &config::Tenant,
    numbers: &BTreeMap<String, u32>,
    shares: Shares,
    vdp: Arc<VirtualDataPlane>,
) -> TenantSpec {
    let number = |device: &String| numbers.get(device).copied();
    let rule = |rule: &config::Match| Rule {
        port: rule.port.as_ref().and_then(number),
        vlan: rule.vlan,
        mac: rule.mac,
        copy_groups: rule.groups,
    };
    let mut ports: BTreeMap<u32, u32> =
        config.ports.iter().filter_map(|(own, device)| Some((*own, number(device)?))).collect();
    let mut rules: Vec<Rule> = config.rules.iter().map(rule).collect();
    if rules.is_empty() {
        rules.push(Rule::default());
    }
    if let Some((own, of_switch)) = agent::own_port(config).and_then(|(own, name)| Some((own, number(&name)?))) {
        ports.insert(own, of_switch);
        rules.push(Rule { port: Some(of_switch), ..Rule::default() });
    }
    TenantSpec {
        ports: TenantPorts::Numbered(ports),
        cpu_port: Some(config.cpu_port),
        urgent_cpu_port: urgent_cpu_port(config),
        cpu_queue: config.cpu_queue,
        rules,
        limits: limits_of(&config.limits, shares),
        ..TenantSpec::new(config.name.clone(), vdp)
    }
}

/// The port of packets of a tenant that its agent gets by a queue of their own.
pub(crate) fn urgent_cpu_port(config: &config::Tenant) -> Option<u32> {
    config.agent.as_ref().and_then(|agent| agent.kind.needs().urgent_cpu_port)
}

fn warn_of_headroom(tenant: &Tenant) {
    if let Some(warning) = tenant.headroom_warning() {
        tracing::warn!("tenant {}: {warning}", tenant.name());
    }
}

/// Whether a change of a tenant's configuration needs another tenant of its name.
fn needs_new_tenant(old: &config::Tenant, new: &config::Tenant) -> bool {
    let kind = |tenant: &config::Tenant| tenant.agent.as_ref().map(|a| a.kind);
    (&old.ports, &old.rules, old.cpu_port, old.cpu_queue, kind(old))
        != (&new.ports, &new.rules, new.cpu_port, new.cpu_queue, kind(new))
}

fn limits_of(limits: &config::Limits, shares: Shares) -> Limits {
    let rate = |per_second: Option<u64>, smallest: u64| {
        per_second.map(|per_second| Rate { per_second, burst: (per_second / BURST).max(smallest) })
    };
    Limits {
        packets: rate(limits.packets, MIN_PACKETS),
        bits: rate(limits.bits, MIN_BITS),
        weight: limits.share,
        frames: limits.frames,
        passes: Some(limits.passes.unwrap_or(PASSES)),
        memory: Some(shares.limit(limits.memory)),
    }
}

/// Serves P4Runtime, BfRuntime and gNMI.
fn serve(settings: &config::P4Runtime, switch: &Arc<Switch>) -> Result<Server, SwitchError> {
    let interfaces = Arc::new(Interfaces::of_switch(switch, Numbers::Kernel).map_err(SwitchError::Interfaces)?);
    let tls = settings.tls.as_ref().map(|tls| Tls {
        certificate: tls.certificate.clone(),
        key: tls.key.clone(),
        client_ca: tls.client_ca.clone(),
    });
    // Until the tenants are there.
    let options = Options { address: settings.address, tls, access: Access::Later };
    Ok(Server::start_with(&options, [], |devices, routes| {
        gnmi::serve(interfaces, devices.clone(), hopwright_bfruntime::serve(devices, routes))
    })?)
}

/// Who may reach which devices.
fn access(settings: &config::P4Runtime, config: &Config) -> Access {
    let Some(clients) = &settings.clients else { return Access::Everybody };
    let id = |name: &String| config.tenant(name)?.device_id;
    let client = |c: &config::Client| Client {
        name: c.name.clone(),
        devices: c.tenants.as_ref().map(|tenants| tenants.iter().filter_map(id).collect()),
        roles: c.roles.clone(),
        programs: c.programs,
    };
    Access::Clients(clients.iter().map(client).collect())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_names_a_few_of_many_changes() {
        let added = |count: usize| -> Changes { (1..=count).map(|number| format!("tenant {number} added")).collect() };
        let ten = "tenant 1 added, tenant 2 added, tenant 3 added, tenant 4 added, tenant 5 added, tenant 6 added, \
            tenant 7 added, tenant 8 added, tenant 9 added, tenant 10 added";
        assert_eq!(in_a_line(&added(1)), "tenant 1 added");
        assert_eq!(in_a_line(&added(10)), ten);
        assert_eq!(in_a_line(&added(1000)), format!("1000 changes: {ten}, and 990 others"));
    }
}
