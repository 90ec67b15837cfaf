use super::*;
use crate::memory::Shares;

const KINDS: Kinds = &[hopwright_ip::KIND, hopwright_openflow::KIND, hopwright_scion::KIND];

const RED: &str = "[[tenant]]\nname = \"red\"\nprogram = \"red.p4\"\nports = { 1 = \"eth1\" }\n";

/// A folder with the files that the sample mentions.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["red.p4", "blue.p4", "switch.pem", "switch.key", "ca.pem"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

fn parse(text: &str) -> Result<Config, Vec<(usize, String)>> {
    let folder = folder();
    match Config::parse(&folder.path().join("switch.toml"), text, KINDS) {
        Ok(config) => Ok(config),
        Err(ConfigError::Problems(problems)) => Err(problems.into_iter().map(|p| (p.line, p.message)).collect()),
        Err(other) => panic!("{other}"),
    }
}

/// The one problem of a text, in this line, about this.
#[track_caller]
fn refused(text: &str, line: usize, wanted: &str) {
    let problems = parse(text).unwrap_err();
    assert!(problems.len() == 1, "{problems:?}");
    assert!(problems[0].0 == line && problems[0].1.contains(wanted), "{problems:?}: expected {line}: {wanted}");
}

#[test]
fn the_sample() {
    let config = parse(SAMPLE).unwrap();
    assert_eq!(config.ports, ["eth1", "eth2"]);
    assert_eq!(config.tenants.len(), 3);
    let red = &config.tenants[0];
    assert_eq!(
        red.limits,
        Limits {
            packets: Some(1_000_000),
            bits: Some(2_000_000_000),
            share: 1,
            frames: None,
            passes: None,
            memory: None
        }
    );
    assert_eq!(red.rules, [Match { mac: Some([2, 0, 0, 0, 1, 1]), groups: true, ..Match::default() }]);
    assert_eq!((red.cpu_port, red.cpu_queue, red.device_id), (510, 1024, Some(1)));
    assert_eq!(config.tenants[1].rules[1].vlan, Some(10));
    let clients = config.p4runtime.unwrap().clients.unwrap();
    assert_eq!(clients[0].tenants, Some(BTreeSet::from(["red".to_string()])));
    assert!(clients[0].programs && !clients[1].programs && clients[2].tenants.is_none());
}

#[test]
fn agents() {
    let with = |agent: &str| format!("[[port]]\ndevice = \"eth1\"\n{RED}[tenant.agent]\n{agent}");
    let agent = |text: &str| parse(&with(text)).unwrap().tenants.remove(0);
    let ip = agent("kind = \"ip\"\nnamespace = \"red\"\n");
    assert_eq!(ip.agent.map(|a| a.kind), Some(hopwright_ip::KIND));
    // A program of its own comes before the agent's.
    assert!(matches!(ip.program.file, Program::File(_)));
    assert_eq!(agent("kind = \"none\"\n").agent, None);
    let without = |text: &str| parse(&with(text).replace("program = \"red.p4\"\n", ""));
    let openflow = without("kind = \"openflow\"\ncontrollers = [\"tcp:[::1]\"]\n").unwrap().tenants.remove(0);
    assert_eq!(openflow.program.file, Program::Agent(hopwright_openflow::KIND));
    let scion = without("kind = \"scion\"\nconfig = \"br/router.toml\"\n").unwrap().tenants.remove(0);
    assert_eq!(scion.program.file, Program::Agent(hopwright_scion::KIND));
    for (text, line, wanted) in [
        ("kind = \"scion\"\n", 7, "missing field `config`"),
        ("kind = \"scion\"\nconfig = \"x\"\nconfg = \"x\"\n", 7, "did you mean `config`?"),
        ("kind = \"opnflow\"\n", 7, "did you mean `openflow`?"),
        ("kind = \"ip\"\n", 7, "missing field `namespace`"),
        ("kind = \"ip\"\nnamespace = \"red\"\nname = {}\n", 7, "did you mean `names`?"),
        ("kind = \"openflow\"\ncontrollers = [\"udp:x\"]\n", 7, "`udp:x` is no controller"),
        ("namespace = \"red\"\n", 7, "needs a `kind`"),
    ] {
        refused(&with(text), line, wanted);
    }
    assert!(without("kind = \"none\"\n").unwrap_err()[0].1.contains("neither a program nor an agent"));
}

