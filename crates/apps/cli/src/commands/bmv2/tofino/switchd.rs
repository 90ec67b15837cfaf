//! `bf_switchd`: the daemon of a Tofino, which loads programs and serves their tables.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use clap::error::ErrorKind;
use hopwright_dataplane::{ControlError, VirtualDataPlane};
use hopwright_p4runtime::{OneProgram, Programs, bundle_of};

use super::conf::{self, Conf, Loaded};
use super::outputs::{self, PIPES};
use crate::cli::program::Source;
use crate::cli::thrift::ThriftArgs;
use crate::cli::{Cli, Command, RunArgs};
use crate::commands::interfaces::{self, Interface};
use crate::commands::run::{self, Starting, Variant};
use crate::compile;
use crate::failure::Failure;
use crate::logging::{self, Logging};

/// Where BfRuntime is served.
const BFRT_PORT: u16 = 50052;
/// Pairs of interfaces that the SDE's `veth_setup.sh` makes: `veth0` is port 0, `veth2` port 1.
const PAIRS: u32 = 33;
/// The port of the model to the CPU by Ethernet, and its interface.
const CPU: (u32, &str) = (64, "veth250");
/// The bit of the register `loopback` that says that a port leads to ingress.
const LOOPBACK: u32 = 1 << 15;
/// How long a client of the status port may take to name its device.
const PATIENCE: Duration = Duration::from_secs(5);

/// Intel's daemon for a Tofino, as a switch of Hopwright.
///
/// Takes the options of bf_switchd, and the model's ports. Programs are what `hopwright as bf-p4c` writes.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, max_term_width = 100)]
struct Options {
    /// The folder that paths in the configuration begin at
    #[arg(long, value_name = "DIR")]
    install_dir: PathBuf,
    /// The configuration: PROGRAM.conf, as the compiler writes it
    #[arg(long, value_name = "FILE")]
    conf_file: PathBuf,
    /// The ports, as tofino-model has them of its option -f; without it veth0 is port 0, veth2 port 1, and so on, and veth250 port 64
    #[arg(long, value_name = "FILE")]
    ports: Option<PathBuf>,
    /// Tell here whether the device is ready
    #[arg(long, value_name = "PORT")]
    status_port: Option<u16>,
    /// Where to serve BfRuntime, and P4Runtime
    #[arg(long, value_name = "PORT", default_value_t = BFRT_PORT)]
    bfrt_grpc_port: u16,
    /// Where to serve P4Runtime, and BfRuntime, instead
    #[arg(long, value_name = "ADDRESS:PORT")]
    p4rt_server: Option<String>,
    /// Serve this machine only
    #[arg(long)]
    server_listen_local_only: bool,
    /// Pipes whose ports lead back to ingress, as bits of a number such as 0xa: tofino-model has this option
    #[arg(long, value_name = "MASK", value_parser = mask, default_value = "0")]
    int_port_loop: u8,
    /// Start without a program; a controller pushes one
    #[arg(long)]
    skip_p4: bool,
    /// Not needed: there is no shell
    #[arg(long)]
    background: bool,
    /// Not needed: ports are there from the start
    #[arg(long)]
    skip_port_add: bool,
    /// Not honoured: there is no DMA
    #[arg(long)]
    skip_dma: bool,
    /// Not honoured: there is no DMA
    #[arg(long, value_name = "PORT")]
    tcp_port_base: Option<u16>,
    /// Not honoured: there are no managers
    #[arg(long, value_name = "LIST")]
    skip_hld: Option<String>,
    /// Not honoured: packets for the CPU go to P4Runtime, or to the interface of its port
    #[arg(long)]
    kernel_pkt: bool,
    /// Not honoured: there is no shell
    #[arg(long)]
    ucli: bool,
    /// Not honoured: there is no shell
    #[arg(long)]
    shell_no_wait: bool,
    /// Not honoured: tables are empty at the start
    #[arg(long, value_name = "MODE")]
    init_mode: Option<String>,
}

