//! How much of what it could try a test tries: a few inputs that are the same on every machine. `PROPTEST_CASES` asks for a long
//! run: so many inputs for each property, which nobody has seen, and all of what other tests play in part.

use proptest::test_runner::{Config, RngSeed};

/// Whether a long run is asked for.
pub fn is_long() -> bool {
    std::env::var_os("PROPTEST_CASES").is_some()
}

/// `cases`: how many inputs a run that is not long tries; `seed`: of these.
pub fn config(cases: u32, seed: u64) -> Config {
    let long = Config { max_shrink_iters: 300, ..Config::default() };
    if is_long() {
        return long;
    }
    Config { cases, rng_seed: RngSeed::Fixed(seed), ..long }
}
