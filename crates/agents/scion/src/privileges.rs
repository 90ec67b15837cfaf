//! The capabilities that the router keeps, and the consequences of missing ones.

use hopwright_host::capabilities::{self, Capability, PrivilegeError};

/// Capabilities that a running router uses: it opens devices, loads XDP programs, resolves neighbours and reads
/// changed configuration files.
const KEPT: [Capability; 6] = [
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_IPC_LOCK,
    Capability::CAP_DAC_READ_SEARCH,
];
/// Capabilities that only start-up uses: low ports for HTTP, limits, and TAP devices in another network namespace.
const TO_START: [Capability; 3] =
    [Capability::CAP_NET_BIND_SERVICE, Capability::CAP_SYS_RESOURCE, Capability::CAP_SYS_ADMIN];

/// The phase of start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is open yet, and no thread has been started.
    Starting,
    /// Everything is open.
    Running,
}

/// Drops every capability that this phase does not need, for this thread and those it starts.
pub fn drop_privileges(phase: Phase) -> Result<(), PrivilegeError> {
    let (kept, phase) = match phase {
        Phase::Starting => ([&KEPT[..], &TO_START].concat(), "starting"),
        Phase::Running => (KEPT.to_vec(), "running"),
    };
    let names: Vec<_> = capabilities::keep_only(&kept)?.iter().map(ToString::to_string).collect();
    tracing::debug!(kept = names.join(" "), phase, "privileges dropped");
    Ok(())
}

/// The consequences of missing capabilities.
const COSTS: [(Capability, &str); 4] = [
    (Capability::CAP_NET_RAW, "no packet sockets: packets go by UDP sockets, which costs more CPU"),
    (Capability::CAP_NET_ADMIN, "no AF_XDP; the kernel's limits on socket buffers hold; bursts may be lost"),
    (Capability::CAP_BPF, "no AF_XDP: packet sockets cost more CPU"),
    (Capability::CAP_IPC_LOCK, "AF_XDP works within the limit on locked memory (LimitMEMLOCK)"),
];

/// Logs each missing capability and its consequence.
pub fn log_missing() {
    let Ok(missing) = capabilities::missing(&COSTS.map(|(capability, _)| capability)) else { return };
    for (capability, cost) in COSTS.iter().filter(|(capability, _)| missing.contains(capability)) {
        tracing::warn!(event = "capability-missing", %capability, cost, "started without a capability");
    }
}
