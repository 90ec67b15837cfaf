//! Who may reach which devices.
//!
//! A client is known by the names in its certificate: the common name of the subject, and the subject alternative names. The names of
//! the certificate that a connection was made with are looked up for each call.

use std::collections::BTreeSet;

use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Who may reach which devices of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Whoever reaches the server may control all devices.
    #[default]
    Everybody,
    /// Nobody yet: calls fail with `UNAVAILABLE`, which clients take as a reason to try again.
    Later,
    /// Only these clients may. A server without client certificates ([`Tls::client_ca`](crate::Tls)) then refuses every call.
    Clients(Vec<Client>),
}

/// A client, and what it may do. A certificate with several names has the rights of all clients with one of these names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// A name in its certificate: the subject's common name, or a DNS name, e-mail address, URI or IP address among the subject
    /// alternative names. Compared exactly.
    pub name: String,
    /// The devices that exist for it; `None`: all. It cannot tell others from devices that do not exist.
    pub devices: Option<BTreeSet<u64>>,
    /// The roles that it may have, the default role by its empty name; `None`: any.
    pub roles: Option<BTreeSet<String>>,
    /// It may replace the program.
    pub programs: bool,
}

/// What a caller may do with one device. The default is everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// `None`: any role.
    roles: Option<BTreeSet<String>>,
    /// It may replace the program.
    pub programs: bool,
}

impl Grant {
    /// Whether the caller may have a role.
    pub(crate) fn role(&self, name: &str) -> bool {
        self.roles.as_ref().is_none_or(|roles| roles.contains(name))
    }

    /// Whether the caller may have every role.
    pub(crate) fn all_roles(&self) -> bool {
        self.roles.is_none()
    }
}

impl Access {
    /// What a caller may do with a device; `None` if the device does not exist for it.
    pub(crate) fn grant(&self, caller: &Caller, device: u64) -> Option<Grant> {
        let clients = match self {
            Access::Everybody => return Some(Grant { roles: None, programs: true }),
            Access::Later => return None,
            Access::Clients(clients) => clients,
        };
        let reaches = |c: &&Client| c.devices.as_ref().is_none_or(|devices| devices.contains(&device));
        Access::sum(clients.iter().filter(|c| caller.names.contains(&c.name)).filter(reaches))
    }

    /// What a caller may do with the switch as a whole: what clients that reach all devices may; `None` for others.
    pub(crate) fn grant_of_switch(&self, caller: &Caller) -> Option<Grant> {
        match self {
            Access::Everybody => Some(Grant { roles: None, programs: true }),
            Access::Later => None,
            Access::Clients(clients) => {
                Access::sum(clients.iter().filter(|c| caller.names.contains(&c.name) && c.devices.is_none()))
            }
        }
    }

    /// What several clients may together; `None` if there are none.
    fn sum<'a>(grants: impl Iterator<Item = &'a Client>) -> Option<Grant> {
        grants.map(|c| Grant { roles: c.roles.clone(), programs: c.programs }).reduce(|a, b| Grant {
            roles: a.roles.zip(b.roles).map(|(a, b)| &a | &b),
            programs: a.programs || b.programs,
        })
    }
}

/// Who makes a call: the names in the certificate of its connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    names: BTreeSet<String>,
}

impl Caller {
    /// The caller of a request with these extensions.
    pub(crate) fn of(request: &http::Extensions) -> Caller {
        let chain = request.get::<TlsConnectInfo<TcpConnectInfo>>().and_then(TlsConnectInfo::peer_certs);
        // The first is the client's own; the connection was refused if no authority vouches for it.
        let names = chain.as_ref().and_then(|chain| chain.first()).map(|own| names(own)).unwrap_or_default();
        Caller { names }
    }

    /// The names in its certificate.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The caller's name in messages to people.
    pub(crate) fn name(&self) -> &str {
        self.names.first().map_or("a client without a certificate", String::as_str)
    }
}

/// The names in a certificate in DER form.
fn names(certificate: &[u8]) -> BTreeSet<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return BTreeSet::new() };
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok()).map(str::to_string);
    let alternative = certificate.extensions().iter().filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => Some(name.to_string()),
        GeneralName::IPAddress(octets) => match octets.len() {
            4 => <[u8; 4]>::try_from(*octets).ok().map(|o| std::net::Ipv4Addr::from(o).to_string()),
            16 => <[u8; 16]>::try_from(*octets).ok().map(|o| std::net::Ipv6Addr::from(o).to_string()),
            _ => None,
        },
        _ => None,
    };
    common.chain(alternative.flatten().filter_map(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(names: &[&str]) -> Caller {
        Caller { names: names.iter().map(|n| n.to_string()).collect() }
    }

    fn client(name: &str, devices: Option<&[u64]>, roles: Option<&[&str]>, programs: bool) -> Client {
        let roles = roles.map(|roles| roles.iter().map(|r| r.to_string()).collect());
        Client { name: name.into(), devices: devices.map(|d| d.iter().copied().collect()), roles, programs }
    }

    #[test]
    fn a_client_reaches_its_own_devices_only() {
        let access = Access::Clients(vec![
            client("red", Some(&[1]), None, true),
            client("blue", Some(&[2]), Some(&["acl"]), false),
            client("operator", None, None, true),
        ]);
        assert!(access.grant(&caller(&["red"]), 1).is_some_and(|g| g.all_roles() && g.programs));
        assert_eq!(access.grant(&caller(&["red"]), 2), None);
        let blue = access.grant(&caller(&["blue"]), 2).unwrap();
        assert!(blue.role("acl") && !blue.role("") && !blue.programs && !blue.all_roles());
        assert!(access.grant(&caller(&["operator"]), 77).is_some());
        assert_eq!(access.grant(&caller(&["nobody"]), 1), None);
        assert!(access.grant_of_switch(&caller(&["red", "operator"])).is_some());
        assert!(["red", "nobody"].iter().all(|name| access.grant_of_switch(&caller(&[name])).is_none()));
        assert!(Access::Everybody.grant_of_switch(&caller(&[])).is_some());
        assert_eq!(access.grant(&caller(&[]), 1), None);
        assert!(Access::Everybody.grant(&caller(&[]), 1).is_some());
        assert!(Access::Later.grant(&caller(&["any"]), 1).is_none());
    }

    #[test]
    fn the_rights_of_several_names_add_up() {
        let access = Access::Clients(vec![
            client("a", Some(&[1]), Some(&["x"]), false),
            client("b", Some(&[1, 2]), Some(&["y"]), true),
            client("c", Some(&[2]), None, false),
        ]);
        let both = access.grant(&caller(&["a", "b"]), 1).unwrap();
        assert!(both.role("x") && both.role("y") && !both.role("") && both.programs);
        assert!(access.grant(&caller(&["b", "c"]), 2).unwrap().all_roles());
        // What a name may do with one device is no right to another.
        assert!(!access.grant(&caller(&["a", "b"]), 2).unwrap().role("x"));
    }
}
