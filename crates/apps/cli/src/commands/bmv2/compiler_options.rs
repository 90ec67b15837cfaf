//! The options of p4c: those of the driver `p4c`, and of the compilers `p4c-bm2-ss` and `p4c-bm2-psa`, which it runs.
//!
//! The grammar is p4c's: long options with `=` or a blank, options of one letter with or without a blank, and long ones of one dash.

use std::path::PathBuf;

use super::Name;

/// What an option means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Help,
    Version,
    Include,
    Define,
    Undefine,
    Output,
    Standard,
    Target,
    Architecture,
    /// The file for `bf-rt.json`.
    Tables,
    ProgramName,
    InfoFiles,
    InfoFile,
    InfoFormat,
    Disable,
    AsError,
    MaxErrors,
    DryRun,
    Preprocess,
    ForCompiler,
    /// The result does not depend on it.
    Nothing,
    /// It is not honoured, and the result is of use all the same.
    Warning(&'static str),
    Refused(&'static str),
}

/// Whether an option has an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    Without,
    Needed,
    /// Behind `=`; the driver also takes the next word, if that is no option.
    Optional,
}

use Argument::{Needed, Optional, Without};
use Effect::*;

const NO_PASSES: &str = "the passes of this compiler are others; `hopwright ir` prints the program behind them";
const NO_LOGS: &str = "`hopwright graph` and `hopwright fit` print graphs and resources";
const NO_DEPENDENCIES: &str = "rules for make are not written";

/// All options, as p4c spells them.
const OPTIONS: &[(&[&str], Argument, Effect)] = &[
    (&["--help", "-h"], Without, Help),
    (&["--version", "-V"], Without, Version),
    (&["-I"], Needed, Include),
    (&["-D"], Needed, Define),
    (&["-U"], Needed, Undefine),
    (&["-E"], Without, Preprocess),
    (&["-o", "--output"], Needed, Output),
    (&["--std", "--p4v", "-x"], Needed, Standard),
    (&["--target", "-b"], Needed, Target),
    (&["--arch", "-a"], Needed, Architecture),
    (&["--p4runtime-files"], Needed, InfoFiles),
    (&["--p4runtime-file"], Needed, InfoFile),
    (&["--p4runtime-format"], Needed, InfoFormat),
    (
        &["--p4runtime-entries-files", "--p4runtime-entries-file"],
        Needed,
        Refused("static entries are not written as P4Runtime messages"),
    ),
    (&["--pp"], Needed, Refused("programs are not printed again; `hopwright ir` prints what is run")),
    (&["--Wdisable"], Optional, Disable),
    (&["--Werror"], Optional, AsError),
    (&["--Winfo", "--Wwarn"], Optional, Nothing),
    (&["--maxErrorCount"], Needed, MaxErrors),
    (&["-###", "--test-only"], Without, DryRun),
    (&["-Xp4c"], Needed, ForCompiler),
    (&["-v", "--debug", "-g", "-c", "--compile", "-S", "-e", "--nocpp", "--emit-externs"], Without, Nothing),
    (&["--parser-inline-opt", "--loopsUnroll", "--doNotEmitIncludes", "--testJson"], Without, Nothing),
    (&["-O", "-O0", "-O1", "-O2", "-O3", "-Og", "-Oz"], Without, Nothing),
    (&["-W"], Needed, Nothing),
    (&["-Xpreprocessor"], Needed, Refused("the preprocessor is built in; -D, -U and -I are its options")),
    (&["-Xassembler", "-Xlinker"], Needed, Warning("there is no assembler and no linker")),
    (&["--ndebug"], Without, Warning("assert and assume stay in the program")),
    (&["-T"], Needed, Warning("p4c's log of its own source files does not exist here")),
    (&["--top4", "--dump", "--excludeFrontendPasses", "--excludeMidendPasses"], Needed, Warning(NO_PASSES)),
    (&["--listFrontendPasses", "--listMidendPasses"], Without, Refused(NO_PASSES)),
    (&["--toJSON", "--toJson", "--fromJSON", "--fromJson"], Needed, Refused("p4c's IR is neither written nor read")),
    (&["--metrics"], Needed, Warning("there are no metrics of source code")),
    (
        &["--disable-annotations", "--disable-annotation", "--disable-pragmas", "--disable-pragma"],
        Needed,
        Refused("annotations cannot be disabled; -D and #if can leave them out"),
    ),
    (&["-M", "-MD", "-MG", "-MP"], Without, Refused(NO_DEPENDENCIES)),
    (&["-MF", "-MT", "-MQ"], Needed, Refused(NO_DEPENDENCIES)),
    (&["--help-pragmas", "--help-targets", "--help-warnings"], Without, Help),
    // Intel's.
    (&["--bf-rt-schema"], Needed, Tables),
    (&["--program-name"], Needed, ProgramName),
    (&["--create-graphs", "--display-power-budget", "--log-hashes"], Without, Warning(NO_LOGS)),
    (&["--parser-timing-reports", "--schema-versions"], Without, Warning(NO_LOGS)),
    (&["--archive", "--archive-source"], Optional, Warning("outputs are not packed; tar packs their folder")),
    (&["--verbose", "--num-stages-override", "--placement"], Needed, Nothing),
    (&["--no-bf-rt-schema", "--no-link", "--skip-precleaner", "--backward-compatible"], Without, Nothing),
    (&["--auto-init-metadata", "--disable-egress-latency-padding", "--parser-bandwidth-opt"], Without, Nothing),
    (&["--egress-intrinsic-metadata-opt", "--no-dead-code-elimination", "--quick-phv-alloc"], Without, Nothing),
    (&["--p4runtime-force-std-externs"], Without, Nothing),
    (&["--skip-compilation"], Needed, Refused("all pipelines of a program are compiled")),
    (&["--ir-to-json"], Needed, Refused("p4c's IR is not written")),
    (&["-s"], Without, Refused("there is no assembler")),
];