#[test]
fn what_is_commented_out_is_the_default() {
    let mut with_defaults = String::new();
    for line in SAMPLE.lines() {
        match line.strip_prefix('#') {
            // Prose begins with a blank; examples that are no defaults are left out.
            Some(set)
                if !set.starts_with(' ')
                    && !set.starts_with("entries")
                    && !set.starts_with("frames")
                    && !set.starts_with("passes")
                    && !set.starts_with("memory") =>
            {
                with_defaults.push_str(set);
            }
            _ => with_defaults.push_str(line),
        }
        with_defaults.push('\n');
    }
    assert_eq!(with_defaults.matches("\nshare = 1\n").count(), 1);
    let folder = folder();
    let file = folder.path().join("switch.toml");
    assert_eq!(Config::parse(&file, &with_defaults, KINDS).unwrap(), Config::parse(&file, SAMPLE, KINDS).unwrap());
}

#[test]
fn misspelt_keys_and_names() {
    refused("[swich]\n", 1, "did you mean `switch`?");
    refused("[switch]\nports = \"af_xpd\"\n", 2, "there are auto, af_xdp and af_packet");
    refused(&format!("[[port]]\ndevice = \"eth1\"\n{RED}sahre = 2\n"), 7, "did you mean `share`?");
    refused(&format!("[[port]]\ndevice = \"eth0\"\n{RED}"), 6, "there is no [[port]] `eth1`; did you mean `eth0`?");
    let client = "[p4runtime]\naddress = \"[::1]:1\"\ncertificate = \"switch.pem\"\nkey = \"switch.key\"\nclient_ca = \"ca.pem\"\n";
    let client = format!("{client}[[p4runtime.client]]\nname = \"x\"\ntenants = [\"rd\"]\n");
    refused(&format!("[[port]]\ndevice = \"eth1\"\n{RED}{client}"), 14, "there is no tenant `rd`; did you mean `red`?");
}

#[test]
fn memory_is_divided() {
    let with = |total: &str, own: &str| {
        let red = RED.replace("program", &format!("{own}\nprogram"));
        let blue = RED.replace("red\"", "blue\"") + "match = [{ vlan = 5 }]\n";
        format!("[switch]\n{total}\n[[port]]\ndevice = \"eth1\"\n{red}{blue}")
    };
    let config = parse(&with("memory = \"64M\"", "memory = \"24M\"")).unwrap();
    let shares = Shares::of(&config).unwrap();
    let limits: Vec<u64> = config.tenants.iter().map(|tenant| shares.limit(tenant.limits.memory)).collect();
    assert_eq!(limits, [24 << 20, 40 << 20]);
    let config = parse(&with("memory = 1001", "")).unwrap();
    assert_eq!(Shares::of(&config).unwrap().limit(None), 500);
    let refused = parse(&with("memory = \"64M\"", "memory = \"65M\"")).unwrap_err();
    assert!(refused[0].1.contains("the tenants' `memory` is 65 MiB together, [switch] memory 64 MiB"), "{refused:?}");
    // Of the machine, or what an ordinary tenant needs if that is more.
    let machine = Shares::of(&parse(&with("", "")).unwrap()).unwrap().limit(None);
    assert!(machine >= 256 << 20, "{machine}");
    let tenant = |vlan: u32| {
        let (name, rule) = (format!("t{vlan}\""), format!("match = [{{ vlan = {vlan} }}]\n"));
        RED.replace("red\"", &name) + &rule
    };
    let many: Vec<String> = (10..1010).map(tenant).collect();
    let share = Shares::of(&parse(&(with("", "") + &many.concat())).unwrap()).unwrap().limit(None);
    assert!((256 << 20..=machine).contains(&share), "{share}");
}

