//! What an administrator chooses.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The agent's configuration.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Network namespace that is the control plane. It is made if it is not there, and stays with its devices and their
    /// addresses when the agent stops.
    pub namespace: String,
    /// Names of TAP devices in the namespace, by the name of the port's device, which is theirs otherwise.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}
