use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("router.toml"), text)
}

#[test]
fn the_sample_is_good_and_has_no_unknown_key() {
    let config = parse(SAMPLE).unwrap();
    assert_eq!(config.unknown_keys, []);
    assert_eq!(config.general.id, "router-1");
    assert_eq!(config.general.config_dir, Path::new("/etc/scion"));
    assert_eq!(config.router, Router { num_processors: 8, ..Router::default() });
    assert_eq!(config.log.console, Console::default());
}

#[test]
fn everything_there_is() {
    let config = parse(
        r#"
        [general]
        id = "brA"
        [features]
        experimental_scmp_authentication = true
        [log.console]
        level = "debug"
        format = "json"
        [metrics]
        prometheus = "127.0.0.1:30442"
        [api]
        addr = "127.0.0.1:31142"
        [router]
        batch_size = 64
        dispatched_port_start = 1024
        dispatched_port_end = 65535
        [router.bfd]
        disable = true
        detect_mult = 5
        desired_min_tx_interval = "25ms"
        required_min_rx_interval = "1s"
        [hopwright]
        ports = "af_xdp"
        busy_poll_us = 20
        batch = 32
        "#,
    )
    .unwrap();
    assert!(config.features.experimental_scmp_authentication);
    assert_eq!(config.metrics.prometheus, "127.0.0.1:30442");
    assert_eq!(config.api.addr, "127.0.0.1:31142");
    assert_eq!(config.router.dispatched_port_end, Some(65535));
    let hopwright = &config.hopwright;
    assert_eq!((hopwright.ports, hopwright.busy_poll_us, hopwright.batch), (PortChoice::AfXdp, 20, 32));
    assert_eq!(
        config.router.bfd,
        Bfd {
            disable: true,
            detect_mult: 5,
            desired_min_tx_interval: Duration::from_millis(25),
            required_min_rx_interval: Duration::from_secs(1),
        }
    );
}

#[test]
fn zero_means_the_default() {
    let config = parse("general.id = 'a'\nrouter.batch_size = 0\nrouter.bfd.detect_mult = 0").unwrap();
    assert_eq!(config.router, Router::default());
}

#[test]
fn what_is_shown_is_what_was_read() {
    for text in [SAMPLE, "general.id = 'a'\nrouter.bfd.disable = true\nrouter.bfd.desired_min_tx_interval = '90s'"] {
        let config = parse(text).unwrap();
        let shown = toml::to_string(&config).unwrap();
        let again = Config { has_hopwright_table: false, ..parse(&shown).unwrap() };
        assert_eq!(again, config, "{shown}");
    }
}

#[test]
fn unknown_keys_are_reported() {
    let config = parse("general.id = 'a'\ngeneral.reconnect = true\n[router.turbo]\non = 1\n[tracing]\nx = 2");
    let keys: Vec<_> = config.unwrap().unknown_keys.into_iter().map(|unknown| unknown.key).collect();
    assert_eq!(keys, ["general.reconnect", "router.turbo", "tracing"]);
}

#[test]
fn unknown_keys_are_errors_with_a_hint() {
    let in_router = [
        ("router.batchsize = 3", "router.batchsize: unknown key; did you mean `router.batch_size`?"),
        ("router.bfd.detect-mult = 3", "did you mean `router.bfd.detect_mult`?"),
        ("metric.prometheus = ''", "metric: unknown key; did you mean `metrics`?"),
        ("batch_size = 64", "did you mean `router.batch_size`?"),
        ("router.cpus = [1]", "`cpus` belongs in hopwright.toml beside this file"),
        ("[scmp]\nrate = 3", "`scmp` belongs in hopwright.toml beside this file"),
        ("[tracing]\nenabled = true", "tracing: unknown key"),
    ];
    let in_hopwright = [
        ("port = 'auto'", "port: unknown key; did you mean `ports`?"),
        ("[hopwright]\nports = 'auto'", "the keys of hopwright.toml have no `hopwright` in front"),
        ("[reload]\nkeyoverlap = '1h'", "did you mean `reload.key_overlap`?"),
        ("keyoverlap = '1h'", "did you mean `reload.key_overlap`?"),
    ];
    let load = |router: &str, own: Option<&str>, lenient| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("br1.toml");
        std::fs::write(&file, format!("general.id = 'a'\n{router}")).unwrap();
        if let Some(own) = own {
            std::fs::write(dir.path().join("hopwright.toml"), own).unwrap();
        }
        Config::load(&file, lenient)
    };
    for (text, wanted) in in_router {
        let message = load(text, None, false).unwrap_err().to_string();
        assert!(message.contains("br1.toml: ") && message.ends_with(wanted), "{message}");
        let config = load(text, None, true).unwrap();
        assert_eq!(config.warnings(Path::new("br1.toml")).len(), 1);
    }
    for (text, wanted) in in_hopwright {
        let message = load("", Some(text), false).unwrap_err().to_string();
        assert!(message.contains("hopwright.toml: ") && message.ends_with(wanted), "{message}");
        assert!(load("", Some(text), true).is_ok());
    }
}

