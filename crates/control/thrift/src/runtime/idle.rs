//! When entries with an idle timeout were last hit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use hopwright_dataplane::Control;
use hopwright_ir::TableId;

use super::Runtime;
use super::handles::Key;

#[derive(Debug)]
struct Times {
    timeout_ms: u32,
    /// Hits when they were last looked at.
    hits: u64,
    /// When these were found to have become more, or the timeout was set.
    last_hit: Instant,
}

/// The idle timeouts that clients have set.
#[derive(Debug, Default)]
pub(super) struct IdleTimes(HashMap<TableId, HashMap<Arc<Key>, Times>>);

impl IdleTimes {
    /// Sets an entry's timeout, which begins now; zero removes it.
    pub(super) fn set(&mut self, table: TableId, key: Arc<Key>, timeout_ms: u32, hits: u64) {
        if timeout_ms == 0 {
            self.remove(table, &key);
        } else {
            let times = Times { timeout_ms, hits, last_hit: Instant::now() };
            self.0.entry(table).or_default().insert(key, times);
        }
    }

    pub(super) fn remove(&mut self, table: TableId, key: &Key) {
        self.0.get_mut(&table).map(|entries| entries.remove(key));
    }

    pub(super) fn forget(&mut self, table: TableId) {
        self.0.remove(&table);
    }

    /// The timeout, and the time since the last hit, in milliseconds.
    pub(super) fn life(&self, table: TableId, key: &Key) -> Option<(i32, i32)> {
        let times = self.0.get(&table)?.get(key)?;
        let since = i32::try_from(times.last_hit.elapsed().as_millis()).unwrap_or(i32::MAX);
        Some((times.timeout_ms as i32, since))
    }

    fn sweep(&mut self, control: &Control) {
        let now = Instant::now();
        for (table, entries) in &mut self.0 {
            for (key, times) in entries {
                let hits = control[*table].hits(&key.0, key.1);
                if hits != times.hits {
                    (times.hits, times.last_hit) = (hits, now);
                }
            }
        }
    }
}

impl Runtime {
    /// Looks which entries were hit. To be called a few times a second.
    pub(crate) fn sweep(&mut self) {
        self.idle.sweep(self.vdp.control());
    }
}