#[test]
fn absurd_values() {
    let with = |line: &str| format!("[[port]]\ndevice = \"eth1\"\n{RED}{line}\n");
    for (line, wanted) in [
        ("share = 0", "expected 1 to 1000"),
        ("share = -1", "expected u32"),
        ("packets = 0", "expected 1 to"),
        ("packets = -5", "-5 is negative"),
        ("packets = \"1x\"", "`1x` is no quantity"),
        ("bits = \"1.2345k\"", "is no quantity"),
        ("frames = 3", "expected 64 to"),
        ("passes = 5000", "expected 1 to 4096"),
        ("memory = \"64X\"", "`64X` is no amount of memory"),
        ("memory = -1", "-1 is negative"),
        ("memory = \"2000000T\"", "expected 0 to"),
        ("cpu_queue = 0", "expected 1 to"),
        ("cpu_port = 511", "expected 0 to 510"),
        ("device_id = 0", "expected 1 to"),
        ("match = [{ vlan = 4095 }]", "expected 0 to 4094"),
        ("match = [{ mac = \"02:00\" }]", "is no MAC address"),
        ("match = [{ mac = \"ff:ff:ff:ff:ff:ff\" }]", "is a group address"),
        ("match = [{ port = \"eth7\" }]", "among its ports there is no `eth7`"),
    ] {
        let problems = parse(&with(line)).unwrap_err();
        assert!(problems.iter().any(|(at, text)| *at == 7 && text.contains(wanted)), "{line}: {problems:?}");
    }
    refused(&with("cpu_port = 1"), 6, "port 1 is its CPU port");
    let ip = "[tenant.agent]\nkind = \"ip\"\nnamespace = \"red\"";
    refused(&with(ip).replace("{ 1 =", "{ 508 ="), 6, "port 508 is its agent's");
    refused(&with(&format!("cpu_port = 508\n{ip}")), 7, "port 508 is its agent's");
    let scion = "[tenant.agent]\nkind = \"scion\"\nconfig = \"router.toml\"";
    refused(&with(scion).replace("{ 1 =", "{ 509 ="), 6, "port 509 is its agent's");
    refused(&with(&format!("cpu_port = 509\n{scion}")), 7, "the CPU port of its agent's program is 510");
    refused(&with(&format!("match = [{{ vlan = 10 }}]\n{scion}")), 7, "takes no frames with VLAN tags");
    let own = with(scion).replace("program = \"red.p4\"", "defines = [\"NO_EPIC\"]");
    assert!(parse(&own.replace("NO_EPIC", "HUMMINGBIRD")).is_ok());
    refused(&own, 4, "its agent's program has no macro `NO_EPIC`");
    refused(&(String::from("[switch]\nports = \"af_xdp\"\n") + &with(scion)), 1, "expected auto or af_packet");
    refused(&with("device_id = 7"), 1, "there is no [p4runtime]");
    refused(&with("").replace("red.p4", "missing.p4"), 5, "missing.p4: No such file");
    refused(&with("").replace("\"red\"", "\"Red\""), 4, "cannot be a tenant's name");
    refused(&with("").replace("{ 1 = \"eth1\" }", "{}"), 6, "has no ports");
    refused(&with("").replace("{ 1 =", "{ 511 ="), 6, "expected a number from 0 to 510");
    refused(&(with("") + RED), 9, "tenant `red` is there twice");
    refused("[p4runtime]\naddress = \"x\"\n", 2, "is no address");
    refused("[p4runtime]\naddress = \"[::1]:1\"\nkey = \"switch.key\"\n", 3, "belong together");
    let client = "[p4runtime]\naddress = \"[::1]:1\"\n[[p4runtime.client]]\nname = \"x\"\nadmin = true\n";
    refused(client, 3, "client_ca is missing");
}

