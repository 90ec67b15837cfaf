//! The complete configuration of a router: what its files say, read and checked together; and how it changes while the router runs.

pub mod change;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::bfd;
use crate::config::keys::{self, KeyError, Keys};
use crate::config::links::{Links, LinksError};
use crate::config::topology::{Topology, TopologyError};
use crate::config::{Config, ConfigError};

/// The reason why a router's files are of no use.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SetupError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("{}: {source}", file.display())]
    Links { file: PathBuf, source: Box<LinksError> },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Bfd(#[from] bfd::spec::BadInterval),
    #[error("cannot load the program: {0}")]
    Room(String),
    #[error("{0} is reached on this machine only: it cannot be an address of a router that is a tenant")]
    Loopback(SocketAddr),
}

/// The complete configuration, read and checked.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The file that [`Setup::config`] was read from, if any.
    pub file: Option<PathBuf>,
    /// `router.toml`.
    pub config: Config,
    /// `topology.json`.
    pub topology: Topology,
    /// The router's links.
    pub links: Links,
    /// The keys for hop-field MACs.
    pub keys: Keys,
    /// The configured BFD sessions.
    pub bfd: Vec<bfd::Spec>,
}

impl Setup {
    /// Reads `router.toml`, `hopwright.toml` beside it, and the files they refer to. `lenient` turns unknown keys into
    /// warnings.
    pub fn load(file: &Path, lenient: bool) -> Result<Setup, SetupError> {
        let mut setup = Setup::from_config(Config::load(file, lenient)?)?;
        setup.file = Some(file.to_path_buf());
        Ok(setup)
    }

    /// Reads the files that a configuration refers to.
    pub fn from_config(config: Config) -> Result<Setup, SetupError> {
        let dir = &config.general.config_dir;
        let file = dir.join("topology.json");
        let topology = Topology::load(&file)?;
        let links = Links::of(&topology, &config.general.id)
            .map_err(|source| SetupError::Links { file, source: Box::new(source) })?;
        if let Some(why) = config.hopwright.layout.lacks_room(&links) {
            return Err(SetupError::Room(why));
        }
        for problem in links.problems() {
            tracing::warn!(event = "topology-warning", "{problem}");
        }
        let keys = keys::load(dir)?;
        // If another router has the slow path, it also runs BFD.
        let bfd = match config.slow_path_netns() {
            Some(_) => Vec::new(),
            None => bfd::specs(&links, &config.router.bfd)?,
        };
        Ok(Setup { file: None, config, topology, links, keys, bfd })
    }

    /// The ports of hosts that packets are delivered to, if not all.
    pub(crate) fn dispatched_ports(&self) -> Option<RangeInclusive<u16>> {
        self.config.dispatched_ports(&self.topology)
    }
}
