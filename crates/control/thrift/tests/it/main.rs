//! Files of commands, and notifications.

mod import;
mod notifications;
