//! The process that does a job, seen from both sides.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use hopwright_host::http::axum::http::StatusCode;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};

use super::job::{self, Listing, Request};
use crate::answer::{Answer, Refusal, parse};

/// Processor time of a job, in seconds.
const PROCESSOR_TIME: u64 = 10;
/// Address space of a job, in bytes. Much of it is stacks and code that are reserved and never touched.
const MEMORY: u64 = 3 << 30;
/// Files that a job may have open: the standard ones, and those of the clock and of the CPU's description.
const FILES: u64 = 16;
/// The longest request, in bytes.
const LONGEST_REQUEST: u64 = 512 << 10;
/// SIGXCPU, SIGKILL and SIGABRT (signal(7)).
const XCPU: i32 = 24;
const KILL: i32 = 9;
const ABRT: i32 = 6;

/// How jobs are run.
#[derive(Clone, Debug)]
pub struct Worker {
    /// A command that calls [`work`].
    pub command: Vec<OsString>,
    /// The listings that it has.
    pub listings: Vec<String>,
    /// How long a job may take.
    pub time: Duration,
    /// The longest answer, in bytes.
    pub longest_answer: u64,
}

impl Worker {
    /// A worker with the usual limits.
    pub fn new(command: Vec<OsString>, listings: Vec<String>) -> Worker {
        Worker { command, listings, time: Duration::from_secs(20), longest_answer: 16 << 20 }
    }

    /// Does a job.
    pub(super) fn run(&self, request: &[u8]) -> Answer {
        // What is not a request starts no process.
        let request: Request = parse(request)?;
        let request = serde_json::to_vec(&request).map_err(|e| Refusal::bad(e.to_string()))?;
        let failed =
            |e: io::Error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot start a process: {e}"));
        let Some((program, arguments)) = self.command.split_first() else { return Err(Refusal::bad("no command")) };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Ending(command.spawn().map_err(failed)?);
        let (input, output) = (child.0.stdin.take(), child.0.stdout.take());
        let (Some(mut input), Some(output)) = (input, output) else { return Err(Refusal::bad("no pipes")) };
        // A process that does not read must not keep this thread.
        let writer = std::thread::Builder::new().name("page-job-in".into());
        writer.spawn(move || drop(input.write_all(&request))).map_err(failed)?;
        let (to, from) = mpsc::channel();
        let longest = self.longest_answer;
        let reader = std::thread::Builder::new().name("page-job-out".into());
        let read = move || {
            let mut answer = Vec::new();
            let read = output.take(longest + 1).read_to_end(&mut answer);
            drop(to.send(read.map(|_| answer)));
        };
        reader.spawn(read).map_err(failed)?;
        let Ok(answer) = from.recv_timeout(self.time) else {
            return Err(Refusal::bad(format!("stopped: it took more than {} seconds", self.time.as_secs_f64())));
        };
        let answer = answer.map_err(failed)?;
        if answer.len() as u64 > longest {
            return Err(Refusal::bad(format!("stopped: the results have more than {longest} bytes")));
        }
        let status = child.0.wait().map_err(failed)?;
        match serde_json::from_slice(&answer) {
            Ok(answer) if status.success() => Ok(answer),
            _ => Err(Refusal::bad(why_ended(status))),
        }
    }
}

/// A process that ends with this.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn why_ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(XCPU | KILL) => format!("stopped: it took more than {PROCESSOR_TIME} seconds of processor time"),
        Some(ABRT) => format!("stopped: it needed more than {} GiB of memory", MEMORY >> 30),
        _ => format!("the compiler ended without a result ({status}): this is a bug in hopwright, not in your program"),
    }
}

/// Does the job that standard input asks for, with limits on this process, and writes its result to standard output.
///
/// # Errors
/// If the limits cannot be set, the request is none, or the result cannot be written.
pub fn work(listings: &[Listing]) -> io::Result<()> {
    let limits = [
        (Resource::Cpu, PROCESSOR_TIME),
        (Resource::As, MEMORY),
        (Resource::Nofile, FILES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    let mut text = Vec::new();
    io::stdin().lock().take(LONGEST_REQUEST).read_to_end(&mut text)?;
    let request: Request = serde_json::from_slice(&text).map_err(io::Error::other)?;
    let result: Value = job::run(&request, listings);
    let text = serde_json::to_vec(&json!(result)).map_err(io::Error::other)?;
    io::stdout().lock().write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than a busy machine takes.
    const PATIENCE: Duration = Duration::from_secs(120);

    fn run(command: &[&str], time: Duration) -> Answer {
        let command = command.iter().map(OsString::from).collect();
        let worker = Worker { time, longest_answer: 1000, ..Worker::new(command, Vec::new()) };
        worker.run(br#"{"program": "control c() { }"}"#)
    }

    #[test]
    fn a_process_is_stopped_at_each_limit() {
        let why = |command: &[&str]| run(command, PATIENCE).unwrap_err().1;
        let slow = run(&["/bin/sleep", "1000"], Duration::from_millis(300));
        assert!(slow.unwrap_err().1.contains("more than 0.3 seconds"));
        assert!(why(&["/bin/sh", "-c", "yes"]).contains("more than 1000 bytes"));
        assert!(why(&["/bin/sh", "-c", "kill -XCPU $$"]).contains("processor time"));
        assert!(why(&["/bin/sh", "-c", "kill -ABRT $$"]).contains("memory"));
        assert!(why(&["/bin/sh", "-c", "echo 1; exit 101"]).contains("a bug"));
        assert!(why(&["/bin/sh", "-c", "echo this is no JSON"]).contains("a bug"));
        assert!(why(&["/no/such/command"]).contains("cannot start"));
    }

    #[test]
    fn a_process_gets_the_request_and_nothing_else() {
        let answer = run(&["/bin/sh", "-c", "pwd | grep -qx / && cat"], PATIENCE).unwrap();
        assert_eq!(answer["program"], "control c() { }");
        assert_eq!(run(&["/usr/bin/env"], PATIENCE).unwrap_err().1, why_ended(ExitStatus::from_raw(0)));
        // PWD and the like are the shell's own.
        let answer = run(&["/bin/sh", "-c", "test -z \"$PATH_OF_CALLER$HOME\" && echo true"], PATIENCE);
        assert_eq!(answer, Ok(true.into()));
    }

    #[test]
    fn what_is_no_request_starts_no_process() {
        let worker = Worker::new(vec!["/no/such/command".into()], Vec::new());
        for request in
            [&b""[..], b"{}", b"[]", b"{\"program\": 1}", b"{\"program\": \"\", \"file\": \"/etc/passwd\"}", b"\xff"]
        {
            assert!(worker.run(request).unwrap_err().1.contains("not as expected"));
        }
    }
}