#[test]
fn own_settings_are_in_a_file_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (router, own) = (dir.path().join("br1.toml"), dir.path().join("hopwright.toml"));
    let plain = "general.id = 'a'\n";
    std::fs::write(&router, plain).unwrap();
    assert_eq!(Config::load(&router, false).unwrap().hopwright, Hopwright::default());
    std::fs::write(&own, "batch = 32\n[scmp]\nrate = 7\n[reload]\nkey_overlap = '1h'\n").unwrap();
    let config = Config::load(&router, false).unwrap();
    assert_eq!((config.hopwright.batch, config.hopwright.scmp.rate), (32, 7));
    assert_eq!(config.hopwright.reload.key_overlap, Duration::from_secs(3600));
    assert_eq!(config.warnings(&router), Vec::<String>::new());
    // Errors name the file that they are in.
    for (text, wanted) in [("batch = 0", "hopwright.toml: batch: 0 is not"), ("batch = ", "hopwright.toml: ")] {
        std::fs::write(&own, text).unwrap();
        let message = Config::load(&router, false).unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
    // In both is in one too many.
    std::fs::write(&own, "batch = 32").unwrap();
    std::fs::write(&router, format!("{plain}[hopwright]\nbatch = 16\n")).unwrap();
    let message = Config::load(&router, false).unwrap_err().to_string();
    assert!(message.contains("hopwright.toml: settings are in a table [hopwright] of"), "{message}");
    // In router.toml they still work.
    std::fs::remove_file(&own).unwrap();
    let config = Config::load(&router, false).unwrap();
    assert_eq!(config.hopwright.batch, 16);
    let warnings = config.warnings(&router);
    assert!(warnings[0].contains("move its keys to ") && warnings.len() == 1, "{warnings:?}");
}

#[test]
fn files_that_are_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let router = dir.path().join("br1.toml");
    std::fs::write(&router, "general.id = 'a'").unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("hopwright.toml")).unwrap();
    let message = Config::load(&router, false).unwrap_err().to_string();
    assert!(message.ends_with("hopwright.toml: not a regular file"), "{message}");
    assert!(Config::load(Path::new("/dev/zero"), false).unwrap_err().to_string().contains("not a regular file"));
}

/// Every key is in a sample, and every key of a sample is one.
#[test]
fn samples_have_every_key() {
    let file = Path::new("sample");
    let keys = |text: &str| {
        let mut keys = sample_keys(text);
        keys.retain(|key| !keys_of_tables().contains(&key.as_str()));
        keys.sort();
        keys
    };
    fn keys_of_tables() -> [&'static str; 11] {
        [
            "general",
            "features",
            "log",
            "log.console",
            "metrics",
            "api",
            "router",
            "router.bfd",
            "scmp",
            "queues",
            "reload",
        ]
    }
    let mut config = Config::parse(file, &uncommented(SAMPLE)).unwrap();
    assert_eq!(config.unknown_keys, []);
    config.add_hopwright(file, &uncommented(HOPWRIGHT_SAMPLE)).unwrap();
    assert_eq!(config.unknown_keys, []);
    assert_eq!(config.problems(file).len(), 0);
    // What commented keys say is the default.
    let mut default = Config::parse(file, SAMPLE).unwrap();
    default.add_hopwright(file, HOPWRIGHT_SAMPLE).unwrap();
    assert_eq!(default.hopwright, Hopwright::default());
    assert_eq!(keys(SAMPLE).len(), 20);
    let mut shown = toml::Table::try_from(&config.hopwright).unwrap();
    let tables: Vec<_> = ["scmp", "queues", "reload"].map(|t| (t, shown.remove(t).unwrap())).into();
    let mut wanted: Vec<String> = shown.keys().cloned().collect();
    for (table, value) in tables {
        wanted.extend(value.as_table().unwrap().keys().map(|key| format!("{table}.{key}")));
    }
    wanted.sort();
    assert_eq!(keys(HOPWRIGHT_SAMPLE), wanted);
}

