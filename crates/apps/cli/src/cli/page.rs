//! Options of the page of a switch, and of `hopwright playground`.

use std::path::PathBuf;

use clap::Args;

/// How a switch serves its page.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Page")]
pub(crate) struct HttpArgs {
    /// Serve a page that shows the running switch at this address, such as 127.0.0.1:8080; a port alone is one of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Option<String>,
    /// Let the page change tables, for who opens it with the token; prints its address with the token on standard error
    #[arg(long, requires = "http")]
    pub http_write: bool,
    /// Write the page's address with the token to this file, which only its owner may read, instead of printing it
    #[arg(long, value_name = "FILE", requires = "http_write")]
    pub http_token: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PlaygroundArgs {
    /// Where to serve the playground; a port alone is one of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT", default_value = hopwright_page::DEFAULT_ADDRESS)]
    pub http: String,
    /// Do one job: a request on standard input, its result on standard output
    #[arg(long, hide = true)]
    pub worker: bool,
}