/// Runs a switch until a signal stops it.
pub(in super::super) fn run(arguments: Vec<OsString>) -> Result<(), Failure> {
    let line = std::iter::once(OsString::from("bf_switchd")).chain(arguments);
    let options = match Options::try_parse_from(line) {
        Ok(options) => options,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            print!("{}", error.render());
            return Ok(());
        }
        Err(error) => {
            eprint!("{}", error.render());
            return Err(Failure::Reported);
        }
    };
    let _logging = Logging::start(logging::Console { level: "info".into(), ..Default::default() });
    for note in notes(&options) {
        eprintln!("bf_switchd: {note}");
    }
    let conf = Conf::read(&options.conf_file, &options.install_dir)?;
    let interfaces = match &options.ports {
        Some(file) => conf::ports(file)?,
        None => of_the_model(&interfaces::all())?,
    };
    let args = run_args(&options, &conf, interfaces)?;
    if !options.skip_p4 {
        check_pipelines(&conf, &args)?;
    }
    let local = options.server_listen_local_only;
    let started = |starting: &Starting<'_>| -> Result<Box<dyn Send>, Failure> {
        if let Some(device) = starting.server.device() {
            let pipes = options.int_port_loop;
            let prepared = device.prepare(move |vdp: &VirtualDataPlane| lead_back(vdp, pipes));
            prepared.map_err(|f| Failure::message(format!("--int-port-loop: {}", f.message)))?;
        }
        if let Some(port) = options.status_port {
            let address = SocketAddr::new(listening(local), port);
            let listener = TcpListener::bind(address);
            tell_status(
                listener.map_err(|e| Failure::message(format!("--status-port: {address}: {e}")))?,
                conf.device,
            )?;
        }
        println!("bf_switchd: dev_id {} initialized", conf.device);
        if let Some(address) = starting.server.address() {
            println!("bf_switchd: BfRuntime and P4Runtime at {address}");
        }
        Ok(Box::new(()))
    };
    run::start(
        &args,
        &Variant { without_program: options.skip_p4, without_cpu_port: false, quiet: true, starting: Some(&started) },
    )
}

/// What is not done as asked, though the switch runs.
fn notes(options: &Options) -> Vec<&'static str> {
    let all = [
        (options.tcp_port_base.is_some() || options.skip_dma, "--tcp-port-base, --skip-dma: there is no DMA"),
        (options.skip_hld.is_some(), "--skip-hld: there are no managers to skip"),
        (options.kernel_pkt, "--kernel-pkt: packets for the CPU go to P4Runtime, or to the interface of its port"),
        (
            options.ucli || options.shell_no_wait,
            "--ucli, --shell-no-wait: there is no shell; `hopwright control` shows tables",
        ),
        (options.init_mode.as_deref().is_some_and(|mode| mode != "cold"), "--init-mode: tables are empty at the start"),
    ];
    all.iter().filter(|(applies, _)| *applies).map(|(_, note)| *note).collect()
}

/// The interfaces of the SDE's script, as far as they exist.
fn of_the_model(there: &[String]) -> Result<Vec<Interface>, Failure> {
    let pairs = (0..PAIRS).map(|port| (port, format!("veth{}", 2 * port)));
    let all = pairs.chain([(CPU.0, CPU.1.to_string())]).filter(|(_, name)| there.contains(name));
    let found: Vec<Interface> = all.map(|(number, name)| Interface { number, name }).collect();
    match found.is_empty() {
        true => {
            Err(Failure::message("there is neither --ports nor an interface such as veth0, as veth_setup.sh makes"))
        }
        false => Ok(found),
    }
}

/// The options of `hopwright run`.
fn run_args(options: &Options, conf: &Conf, interfaces: Vec<Interface>) -> Result<RunArgs, Failure> {
    let defaults = Cli::try_parse_from(["hopwright", "run", "none", "-i", "0@none"]);
    let Ok(Cli { command: Command::Run(args) }) = defaults else {
        unreachable!("`hopwright run` has no other required options")
    };
    let mut args = *args;
    if !options.skip_p4 {
        conf.programs.iter().try_for_each(|program| check_binary(&program.binary))?;
    }
    match conf.programs.as_slice() {
        [program] => args.source.file = program.binary.clone(),
        _ if options.skip_p4 => {}
        programs => {
            args.source.file = options.conf_file.clone();
            args.source.config = Some(together(programs, &args.source)?);
        }
    }
    args.interfaces = interfaces;
    args.cpu_port = conf.chip.cpu_port;
    args.serve.device_id = conf.device;
    args.serve.p4runtime = match &options.p4rt_server {
        Some(address) => resolve(address)?,
        None => SocketAddr::new(listening(options.server_listen_local_only), options.bfrt_grpc_port),
    };
    args.thrift = ThriftArgs::at(None, None);
    Ok(args)
}

fn listening(local: bool) -> IpAddr {
    if local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED }.into()
}

fn resolve(text: &str) -> Result<SocketAddr, Failure> {
    let resolved = text.to_socket_addrs().map(|mut addresses| addresses.next());
    resolved
        .map_err(|e| Failure::message(format!("--p4rt-server {text}: {e}")))?
        .ok_or_else(|| Failure::message(format!("--p4rt-server {text}: no such address")))
}

/// Checks that a file has a program that runs here: what our compiler has written, or P4 source text.
fn check_binary(file: &Path) -> Result<(), Failure> {
    let name = file.display();
    let mut first = [0];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut first));
    read.map_err(|e| Failure::message(format!("config: {name}: {e}")))?;
    if file.extension().is_some_and(|extension| extension == "bin") && first != *b"{" {
        return Err(Failure::message(format!(
            "config: {name} is code of the chip; `hopwright as bf-p4c` makes such files for this switch from the P4 source"
        )));
    }
    Ok(())
}

