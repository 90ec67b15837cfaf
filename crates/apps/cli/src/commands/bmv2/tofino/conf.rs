//! What Intel's tools read: the configuration of `bf_switchd`, and the ports of `tofino-model`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::Chip;
use super::outputs::PIPES;
use crate::commands::interfaces::Interface;
use crate::failure::Failure;

/// The file of `--conf-file`. It has more for drivers than is read here.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    chip_list: Vec<ChipOf>,
    #[serde(default)]
    p4_devices: Vec<Device>,
    /// The devices of older files.
    #[serde(default)]
    p4_program_list: Vec<OldProgram>,
}

#[derive(Deserialize)]
struct ChipOf {
    chip_family: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Device {
    device_id: u64,
    #[serde(rename = "p4_programs")]
    programs: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Program {
    program_name: String,
    #[serde(rename = "p4_pipelines")]
    pipelines: Vec<Pipeline>,
}

#[derive(Deserialize)]
struct Pipeline {
    p4_pipeline_name: String,
    config: PathBuf,
    #[serde(default)]
    pipe_scope: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct OldProgram {
    instance: u64,
    program_name: String,
    tofino_bin: PathBuf,
}

/// What a device runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conf {
    pub device: u64,
    /// One, or several that have pipes of their own.
    pub programs: Vec<Loaded>,
    pub chip: &'static Chip,
}

/// A program that a device runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loaded {
    pub name: String,
    /// The file of its first pipeline.
    pub binary: PathBuf,
    /// The pipelines, with the pipes that each is in; none says nothing.
    pub scopes: Vec<(String, Vec<usize>)>,
}

impl Conf {
    /// Reads a configuration, of which paths begin at the folder of the installation.
    ///
    /// # Errors
    /// If the file is not one, or is for what one switch does not do.
    pub(super) fn read(file: &Path, install: &Path) -> Result<Conf, Failure> {
        Ok(read(file).and_then(|text| Conf::of(&text, install)).with_context(|| file.display().to_string())?)
    }

    fn of(text: &str, install: &Path) -> anyhow::Result<Conf> {
        let File { chip_list, mut p4_devices, p4_program_list } = serde_json::from_str(text)?;
        let family = chip_list.first().map_or("tofino", |chip| &chip.chip_family);
        let chip = Chip::of(family).with_context(|| format!("chip_family: no chip is called {family}"))?;
        p4_devices.extend(p4_program_list.into_iter().map(OldProgram::device));
        let [device] = p4_devices.as_mut_slice() else {
            bail!("{} devices; a process is one device here", p4_devices.len());
        };
        ensure!(
            (1..=PIPES).contains(&device.programs.len()),
            "{} programs; a device has one to {PIPES}",
            device.programs.len()
        );
        let programs = device.programs.drain(..).map(|program| program.loaded(install));
        Ok(Conf { device: device.device_id, programs: programs.collect::<anyhow::Result<_>>()?, chip })
    }
}

impl Program {
    fn loaded(self, install: &Path) -> anyhow::Result<Loaded> {
        let name = self.program_name;
        let first = self.pipelines.first().with_context(|| format!("{name}: p4_pipelines is empty"))?;
        let binary = install.join(&first.config);
        let scopes = self.pipelines.into_iter().map(|one| (one.p4_pipeline_name, one.pipe_scope)).collect();
        Ok(Loaded { name, binary, scopes })
    }
}

impl Loaded {
    /// Checks that the pipelines are in the pipes that they are in here, if the device has no other program.
    ///
    /// # Errors
    /// Which is in another.
    pub(super) fn check(&self, scopes: &[(String, Vec<usize>)]) -> Result<(), Failure> {
        for (name, wanted) in &self.scopes {
            let Some((_, found)) = scopes.iter().find(|(known, _)| known == name) else {
                let known: Vec<&str> = scopes.iter().map(|(name, _)| name.as_str()).collect();
                let known = known.join(", ");
                return Err(Failure::message(format!("the program has no pipeline `{name}`, but {known}")));
            };
            if let Some(pipe) = wanted.iter().find(|pipe| !found.contains(pipe)) {
                return Err(Failure::message(format!(
                    "pipe_scope: the pipeline `{name}` is in the pipes {found:?} here, not in pipe {pipe}"
                )));
            }
        }
        Ok(())
    }
}

impl OldProgram {
    fn device(self) -> Device {
        let pipeline = Pipeline { p4_pipeline_name: "pipe".into(), config: self.tofino_bin, pipe_scope: Vec::new() };
        let program = Program { program_name: self.program_name, pipelines: vec![pipeline] };
        Device { device_id: self.instance, programs: vec![program] }
    }
}

/// The file of the model's option `-f`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ports {
    #[serde(default)]
    port_to_veth: Vec<Veth>,
    #[serde(default)]
    port_to_if: Vec<Named>,
}

/// A port of the model, and its end of a pair: `vethN`.
#[derive(Deserialize)]
struct Veth {
    device_port: u32,
    veth1: u32,
}

#[derive(Deserialize)]
struct Named {
    device_port: u32,
    #[serde(rename = "if")]
    interface: String,
}

/// Reads the ports of the model.
///
/// # Errors
/// If the file is not one.
pub(super) fn ports(file: &Path) -> Result<Vec<Interface>, Failure> {
    Ok(read(file).and_then(|text| ports_of(&text)).with_context(|| file.display().to_string())?)
}

