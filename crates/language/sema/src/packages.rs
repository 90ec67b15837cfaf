//! Packages: what is bound to their parameters, and the package instance that is the program.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hopwright_source::Span;

use crate::analyser::Analyser;
use crate::defs::Sig;
use crate::hir::{self, Annotation};
use crate::value::{Made, PackageArgs, Typed, Value};

/// The arguments of a package.
pub(crate) fn bound(name: &str, sig: &Sig, args: &[Option<Typed>], made: Made) -> PackageArgs {
    let mut bound = PackageArgs { name: name.to_string(), made, ..PackageArgs::default() };
    for (param, arg) in sig.params.iter().zip(args) {
        let Some(t) = arg else { continue };
        let name = param.name.to_string();
        match &t.value {
            Some(Value::Instance(id)) => bound.blocks.push((name, *id)),
            Some(Value::Object(id)) => bound.objects.push((name, *id)),
            Some(Value::Package(inner)) => {
                let under = |n: &String| format!("{name}.{n}");
                bound.blocks.extend(inner.blocks.iter().map(|(n, id)| (under(n), *id)));
                bound.objects.extend(inner.objects.iter().map(|(n, id)| (under(n), *id)));
                bound.values.extend(inner.values.iter().map(|(n, v, t)| (under(n), v.clone(), t.clone())));
            }
            Some(Value::Opaque) | None => {}
            Some(v) => bound.values.push((name, v.clone(), t.ty.clone())),
        }
    }
    bound
}

impl Analyser<'_> {
    /// What there is of each kind.
    pub(crate) fn made_so_far(&self) -> Made {
        let out = &self.out;
        let until = |n: usize| 0..n;
        Made {
            instances: until(out.instances.len()),
            tables: until(out.tables.len()),
            objects: until(out.objects.len()),
            value_sets: until(out.value_sets.len()),
            functions: until(out.functions.len()),
        }
    }

    /// What has been made since then.
    pub(crate) fn made_since(&self, before: &Made) -> Made {
        let now = self.made_so_far();
        let since = |before: &Range<usize>, now: Range<usize>| before.end..now.end;
        Made {
            instances: since(&before.instances, now.instances),
            tables: since(&before.tables, now.tables),
            objects: since(&before.objects, now.objects),
            value_sets: since(&before.value_sets, now.value_sets),
            functions: since(&before.functions, now.functions),
        }
    }

    /// The package instance that is the program.
    pub(crate) fn main_package(
        &mut self,
        sig: &Sig,
        args: &[Option<Typed>],
        bound: PackageArgs,
        annotations: Vec<Annotation>,
        (type_name, architecture): (String, Option<String>),
        span: Span,
    ) {
        let mut pipelines = Vec::new();
        let mut all: Vec<(String, Made)> = Vec::new();
        for (param, arg) in sig.params.iter().zip(args) {
            if let Some(Value::Package(inner)) = arg.as_ref().and_then(|arg| arg.value.as_ref()) {
                let name = if inner.name.is_empty() { param.name.to_string() } else { inner.name.clone() };
                pipelines.push(name.clone());
                if all.iter().all(|(known, _)| *known != name) {
                    all.push((name, inner.made.clone()));
                }
            }
        }
        if all.len() > 1 && !self.out.shared_names().is_empty() {
            all.iter().for_each(|(name, made)| self.name_below(name, made));
        }
        let values = bound.values.into_iter().map(|(n, v, t)| (n, self.constant(v, &t, span).hir)).collect();
        let mut pipes: Vec<String> = Vec::new();
        let (mut blocks, mut ghosts) = (Vec::new(), Vec::new());
        for (block, id) in bound.blocks {
            let (pipe, part) = block.rsplit_once('.').unwrap_or(("", &block));
            if !pipes.iter().any(|known| known == pipe) {
                pipes.push(pipe.to_string());
            }
            match part {
                "ghost" => ghosts.push((pipes.len() - 1, id)),
                _ => blocks.push((block, id)),
            }
        }
        let objects = bound.objects;
        let pipes = Vec::new();
        self.out.main = hir::Package {
            type_name,
            architecture,
            blocks,
            pipelines,
            pipes,
            ghosts,
            values,
            objects,
            annotations,
            span,
        };
        if self.out.architecture().is_some_and(|a| matches!(a.name, "tna" | "t2na"))
            && !self.out.shared_names().is_empty()
        {
            self.tell_apart();
        }
    }

    /// Gives objects of a Tofino program that have a name which another one of their kind has a number behind it: Intel's compiler takes
    /// such programs. An action keeps its name in all instances of its control.
    fn tell_apart(&mut self) {
        let out = &mut self.out;
        let objects = out.objects.iter_mut().map(|o| &mut o.name);
        let tables = out.tables.iter_mut().map(|t| &mut t.control_plane_name);
        let value_sets = out.value_sets.iter_mut().map(|v| &mut v.name);
        let kinds: [Vec<&mut String>; 3] = [objects.collect(), tables.collect(), value_sets.collect()];
        for names in kinds {
            let mut known = HashSet::new();
            for name in names {
                *name = unused(name, &known);
                known.insert(name.clone());
            }
        }
        let mut named: HashMap<(String, Span), String> = HashMap::new();
        let mut known = HashSet::new();
        for action in out.functions.iter_mut().filter(|f| f.is_action) {
            let own = named.entry((action.control_plane_name.clone(), action.span));
            let name = own.or_insert_with(|| unused(&action.control_plane_name, &known));
            action.control_plane_name = name.clone();
            known.insert(name.clone());
        }
    }

    /// Gives what was made for a pipeline, or a program, names below its name, because another one may have the same controls.
    pub(crate) fn name_below(&mut self, above: &str, made: &Made) {
        let out = &mut self.out;
        let instances = out.instances[made.instances.clone()].iter_mut().map(|i| &mut i.name);
        let tables = out.tables[made.tables.clone()].iter_mut().map(|t| &mut t.control_plane_name);
        let objects = out.objects[made.objects.clone()].iter_mut().map(|o| &mut o.name);
        let value_sets = out.value_sets[made.value_sets.clone()].iter_mut().map(|v| &mut v.name);
        let actions = out.functions[made.functions.clone()].iter_mut().filter(|f| f.is_action);
        let actions = actions.map(|f| &mut f.control_plane_name);
        for name in instances.chain(tables).chain(objects).chain(value_sets).chain(actions) {
            *name = format!("{above}.{name}");
        }
    }
}

/// The name, or else with the first number behind it that makes it one of its own.
fn unused(name: &str, known: &HashSet<String>) -> String {
    let numbered = (0..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.to_string()).chain(numbered);
    all.find(|name| !known.contains(name)).unwrap_or_default()
}