/// Several programs as one, each in its pipes.
fn together(programs: &[Loaded], source: &Source) -> Result<Vec<u8>, Failure> {
    let one = |program: &Loaded| {
        let source = Source { file: program.binary.clone(), config: None, ..source.clone() };
        let config = match compile::is_compiled(&source) {
            true => std::fs::read(&source.file)?,
            false => {
                let compiled = compile::compile(&source, false);
                compile::print_diagnostics(&compiled);
                if compiled.pipeline.is_none() {
                    return Err(Failure::Reported);
                }
                compile::device_config(&compiled, &source)?
            }
        };
        let bundle = bundle_of(&config)
            .map_err(|f| Failure::message(format!("config: {}: {}", program.binary.display(), f.message)))?;
        Ok(OneProgram { name: program.name.clone(), pipes: program.scopes.clone(), bundle })
    };
    Ok(Programs::new(programs.iter().map(one).collect::<Result<_, _>>()?).to_bytes().to_vec())
}

/// Leads the ports of these pipes back to ingress, if the program has pipes.
fn lead_back(vdp: &VirtualDataPlane, pipes: u8) -> Result<(), ControlError> {
    let Ok(looped) = vdp.control().register("loopback") else { return Ok(()) };
    for port in (0..PIPES as u32).filter(|pipe| pipes >> pipe & 1 == 1).flat_map(|pipe| pipe << 7..(pipe + 1) << 7) {
        looped.write(port.into(), LOOPBACK | port)?;
    }
    Ok(())
}

/// A number of bits, one for each pipe.
fn mask(text: &str) -> Result<u8, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.ok().filter(|mask| mask >> PIPES == 0).ok_or_else(|| "a number of four bits, such as 0xa".into())
}

/// Checks that the only program has its pipelines where the configuration has them.
fn check_pipelines(conf: &Conf, args: &RunArgs) -> Result<(), Failure> {
    let [program] = conf.programs.as_slice() else { return Ok(()) };
    if program.scopes.iter().all(|(_, pipes)| pipes.is_empty()) {
        return Ok(());
    }
    let compiled = compile::compile(&args.source, false);
    // Its errors are reported when it is compiled to run.
    let Some(typed) = &compiled.typed else { return Ok(()) };
    program.check(&outputs::scopes(&typed.main.pipelines))
}

/// Answers clients of the status port, each of which sends the digit of a device: `1` if it is ready, and else `0`.
fn tell_status(listener: TcpListener, device: u64) -> Result<(), Failure> {
    let answer = move || {
        for mut client in listener.incoming().flatten() {
            let mut asked = [0];
            // A client that is gone, or slow, gets no answer.
            let read = client.set_read_timeout(Some(PATIENCE)).and_then(|()| client.read_exact(&mut asked));
            let ready = (asked[0] as char).to_digit(10).is_some_and(|digit| u64::from(digit) == device);
            if read.is_ok() {
                let _ = client.write_all(if ready { b"1" } else { b"0" });
            }
        }
    };
    std::thread::Builder::new().name("status".into()).spawn(answer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn pipes_whose_ports_lead_back_are_bits() {
        assert_eq!((mask("0xa"), mask("3"), mask("0")), (Ok(0xa), Ok(3), Ok(0)));
        assert!(["0x10", "16", "", "x", "0x"].iter().all(|text| mask(text).is_err()));
    }

    #[test]
    fn the_line_of_the_script_is_understood() {
        let line = "bf_switchd --install-dir /sde --conf-file p.conf --init-mode cold --status-port 7777 --background";
        let options = Options::try_parse_from(line.split(' ')).unwrap();
        assert_eq!((options.status_port, options.bfrt_grpc_port), (Some(7777), BFRT_PORT));
        assert!(notes(&options).is_empty());
        let line = format!("{line} --kernel-pkt --skip-hld r --tcp-port-base 8001 --shell-no-wait");
        assert_eq!(notes(&Options::try_parse_from(line.split(' ')).unwrap()).len(), 4);
    }

    #[test]
    fn interfaces_of_the_script_are_ports() {
        let there = ["lo", "veth0", "veth1", "veth4", "veth250"].map(String::from);
        let found: Vec<(u32, String)> =
            of_the_model(&there).unwrap_or_default().into_iter().map(|i| (i.number, i.name)).collect();
        assert_eq!(found, [(0, "veth0".into()), (2, "veth4".into()), (64, "veth250".into())]);
        assert!(of_the_model(&there[..1]).is_err());
    }

    #[test]
    fn the_status_port_tells_the_device() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(tell_status(listener, 2).is_ok());
        let ask = |digit: &[u8]| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(digit).unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            answer
        };
        assert_eq!((ask(b"2"), ask(b"0"), ask(b"x")), (b"1".to_vec(), b"0".to_vec(), b"0".to_vec()));
    }
}