/// A form of P4Info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InfoForm {
    Text,
    Json,
    Binary,
}

/// The command line of a compiler.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CompilerOptions {
    pub files: Vec<PathBuf>,
    pub include: Vec<PathBuf>,
    pub define: Vec<String>,
    pub undefine: Vec<String>,
    pub output: Option<PathBuf>,
    pub p4_14: bool,
    pub target: String,
    /// Without one, the target's.
    pub architecture: Option<String>,
    /// The file for `bf-rt.json`.
    pub tables: Option<PathBuf>,
    /// The program's name, if it is not the file's.
    pub program: Option<String>,
    pub info: Vec<(PathBuf, InfoForm)>,
    /// Names of warnings; `warnings` are all.
    pub disabled: Vec<String>,
    pub errors: Vec<String>,
    pub max_errors: usize,
    pub dry_run: bool,
    /// Preprocess only.
    pub preprocess: bool,
    pub help: bool,
    pub version: bool,
    /// Warnings about options that are not honoured, and about deprecated ones.
    pub notes: Vec<String>,
}

impl CompilerOptions {
    /// Reads a command line.
    ///
    /// # Errors
    /// Which word is wrong, in p4c's words.
    pub(super) fn read(name: Name, words: &[String]) -> Result<CompilerOptions, String> {
        let mut options = CompilerOptions {
            files: Vec::new(),
            include: Vec::new(),
            define: Vec::new(),
            undefine: Vec::new(),
            output: None,
            p4_14: false,
            target: name.target().into(),
            architecture: (name == Name::P4cBm2Psa).then(|| "psa".into()),
            tables: None,
            program: None,
            info: Vec::new(),
            disabled: Vec::new(),
            errors: Vec::new(),
            // As p4c.
            max_errors: 20,
            dry_run: false,
            preprocess: false,
            help: false,
            version: false,
            notes: Vec::new(),
        };
        let mut info_file = (None, InfoForm::Binary);
        options.read_words(name, words, &mut info_file)?;
        if let (Some(file), form) = info_file {
            options.info.push((file, form));
        }
        Ok(options)
    }