fn read(file: &Path) -> anyhow::Result<String> {
    Ok(std::fs::read_to_string(file)?)
}

fn ports_of(text: &str) -> anyhow::Result<Vec<Interface>> {
    let Ports { port_to_veth, port_to_if } = serde_json::from_str(text)?;
    let veths = port_to_veth.iter().map(|p| Interface { number: p.device_port, name: format!("veth{}", p.veth1) });
    let named = port_to_if.into_iter().map(|p| Interface { number: p.device_port, name: p.interface });
    let ports: Vec<Interface> = veths.chain(named).collect();
    ensure!(!ports.is_empty(), "expected PortToVeth or PortToIf, with ports");
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the SDE has them, with more for its drivers.
    const TWO_PIPELINES: &str = r#"{
        "chip_list": [{"chip_family": "tofino", "sds_fw_path": "share/tofino_sds_fw/avago/firmware", "instance": 0}],
        "p4_devices": [{"device-id": 0, "agent0": "lib/libpltfm_mgr.so", "p4_programs": [{
            "program-name": "switch", "bfrt-config": "share/switch/bf-rt.json", "p4_pipelines": [
                {"p4_pipeline_name": "pipe", "config": "share/switch/pipe/tofino.bin", "pipe_scope": [0, 2]},
                {"p4_pipeline_name": "lb", "config": "share/switch/lb/tofino.bin", "pipe_scope": [1, 3]}],
            "switchapi": "lib/libbf_switch.so"}]}]}"#;

    #[test]
    fn configurations_of_the_sde_are_read() {
        let conf = Conf::of(TWO_PIPELINES, Path::new("/sde")).unwrap();
        let [program] = conf.programs.as_slice() else { panic!("{conf:?}") };
        assert_eq!((conf.device, program.name.as_str(), conf.chip.target), (0, "switch", "tofino"));
        assert_eq!(program.binary, Path::new("/sde/share/switch/pipe/tofino.bin"));
        let scopes = super::super::outputs::scopes(&["pipe".into(), "lb".into()]);
        assert_eq!(program.scopes, scopes);
        assert!(program.check(&scopes).is_ok());
        assert!(program.check(&super::super::outputs::scopes(&["lb".into(), "pipe".into()])).is_err());
        assert!(program.check(&super::super::outputs::scopes(&["pipe".into()])).is_err());
        let old = r#"{"chip_list": [{"chip_family": "Tofino2"}], "p4_program_list": [{"instance": 3, "program-name": "p",
            "tofino-bin": "/x/tofino.bin"}]}"#;
        let conf = Conf::of(old, Path::new("/sde")).unwrap();
        let [program] = conf.programs.as_slice() else { panic!("{conf:?}") };
        assert_eq!(
            (conf.device, program.binary.as_path(), conf.chip.target),
            (3, Path::new("/x/tofino.bin"), "tofino2")
        );
    }

    #[test]
    fn several_programs_have_pipes_of_their_own() {
        let program = |name: &str, pipes: &str| {
            format!(
                r#"{{"program-name": "{name}", "p4_pipelines": [{{"p4_pipeline_name": "pipe", "config": "{name}/tofino.bin",
                    "pipe_scope": {pipes}}}]}}"#
            )
        };
        let programs = format!("{}, {}", program("a", "[0, 2]"), program("b", "[1, 3]"));
        let text = format!(r#"{{"p4_devices": [{{"device-id": 0, "p4_programs": [{programs}]}}]}}"#);
        let conf = Conf::of(&text, Path::new("/sde")).unwrap();
        let loaded = |name: &str, pipes: Vec<usize>| Loaded {
            name: name.into(),
            binary: Path::new("/sde").join(name).join("tofino.bin"),
            scopes: vec![("pipe".into(), pipes)],
        };
        assert_eq!(conf.programs, [loaded("a", vec![0, 2]), loaded("b", vec![1, 3])]);
    }

    #[test]
    fn what_a_process_does_not_run_is_refused() {
        let program = r#"{"program-name": "a", "p4_pipelines": []}"#;
        let device = |programs: &str| format!(r#"{{"p4_devices": [{{"device-id": 0, "p4_programs": [{programs}]}}]}}"#);
        for (text, expected) in [
            ("{}".to_string(), "0 devices"),
            (device(""), "0 programs"),
            (device(&[program; 5].join(", ")), "5 programs; a device has one to 4"),
            (device(program), "a: p4_pipelines is empty"),
            (r#"{"chip_list": [{"chip_family": "x"}]}"#.to_string(), "chip_family: no chip is called x"),
            ("[".to_string(), "EOF while parsing"),
        ] {
            let error = Conf::of(&text, Path::new("/")).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn ports_of_the_model_are_read() {
        let read = ports_of(
            r#"{"PortToVeth": [{"device_port": 28, "if": "ens3f0", "veth1": 0, "veth2": 1, "speed": "100G"}],
                "PortToIf": [{"device_port": 64, "if": "eth0"}]}"#,
        );
        let port = |number, name: &str| Interface { number, name: name.into() };
        assert_eq!(read.unwrap(), [port(28, "veth0"), port(64, "eth0")]);
        assert!(ports_of("{}").is_err());
    }
}
