//! A page where people look at a running switch: its program's graphs with live counts, tables, ports, queues, tenants, and packets step
//! by step; and a playground where they try programs.
//!
//! The page is HTML, CSS and JavaScript without a build step, which the binary contains. It polls JSON under `/api`:
//!
//! - [`guard`] refuses requests that other sites make a browser send, writes without the token, and sets the policy that the browser
//!   enforces.
//! - `site` is a switch's page; `live` has its counts, `program` its graphs and text, `tables` reads and writes tables through the control
//!   model, `trace` follows packets, and `profile` counts the nodes of the graphs that samples of packets pass.
//! - [`playground`] compiles and runs what somebody types, in a process of its own with limits.
//!
//! Nothing here runs for each packet. Samples of packets are copied by workers only while somebody looks.

mod answer;
mod assets;
pub mod guard;
mod live;
pub mod playground;
mod profile;
mod program;
mod site;
mod tables;
mod trace;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hopwright_dataplane::{Switch, Tenant};
use hopwright_host::http::{self, Listener, Server};
use hopwright_p4runtime::Device;

use guard::{Guard, Token};
use serde_json::Value;

/// Where a page is served if nothing else is asked for.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";

/// A switch that is shown.
pub trait Watched: Send + Sync {
    /// The switch.
    fn switch(&self) -> Arc<Switch>;

    /// Its tenants now, each with a device through which its tables are read and written, if it has one.
    fn tenants(&self) -> Vec<(Arc<Tenant>, Option<Arc<Device>>)>;

    /// What the packets of a tenant cost, by line of the program and by table, in JSON; or why that cannot be found out. Takes as long as it
    /// is told.
    fn profile(&self, _tenant: &Tenant, _duration: Duration) -> Result<Value, String> {
        Err("this switch cannot profile programs".into())
    }

    /// What a router says of itself, if it is one: links, sessions, neighbours. Objects and arrays, which the page shows as tables.
    fn state(&self) -> Option<Value> {
        None
    }
}

/// A page that is served until this is dropped.
#[derive(Debug)]
pub struct Page {
    url: String,
    token: Option<Token>,
    _server: Server,
}

impl Page {
    /// The page's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The page's address with the token that writes need, if there is one.
    pub fn secret_url(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("{}#token={}", self.url, token.text()))
    }
}

/// Completes an address: a port alone, with or without a colon, is one of this machine's loopback interface.
pub fn complete_address(text: &str) -> String {
    let port = text.strip_prefix(':').unwrap_or(text);
    match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_string(),
    }
}

/// An address at which a page will be served.
#[derive(Debug)]
pub struct PageListener {
    address: String,
    listener: Listener,
}

impl PageListener {
    /// Listens. Who connects waits until a page is served.
    ///
    /// # Errors
    /// If the address is in use, or none of this machine.
    pub fn open(address: &str) -> io::Result<PageListener> {
        let address = complete_address(address);
        Ok(PageListener { listener: Listener::open(&address)?, address })
    }

    /// Serves the page of a switch. With `writable`, who has the token may write tables.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn serve_switch(self, writable: bool, watched: Arc<dyn Watched>) -> io::Result<Page> {
        let token = writable.then(Token::random).transpose()?;
        self.serve(token.clone(), site::pages(watched, token.is_some()))
    }

    fn serve(self, token: Option<Token>, pages: http::axum::Router) -> io::Result<Page> {
        let PageListener { address, listener } = self;
        let local = listener.local_addr()?;
        let pages = guard::protect(pages, Guard::new(&address, token.clone()));
        let server = http::serve(vec![(listener, pages)])?;
        Ok(Page { url: format!("http://{local}/"), token, _server: server })
    }
}

/// Serves the page of a switch, as [`PageListener::serve_switch`] does.
///
/// # Errors
/// If the address is in use, or no thread can be started.
pub fn serve_switch(address: &str, writable: bool, watched: Arc<dyn Watched>) -> io::Result<Page> {
    PageListener::open(address)?.serve_switch(writable, watched)
}

/// Serves a playground whose compilations this command runs.
///
/// # Errors
/// As [`serve_switch`].
pub fn serve_playground(address: &str, worker: playground::Worker) -> io::Result<Page> {
    PageListener::open(address)?.serve(None, playground::pages(worker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_the_loopback_interface() {
        for (text, address) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
            ("router:80", "router:80"),
        ] {
            assert_eq!(complete_address(text), address);
        }
    }
}