#[test]
fn errors_name_file_and_field() {
    for (text, wanted) in [
        ("", "general.id: missing"),
        ("general = 3", "line 1"),
        ("general.id = 'a'\nrouter.batch_size = 'many'", "line 2"),
        ("general.id = 'a'\nrouter.batch_size = -1", "router.batch_size: -1 is less than 1"),
        ("general.id = 'a'\nrouter.receive_buffer_size = -1", "router.receive_buffer_size"),
        ("general.id = 'a'\nrouter.num_slow_processors = -1", "router.num_slow_processors"),
        ("general.id = 'a'\nrouter.dispatched_port_start = 1", "router.dispatched_port_end: missing"),
        ("general.id = 'a'\nrouter.dispatched_port_end = 1", "router.dispatched_port_start: missing"),
        (
            "general.id = 'a'\n[router]\ndispatched_port_start = 2\ndispatched_port_end = 1",
            "router.dispatched_port_start: 2 is beyond",
        ),
        (
            "general.id = 'a'\n[router]\ndispatched_port_start = 2\ndispatched_port_end = 65536",
            "router.dispatched_port_end: 65536",
        ),
        ("general.id = 'a'\nrouter.bfd.desired_min_tx_interval = '5 parsecs'", "no duration"),
        ("general.id = 'a'\nrouter.bfd.detect_mult = 256", "line 2"),
        ("general.id = 'a'\nhopwright.ports = 'dpdk'", "`dpdk` is no kind of port"),
        ("general.id = 'a'\nhopwright.dispatched_ports = 'all'", "unknown variant"),
        ("general.id = 'a'\nhopwright.dispatched_ports = 'specification'\nhopwright.layout = '1br'", "not with layout"),
        ("general.id = 'a'\nhopwright.hummingbird = true\nhopwright.layout = '1br'", "hummingbird: not with layout"),
        ("general.id = 'a'\nhopwright.queues.eth1.rate = '1k'", "hopwright.queues: eth1: a rate of 1k is not in"),
        ("general.id = 'a'\nhopwright.queues.eth1.packets = 5", "missing field `rate`"),
        ("general.id = 'a'\nhopwright.queues.eth1 = { rate = '1G', packets = 0 }", "eth1: 0 packets are not in 1 to"),
        ("general.id = 'a'\nhopwright.queues.eth1 = { rate = '1G', weights = [1] }", "invalid length 1"),
        (
            "general.id = 'a'\nhopwright.scmp_authentication = 'drkey'\nhopwright.slow_path = 'tap'",
            "the reference router answers",
        ),
        ("general.id = 'a'\nhopwright.batch = 0", "hopwright.batch: 0 is not in 1 to 256"),
        ("general.id = 'a'\nhopwright.batch = 257", "hopwright.batch: 257 is not in 1 to 256"),
        ("general.id = 'a'\nhopwright.batch = -1", "line 2"),
        ("general.id = 'a'\nlog.console.level = 'loud'", "log.console.level"),
        ("[general\nid = 'a'", "line 1"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.starts_with("router.toml: ") && message.contains(wanted), "{text}: {message}");
    }
}

#[test]
fn ports_of_hosts() {
    let configured = |range: &str, text: &str| {
        let file = format!(r#"{{"isd_as": "1-ff00:0:1", "dispatched_ports": "{range}"}}"#);
        let topology = Topology::parse(Path::new("t"), file.as_bytes()).unwrap();
        let config = parse(&format!("general.id = 'a'\n{text}")).unwrap();
        (config.dispatched_ports(&topology), config.describe_dispatched_ports(&topology))
    };
    let own = "router.dispatched_port_start = 5\nrouter.dispatched_port_end = 6\n";
    let spec = "hopwright.dispatched_ports = 'specification'";
    assert_eq!(configured("31000-32767", own).0, None);
    assert_eq!(configured("31000-32767", spec).0, Some(31000..=32767));
    assert_eq!(configured("31000-32767", &format!("{own}{spec}")).0, Some(5..=6));
    assert_eq!(configured("all", spec).0, Some(1..=65535));
    assert!(
        configured("-", spec).0.unwrap().is_empty() && configured("-", spec).1.contains("to all ports go to 30041")
    );
    assert!(configured("", "").1.contains("every port"));
}

/// The reference reads keys in any case, and levels of its log library.
#[test]
fn upper_case() {
    let config = parse("[General]\nid = 'a'\n[router]\nBatch_Size = 64\n[log.console]\nlevel = 'DPANIC'").unwrap();
    assert_eq!((config.unknown_keys.len(), config.general.id.as_str(), config.router.batch_size), (0, "a", 64));
    let config = parse("general.id = 'a'\n[Router]\nTurbo = 1").unwrap();
    assert_eq!(config.unknown_keys[0].key, "router.turbo");
}

#[test]
fn load_checks_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("router.toml");
    std::fs::write(&file, "[general]\nid = 'a'\nconfig_dir = '/nowhere/at/all'").unwrap();
    let message = Config::load(&file, false).unwrap_err().to_string();
    assert!(message.contains("general.config_dir: /nowhere/at/all is no directory"), "{message}");
    assert!(Config::load(&dir.path().join("absent.toml"), false).unwrap_err().to_string().contains("absent.toml"));
}

#[test]
fn durations() {
    assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
    assert_eq!(parse_duration("3µs"), Ok(Duration::from_micros(3)));
    assert_eq!(parse_duration("1y"), Ok(Duration::from_secs(365 * 86_400)));
    for bad in ["", "ms", "1", "1.5s", "-1s", "1 s", "1s5ms", "99999999999999999999s", "9999999999y"] {
        assert!(parse_duration(bad).is_err(), "{bad}");
    }
}
