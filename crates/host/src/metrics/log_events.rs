//! Counts of warnings and errors in the log, by their event ids.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::text::Text;

static COUNTS: Mutex<BTreeMap<(&str, String), u64>> = Mutex::new(BTreeMap::new());

/// Counts an event of this level (`warn`, `error`) that was logged. Libraries log events without an id, which count as `other`.
pub fn count_log_event(level: &'static str, event: Option<String>) {
    let key = (level, event.unwrap_or_else(|| "other".into()));
    *COUNTS.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
}

/// Writes the family.
pub fn write_log_events(text: &mut Text) {
    text.counter("hopwright_log_events_total", "Warnings and errors in the log, by event id.");
    for ((level, event), count) in &*COUNTS.lock().unwrap_or_else(PoisonError::into_inner) {
        text.sample(&[("level", level), ("event", event)], count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_by_level_and_id() {
        for event in ["disk-full", "disk-full", "late"] {
            count_log_event("warn", Some(event.into()));
        }
        count_log_event("error", None);
        let mut text = Text::default();
        write_log_events(&mut text);
        let page = text.finish();
        for sample in [
            "{level=\"warn\",event=\"disk-full\"} 2",
            "{level=\"warn\",event=\"late\"} 1",
            "{level=\"error\",event=\"other\"} 1",
        ] {
            assert!(page.contains(sample), "{page}");
        }
    }
}
