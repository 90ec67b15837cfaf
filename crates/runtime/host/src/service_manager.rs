//! Notifications to the service manager (sd_notify(3)).

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The service manager, if this process was started by one.
#[derive(Debug)]
pub struct ServiceManager {
    /// Time between two keep-alives: half of the watchdog's limit.
    interval: Option<Duration>,
    next: Instant,
    /// Progress as of the last keep-alive.
    progress: Option<u64>,
}

impl ServiceManager {
    /// Reads from the environment what the service manager expects.
    pub fn new() -> ServiceManager {
        let interval = sd_notify::watchdog_enabled().map(|limit| limit / 2);
        ServiceManager { interval, next: Instant::now(), progress: None }
    }

    /// Start-up is complete.
    pub fn ready(&self) {
        notify(&[NotifyState::Ready]);
    }

    /// Shutdown has begun.
    pub fn stopping(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// Sends a keep-alive when one is due and `progress` has changed since the last. The caller's loop calls this with a
    /// counter of its workers, so that a keep-alive proves that both make progress.
    pub fn keep_alive(&mut self, progress: u64, now: Instant) {
        let Some(interval) = self.interval else { return };
        if now < self.next || self.progress == Some(progress) {
            return;
        }
        self.progress = Some(progress);
        self.next = now + interval.min(Duration::from_secs(10));
        notify(&[NotifyState::Watchdog]);
    }
}

impl Default for ServiceManager {
    fn default() -> ServiceManager {
        ServiceManager::new()
    }
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "cannot reach the service manager");
    }
}
