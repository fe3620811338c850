//! Random sessions: the invariants of every request hold whatever a model, a user and other
//! programs do.
//!
//! `PROPTEST_CASES=2000 cargo test --test live properties` runs long.

use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::host::uncached;
use crate::restarts::{assert_same, restarts_change_nothing};
use crate::script::{Op, World, script};
use crate::shapes::SHAPES;
use config::{Layout, Settings};
use testing::cases::config;

/// Settings under which epochs, previews and pressure come often.
fn settings(layout: Layout) -> Settings {
    Settings {
        layout,
        keep_results: 2,
        collapse_tokens: 300,
        preview_tokens: 400,
        active_per_turn: 2,
        active_turns: 2,
        pool_tokens: 400,
        prices: uncached(),
        ..Settings::default()
    }
}

fn run(folder: &Path, layout: Layout, window: u64, script: &[Op], restarts: bool) -> World {
    let mut world = world(folder, layout, window, restarts);
    world.run(script);
    world
}

fn world(folder: &Path, layout: Layout, window: u64, restarts: bool) -> World {
    World::new(folder, settings(layout), window, restarts)
}

fn holds(layout: Layout, window: u64, script: &[Op]) {
    let folder = tempfile::tempdir().unwrap();
    restarts_change_nothing(layout, script, |restarts| {
        run(folder.path(), layout, window, script, restarts)
    });
}

/// Plays a script as fast as the machine can, and once more with time between a change of a file
/// and a look at it.
fn holds_at_any_speed(layout: Layout, script: &[Op]) {
    let folder = tempfile::tempdir().unwrap();
    let fast = run(folder.path(), layout, 200_000, script, true).requests;
    let mut slow = world(folder.path(), layout, 200_000, true);
    slow.slow_down();
    slow.run(script);
    assert_same(&fast, &slow.requests, "slowness");
}

/// Plays a script in which results come in every shape, with restarts and without. `images`:
/// whether tools may answer with them.
fn holds_in_any_shape(layout: Layout, window: u64, images: bool, script: &[Op]) {
    let folder = tempfile::tempdir().unwrap();
    restarts_change_nothing(layout, script, |restarts| {
        let mut world = world(folder.path(), layout, window, restarts);
        world.host.images = images;
        world.host.crash();
        world.shapes = SHAPES;
        world.run(script);
        world
    });
}

/// Plays a script in a session whose files are tracked.
fn holds_tracked(layout: Layout, script: &[Op]) {
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(folder.path(), layout, 200_000, true);
    world.track();
    world.run(script);
}

proptest! {
    #![proptest_config(config(2, 41))]

    #[test]
    fn every_session_in_the_log_layout_holds(script in script(60)) {
        holds(Layout::Log, 200_000, &script);
    }

    #[test]
    fn every_session_under_pressure_holds(script in script(60)) {
        holds(Layout::Log, 4_000, &script);
    }

    #[test]
    fn every_session_in_a_window_that_is_much_too_small_holds(script in script(60)) {
        holds(Layout::Log, 1_500, &script);
    }

    #[test]
    fn every_session_in_the_pools_layout_holds(script in script(40)) {
        holds(Layout::Pools, 200_000, &script);
    }
}

proptest! {
    #![proptest_config(config(2, 59))]

    #[test]
    fn every_session_with_results_of_any_shape_holds(script in script(60)) {
        holds_in_any_shape(Layout::Log, 200_000, false, &script);
    }

    #[test]
    fn every_session_whose_images_leave_holds(script in script(60)) {
        holds_in_any_shape(Layout::Log, 200_000, true, &script);
    }

    #[test]
    fn every_session_under_pressure_whose_images_leave_holds(script in script(60)) {
        holds_in_any_shape(Layout::Log, 4_000, true, &script);
    }

    #[test]
    fn every_session_under_pressure_with_any_result_shape_holds(script in script(60)) {
        holds_in_any_shape(Layout::Log, 4_000, false, &script);
    }

    #[test]
    fn every_pools_session_with_any_result_shape_holds(script in script(40)) {
        holds_in_any_shape(Layout::Pools, 200_000, true, &script);
    }
}

proptest! {
    #![proptest_config(config(2, 47))]

    #[test]
    fn every_session_is_the_same_at_any_speed(script in script(40)) {
        holds_at_any_speed(Layout::Log, &script);
    }

    #[test]
    fn every_session_in_the_pools_layout_is_the_same_at_any_speed(script in script(40)) {
        holds_at_any_speed(Layout::Pools, &script);
    }

    #[test]
    fn every_session_whose_files_are_tracked_holds(script in script(60)) {
        holds_tracked(Layout::Log, &script);
    }

    #[test]
    fn every_pools_session_with_tracked_files_holds(script in script(40)) {
        holds_tracked(Layout::Pools, &script);
    }
}

#[test]
fn the_sessions_of_these_tests_have_epochs() {
    let mut runner = TestRunner::deterministic();
    let folder = tempfile::tempdir().unwrap();
    let epochs = |runner: &mut TestRunner| {
        let script = script(60).new_tree(runner).unwrap().current();
        run(folder.path(), Layout::Log, 200_000, &script, true).epochs
    };
    let epochs: Vec<usize> = (0..3).map(|_| epochs(&mut runner)).collect();
    assert!(epochs.iter().sum::<usize>() >= 6, "{epochs:?}");
}

#[test]
fn the_sessions_under_pressure_fold_steps() {
    let mut runner = TestRunner::deterministic();
    let folder = tempfile::tempdir().unwrap();
    let requests = |runner: &mut TestRunner| {
        let script = script(60).new_tree(runner).unwrap().current();
        run(folder.path(), Layout::Log, 1_500, &script, true).folded
    };
    let requests: Vec<usize> = (0..4).map(|_| requests(&mut runner)).collect();
    assert!(requests.iter().sum::<usize>() >= 4, "{requests:?}");
}
