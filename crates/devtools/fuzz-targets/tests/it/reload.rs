//! Random sequences of configurations.

use hopwright_fuzz_targets::Reloads;
use proptest::prelude::*;

thread_local! {
    static RELOADS: Reloads = Reloads::new();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_router_is_as_one_that_starts_anew(data in proptest::collection::vec(any::<u8>(), 0..600)) {
        RELOADS.with(|reloads| reloads.reload(&data));
    }
}
