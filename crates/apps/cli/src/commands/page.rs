//! The page of `hopwright run` and `hopwright switch`, and of routers.

use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
#[cfg(any(feature = "scion", feature = "rina"))]
use std::sync::mpsc::{self, Sender};
#[cfg(feature = "profile")]
use std::time::Duration;

use hopwright_dataplane::{Switch, Tenant};
use hopwright_p4runtime::Device;
#[cfg(any(feature = "scion", feature = "rina"))]
use hopwright_p4runtime::{EnginePolicy, Program};
#[cfg(any(feature = "scion", feature = "rina"))]
use hopwright_page::PageListener;
use hopwright_page::{Page, Watched};

use crate::cli::page::HttpArgs;
use crate::failure::Failure;

/// A switch whose only tenant is the default one.
pub(crate) struct One {
    /// The switch.
    pub switch: Arc<Switch>,
    /// What its tables are read and written through.
    pub device: Option<Arc<Device>>,
    /// What makes the state of a router; `None` if it is none.
    pub state: Option<Describe>,
}

/// What makes the state of a router.
pub(crate) type Describe = Box<dyn Fn() -> Option<serde_json::Value> + Send + Sync>;

impl Watched for One {
    fn switch(&self) -> Arc<Switch> {
        self.switch.clone()
    }

    fn tenants(&self) -> Vec<(Arc<Tenant>, Option<Arc<Device>>)> {
        vec![(self.switch.default_tenant().clone(), self.device.clone())]
    }

    #[cfg(feature = "profile")]
    fn profile(&self, tenant: &Tenant, duration: Duration) -> Result<serde_json::Value, String> {
        super::profile::of_running(tenant, duration).map_err(|failure| failure.reason())
    }

    fn state(&self) -> Option<serde_json::Value> {
        self.state.as_ref()?()
    }
}

/// Listens at the address of a router's page.
#[cfg(any(feature = "scion", feature = "rina"))]
pub(crate) fn open(address: &str) -> Result<PageListener, Failure> {
    PageListener::open(address)
        .map_err(|e| Failure::message(format!("cannot serve a page at {address}: {e} (see --http)")))
}

/// Starts a thread that serves the page of a router, once it gets one, as long as the router has the sender. The page has nothing to write.
#[cfg(any(feature = "scion", feature = "rina"))]
pub(crate) fn watch(listener: PageListener) -> Result<Sender<(Arc<Switch>, Describe)>, Failure> {
    let (sender, routers) = mpsc::channel::<(Arc<Switch>, Describe)>();
    let serve = move || {
        let Ok((switch, state)) = routers.recv() else { return };
        let tenant = switch.default_tenant().clone();
        let program = Program::from_pipeline(tenant.vdp().pipeline());
        let device = match program {
            Ok(program) => {
                Some(Device::new(1, tenant, EnginePolicy::Auto).count_fcs(false).with_program(program).read_only())
            }
            Err(why) => {
                tracing::warn!("page: the tables are not shown: {}", why.message);
                None
            }
        };
        let router = Arc::new(One { switch, device: device.map(Arc::new), state: Some(state) });
        let page = match listener.serve_switch(false, router) {
            Ok(page) => page,
            Err(error) => return tracing::error!("no page: {error}"),
        };
        tracing::info!("page at {}, read only", page.url());
        warn_of_others(page.url(), false);
        // Until the router ends.
        let _ = routers.recv();
    };
    std::thread::Builder::new().name("page".into()).spawn(serve)?;
    Ok(sender)
}

/// Serves the page that the options ask for.
pub(crate) fn start(args: &HttpArgs, watched: Arc<dyn Watched>) -> Result<Option<Page>, Failure> {
    let Some(address) = &args.http else { return Ok(None) };
    let page = hopwright_page::serve_switch(address, args.http_write, watched);
    let page = page.map_err(|e| Failure::message(format!("cannot serve a page at {address}: {e} (see --http)")))?;
    let who = if args.http_write { "who has its token may change tables" } else { "read only" };
    tracing::info!("page at {}, {who}", page.url());
    warn_of_others(page.url(), args.http_write);
    if let Some(secret) = page.secret_url() {
        match &args.http_token {
            // The log is for others' eyes, too.
            None => eprintln!("page with its token: {secret}"),
            Some(file) => {
                write_secret(file, &secret).map_err(|e| Failure::message(format!("{}: {e}", file.display())))?;
            }
        }
    }
    Ok(Some(page))
}

/// Warns if others than this machine's users reach the page.
pub(crate) fn warn_of_others(url: &str, writable: bool) {
    if ["http://127.", "http://[::1]"].iter().any(|local| url.starts_with(local)) {
        return;
    }
    let token = if writable { ", and the token is sent without encryption" } else { "" };
    tracing::warn!("page: anybody who reaches {url} can look at it{token}");
}

/// Writes a file that only its owner may read.
fn write_secret(file: &Path, text: &str) -> std::io::Result<()> {
    let mut to = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    // The file may have been there.
    to.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    writeln!(to, "{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_token_is_its_owners() {
        let file = std::env::temp_dir().join(format!("hopwright-token-{}", std::process::id()));
        std::fs::write(&file, "what was there before, which is longer").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        write_secret(&file, "secret").unwrap();
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        let text = std::fs::read_to_string(&file);
        std::fs::remove_file(&file).unwrap();
        assert_eq!((mode & 0o777, text.unwrap().as_str()), (0o600, "secret\n"));
    }
}
