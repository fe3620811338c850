//! Many changes at once: every tracked file ends in its state on disk, and the pending files never
//! outnumber the tracked ones.
//!
//! The sizes are for a debug build; in a long run they are 10,000 files and 50,000 changes.

#![expect(clippy::print_stdout, reason = "figures for people")]
#![expect(clippy::disallowed_methods, reason = "how long it takes is a figure for people")]

use std::fs;
use std::time::{Duration, Instant};

use crate::tracked::Tracked;
use source::{TrackingEvent, TrackingOptions};
use testing::cases::is_long;

/// Files in folders of 100, tracked.
fn project(count: usize, change: impl FnOnce(&mut TrackingOptions)) -> (Tracked, Vec<String>) {
    let files = Tracked::new(change);
    let names: Vec<String> =
        (0..count).map(|number| format!("part{}/file{number}.txt", number / 100)).collect();
    for name in &names {
        files.write(name, "as it was");
    }
    files.tracking.track(names.iter().map(|name| files.path(name)));
    files.settle();
    assert_eq!(files.told().len(), count);
    (files, names)
}

/// Longer than a process is stopped on a busy machine.
const A_WHILE: Duration = Duration::from_secs(2);

/// How often each outcome was told.
fn outcomes(files: &Tracked, outcome: &str) -> usize {
    let is_it = |event: &TrackingEvent| matches!(event, TrackingEvent::Indexed(file) if file.outcome.as_str() == outcome);
    files.told().iter().filter(|event| is_it(event)).count()
}

#[test]
fn after_a_burst_of_changes_every_file_is_as_on_disk() {
    let (count, changes) = if is_long() { (10_000, 50_000) } else { (300, 1_500) };
    let (files, names) = project(count, |_| {});
    let start = Instant::now();
    for number in 0..changes {
        // Far apart from change to change; some by renaming, some gone for good.
        let name = &names[(number * 7_919) % count];
        match number % 10 {
            0 if number > changes / 2 => drop(fs::remove_file(files.path(name))),
            1 | 2 => {
                files.write("new", &format!("replaced {number}"));
                fs::rename(files.path("new"), files.path(name)).unwrap();
            }
            _ => files.write(name, &format!("change {number}")),
        }
    }
    let written = start.elapsed();
    files.settle();
    let settled = start.elapsed().saturating_sub(written);
    println!("{changes} changes of {count} files in {written:?}, settled after {settled:?} more");
    assert_eq!(files.stale(names), Vec::<String>::new());
    let status = files.tracking.status();
    assert_eq!(status.pending, 0);
    assert!(status.most_pending <= count, "{status:?}");
}

#[test]
fn a_checkout_of_another_branch_is_one_version_of_each_file() {
    let count = if is_long() { 5_000 } else { 300 };
    // A file that stays away for less is not deleted, and a new one is not looked at between its
    // creation and its text, even if this process is stopped there.
    let (files, names) = project(count, |options| {
        options.tracker.absence = A_WHILE;
        options.tracker.settle = A_WHILE;
        options.tracker.settle_at_most = 10 * A_WHILE;
    });
    // As git does it: the old file is removed, the new one made in its place.
    for name in &names {
        fs::remove_file(files.path(name)).unwrap();
        files.write(name, "as on the other branch");
    }
    files.settle();
    assert_eq!(files.stale(names), Vec::<String>::new());
    assert_eq!(outcomes(&files, "updated"), count);
}

#[test]
fn a_checkout_that_recreates_folders_ends_as_on_disk() {
    let (files, names) = project(300, |_| {});
    for part in 0..3 {
        fs::remove_dir_all(files.path(&format!("part{part}"))).unwrap();
    }
    files.settle();
    assert_eq!(outcomes(&files, "deleted"), 300);
    for name in &names {
        files.write(name, "back");
    }
    files.settle();
    assert_eq!(files.stale(names.clone()), Vec::<String>::new());
    // And they are watched.
    for name in &names {
        files.write(name, "changed");
    }
    files.settle();
    assert_eq!(files.stale(names), Vec::<String>::new());
}

#[test]
fn files_that_come_and_go_beside_a_tracked_one_cost_it_nothing() {
    let files = Tracked::new(|_| {});
    files.track(&[("package.json", "{}"), ("node_modules/.package-lock.json", "{}")]);
    files.told();
    for number in 0..if is_long() { 50_000 } else { 500 } {
        files.write(&format!("node_modules/module{number}.js"), "module");
        if number % 3 == 0 {
            fs::remove_file(files.path(&format!("node_modules/module{number}.js"))).unwrap();
        }
        files.write(&format!("node_modules/deep{}/index.js", number % 50), "module");
    }
    files.write("package.json", "{\"a\": 1}");
    files.settle();
    assert_eq!(files.words(), ["updated package.json"]);
    let status = files.tracking.status();
    assert_eq!(status.files, 2);
    assert!(status.most_pending <= 2, "{status:?}");
}

#[test]
fn a_file_written_without_end_is_still_read() {
    use std::io::Write;

    let files = Tracked::new(|options| options.tracker.settle_at_most = Duration::from_millis(100));
    files.track(&[("log", "start\n")]);
    files.told();
    let mut log = fs::File::options().append(true).open(files.path("log")).unwrap();
    let start = Instant::now();
    let mut updates = 0;
    while updates < 3 {
        assert!(start.elapsed() < crate::tracked::PATIENCE, "it was not looked at");
        log.write_all(b"line\n").unwrap();
        std::thread::sleep(Duration::from_millis(1));
        updates += outcomes(&files, "updated");
    }
}
