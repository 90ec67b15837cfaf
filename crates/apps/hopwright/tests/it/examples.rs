//! The examples run.

macro_rules! examples {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;

            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*
    };
}

examples! {
    embed "../../examples/embed.rs"
    custom_port "../../examples/custom_port.rs"
    custom_extern "../../examples/custom_extern.rs"
    unit_test_a_program "../../examples/unit_test_a_program.rs"
}

/// What the first page promises.
#[test]
fn embedding_takes_forty_lines() {
    assert!(include_str!("../../examples/embed.rs").lines().count() <= 40);
}
