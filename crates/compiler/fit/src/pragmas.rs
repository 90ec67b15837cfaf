//! What a program's annotations tell the compiler of the target: blocks that are hashes, and where tables are to lie.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_ir::Span;
use hopwright_sema::hir::{Annotation, AnnotationArg, Table, TypedProgram};
use num_traits::ToPrimitive;

/// The annotations that an estimate honours.
#[derive(Clone, Debug, Default)]
pub struct Pragmas {
    /// Blocks with `@in_hash`.
    pub(crate) hash_blocks: Vec<Span>,
    /// `@pa_alias`: variables that are in one place.
    pub(crate) aliases: Vec<(String, String)>,
    /// Tables by their control-plane names, if there is something to know of them.
    tables: BTreeMap<String, TablePragmas>,
}

/// The annotations of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TablePragmas {
    /// `@stage`: the stage in which it begins.
    pub(crate) stage: Option<u32>,
    /// `@placement_priority`: tables with more are placed first.
    pub(crate) priority: i64,
    /// `@ignore_table_dependency`: names of tables with which it may share a stage whatever both write.
    pub(crate) ignored: BTreeSet<String>,
    /// `@ways`: blocks that its hash table is spread over at least.
    pub(crate) ways: Option<u32>,
    /// `@use_hash_action(1)`: its key is the index of its data, and every key has an entry.
    pub(crate) hash_action: bool,
}

impl Pragmas {
    /// Reads the annotations of a program.
    pub fn of(program: &TypedProgram) -> Pragmas {
        let of_table = |table: &Table| {
            let found = TablePragmas::of(&table.annotations);
            (found != TablePragmas::default()).then(|| (table.control_plane_name.clone(), found))
        };
        Pragmas {
            hash_blocks: program.hash_blocks.clone(),
            aliases: aliases(program),
            tables: program.tables.iter().filter_map(of_table).collect(),
        }
    }

    /// The annotations of the table with a name, which may have that of its pipeline before it.
    pub(crate) fn table(&self, name: &str) -> Option<&TablePragmas> {
        let inner = || name.split_once('.').and_then(|(_, inner)| self.tables.get(inner));
        self.tables.get(name).or_else(inner)
    }

    /// Whether two tables may share a stage although they depend on each other.
    pub(crate) fn ignores(&self, a: &str, b: &str) -> bool {
        let names = |of: &str, other: &str| {
            let of = self.table(of);
            of.is_some_and(|of| of.ignored.iter().any(|name| other == name || other.ends_with(&format!(".{name}"))))
        };
        names(a, b) || names(b, a)
    }
}

impl TablePragmas {
    fn of(annotations: &[Annotation]) -> TablePragmas {
        let mut found = TablePragmas::default();
        for annotation in annotations {
            let number = match annotation.args.first() {
                Some(AnnotationArg::Int(value)) => value.to_i64(),
                _ => None,
            };
            match annotation.name.as_str() {
                "stage" => {
                    let stage = number.and_then(|stage| u32::try_from(stage).ok());
                    found.stage = [found.stage, stage].into_iter().flatten().min();
                }
                "placement_priority" => found.priority = number.unwrap_or_default(),
                "ways" => found.ways = number.and_then(|ways| u32::try_from(ways).ok()).filter(|ways| *ways > 0),
                "use_hash_action" => found.hash_action = number == Some(1),
                "ignore_table_dependency" => found.ignored.extend(names(annotation)),
                _ => {}
            }
        }
        found
    }
}

/// What `@pa_alias` says on types and blocks of the program, of which the pipe and the direction are left out.
fn aliases(program: &TypedProgram) -> Vec<(String, String)> {
    let of_types = program.structs.iter().flat_map(|it| &it.annotations);
    let of_blocks = program.instances.iter().flat_map(|it| &it.annotations);
    let all = of_types.chain(of_blocks).filter(|annotation| annotation.name == "pa_alias");
    let pair = |annotation: &Annotation| match names(annotation).collect::<Vec<_>>().as_slice() {
        [.., a, b] => Some((a.clone(), b.clone())),
        _ => None,
    };
    all.filter_map(pair).collect()
}

fn names(annotation: &Annotation) -> impl Iterator<Item = String> + '_ {
    annotation.args.iter().filter_map(|arg| match arg {
        AnnotationArg::String(name) => Some(name.trim_matches('.').to_string()),
        _ => None,
    })
}
