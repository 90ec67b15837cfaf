//! Integration tests of `hopwright-driver`, in one program.

mod accepted;
mod architecture_files;
mod bindings;
mod first_hour;
mod portable;
mod targets;
mod together;
mod warnings;