#[test]
fn tenants_do_not_want_the_same_frames() {
    let tenant = |name: &str, ports: &str, rules: &str| {
        format!("[[tenant]]\nname = \"{name}\"\nprogram = \"red.p4\"\nports = {{ {ports} }}\nmatch = [{rules}]\n")
    };
    let both =
        |a: String, b: String| parse(&format!("[[port]]\ndevice = \"eth1\"\n[[port]]\ndevice = \"eth2\"\n{a}{b}"));
    let (eth1, eth2, all) = ("1 = \"eth1\"", "1 = \"eth2\"", "1 = \"eth1\", 2 = \"eth2\"");
    assert!(both(tenant("a", eth1, ""), tenant("b", eth2, "")).is_ok());
    assert!(both(tenant("a", all, "{ vlan = 1 }"), tenant("b", all, "{ vlan = 2 }")).is_ok());
    // A match with a port is more specific than one without.
    assert!(both(tenant("a", all, "{ vlan = 1 }"), tenant("b", all, "{ vlan = 1, port = \"eth1\" }")).is_ok());
    for (a, b, wanted) in [
        (tenant("a", eth1, ""), tenant("b", all, ""), "`a` and `b` both match frames from eth1"),
        (tenant("a", all, "{ vlan = 1 }"), tenant("b", eth2, "{ vlan = 1, groups = true }"), "eth2 with VLAN 1"),
        (
            tenant("a", eth1, "{ mac = \"02:00:00:00:00:0A\" }"),
            tenant("b", eth1, "{ mac = \"02-00-00-00-00-0a\" }"),
            "eth1 to 02:00:00:00:00:0a",
        ),
    ] {
        let problems = both(a, b).unwrap_err();
        assert!(problems.len() == 1 && problems[0].0 == 11 && problems[0].1.contains(wanted), "{problems:?}");
    }
}

#[test]
fn one_more_tenant() {
    let folder = folder();
    let config = Config::parse(&folder.path().join("switch.toml"), SAMPLE, KINDS).unwrap();
    let add = |text: &str| config.with_tenant(&folder.path().join("green.toml"), text);
    let green = RED.replace("\"red\"", "\"green\"") + "match = [{ vlan = 3 }]\n";
    let more = add(&green).unwrap();
    assert_eq!(more.tenants.len(), 4);
    assert_eq!(more.without_tenant("green"), config);
    assert_eq!(config.without_tenant("red").p4runtime.unwrap().clients.unwrap()[0].tenants, Some(BTreeSet::new()));
    for (text, wanted) in [
        (RED.to_string(), "`red` is there twice"),
        (format!("{green}device_id = 1\n"), "is that of tenant `red` already"),
        (String::new(), "missing field `tenant`"),
        (format!("[switch]\n{green}"), "unknown field `switch`"),
        (format!("{green}{green}"), "expected one"),
    ] {
        let error = add(&text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn every_problem_is_told() {
    let text = format!("[switch]\nmtu = 1\nbatch = 1000\n{RED}share = 0\n");
    assert_eq!(parse(&text).unwrap_err().iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 7, 8]);
}

#[test]
fn quantities() {
    for (text, value) in [("7", 7), ("10k", 10_000), ("1.5M", 1_500_000), ("2 G", 2_000_000_000), ("0.001k", 1)] {
        assert_eq!(text.parse(), Ok(Quantity(value)), "{text}");
    }
    for text in ["", "k", "-1", "1.", ".5M", "1.5", "1e3", "99999999999999999999", "99999999999T", "1 2k", "1kk"] {
        assert!(text.parse::<Quantity>().is_err(), "{text}");
    }
    for value in [0, 7, 1500, 1_500_000, 2_000_000_000, 1_234_567] {
        assert_eq!(Quantity(value).to_string().parse(), Ok(Quantity(value)));
    }
}