    fn read_words(
        &mut self,
        name: Name,
        words: &[String],
        info_file: &mut (Option<PathBuf>, InfoForm),
    ) -> Result<(), String> {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                self.files.push(word.into());
                continue;
            }
            let (option, mut value, argument, effect) = lookup(word).ok_or_else(|| format!("Unknown option {word}"))?;
            let next_is_value = match argument {
                Without => false,
                Needed => value.is_none(),
                Optional => {
                    value.is_none() && name.is_driver() && words.peek().is_some_and(|next| !next.starts_with('-'))
                }
            };
            if next_is_value {
                value = words.next().cloned();
            }
            if argument == Needed && value.is_none() {
                return Err(format!("Option {option} is missing its required argument"));
            }
            self.apply(effect, option, value, info_file)?;
        }
        Ok(())
    }

    /// Does what an option means.
    fn apply(
        &mut self,
        effect: Effect,
        option: &str,
        value: Option<String>,
        info_file: &mut (Option<PathBuf>, InfoForm),
    ) -> Result<(), String> {
        let optional = value.clone();
        let value = value.unwrap_or_default();
        match effect {
            Help => self.help = true,
            Version => self.version = true,
            Include => self.include.push(value.into()),
            Define => {
                self.undefine.retain(|other| *other != macro_name(&value));
                self.define.push(value);
            }
            Undefine => {
                self.define.retain(|other| macro_name(other) != value);
                self.undefine.push(value);
            }
            Output => self.output = Some(value.into()),
            Standard => {
                self.p4_14 = match value.as_str() {
                    "16" | "1.2" | "p4-16" | "p4_16" | "P4₁₆" => false,
                    "14" | "1.0" | "1.1" | "p4-14" | "p4_14" | "P4₁₄" => true,
                    _ => return Err(format!("Illegal language version {value}")),
                }
            }
            Target => {
                // Targets of older drivers: `bmv2-ss-p4org`, `bmv2-v1model-p4org`, `bmv2-psa-p4org`.
                let mut parts = value.split('-');
                self.target = parts.next().unwrap_or_default().to_string();
                if let Some(architecture) = parts.next() {
                    self.architecture = Some(if architecture == "ss" { "v1model" } else { architecture }.into());
                }
            }
            Architecture => self.architecture = Some(value).filter(|name| name != "default"),
            Tables => self.tables = Some(value.into()),
            ProgramName => self.program = Some(value),
            InfoFiles => {
                for file in value.split(',').filter(|file| !file.is_empty()) {
                    self.info.push((file.into(), form_of(file)?));
                    if file.ends_with(".txt") {
                        self.notes.push(
                            "[--Wwarn=deprecated] warning: .txt format is being deprecated; use .txtpb instead".into(),
                        );
                    }
                }
            }
            InfoFile => {
                self.notes.push(
                    "[--Wwarn=deprecated] warning: '--p4runtime-file' and '--p4runtime-format' are deprecated, consider using \
                     '--p4runtime-files' instead"
                        .into(),
                );
                info_file.0 = Some(value.into());
            }
            InfoFormat => {
                info_file.1 = match value.as_str() {
                    "binary" => InfoForm::Binary,
                    "json" => InfoForm::Json,
                    "text" => InfoForm::Text,
                    _ => return Err(format!("Illegal P4Runtime format {value}")),
                }
            }
            Disable => self.disabled.extend(warnings(optional)),
            AsError => self.errors.extend(warnings(optional)),
            MaxErrors => self.max_errors = value.parse().map_err(|_| format!("Illegal number of errors {value}"))?,
            DryRun => self.dry_run = true,
            Preprocess => self.preprocess = true,
            ForCompiler => {
                let words: Vec<String> = value.split_whitespace().map(str::to_string).collect();
                self.read_words(Name::P4cBm2Ss, &words, info_file)?;
            }
            Nothing => {}
            Warning(what) => self.notes.push(format!("warning: {option}: {what}")),
            Refused(why) => return Err(format!("{option}: {why}")),
        }
        Ok(())
    }
}

/// An option, its attached argument, whether it needs one, and what it means.
fn lookup(word: &str) -> Option<(&str, Option<String>, Argument, Effect)> {
    let find = |name: &str| OPTIONS.iter().find(|(names, ..)| names.contains(&name)).map(|(_, a, m)| (*a, *m));
    if let Some((argument, effect)) = find(word) {
        return Some((word, None, argument, effect));
    }
    if word.starts_with("--") {
        let (name, value) = word.split_once('=')?;
        let (argument, effect) = find(name).filter(|(argument, _)| *argument != Without)?;
        return Some((name, Some(value.into()), argument, effect));
    }
    // `-Ifolder`
    let (name, value) = word.split_at_checked(2)?;
    let (argument, effect) = find(name).filter(|(argument, _)| *argument != Without)?;
    Some((name, Some(value.into()), argument, effect))
}

fn macro_name(definition: &str) -> &str {
    definition.split(['=', '(']).next().unwrap_or(definition)
}

/// The warnings that an argument names, or all.
fn warnings(argument: Option<String>) -> Vec<String> {
    match argument.filter(|names| !names.is_empty()) {
        Some(names) => names.split(',').map(str::to_string).collect(),
        None => vec!["warnings".into()],
    }
}

