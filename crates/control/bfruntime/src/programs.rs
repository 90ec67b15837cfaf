//! The programs of a device as controllers push and read them: each with a profile for each of its pipelines.

use std::borrow::Cow;

use hopwright_p4runtime::{OneProgram, Programs, bundle_of};

use crate::failure::{Result, invalid};
use crate::proto::ForwardingPipelineConfig;
use crate::proto::forwarding_pipeline_config::Profile;
use crate::schema::Schema;

/// The most programs of a device.
const MAX_PROGRAMS: usize = crate::state::PIPES;

/// What a device runs that is given these programs: the one as it is, or several together.
pub(crate) fn device_config(configs: &[ForwardingPipelineConfig]) -> Result<Cow<'_, [u8]>> {
    let program = |config: &ForwardingPipelineConfig| -> Result<OneProgram> {
        let ForwardingPipelineConfig { p4_name, profiles, .. } = config;
        let bundle = bundle_of(binary(config)?)?;
        let scope = |profile: &Profile| {
            let pipes = profile.pipe_scope.iter().map(|pipe| *pipe as usize).collect();
            (profile.profile_name.clone(), pipes)
        };
        Ok(OneProgram { name: p4_name.clone(), pipes: profiles.iter().map(scope).collect(), bundle })
    };
    match configs {
        [] => Err(invalid("there is no program")),
        [one] => Ok(binary(one)?.into()),
        _ if configs.len() > MAX_PROGRAMS => Err(invalid(format!("a device runs {MAX_PROGRAMS} programs at most"))),
        _ => {
            let programs = configs.iter().map(program).collect::<Result<Vec<_>>>()?;
            Ok(Programs::new(programs).to_bytes().to_vec().into())
        }
    }
}

/// The program of the first profile: those of others are the same here.
fn binary(config: &ForwardingPipelineConfig) -> Result<&[u8]> {
    let profile = config.profiles.first().ok_or_else(|| invalid("the program has no profile"))?;
    Ok(&profile.binary)
}

/// The programs of a device that runs this.
pub(crate) fn configs(schema: &Schema, device_config: &[u8]) -> Vec<ForwardingPipelineConfig> {
    let several = Programs::of(device_config);
    let own = |name: &str| several.as_ref()?.programs.iter().find(|program| program.name == name);
    let all = schema.programs.iter().map(|program| {
        let profiles = match own(&program.name) {
            Some(own) => {
                let binary = own.bundle.to_bytes().to_vec();
                let profile = |(name, pipes): &(String, Vec<u8>)| Profile {
                    profile_name: name.clone(),
                    binary: binary.clone(),
                    pipe_scope: pipes.iter().map(|pipe| u32::from(*pipe)).collect(),
                    ..Profile::default()
                };
                program.pipelines.iter().map(profile).collect()
            }
            None => {
                let (profile_name, binary) = ("pipe".into(), device_config.to_vec());
                vec![Profile { profile_name, binary, ..Profile::default() }]
            }
        };
        ForwardingPipelineConfig {
            p4_name: program.name.clone(),
            bfruntime_info: schema.program_document(program).to_string().into_bytes(),
            profiles,
        }
    });
    all.collect()
}
