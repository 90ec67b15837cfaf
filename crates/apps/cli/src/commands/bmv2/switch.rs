//! BMv2's switches: their options, as those of `hopwright run`.

use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;

use clap::Parser;
use hopwright_thrift::{DEFAULT_PORT, NotificationAddress};

use super::Name;
use super::console::{Console, Settings};
use super::switch_options::{LogLevel, SwitchOptions, TargetOptions};
use crate::cli::thrift::ThriftArgs;
use crate::cli::{Cli, Command, RunArgs};
use crate::commands::run::{self, Starting, Variant};
use crate::failure::Failure;
use crate::logging::{self, Logging};

/// Where `simple_switch_grpc` serves P4Runtime.
const GRPC_ADDRESS: &str = "0.0.0.0:9559";
/// The port whose packets v1model drops.
const DROP_PORT: u32 = 511;
/// The version of BMv2's JSON format that p4c writes.
const JSON_VERSION: &str = "2.23";

/// Runs a switch until a signal stops it.
pub(super) fn run(name: Name, arguments: Vec<OsString>) -> Result<(), Failure> {
    let Some(options) = SwitchOptions::read(name, arguments)? else { return Ok(()) };
    if options.version {
        println!("{} (hopwright)", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    if options.json_version {
        println!("{JSON_VERSION}");
        return Ok(());
    }
    let _logging =
        Logging::start(logging::Console { level: log_level(options.log_level).into(), ..Default::default() });
    refuse(&options)?;
    for note in notes(name, &options) {
        eprintln!("{}: {note}", name.text());
    }
    let args = run_args(name, &options)?;
    for interface in &args.interfaces {
        println!("Adding interface {} as port {}", interface.name, interface.number);
    }
    let started = |starting: &Starting<'_>| -> Result<Box<dyn Send>, Failure> {
        let console = (options.log_console || options.log_file.is_some()) && options.log_level != LogLevel::Off;
        let settings =
            Settings { file: options.log_file.as_deref(), level: options.log_level, dump: options.dump_packet_data };
        let console = console.then(|| Console::start(starting.switch, &settings)).transpose()?;
        if let Some(address) = starting.server.address() {
            // As p4lang's PI says it, for which scripts wait.
            println!("Server listening on {address}");
        }
        Ok(Box::new(console))
    };
    run::start(
        &args,
        &Variant {
            without_program: options.no_p4,
            without_cpu_port: options.target.cpu_port.is_none(),
            quiet: true,
            starting: Some(&started),
        },
    )
}

/// The level of our own messages, on standard error.
fn log_level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace | LogLevel::Debug | LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error | LogLevel::Off => "error",
    }
}

/// Refuses what a user would miss.
fn refuse(options: &SwitchOptions) -> Result<(), Failure> {
    let target = &options.target;
    let wrong = if options.config.is_none() && !options.no_p4 {
        "please specify the JSON file that p4c has written, or --no-p4"
    } else if options.restore_state.is_some() {
        "--restore-state: states that BMv2 has saved cannot be read"
    } else if options.use_files.is_some() {
        "--use-files: packets come from interfaces here; `hopwright replay` runs a program on a capture"
    } else if options.packet_in.is_some() {
        "--packet-in: packets come from interfaces here, not from nanomsg"
    } else if target.dp_grpc_server_addr.is_some() {
        "--dp-grpc-server-addr: packets come from interfaces here, not from gRPC"
    } else if target.drop_port.is_some_and(|port| port != DROP_PORT) {
        "--drop-port: the port whose packets are dropped is 511 here"
    } else if target.grpc_server_ssl && (target.grpc_server_cert.is_none() || target.grpc_server_key.is_none()) {
        "--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key"
    } else if target.grpc_server_with_client_auth && (!target.grpc_server_ssl || target.grpc_server_cacert.is_none()) {
        "--grpc-server-with-client-auth needs --grpc-server-ssl and --grpc-server-cacert"
    } else {
        return Ok(());
    };
    Err(Failure::message(wrong))
}

