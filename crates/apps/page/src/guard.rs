//! What keeps other sites, other machines' names and people without the token out.
//!
//! - *DNS rebinding*: a site may make its own name resolve to this machine's address. Requests must name this machine by an address, by
//!   `localhost`, or by the name that it was told to serve.
//! - *Cross-site requests*: a request that a browser sends for another origin says so, in `Origin` or `Sec-Fetch-Site`. Writes must be
//!   JSON, which a form cannot send, and which a script of another origin may send only after a preflight that is refused.
//! - *Writes* need the token, which is compared in constant time. It comes in a header: no cookie lets another site use it.
//! - *Markup in names*: the page makes text nodes of whatever it shows. Were there a mistake, the content security policy allows no script
//!   but the page's own files.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use hopwright_host::http::axum::Router;
use hopwright_host::http::axum::extract::{DefaultBodyLimit, Request, State};
use hopwright_host::http::axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use hopwright_host::http::axum::middleware::{Next, from_fn_with_state};
use hopwright_host::http::axum::response::Response;
use subtle::ConstantTimeEq;

use crate::answer::refuse;

/// Bytes of a request's body. The longest is a program of the playground.
const LONGEST_BODY: usize = 512 << 10;
/// Bytes of a token before they become hexadecimal digits.
const TOKEN_BYTES: usize = 24;

/// What the browser may do with the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What writes must show.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A token that nobody can guess.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
        Ok(Token(bytes.map(|byte| format!("{byte:02x}")).concat().into()))
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether a request shows it.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(header::AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        let shown = shown.strip_prefix(b"Bearer ").unwrap_or_default();
        shown.ct_eq(self.0.as_bytes()).into()
    }
}

/// Tokens are secrets.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Decides which requests are served.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The name that the page was told to be served at.
    name: String,
    token: Option<Token>,
}

impl Guard {
    /// A guard of a page that is served at `HOST:PORT`. Without a token, nothing can be written.
    pub fn new(address: &str, token: Option<Token>) -> Guard {
        Guard { name: host_of(address).to_ascii_lowercase(), token }
    }

    /// Why a request is refused; `None` if it is served.
    fn refusal(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        // HTTP/1.1 has one host (RFC 9112, 3.2); another would leave open which of them is meant.
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|_| hosts.next().is_none());
        let Some(host) = host.filter(|host| self.is_ours(host)) else {
            return Some((
                StatusCode::MISDIRECTED_REQUEST,
                "the Host header is not an address of this machine, localhost, or the name that the page is served at",
            ));
        };
        let is_read = *method == Method::GET || *method == Method::HEAD;
        let foreign = headers.get_all(header::ORIGIN).iter().any(|origin| !is_origin_of(origin, host));
        // A link on another site may lead to the page itself.
        let from_elsewhere = headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none");
        if foreign || from_elsewhere && (!is_read || path.starts_with("/api/")) {
            return Some((StatusCode::FORBIDDEN, "the request comes from another site"));
        }
        if is_read {
            return None;
        }
        let content = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = content.split(';').next().unwrap_or_default().trim();
        if *method != Method::POST {
            return Some((StatusCode::METHOD_NOT_ALLOWED, "expected GET or POST"));
        }
        if !kind.eq_ignore_ascii_case("application/json") {
            return Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected a body of type application/json"));
        }
        if !path.starts_with("/api/write/") {
            return None;
        }
        match &self.token {
            None => {
                Some((StatusCode::FORBIDDEN, "this page is read-only: the switch was started without --http-write"))
            }
            Some(token) if token.is_in(headers) => None,
            Some(_) => Some((
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: open the page by the address with #token=…",
            )),
        }
    }

    /// Whether a Host header names this machine in a way that no other site can make it.
    fn is_ours(&self, host: &str) -> bool {
        let name = host_of(host).to_ascii_lowercase();
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        !name.is_empty() && (bare.parse::<IpAddr>().is_ok() || name == "localhost" || name == self.name)
    }
}

/// `HOST:PORT` without the port.
fn host_of(address: &str) -> &str {
    match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => address,
    }
}

