//! Files of commands, descriptions of programs, and notifications.

mod description;
mod import;
mod notifications;
