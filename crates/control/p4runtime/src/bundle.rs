//! Bundles: several source files and options as one device config.
//!
//! A bundle is JSON: `{"hopwright_bundle": 1, "main": "router.p4", "files": {"router.p4": "…", "parts.p4": "…"},
//! "defines": ["N=4"], "include_paths": ["include"]}`. Includes find files as on disk: beside the including file, then in the
//! include paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::bytes::Bytes;
use hopwright_driver::Compiled;
use serde::{Deserialize, Serialize};

/// Several source files as one device config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Version of this format: 1.
    pub hopwright_bundle: u32,
    /// The name of the main file.
    pub main: String,
    /// Texts by the names in `#include`.
    pub files: BTreeMap<String, String>,
    /// `NAME` or `NAME=VALUE`.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Folders in which includes are looked up.
    #[serde(default)]
    pub include_paths: Vec<String>,
}

impl Bundle {
    /// The bundle of a compiled program: its main file and its include files, except built-in ones. Files are named relative
    /// to the main file's folder, or to the include path they were found by, which becomes the folder `include0`,
    /// `include1` and so on.
    pub fn of(compiled: &Compiled, main: &Path, defines: &[String], include_paths: &[PathBuf]) -> Bundle {
        let folder = main.parent().unwrap_or(Path::new(""));
        let mut places = vec![(folder, PathBuf::new())];
        for (i, path) in include_paths.iter().enumerate() {
            let name = match path.strip_prefix(folder) {
                Ok(inside) if inside.is_relative() => inside.to_path_buf(),
                _ => PathBuf::from(format!("include{i}")),
            };
            places.push((path, name));
        }
        let name = |path: &str| {
            let path = Path::new(path);
            let inside = |(place, name): &(&Path, PathBuf)| {
                path.strip_prefix(place).ok().filter(|p| p.is_relative()).map(|p| name.join(p))
            };
            let name = places.iter().find_map(inside).or_else(|| path.file_name().map(PathBuf::from));
            name.unwrap_or_else(|| path.to_path_buf()).to_string_lossy().into_owned()
        };
        let files = compiled
            .sources
            .files()
            .filter(|(_, f)| !f.name().starts_with('<'))
            .map(|(_, f)| (name(f.name()), f.text().to_string()))
            .collect();
        Bundle {
            hopwright_bundle: 1,
            main: name(&main.to_string_lossy()),
            files,
            defines: defines.to_vec(),
            include_paths: places[1..].iter().map(|(_, name)| name.to_string_lossy().into_owned()).collect(),
        }
    }

    /// As a device config.
    pub fn to_bytes(&self) -> Bytes {
        // Strings have a JSON form.
        Bytes::from(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Several programs of a device with pipes, such as a Tofino, as one device config.
///
/// It is JSON: `{"hopwright_programs": 1, "programs": [{"name": "a", "pipes": [["pipe", [0, 2]]], "bundle": {…}}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// Version of this format: 1.
    pub hopwright_programs: u32,
    /// The programs.
    pub programs: Vec<OneProgram>,
}

/// One of several programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneProgram {
    /// Its name, by which controllers ask for it, and which is in front of the names of its objects.
    pub name: String,
    /// The names of its pipelines, each with the pipes that it is in.
    pub pipes: Vec<(String, Vec<usize>)>,
    /// The program.
    pub bundle: Bundle,
}

impl Programs {
    /// These programs.
    pub fn new(programs: Vec<OneProgram>) -> Programs {
        Programs { hopwright_programs: 1, programs }
    }

    /// Those of a device config, if it has several.
    pub fn of(config: &[u8]) -> Option<Programs> {
        serde_json::from_slice(config).ok()
    }

    /// As a device config.
    pub fn to_bytes(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use hopwright_driver::compile_file;
    use hopwright_syntax::Options;

    use super::*;
    use crate::device_config::compile_device_config;

    const REST: &str = "
        struct none_t { }
        parser P(packet_in p, out none_t h, inout none_t m, inout standard_metadata_t s) {
            state start { transition accept; }
        }
        control C(inout none_t h, inout none_t m) { apply { } }
        control I(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply { s.egress_spec = PORT; } }
        control E(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in none_t h) { apply { } }
        V1Switch(P(), C(), I(), E(), C(), D()) main;";

    /// Includes of included files: beside them, above them, by include paths inside and outside of the program's folder.
    #[test]
    fn a_bundle_compiles_as_its_files_did() {
        let root = std::env::temp_dir().join(format!("hopwright-bundle-{}", std::process::id()));
        let files = [
            ("program/main.p4", format!("#include <core.p4>\n#include <v1model.p4>\n#include \"inc/a.p4\"\n{REST}")),
            (
                "program/inc/a.p4",
                "#include \"b.p4\"\n#include <d.p4>\n#include <e/f.p4>\nconst bit<9> PORT = FROM_B + FROM_D + FROM_F;"
                    .into(),
            ),
            ("program/inc/b.p4", "#include \"../c.p4\"\nconst bit<9> FROM_B = FROM_C;".into()),
            ("program/c.p4", "const bit<9> FROM_C = 1;".into()),
            ("program/paths/d.p4", "const bit<9> FROM_D = 2;".into()),
            ("elsewhere/e/f.p4", "#include \"g.p4\"\nconst bit<9> FROM_F = FROM_G;".into()),
            ("elsewhere/e/g.p4", "const bit<9> FROM_G = 3;".into()),
        ];
        for (name, text) in &files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let main = root.join("program/main.p4");
        let include_paths = vec![root.join("program/paths"), root.join("elsewhere")];
        let options = Options { include_paths: include_paths.clone(), ..Options::default() };
        let compiled = compile_file(&main, &options, true);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(compiled.pipeline.is_some(), "{}", compiled.report(false));
        let bundle = Bundle::of(&compiled, &main, &[], &include_paths);
        let names: Vec<&str> = bundle.files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["inc/../c.p4", "inc/a.p4", "inc/b.p4", "include1/e/f.p4", "include1/e/g.p4", "main.p4", "paths/d.p4"]
        );
        let again = compile_device_config(&bundle.to_bytes(), true).unwrap();
        assert!(again.pipeline.is_some(), "{}", again.report(false));
    }
}