/// Whether an origin (RFC 6454) has this host and port. A proxy may have added encryption.
fn is_origin_of(origin: &HeaderValue, host: &str) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// Puts a guard in front of pages.
pub fn protect(pages: Router, guard: Guard) -> Router {
    pages.layer(DefaultBodyLimit::max(LONGEST_BODY)).layer(from_fn_with_state(Arc::new(guard), check))
}

async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let refusal = guard.refusal(request.method(), request.uri().path(), request.headers());
    let mut response = match refusal {
        Some((status, why)) => refuse(status, why),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn status(guard: &Guard, method: Method, path: &str, fields: &[(&'static str, &str)]) -> u16 {
        guard.refusal(&method, path, &headers(fields)).map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn hosts_that_another_site_could_be_are_refused() {
        let guard = Guard::new("router.example:8080", None);
        for host in [
            "127.0.0.1:8080",
            "127.0.0.1",
            "[::1]:8080",
            "localhost:8080",
            "LOCALHOST",
            "192.0.2.1:80",
            "Router.example:8080",
        ] {
            assert_eq!(status(&guard, Method::GET, "/", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8080",
            "",
            ":8080",
            "a@127.0.0.1:1:",
        ] {
            assert_eq!(status(&guard, Method::GET, "/", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status(&guard, Method::GET, "/", &[]), 421);
        let mut two = headers(&[("host", "localhost")]);
        two.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert!(guard.refusal(&Method::GET, "/", &two).is_some());
    }

    #[test]
    fn other_origins_are_refused() {
        let guard = Guard::new("127.0.0.1:8080", None);
        let host = ("host", "127.0.0.1:8080");
        let get = |fields: &[(&'static str, &str)]| status(&guard, Method::GET, "/api/live", fields);
        assert_eq!(get(&[host, ("origin", "http://127.0.0.1:8080")]), 200);
        for origin in [
            "http://127.0.0.1:8081",
            "http://evil.example",
            "null",
            "http://127.0.0.1:8080.evil.example",
            "file://",
            "127.0.0.1:8080",
        ] {
            assert_eq!(get(&[host, ("origin", origin)]), 403, "{origin}");
        }
        assert_eq!(get(&[host, ("sec-fetch-site", "same-origin")]), 200);
        assert_eq!(get(&[host, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(get(&[host, ("sec-fetch-site", "same-site")]), 403);
        // A link.
        assert_eq!(status(&guard, Method::GET, "/", &[host, ("sec-fetch-site", "cross-site")]), 200);
    }

    #[test]
    fn writes_need_json_and_the_token() {
        let token = Token::random().unwrap();
        let (host, json) = (("host", "localhost"), ("content-type", "application/json; charset=utf-8"));
        let bearer = format!("Bearer {}", token.text());
        let guard = Guard::new("127.0.0.1:8080", Some(token.clone()));
        let post =
            |guard: &Guard, fields: &[(&'static str, &str)]| status(guard, Method::POST, "/api/write/entry", fields);
        assert_eq!(post(&guard, &[host, json, ("authorization", &bearer)]), 200);
        assert_eq!(post(&guard, &[host, json]), 401);
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            &bearer[..20],
            &format!("{bearer}0"),
            &bearer.replace("Bearer", "Basic"),
            token.text(),
        ] {
            assert_eq!(post(&guard, &[host, json, ("authorization", wrong)]), 401, "{wrong}");
        }
        for kind in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=application/json", ""]
        {
            assert_eq!(post(&guard, &[host, ("content-type", kind), ("authorization", &bearer)]), 415, "{kind}");
        }
        assert_eq!(status(&guard, Method::PUT, "/api/write/entry", &[host, json, ("authorization", &bearer)]), 405);
        assert_eq!(
            status(&guard, Method::OPTIONS, "/api/write/entry", &[host, ("origin", "http://evil.example")]),
            403
        );
        let read_only = Guard::new("127.0.0.1:8080", None);
        assert_eq!(post(&read_only, &[host, json, ("authorization", "Bearer ")]), 403);
        assert_ne!(token.text(), Token::random().unwrap().text());
        assert_eq!((token.text().len(), format!("{token:?}")), (2 * TOKEN_BYTES, "Token".into()));
    }
}
