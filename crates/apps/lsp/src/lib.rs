//! A language server for P4-16: the compiler's diagnostics while typing, and what it knows of names and types.
//!
//! [`run`] serves one client on standard input and output, as editors start servers. The server is one thread, which answers from the
//! current text: a file that has changed is checked again, as a whole program, before the next answer that needs it. Checking takes
//! tens of milliseconds for programs of thousands of lines, so that nothing is kept between changes but checked programs that they do
//! not touch. A thread of its own reads the input, so that requests can be cancelled while they wait.
//!
//! A panic of the compiler costs the answer it was needed for.

mod built_in;
mod describe;
mod features;
pub mod fuzz;
mod includes;
mod lexer;
mod members;
pub mod position;
mod program;
mod requests;
mod server;
mod settings;
mod symbols;
mod transport;
mod uri;
mod world;

pub use server::{Ended, run, serve};
