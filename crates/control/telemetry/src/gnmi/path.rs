//! Paths of requests, and which leaves of the tree they select.
//!
//! gNMI 0.10, section 2.2.2: `*` stands for one step or for any value of a key, `...` for any number of steps. A key that is left out stands
//! for all entries of its list. As in Stratum, `...` stands for any value of a key, too: ONOS asks so.

use hopwright_protobuf::gnmi::{Path, PathElem};
use tonic::Status;

use super::tree::{Elem, Leaf};

/// The most steps of a path, and the most paths of a request.
const MAX_STEPS: usize = 64;
pub(super) const MAX_PATHS: usize = 4096;

/// A path of a request, with its prefix.
#[derive(Clone, Debug)]
pub(super) struct Query(Vec<PathElem>);

impl Query {
    /// The path below a prefix.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for paths that are no paths, `UNIMPLEMENTED` for another origin than OpenConfig.
    pub(super) fn new(prefix: Option<&Path>, path: Option<&Path>) -> Result<Query, Status> {
        let mut steps = Vec::new();
        for path in prefix.into_iter().chain(path) {
            #[allow(deprecated)]
            let old = !path.element.is_empty() && path.elem.is_empty();
            if old {
                return Err(Status::invalid_argument(
                    "paths in `element` are not understood: use `elem`, as since gNMI 0.4",
                ));
            }
            // pygnmi takes the module in front of the first step for the origin.
            if !(path.origin.is_empty() || path.origin == "openconfig" || path.origin.starts_with("openconfig-")) {
                let text = format!("there is no origin {}: the data is of OpenConfig's models", path.origin);
                return Err(Status::unimplemented(text));
            }
            steps.extend(path.elem.iter().cloned());
        }
        if steps.len() > MAX_STEPS {
            return Err(Status::invalid_argument(format!("a path has {} steps: at most {MAX_STEPS}", steps.len())));
        }
        match steps.iter().find(|step| step.name.is_empty()) {
            Some(_) => Err(Status::invalid_argument(format!("{} has a step without a name", text(&steps)))),
            None => Ok(Query(steps)),
        }
    }

    /// How many steps of a leaf's path the query selects: what is below belongs to one answer. `None`: the leaf is another's.
    pub(super) fn depth(&self, leaf: &[Elem]) -> Option<usize> {
        depth(&self.0, leaf)
    }

    /// Whether it may select several nodes, or none.
    pub(super) fn has_wildcards(&self) -> bool {
        self.0.iter().any(|step| is_wildcard(&step.name) || step.key.values().any(|value| is_wildcard(value)))
    }

    /// Why nothing is selected: the step that there is not, and what there is instead.
    pub(super) fn nothing(&self, leaves: &[Leaf]) -> Status {
        let known = |steps: usize| leaves.iter().any(|leaf| depth(&self.0[..steps], &leaf.path).is_some());
        let steps = (0..self.0.len()).take_while(|steps| known(*steps)).count().saturating_sub(1);
        let (above, Some(step)) = (text(&self.0[..steps]), self.0.get(steps).or(self.0.last())) else {
            return Status::not_found("there is no data");
        };
        let mut there: Vec<String> = Vec::new();
        for leaf in leaves {
            let Some(elem) = depth(&self.0[..steps], &leaf.path).and_then(|depth| leaf.path.get(depth)) else {
                continue;
            };
            // A list of the entries, if it is one that is missing.
            let name = match &elem.key {
                Some(key) if names(elem, &step.name) && step.key.keys().all(|name| name == "name") => key.clone(),
                Some(_) => format!("{}[name]", elem.name),
                None => elem.name.to_string(),
            };
            if !there.contains(&name) {
                there.push(name);
            }
        }
        Status::not_found(format!("there is no {} in {above}: there are {}", text_of(step), there.join(", ")))
    }
}

impl std::fmt::Display for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.0))
    }
}

fn is_wildcard(text: &str) -> bool {
    matches!(text, "*" | "...")
}

fn names(elem: &Elem, name: &str) -> bool {
    match name.split_once(':') {
        Some((module, name)) => module == elem.module && name == elem.name,
        None => name == "*" || name == elem.name,
    }
}

fn fits(elem: &Elem, step: &PathElem) -> bool {
    let key = |(name, value): (&String, &String)| {
        name == "name" && elem.key.as_ref().is_some_and(|key| key == value || is_wildcard(value))
    };
    names(elem, &step.name) && step.key.iter().all(key)
}

