//! The control model: what control planes can write to a running program, and the notifications that they get.
//!
//! A [`Schema`] has the objects of a program by their ids, with names, widths, match kinds, sizes, translated types and rules. An
//! [`Update`] inserts, modifies or deletes an [`Entity`]: a table entry, a default entry, a member or group of an action profile, cells
//! of a counter, meter or register, a value set, a multicast group, a clone session, a digest, a setting of an extern object. It has ids
//! and numbers, not bytes of a protocol. Protocols are codecs between their messages and updates.
//!
//! A [`Model`] is a program's state. It makes an update in steps:
//!
//! 1. *Validate* and *plan* ([`Model::validate`], [`Model::plan`]) check it against the schema and the state, and yield the primitive
//!    changes that it consists of. They change nothing.
//! 2. *Apply* ([`Model::apply`]) makes the changes in order and keeps their inverses. If one is refused, because a table is full or a
//!    device has no room, those before it are undone.
//! 3. *Undo* ([`Model::undo`]) makes the inverses, the last one first. It restores counters, meters, idle timers, the places of entries
//!    among those of equal priority, and what waits for an acknowledgement.
//!
//! A batch ([`Model::write_each`], [`Model::write_all`]) does so for each update in turn, so that each is checked against what the ones
//! before it left. Either each update is independent of the others, or all of them are applied or none. What packets see meanwhile is up
//! to the caller, who may stop them.
//!
//! Invariants: a refused update changes nothing; what was applied and undone leaves everything as it was.
//!
//! The data plane's state is part of the model's. Nothing else may write it while there is a model: protocols that control one program
//! write one [`SharedModel`]. A [`Schema`] is made of a pipeline ([`Schema::of`]); P4Info adds annotations and translated types.

mod annotation;
mod apply;
pub mod bytes;
mod carry;
mod change;
mod checks;
mod constraint;
mod copies;
mod digests;
pub mod entity;
mod entry;
mod error;
pub mod listing;
mod model;
mod of_pipeline;
mod plan;
mod references;
mod rules;
pub mod schema;
pub mod text;
mod translation;
mod used;

pub use annotation::AnnotationError;
pub use carry::Carried;
pub use copies::{COPIED_TO_CPU, CPU_SESSION, PORT_BITS};
pub use digests::{DigestData, DigestList, Digests};
pub use entity::{Entity, Operation, Update};
pub use entry::{EntryKey, Idle, Note, Target};
pub use error::{Error, ErrorKind, Result, bad_number};
pub use model::{IdleEntry, IdleListener, Inverse, Model, Plan, SharedModel, Translate};
pub use schema::Schema;
pub use translation::{Translated, TranslatedType, Translations};
