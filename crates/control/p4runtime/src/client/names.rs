//! Finds P4Info's objects by name: full, by alias, or by the part after a dot if it is unique.

use hopwright_sema::nearest;

use crate::proto::config as p4;

/// The most candidates that an error lists.
const FEW: usize = 12;

/// A name that is unknown or ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Unknown {
    #[error("there is no {what} `{name}`{}", hint(.near, .all))]
    Nothing { what: String, name: String, near: Option<String>, all: Vec<String> },
    #[error("several have the name `{name}`: {}", .all.join(", "))]
    Several { name: String, all: Vec<String> },
}

fn hint(near: &Option<String>, all: &[String]) -> String {
    match near {
        Some(near) => format!(": did you mean `{near}`?"),
        None if all.is_empty() => ": the program has none".into(),
        None if all.len() <= FEW => format!("; there are {}", all.join(", ")),
        None => String::new(),
    }
}

/// A program's names.
#[derive(Debug, Default)]
pub struct Names {
    info: p4::P4Info,
}

impl Names {
    /// The names of a program.
    pub fn new(info: p4::P4Info) -> Names {
        Names { info }
    }

    /// The P4Info.
    pub fn info(&self) -> &p4::P4Info {
        &self.info
    }

    /// A table.
    pub fn table(&self, name: &str) -> Result<&p4::Table, Unknown> {
        find("table", name, self.info.tables.iter().map(|t| (&t.preamble, t)))
    }

    /// The table with this id.
    pub fn table_with_id(&self, id: u32) -> Option<&p4::Table> {
        self.info.tables.iter().find(|t| t.preamble.as_ref().is_some_and(|p| p.id == id))
    }

    /// A parser value set.
    pub fn value_set(&self, name: &str) -> Result<&p4::ValueSet, Unknown> {
        find("value set", name, self.info.value_sets.iter().map(|s| (&s.preamble, s)))
    }

    /// One of a table's actions.
    pub fn action(&self, table: &p4::Table, name: &str) -> Result<&p4::Action, Unknown> {
        let listed = table.action_refs.iter().filter_map(|r| self.action_with_id(r.id));
        find(&format!("action of `{}`", alias(&table.preamble)), name, listed.map(|a| (&a.preamble, a)))
    }

    /// The action with this id.
    pub fn action_with_id(&self, id: u32) -> Option<&p4::Action> {
        self.info.actions.iter().find(|a| a.preamble.as_ref().is_some_and(|p| p.id == id))
    }

    /// A table's match field.
    pub fn field<'t>(&self, table: &'t p4::Table, name: &str) -> Result<&'t p4::MatchField, Unknown> {
        let what = format!("match field of `{}`", alias(&table.preamble));
        find_by(&what, name, table.match_fields.iter().map(|f| ([f.name.as_str(), ""], f)))
    }

    /// An action's parameter.
    pub fn param<'a>(&self, action: &'a p4::Action, name: &str) -> Result<&'a p4::action::Param, Unknown> {
        let what = format!("parameter of `{}`", alias(&action.preamble));
        find_by(&what, name, action.params.iter().map(|p| ([p.name.as_str(), ""], p)))
    }

    /// An array of counters or a direct counter.
    pub fn counter(&self, name: &str) -> Result<Either<'_, p4::Counter, p4::DirectCounter>, Unknown> {
        let arrays = self.info.counters.iter().map(|c| (&c.preamble, Either::Array(c)));
        let direct = self.info.direct_counters.iter().map(|c| (&c.preamble, Either::Direct(c)));
        find("counter", name, arrays.chain(direct))
    }

    /// An array of meters or a direct meter.
    pub fn meter(&self, name: &str) -> Result<Either<'_, p4::Meter, p4::DirectMeter>, Unknown> {
        let arrays = self.info.meters.iter().map(|c| (&c.preamble, Either::Array(c)));
        let direct = self.info.direct_meters.iter().map(|c| (&c.preamble, Either::Direct(c)));
        find("meter", name, arrays.chain(direct))
    }

    /// An array of registers.
    pub fn register(&self, name: &str) -> Result<&p4::Register, Unknown> {
        find("register", name, self.info.registers.iter().map(|r| (&r.preamble, r)))
    }
}

/// An array, or a direct object of a table.
#[derive(Clone, Copy, Debug)]
pub enum Either<'a, A, D> {
    /// An array.
    Array(&'a A),
    /// One cell per entry of a table.
    Direct(&'a D),
}

/// The shortest name of an object.
pub fn alias(preamble: &Option<p4::Preamble>) -> &str {
    preamble.as_ref().map_or("", |p| if p.alias.is_empty() { &p.name } else { &p.alias })
}

fn find<'a, T>(what: &str, name: &str, all: impl Iterator<Item = (&'a Option<p4::Preamble>, T)>) -> Result<T, Unknown> {
    let named = all.filter_map(|(p, object)| p.as_ref().map(|p| ([p.name.as_str(), p.alias.as_str()], object)));
    find_by(what, name, named)
}

/// The object with this name or alias, else the only one whose name ends in a dot and this name.
fn find_by<'a, T>(what: &str, name: &str, all: impl Iterator<Item = ([&'a str; 2], T)>) -> Result<T, Unknown> {
    let mut ending = Vec::new();
    let mut names = Vec::new();
    for (known, object) in all {
        if known.contains(&name) {
            return Ok(object);
        }
        names.push(known);
        if known[0].strip_suffix(name).is_some_and(|front| front.ends_with('.')) {
            ending.push((known[0], object));
        }
    }
    if ending.len() > 1 {
        let all = ending.iter().map(|(name, _)| (*name).to_string()).collect();
        return Err(Unknown::Several { name: name.into(), all });
    }
    if let Some((_, object)) = ending.pop() {
        return Ok(object);
    }
    let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let forms = names.iter().flat_map(|k| [k[0], k[1], last(k[0])]).filter(|n| !n.is_empty());
    let near = nearest(name, forms).map(str::to_string);
    let all = names.iter().map(|k| if k[1].is_empty() { k[0] } else { k[1] }.to_string()).collect();
    Err(Unknown::Nothing { what: what.into(), name: name.into(), near, all })
}
