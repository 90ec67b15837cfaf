//! What the compiler says.

use hopwright::{Compiler, Severity};

use crate::{L2, program};

#[test]
fn errors_have_their_place_and_a_mark() {
    let text = program("", "h.frame.valeu = 1;");
    let error = hopwright::compile(&text).unwrap_err();
    let found: Vec<_> = error.diagnostics().iter().filter(|d| d.severity == Severity::Error).collect();
    assert_eq!(found.len(), 1, "{error}");
    let place = found[0].place.as_ref().unwrap();
    let line = text.lines().nth(place.line as usize - 1).unwrap();
    assert_eq!(place.file, "program.p4");
    assert!(line[place.column as usize - 1..].starts_with("valeu"), "{place}: {line}");
    assert!(found[0].code.starts_with('E'));
    let shown = error.to_string();
    for part in ["program.p4:", "h.frame.valeu = 1;", "^", found[0].code, &found[0].message] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    // `main` prints an error so.
    assert!(format!("{error:?}").contains(&shown));
    let named = Compiler::new().name("router.p4").compile(&text).unwrap_err().to_string();
    assert!(named.contains("router.p4:") && !named.contains("program.p4"), "{named}");
}

#[test]
fn programs_of_a_text_have_the_name_they_are_given() {
    let program = Compiler::new().name("p4/router.p4").compile(L2).unwrap();
    assert_eq!(program.name(), "router");
    let trace = program.runner().unwrap().control().trace(1, &[0; 14]).unwrap();
    assert!(trace.contains("router.p4:"), "{trace}");
}

/// `main` prints the error that it returns with `Debug`.
#[test]
fn errors_are_printed_as_their_text() {
    let program = hopwright::compile(L2).unwrap();
    let mut runner = program.runner().unwrap();
    let switch = program.switch().run().unwrap();
    let mut errors: Vec<Box<dyn std::error::Error>> = vec![
        runner.control().clear("l3").unwrap_err().into(),
        runner.test("test", "packet 1 0").unwrap_err().into(),
        runner.send(1, &[0; 100_000]).unwrap_err().into(),
        switch.packet_out(&[0]).unwrap_err().into(),
        program.switch().port(511, hopwright::MemoryPort::new("a").0).run().unwrap_err().into(),
    ];
    if let Err(error) = hopwright::bytes("0") {
        errors.push(error.into());
    }
    #[cfg(not(feature = "jit"))]
    errors.push(program.runner_with(hopwright::Engine::Jit).unwrap_err().into());
    #[cfg(feature = "ports")]
    {
        use hopwright::port::{Device, PcapPort};
        errors.push(program.switch().port(1, Device::new("no-such-device0")).run().unwrap_err().into());
        errors.push(PcapPort::new("a", Some("no/such/file.pcap".as_ref()), None).unwrap_err().into());
    }
    for error in errors {
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}

#[test]
fn warnings_are_kept() {
    let text = program("const bit<8> SMALL = 256;", "s.egress_spec = (bit<9>) SMALL;");
    let program = hopwright::compile(&text).unwrap();
    assert!(program.warnings().iter().all(|d| d.severity == Severity::Warning));
    let overflow = program.warnings().iter().find(|d| d.code == "W0002").unwrap();
    assert!(overflow.text.contains("const bit<8> SMALL = 256;"), "{}", overflow.text);
    assert_eq!(hopwright::compile(L2).unwrap().warnings(), []);
}

#[test]
fn macros_and_include_files_are_found() {
    let text =
        program("", "s.egress_spec = PORT;").replace("struct metadata_t", "#include \"ports.p4\"\nstruct metadata_t");
    let folder = std::env::temp_dir().join(format!("hopwright-includes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ports.p4"), "const bit<9> PORT = NUMBER;").unwrap();
    let on_disk = Compiler::new().include(&folder).define("NUMBER=5").compile(&text);
    let main = folder.join("main.p4");
    std::fs::write(&main, &text).unwrap();
    let beside = Compiler::new().define("NUMBER=5").compile_file(&main);
    std::fs::remove_dir_all(&folder).unwrap();
    let in_memory = Compiler::new().include_text("ports.p4", "const bit<9> PORT = 5;").compile(&text);
    for program in [on_disk, beside, in_memory] {
        let output = program.unwrap().runner().unwrap().send(0, &[1, 0, 0]).unwrap();
        assert_eq!(output.sent[0].port, 5);
    }
    let missing = Compiler::new().compile(&text).unwrap_err().to_string();
    assert!(missing.contains("ports.p4") && missing.contains("`Compiler::include`"), "{missing}");
    let missing = hopwright::compile_file("no/such/file.p4").unwrap_err();
    assert!(missing.to_string().contains("no/such/file.p4"), "{missing}");
}

#[test]
fn programs_say_what_they_have() {
    let program = hopwright::compile(L2).unwrap();
    assert_eq!(program.name(), "program");
    assert_eq!(program.tables().collect::<Vec<_>>(), ["Forwarding.l2"]);
    assert_eq!(program.objects().collect::<Vec<_>>(), ["Forwarding.sent"]);
}

/// Each is used from any thread.
#[test]
fn programs_and_what_they_make_move_between_threads() {
    fn moves<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    is_shared::<hopwright::Program>();
    is_shared::<hopwright::Control>();
    is_shared::<Compiler>();
    moves::<hopwright::Switch>();
    moves::<hopwright::Runner>();
    is_shared::<hopwright::CompileError>();
    is_shared::<hopwright::ControlError>();
    is_shared::<hopwright::RunError>();
}

#[test]
fn packets_are_read_from_text() {
    assert_eq!(hopwright::bytes(" 0a0B ff ").unwrap(), [10, 11, 255]);
    for wrong in ["0a0", "0x0a", "0a**"] {
        assert!(hopwright::bytes(wrong).is_err(), "{wrong}");
    }
}