/// What is not done as asked, though the switch runs.
fn notes(name: Name, options: &SwitchOptions) -> Vec<&'static str> {
    let target = &options.target;
    let ssl_files = [&target.grpc_server_cert, &target.grpc_server_key, &target.grpc_server_cacert];
    let all = [
        (options.no_p4 && options.config.is_some(), "Warning: ignoring input config as '--no-p4' was used"),
        (
            options.no_p4 && !serves_p4runtime(name, target),
            "--no-p4: nothing can push a program; --grpc-server-addr serves P4Runtime",
        ),
        (
            options.nanolog.is_some(),
            "--nanolog: there are no nanomsg events; --log-console and `hopwright trace` show packets",
        ),
        (
            options.debugger || options.debugger_addr.is_some(),
            "--debugger: there is no debugger; `hopwright trace` shows what happens to a packet",
        ),
        (
            options.log_file_max_size.is_some() || options.log_file_max_files.is_some(),
            "--log-file-max-size, --log-file-max-files: the log file is not rotated",
        ),
        (
            options.log_flush && options.log_file.is_none(),
            "Ignoring --log-flush option because --log-file not specified",
        ),
        (
            target.priority_queues.is_some_and(|queues| queues != 8),
            "--priority-queues: ports have eight queues, by priority",
        ),
        (target.disable_swap, "--disable-swap: P4Runtime controllers may replace the program"),
        (
            !target.grpc_server_ssl && ssl_files.iter().any(|file| file.is_some()),
            "SSL/TLS is disabled for gRPC server, so provided .pem files will be ignored",
        ),
    ];
    all.iter().filter(|(applies, _)| *applies).map(|(_, note)| *note).collect()
}

fn serves_p4runtime(name: Name, target: &TargetOptions) -> bool {
    name == Name::SimpleSwitchGrpc || target.grpc_server_addr.is_some()
}

/// The options of `hopwright run`.
fn run_args(name: Name, options: &SwitchOptions) -> Result<RunArgs, Failure> {
    let target = &options.target;
    let file = options.config.as_deref().unwrap_or(Path::new("none"));
    // The defaults of all that BMv2 does not have.
    let defaults = Cli::try_parse_from(["hopwright", "run", "none", "-i", "0@none"]);
    let Ok(Cli { command: Command::Run(args) }) = defaults else {
        unreachable!("`hopwright run` has no other required options")
    };
    let mut args = *args;
    args.source.file = file.into();
    args.interfaces = options.interfaces.clone();
    args.pcap = options.pcap.clone();
    args.cpu_port = target.cpu_port.unwrap_or(args.cpu_port);
    let serve = &mut args.serve;
    serve.device_id = options.device_id;
    serve.no_p4runtime = !serves_p4runtime(name, target);
    if !serve.no_p4runtime {
        serve.p4runtime = address(target.grpc_server_addr.as_deref().unwrap_or(GRPC_ADDRESS))?;
    }
    if target.grpc_server_ssl {
        serve.tls.tls_cert = target.grpc_server_cert.clone();
        serve.tls.tls_key = target.grpc_server_key.clone();
        serve.tls.tls_client_ca = target.grpc_server_cacert.clone().filter(|_| target.grpc_server_with_client_auth);
    }
    // Switches without P4Runtime have no other control plane.
    let thrift_port = options.thrift_port.or((name != Name::SimpleSwitchGrpc).then_some(DEFAULT_PORT));
    args.thrift = ThriftArgs::at(thrift_port, notifications(options)?);
    Ok(args)
}

