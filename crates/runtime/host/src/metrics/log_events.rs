//! Counts of warnings and errors in the log, by their event ids.
//!
//! There is no lock, because who logs must not wait for a thread that writes a page and has a lower priority.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::text::Text;

/// One for each level and id that has occurred, in this order. There are fewer ids than places.
static COUNTS: [OnceLock<Count>; 128] = [const { OnceLock::new() }; 128];

#[derive(Debug)]
struct Count {
    level: &'static str,
    event: String,
    count: AtomicU64,
}

/// Counts an event of this level (`warn`, `error`) that was logged. Libraries log events without an id, which count as `other`.
pub fn count_log_event(level: &'static str, event: Option<String>) {
    let event = event.unwrap_or_else(|| "other".into());
    for place in &COUNTS {
        let count = place.get_or_init(|| Count { level, event: event.clone(), count: AtomicU64::new(0) });
        if count.level == level && count.event == event {
            count.count.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

/// Writes the family.
pub fn write_log_events(text: &mut Text) {
    text.counter("hopwright_log_events_total", "Warnings and errors in the log, by event id.");
    for count in COUNTS.iter().map_while(OnceLock::get) {
        text.sample(&[("level", count.level), ("event", &count.event)], count.count.load(Ordering::Relaxed));
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
