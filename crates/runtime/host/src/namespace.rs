//! Network namespaces by name, as `ip netns` keeps them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where `ip netns` binds namespaces to names.
const FOLDER: &str = "/run/netns";

/// A network namespace. It lives at least as long as this value.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: File,
}

/// A namespace that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("network namespace {name}: cannot {what}: {error}")]
pub struct NamespaceError {
    name: String,
    what: &'static str,
    #[source]
    error: io::Error,
}

impl Namespace {
    /// A namespace that there is.
    pub fn open(name: &str) -> Result<Namespace, NamespaceError> {
        Namespace::at(name, &path(name)?)
    }

    /// The namespace of a file, such as `/proc/PID/ns/net`. Messages call it `name`.
    pub fn at(name: &str, file: &Path) -> Result<Namespace, NamespaceError> {
        let file = File::open(file).map_err(failed(name, "open it"))?;
        Ok(Namespace { name: name.into(), file })
    }

    /// A namespace of this name. If there is none it is made, by `ip netns add`; it stays when this value is gone.
    pub fn open_or_create(name: &str) -> Result<Namespace, NamespaceError> {
        if !path(name)?.exists() {
            let failed = failed(name, "create it");
            let done = Command::new("ip").args(["netns", "add", name]).output().map_err(&failed)?;
            // Another process may have been faster.
            if !done.status.success() && !path(name)?.exists() {
                let message = String::from_utf8_lossy(&done.stderr);
                return Err(failed(io::Error::other(format!("ip netns add: {}", message.trim()))));
            }
        }
        Namespace::open(name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs some work in the namespace, on a thread of its own, and waits for it. Sockets and devices opened there belong
    /// to the namespace wherever they are used later. Needs CAP_SYS_ADMIN.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        let failed = failed(&self.name, "enter it");
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok::<R, io::Error>(work())
            });
            match inside.join() {
                Ok(result) => result.map_err(&failed),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// Where a namespace of this name is. A name is no path.
fn path(name: &str) -> Result<PathBuf, NamespaceError> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    match plain {
        true => Ok(Path::new(FOLDER).join(name)),
        false => Err(failed(name, "use its name")(io::Error::from(io::ErrorKind::InvalidInput))),
    }
}

fn failed<'a>(name: &'a str, what: &'static str) -> impl Fn(io::Error) -> NamespaceError + 'a {
    move |error| NamespaceError { name: name.into(), what, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths() {
        for name in ["", ".", "..", "../proc/1/ns/net", "a/b"] {
            let error = Namespace::open_or_create(name).unwrap_err();
            assert!(error.to_string().contains("use its name"), "{error}");
        }
        let error = Namespace::open("there-is-no-such").unwrap_err();
        assert!(error.to_string().starts_with("network namespace there-is-no-such: cannot open it"), "{error}");
    }

    #[test]
    fn work_runs_inside() {
        if std::env::var_os("HOPWRIGHT_SKIP_PRIVILEGED_TESTS").is_some() {
            return;
        }
        let name = format!("hopwright-test-{}", std::process::id());
        let namespace = Namespace::open_or_create(&name).unwrap();
        let devices = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let inside = namespace.run(devices);
        let again = Namespace::open_or_create(&name).and_then(|n| n.run(devices));
        let _ = Command::new("ip").args(["netns", "delete", &name]).status();
        let inside = inside.unwrap();
        assert_eq!(inside, again.unwrap());
        assert_eq!(inside.lines().filter(|line| line.contains(':')).count(), 1, "{inside}");
        assert!(inside.contains("lo:"));
    }
}