fn depth(query: &[PathElem], path: &[Elem]) -> Option<usize> {
    let Some((step, below)) = query.split_first() else { return Some(0) };
    if step.name == "..." {
        return (0..=path.len()).find_map(|skipped| Some(depth(below, &path[skipped..])? + skipped));
    }
    let (elem, rest) = path.split_first()?;
    if fits(elem, step) { Some(depth(below, rest)? + 1) } else { None }
}

fn text_of(step: &PathElem) -> String {
    let keys: String = step.key.iter().map(|(name, value)| format!("[{name}={value}]")).collect();
    format!("{}{keys}", step.name)
}

fn text(steps: &[PathElem]) -> String {
    format!("/{}", steps.iter().map(text_of).collect::<Vec<_>>().join("/"))
}

/// A path of the tree as messages have it.
pub(super) fn message(path: &[Elem]) -> Path {
    let elem = |elem: &Elem| PathElem {
        name: elem.name.to_string(),
        key: elem.key.iter().map(|key| ("name".to_string(), key.clone())).collect(),
    };
    Path { elem: path.iter().map(elem).collect(), ..Path::default() }
}

/// What of a request's prefix belongs to its answers, whose paths are whole.
pub(super) fn answered_prefix(prefix: Option<&Path>) -> Option<Path> {
    let prefix = prefix?;
    let (origin, target) = (prefix.origin.clone(), prefix.target.clone());
    (!origin.is_empty() || !target.is_empty()).then(|| Path { origin, target, ..Path::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        let step = |text: &str| match text.trim_end_matches(']').split_once('[') {
            Some((name, key)) => {
                let (key, value) = key.split_once('=').unwrap();
                PathElem { name: name.into(), key: [(key.to_string(), value.to_string())].into() }
            }
            None => PathElem { name: text.into(), ..PathElem::default() },
        };
        let elem = text.split('/').filter(|step| !step.is_empty()).map(step).collect();
        Query::new(None, Some(&Path { elem, ..Path::default() })).unwrap()
    }

    fn path() -> Vec<Elem> {
        let elem = |module, name, key: Option<&str>| Elem { module, name, key: key.map(str::to_string) };
        vec![
            elem("openconfig-interfaces", "interfaces", None),
            elem("openconfig-interfaces", "interface", Some("eth0")),
            elem("openconfig-interfaces", "state", None),
            elem("openconfig-p4rt", "id", None),
        ]
    }

    /// The forms of section 2.2.2 of the specification, and of its document on paths.
    #[test]
    fn paths_select_leaves() {
        for (text, depth) in [
            ("", Some(0)),
            ("/interfaces", Some(1)),
            ("/openconfig-interfaces:interfaces", Some(1)),
            ("/openconfig-platform:interfaces", None),
            ("/interfaces/interface", Some(2)),
            ("/interfaces/interface[name=eth0]", Some(2)),
            ("/interfaces/interface[name=*]/state", Some(3)),
            ("/interfaces/interface[name=...]/state", Some(3)),
            ("/interfaces/interface[name=eth1]", None),
            ("/interfaces/interface[index=eth0]", None),
            ("/interfaces/*/*/id", Some(4)),
            ("/.../id", Some(4)),
            ("/...", Some(0)),
            ("/interfaces/.../openconfig-p4rt:id", Some(4)),
            ("/interfaces/interface/config", None),
            ("/interfaces/interface/state/id/more", None),
        ] {
            assert_eq!(query(text).depth(&path()), depth, "{text}");
        }
    }

    #[test]
    fn errors_name_what_there_is() {
        let leaf = Leaf {
            path: path(),
            value: super::super::tree::Value::Small(1),
            kind: super::super::tree::Kind::Config,
            setting: None,
        };
        let error = |text: &str| query(text).nothing(std::slice::from_ref(&leaf)).message().to_string();
        assert_eq!(error("/interface"), "there is no interface in /: there are interfaces");
        assert_eq!(
            error("/interfaces/interface[name=eth1]/state"),
            "there is no interface[name=eth1] in /interfaces: there are eth0"
        );
        assert_eq!(
            error("/interfaces/interface[name=eth0]/counters"),
            "there is no counters in /interfaces/interface[name=eth0]: there are state"
        );
        assert_eq!(
            error("/interfaces/interface[index=1]"),
            "there is no interface[index=1] in /interfaces: there are interface[name]"
        );
    }
}
