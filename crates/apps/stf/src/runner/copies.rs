//! Lines about clone sessions and multicast groups.

use hopwright_interp::Replica;

use super::Runner;
use crate::error::LineError;
use crate::script::Command;

impl<'a> Runner<'a> {
    /// Carries out a line about clone sessions and multicast groups.
    pub(super) fn copies(&mut self, command: &'a Command) -> Result<(), LineError> {
        match command {
            Command::MirrorPort(session, port, length) => {
                let to = self.sessions.entry(*session).or_default();
                (to.port, to.truncate) = (Some(*port), *length);
                self.engine.set_clone_session(*session, Some(*to))?;
            }
            Command::MirrorGroup(session, group) => {
                let to = self.sessions.entry(*session).or_default();
                to.group = Some(*group);
                self.engine.set_clone_session(*session, Some(*to))?;
            }
            Command::MirrorDelete(session) => {
                if self.sessions.remove(session).is_none() {
                    return Err(no("session", *session as usize));
                }
                self.engine.set_clone_session(*session, None)?;
            }
            Command::MirrorGet(session) => {
                let to = self.sessions.get(session).ok_or_else(|| no("session", *session as usize))?;
                let text = format!("session {session}: {to:?}");
                self.note(text);
            }
            Command::GroupCreate(group) => {
                if self.groups.insert(*group, Vec::new()).is_some() {
                    return Err(LineError::GroupTwice(*group));
                }
                self.update_group(*group)?;
            }
            Command::NodeCreate(rid, ports) => self.nodes.push((*rid, ports.clone())),
            Command::NodeUpdate(node, ports) => {
                self.nodes.get_mut(*node).ok_or_else(|| no("node", *node))?.1 = ports.clone();
                let groups: Vec<u16> =
                    self.groups.iter().filter(|(_, nodes)| nodes.contains(node)).map(|(&g, _)| g).collect();
                for group in groups {
                    self.update_group(group)?;
                }
            }
            Command::NodeAssociate(group, node) => {
                if *node >= self.nodes.len() {
                    return Err(no("node", *node));
                }
                self.groups.get_mut(group).ok_or_else(|| no("group", (*group).into()))?.push(*node);
                self.update_group(*group)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn update_group(&mut self, group: u16) -> Result<(), LineError> {
        let nodes = self.groups.get(&group).into_iter().flatten();
        let replicas = nodes.flat_map(|&node| {
            let (rid, ports) = &self.nodes[node];
            ports.iter().map(|&port| Replica { rid: *rid, port })
        });
        Ok(self.engine.set_multicast_group(group, replicas.collect())?)
    }
}

fn no(what: &'static str, number: usize) -> LineError {
    LineError::NoSuch { what, number }
}
