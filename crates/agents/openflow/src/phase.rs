//! What an agent does while one process takes over from another.

use tokio::sync::watch;

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Another process has the ports still.
    Waits,
    /// It has the ports, and the other process has its controllers still.
    Forwards,
    Works,
    /// Another process takes over.
    Pauses,
}

/// Where messages of controllers wait.
#[derive(Clone)]
pub(crate) struct Gate(pub watch::Receiver<Phase>);

impl Gate {
    /// Waits until messages may be carried out. An agent that stops never does.
    pub(crate) async fn works(&mut self) {
        if self.0.wait_for(|phase| *phase == Phase::Works).await.is_err() {
            std::future::pending().await
        }
    }
}
