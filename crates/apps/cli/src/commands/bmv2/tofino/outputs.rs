//! The folder that Intel's compiler writes: `PROGRAM.conf`, `bf-rt.json`, and `PIPELINE/tofino.bin`, which has here the program as our
//! switches read it.

use std::path::{Path, PathBuf};

use hopwright_driver::Compiled;
use hopwright_p4runtime::proto::config::P4Info;
use serde_json::{Value, json};

use super::Chip;
use crate::failure::Failure;

/// The pipes of a device.
pub(super) const PIPES: usize = 4;

/// Where a compiled program goes.
pub(in super::super) struct Outputs<'a> {
    pub folder: &'a Path,
    pub program: &'a str,
    /// The file of `--bf-rt-schema`.
    pub schema: Option<&'a Path>,
    pub chip: &'a Chip,
}

impl Outputs<'_> {
    /// Writes all files of a program.
    pub(in super::super) fn write(&self, compiled: &Compiled, info: &P4Info, bundle: &[u8]) -> Result<(), Failure> {
        let folder = std::path::absolute(self.folder)?;
        let schema = self.schema.map_or_else(|| folder.join("bf-rt.json"), Path::to_path_buf);
        let tables = format!("{:#}\n", hopwright_bfruntime::info(self.program, info));
        write(&schema, tables.as_bytes())?;
        let pipelines = compiled.typed.as_ref().map(|typed| scopes(&typed.main.pipelines)).unwrap_or_default();
        for (name, _) in &pipelines {
            let file = self.binary(&folder, name);
            std::fs::create_dir_all(folder.join(name)).map_err(|e| cannot_write(&file, &e))?;
            write(&file, bundle)?;
        }
        let conf = folder.join(self.program).with_added_extension("conf");
        write(&conf, format!("{:#}\n", self.conf(&folder, &std::path::absolute(schema)?, &pipelines)).as_bytes())
    }

    fn conf(&self, folder: &Path, schema: &Path, pipelines: &[(String, Vec<usize>)]) -> Value {
        let pipelines: Vec<Value> = pipelines
            .iter()
            .map(|(name, pipes)| {
                json!({
                    "p4_pipeline_name": name, "config": self.binary(folder, name), "pipe_scope": pipes, "path": folder,
                })
            })
            .collect();
        json!({
            "chip_list": [{"id": "asic-0", "chip_family": self.chip.target, "instance": 0}],
            "instance": 0,
            "p4_devices": [{
                "device-id": 0,
                "p4_programs": [{"program-name": self.program, "bfrt-config": schema, "p4_pipelines": pipelines}],
            }],
        })
    }

    /// `tofino.bin`, or `tofino2.bin` for a Tofino 2.
    fn binary(&self, folder: &Path, pipeline: &str) -> PathBuf {
        folder.join(pipeline).join(self.chip.target).with_added_extension("bin")
    }
}

/// The pipes that each pipeline is in, of the pipelines of `Switch`: one is in all pipes, and two are in half of them each.
pub(super) fn scopes(pipelines: &[String]) -> Vec<(String, Vec<usize>)> {
    let pipes = if pipelines.len() <= 2 { PIPES } else { pipelines.len() };
    let mut scopes: Vec<(String, Vec<usize>)> = Vec::new();
    for (pipe, name) in pipelines.iter().cycle().take(pipes).enumerate() {
        match scopes.iter_mut().find(|(known, _)| known == name) {
            Some((_, of)) => of.push(pipe),
            None => scopes.push((name.clone(), vec![pipe])),
        }
    }
    scopes
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(file, bytes).map_err(|e| cannot_write(file, &e))
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Failure {
    Failure::message(format!("error: {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_share_the_pipes() {
        let of = |names: &[&str]| scopes(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["pipe"]), [("pipe".to_string(), vec![0, 1, 2, 3])]);
        assert_eq!(of(&["a", "b"]), [("a".to_string(), vec![0, 2]), ("b".to_string(), vec![1, 3])]);
        assert_eq!(of(&["a", "b", "a"]), [("a".to_string(), vec![0, 2]), ("b".to_string(), vec![1])]);
    }
}
