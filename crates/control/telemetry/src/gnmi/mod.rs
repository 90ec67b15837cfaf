//! gNMI 0.10: `Capabilities`, `Get`, `Set` and `Subscribe` on the interfaces of a switch, in OpenConfig's models
//! (<https://github.com/openconfig/reference/blob/master/rpc/gnmi/gnmi-specification.md>).
//!
//! `tree` has the data, `path` what requests select of it, `set` the few leaves that can be changed, and `subscribe` what is sent when.
//! Clients have the rights of P4Runtime: those that may reach all devices.

mod calls;
mod path;
mod service;
mod set;
mod subscribe;
mod tree;

use std::sync::Arc;

use hopwright_p4runtime::Devices;
use hopwright_protobuf::gnmi::g_nmi_server::GNmiServer;
use tonic::service::Routes;

use crate::Interfaces;

/// The longest message of a client.
const MAX_MESSAGE: usize = 4 << 20;

#[doc(hidden)]
pub mod fuzz {
    //! What a client may send.

    use hopwright_protobuf::gnmi::{GetRequest, SetRequest};
    use prost::Message;

    use super::path::Query;
    use super::{set, tree};
    use crate::Interface;

    /// Plans what a request of `Set` says, and selects what one of `Get` does. Returns how many settings are planned, and how many leaves
    /// selected.
    pub fn request(bytes: &[u8]) -> (usize, usize) {
        let interface = Interface { index: 1, name: "eth0".into(), port: Some(1), ..Interface::default() };
        let leaves = tree::of_one(&interface);
        let plan = SetRequest::decode(bytes).ok().and_then(|request| set::plan(&leaves, &request).ok());
        let planned = plan.map_or(0, |(plan, _)| plan.len());
        let Ok(request) = GetRequest::decode(bytes) else { return (planned, 0) };
        let mut found = 0;
        for path in request.path.iter().take(16) {
            let Ok(query) = Query::new(request.prefix.as_ref(), Some(path)) else { continue };
            let selected: Vec<_> = leaves.iter().filter(|leaf| query.depth(&leaf.path).is_some()).collect();
            found += selected.len();
            match selected.first().and_then(|leaf| query.depth(&leaf.path)) {
                None => drop(query.nothing(&leaves)),
                // What several nodes have is several answers.
                Some(depth) if selected.iter().all(|leaf| query.depth(&leaf.path) == Some(depth)) => {
                    let same = selected.iter().copied().filter(|leaf| leaf.path[..depth] == selected[0].path[..depth]);
                    drop(tree::subtree(&same.collect::<Vec<_>>(), depth, true));
                }
                Some(_) => {}
            }
        }
        (planned, found)
    }
}

/// Adds the service to those of a server ([`hopwright_p4runtime::Server::start_with`]).
pub fn serve(interfaces: Arc<Interfaces>, devices: Devices, routes: Routes) -> Routes {
    let service = service::Service::new(interfaces, devices);
    routes.add_service(GNmiServer::new(service).max_decoding_message_size(MAX_MESSAGE))
}
