//! Random sessions at real providers' prices: the epochs and folds that the economics require, on
//! caches that are warm or have expired. The invariants of every request are in `checks.rs`;
//! restarts change nothing.

use std::path::Path;

use proptest::prelude::*;

use config::{Layout, PriceSetting, PriceTable, Prices, Settings};

use crate::restarts::restarts_change_nothing;
use crate::script::{Op, World, script};
use testing::cases::config;

/// Settings under which whatever pays is done: the bound on the bill is wide.
fn settings(prices: Prices) -> Settings {
    let table = PriceTable::Own(prices);
    Settings {
        keep_results: 2,
        collapse_tokens: 50,
        preview_tokens: 400,
        extra_share: 1e6,
        prices: PriceSetting::ByModel([("*".to_owned(), table)].into()),
        ..Settings::default()
    }
}

/// Prices whose cache lives so briefly that some calls of a script find it gone: its host counts
/// milliseconds.
fn short_lived(name: &str) -> Prices {
    Prices { lifetime_seconds: Some(0), ..preset(name) }
}

fn preset(name: &str) -> Prices {
    Prices::preset(name).unwrap()
}

fn run(folder: &Path, prices: &Prices, script: &[Op], restarts: bool) -> World {
    let mut world = World::new(folder, settings(prices.clone()), 200_000, restarts);
    world.run(script);
    world
}

/// Plays a script, with its restarts and without them: the requests are the same.
fn holds(prices: &Prices, script: &[Op]) {
    let folder = tempfile::tempdir().unwrap();
    restarts_change_nothing(Layout::Log, script, |restarts| {
        run(folder.path(), prices, script, restarts)
    });
}

proptest! {
    #![proptest_config(config(2, 43))]

    #[test]
    fn every_session_at_anthropics_prices_holds(script in script(60)) {
        holds(&preset("anthropic"), &script);
    }

    #[test]
    fn every_session_at_openais_prices_holds(script in script(60)) {
        holds(&preset("openai"), &script);
    }

    #[test]
    fn every_session_whose_caches_expire_holds(script in script(60)) {
        holds(&short_lived("anthropic"), &script);
    }
}

proptest! {
    #![proptest_config(config(1, 43))]

    #[test]
    fn every_long_session_keeps_to_the_bound(script in script(250)) {
        holds(&preset("openai"), &script);
    }
}
