//! A fuzz target: `switch.toml`, and the tenants that it describes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hopwright_agent::Kinds;
use hopwright_dataplane::{EngineKind, FrameSize, SwitchBuilder, VirtualDataPlane};

use crate::config::{Config, ConfigError};
use crate::memory::Shares;
use crate::running::spec;

/// Separates a file from one with another tenant.
const SEPARATOR: char = '\0';
/// Packets that may wait for a control plane: queues of the longest allowed length would be most of the work.
const QUEUE: usize = 4;

/// Files of switches.
#[derive(Debug)]
pub struct Configs {
    vdp: Arc<VirtualDataPlane>,
    kinds: Kinds,
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// There are problems.
    Refused,
    /// A switch with this many tenants.
    Accepted(usize),
}

impl Configs {
    /// With the program of all tenants, and the kinds of agents that they can have.
    pub fn new(pipeline: hopwright_ir::Pipeline, kinds: Kinds) -> Configs {
        let vdp = VirtualDataPlane::new(Arc::new(pipeline), EngineKind::Interp).expect("the program runs");
        Configs { vdp, kinds }
    }

    /// Any text is a `switch.toml`, and behind a zero a file with one tenant more. It is refused, and each problem says in
    /// which line; or the data plane takes the tenants that it describes.
    ///
    /// # Panics
    /// If neither is so.
    pub fn file(&self, text: &str) -> Outcome {
        let (file, another) = match text.split_once(SEPARATOR) {
            Some((file, another)) => (file, Some(another)),
            None => (text, None),
        };
        let Some(config) = accepted(file, Config::parse(Path::new("switch.toml"), file, self.kinds)) else {
            return Outcome::Refused;
        };
        self.host(&config);
        for tenant in &config.tenants {
            let without = config.without_tenant(&tenant.name);
            assert!(without.tenant(&tenant.name).is_none() && without.tenants.len() + 1 == config.tenants.len());
        }
        if let Some(another) = another
            && let Some(more) = accepted(another, config.with_tenant(Path::new("switch.toml"), another))
        {
            assert_eq!(more.tenants.len(), config.tenants.len() + 1);
            self.host(&more);
        }
        Outcome::Accepted(config.tenants.len())
    }

    /// Adds the tenants to a switch.
    fn host(&self, config: &Config) {
        let numbers: BTreeMap<String, u32> = config.ports.iter().cloned().zip(0..).collect();
        let builder = SwitchBuilder::without_tenants().pool(0, FrameSize::for_mtu(68)).batch(config.switch.batch);
        let (switch, _worker) = builder.build().expect("a switch");
        let shares = Shares::of(config).expect("memory was checked");
        for tenant in &config.tenants {
            assert!(tenant.limits.check().is_ok(), "{:?}", tenant.limits);
            let mut spec = spec(tenant, &numbers, shares, self.vdp.clone());
            // The program is not the tenant's.
            spec.limits.memory = None;
            spec.cpu_queue = spec.cpu_queue.min(QUEUE);
            switch.add_tenant(&spec).unwrap_or_else(|error| panic!("tenant `{}`: {error}", tenant.name));
        }
    }
}

fn accepted(text: &str, parsed: Result<Config, ConfigError>) -> Option<Config> {
    let problems = match parsed {
        Ok(config) => return Some(config),
        Err(ConfigError::Problems(problems)) => problems,
        Err(error) => panic!("no file was read: {error}"),
    };
    assert!(!problems.is_empty(), "refused without a reason");
    for problem in problems {
        assert!(problem.line <= text.split('\n').count() && !problem.message.is_empty(), "{problem}");
        assert!(problem.to_string().starts_with("switch.toml"), "{problem}");
    }
    None
}
