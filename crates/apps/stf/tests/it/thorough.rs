//! The reference agrees with the interpreter on generated programs that try the order of effects and copies.

use hopwright_p4gen::{Architecture, Config};

use crate::generated::check;

#[test]
fn generated_programs_that_try_the_order_of_effects() {
    check(20_000..20_060, &Config::thorough(Architecture::V1model));
}

#[test]
fn generated_programs_that_try_the_order_of_effects_and_copy_packets() {
    check(21_000..21_030, &Config { traffic: true, ..Config::thorough(Architecture::V1model) });
}

#[test]
fn generated_programs_that_try_the_order_of_effects_for_psa() {
    check(12_600..12_612, &Config::thorough(Architecture::Psa));
}