/// Where notifications are sent: nowhere if the usual place is that of another switch with this number.
fn notifications(options: &SwitchOptions) -> Result<Option<NotificationAddress>, Failure> {
    if let Some(address) = &options.notifications_addr {
        let address = address
            .parse::<NotificationAddress>()
            .map_err(|e| Failure::message(format!("--notifications-addr: {e}")))?;
        return Ok(Some(address));
    }
    let path = format!("/tmp/bmv2-{}-notifications.ipc", options.device_id);
    Ok(UnixStream::connect(&path).is_err().then_some(NotificationAddress::Ipc(path)))
}

/// The address of a name and a port, as gRPC takes it.
fn address(text: &str) -> Result<SocketAddr, Failure> {
    let resolved = text.to_socket_addrs().map(|mut addresses| addresses.next());
    resolved
        .map_err(|e| Failure::message(format!("--grpc-server-addr {text}: {e}")))?
        .ok_or_else(|| Failure::message(format!("--grpc-server-addr {text}: no such address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> SwitchOptions {
        let words = line.split(' ').map(OsString::from).collect();
        SwitchOptions::read(Name::SimpleSwitchGrpc, words).unwrap_or_else(|_| panic!("{line}")).unwrap()
    }

    fn args(line: &str) -> RunArgs {
        run_args(Name::SimpleSwitchGrpc, &options(line)).unwrap_or_else(|_| panic!("{line}"))
    }

    /// The command line of p4lang's tutorials.
    #[test]
    fn a_line_of_the_tutorials_is_understood() {
        let line = "-i 1@s1-eth1 -i 2@s1-eth2 --pcap /x/pcaps --nanolog ipc:///tmp/bm-0-log.ipc --device-id 0 build/basic.json \
                    --log-console --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255";
        let read = args(line);
        assert_eq!(read.interfaces.len(), 2);
        assert_eq!(read.source.file, Path::new("build/basic.json"));
        assert_eq!(read.pcap.as_deref(), Some(Path::new("/x/pcaps")));
        assert_eq!((read.serve.device_id, read.cpu_port), (0, 255));
        assert_eq!(read.serve.p4runtime, "0.0.0.0:50051".parse().unwrap());
        assert!(!read.serve.no_p4runtime);
        assert_eq!(options(line).thrift_port, Some(9090));
        assert_eq!(notes(Name::SimpleSwitchGrpc, &options(line)).len(), 1);
    }

    #[test]
    fn pcap_takes_a_folder_only_if_one_follows() {
        assert_eq!(args("--no-p4 --pcap --log-console").pcap.as_deref(), Some(Path::new(".")));
        assert_eq!(args("--no-p4 --pcap=a").pcap.as_deref(), Some(Path::new("a")));
        assert_eq!(args("--no-p4").pcap, None);
    }

    #[test]
    fn only_what_has_grpc_in_its_name_serves_p4runtime_by_default() {
        let quiet = run_args(Name::SimpleSwitch, &options("a.json")).unwrap_or_else(|_| panic!());
        assert!(quiet.serve.no_p4runtime);
        let asked = run_args(Name::SimpleSwitch, &options("a.json -- --grpc-server-addr localhost:1"))
            .unwrap_or_else(|_| panic!());
        assert!(!asked.serve.no_p4runtime && asked.serve.p4runtime.ip().is_loopback());
    }

    #[test]
    fn what_would_be_missed_is_refused() {
        for line in [
            "-i 0@veth0",
            "a.json --restore-state f",
            "a.json --use-files 1",
            "a.json -- --drop-port 500",
            "a.json -- --grpc-server-ssl",
            "a.json -- --dp-grpc-server-addr 0.0.0.0:1",
        ] {
            assert!(refuse(&options(line)).is_err(), "{line}");
        }
        assert!(refuse(&options("a.json -- --drop-port 511")).is_ok());
        for line in ["--no-such-option", "a.json b.json", "--device-id x", "a.json -- --cpu-port 0"] {
            let words = line.split(' ').map(OsString::from).collect();
            assert!(SwitchOptions::read(Name::SimpleSwitch, words).is_err(), "{line}");
        }
    }
}