/// The form of a P4Info file, by its name.
fn form_of(file: &str) -> Result<InfoForm, String> {
    let forms =
        [(".json", InfoForm::Json), (".bin", InfoForm::Binary), (".txtpb", InfoForm::Text), (".txt", InfoForm::Text)];
    let found = forms.into_iter().find(|(suffix, _)| file.ends_with(suffix)).map(|(_, form)| form);
    found.ok_or_else(|| format!("{file}: unknown file kind; known suffixes are .bin, .txt, .json, and .txtpb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: Name, line: &str) -> Result<CompilerOptions, String> {
        CompilerOptions::read(name, &line.split(' ').map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn lines_of_tutorials_and_makefiles_are_understood() {
        let options = read(
            Name::P4cBm2Ss,
            "--p4v 16 --p4runtime-files build/basic.p4.p4info.txtpb,build/b.json,build/b.bin -o build/basic.json basic.p4",
        )
        .unwrap();
        assert_eq!(options.output, Some("build/basic.json".into()));
        assert_eq!(options.files, [PathBuf::from("basic.p4")]);
        let forms: Vec<InfoForm> = options.info.iter().map(|(_, form)| *form).collect();
        assert_eq!(forms, [InfoForm::Text, InfoForm::Json, InfoForm::Binary]);
        assert!(!options.p4_14 && options.notes.is_empty());

        let options = read(
            Name::P4c,
            "-b bmv2-psa-p4org --std=p4_16 -Iinc -I inc2 -DA -D B=1 -UA -g -v --Wdisable=unused,shadow --Werror -o out a.p4",
        )
        .unwrap();
        assert_eq!((options.target.as_str(), options.architecture.as_deref()), ("bmv2", Some("psa")));
        assert_eq!(options.include, [PathBuf::from("inc"), PathBuf::from("inc2")]);
        assert_eq!((options.define, options.undefine), (vec!["B=1".to_string()], vec!["A".to_string()]));
        assert_eq!(
            (options.disabled, options.errors),
            (vec!["unused".to_string(), "shadow".into()], vec!["warnings".into()])
        );
        let options =
            read(Name::P4c, "--target bmv2 --arch v1model -Xp4c --p4runtime-file=x --p4runtime-format text a.p4");
        assert_eq!(options.unwrap().info, [(PathBuf::from("x"), InfoForm::Text)]);
        assert!(read(Name::P4c, "--std p4-14 a.p4").unwrap().p4_14);
    }

    #[cfg(feature = "bfruntime")]
    #[test]
    fn a_line_of_the_sde_is_understood() {
        let line = "--std p4-16 --target tofino2 --arch t2na -o out --bf-rt-schema out/bf-rt.json --p4runtime-files p.txtpb \
                    --p4runtime-force-std-externs --verbose 2 -g --program-name p -I inc a.p4";
        let options = read(Name::BfP4c, line).unwrap();
        assert_eq!((options.target.as_str(), options.architecture.as_deref()), ("tofino2", Some("t2na")));
        assert_eq!((options.tables, options.program), (Some("out/bf-rt.json".into()), Some("p".to_string())));
        assert!(options.notes.is_empty());
        assert_eq!(read(Name::BfP4c, "a.p4").unwrap().target, "tofino");
        assert!(read(Name::BfP4c, "-s a.p4").is_err());
    }

    /// The driver's own parser takes the next word, as Python's argparse does.
    #[test]
    fn warnings_may_be_named() {
        let options = read(Name::P4cBm2Ss, "--Wdisable a.p4").unwrap();
        assert_eq!((options.files.len(), options.disabled), (1, vec!["warnings".to_string()]));
        let options = read(Name::P4c, "--Wdisable unused a.p4").unwrap();
        assert_eq!((options.files.len(), options.disabled), (1, vec!["unused".to_string()]));
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, wrong) in [
            ("--no-such", "Unknown option --no-such"),
            ("-g=1", "Unknown option -g=1"),
            ("a.p4 -o", "Option -o is missing its required argument"),
            ("--p4runtime-files a.xml", "a.xml: unknown file kind"),
            ("--p4v 15", "Illegal language version 15"),
            ("-MF x", "-MF: rules"),
        ] {
            let error = read(Name::P4cBm2Ss, line).unwrap_err();
            assert!(error.starts_with(wrong), "{line}: {error}");
        }
    }

    #[test]
    fn each_option_is_there_once() {
        let mut names: Vec<&str> = OPTIONS.iter().flat_map(|(names, ..)| *names).copied().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
