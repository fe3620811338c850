//! Quiescence: after any sequence of changes, reported in any order, doubled, or lost with an
//! overflow, the latest versions in the store match the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::tracked::Tracked;
use proptest::prelude::*;
use source::{Signal, Watching};

/// Names of files; the first half is tracked. Two folders, so that folders can go and come too.
const NAMES: [&str; 8] =
    ["a/one", "a/two", "b/three", "b/four", "a/five", "a/six", "b/seven", "b/eight"];
const TRACKED: usize = 4;

#[derive(Debug, Clone)]
enum Change {
    Write(usize, u8),
    Replace(usize, u8),
    Rename(usize, usize),
    Delete(usize),
    DeleteFolder(usize),
    /// The tracker gets to work on what was told so far.
    Pause,
    /// What was told so far is told in this order from here on.
    Tell(Telling),
}

/// How the signals of some changes reach the tracker.
#[derive(Debug, Clone)]
struct Telling {
    /// By how much the order is turned.
    turn: usize,
    is_reversed: bool,
    is_doubled: bool,
    /// One in this many signals is lost, and an overflow reported; 0 loses none.
    loses: usize,
}

fn change() -> impl Strategy<Value = Change> {
    let name = 0..NAMES.len();
    prop_oneof![
        4 => (name.clone(), 0..4u8).prop_map(|(name, text)| Change::Write(name, text)),
        2 => (name.clone(), 0..4u8).prop_map(|(name, text)| Change::Replace(name, text)),
        3 => (name.clone(), name.clone()).prop_map(|(from, to)| Change::Rename(from, to)),
        2 => name.clone().prop_map(Change::Delete),
        1 => name.prop_map(Change::DeleteFolder),
        1 => Just(Change::Pause),
        3 => (0..20usize, any::<bool>(), any::<bool>(), 0..4usize).prop_map(
            |(turn, is_reversed, is_doubled, loses)| {
                Change::Tell(Telling { turn, is_reversed, is_doubled, loses })
            }
        ),
    ]
}

/// A folder whose changes a made-up watcher tells.
struct Scene {
    files: Tracked,
    signals: Vec<Signal>,
    /// A move makes a tracked file of any path.
    seen: BTreeSet<String>,
}

impl Scene {
    fn new() -> Self {
        let files = Tracked::new(|options| {
            options.tracker.watching = Watching::Reported;
            options.tracker.settle = Duration::from_micros(200);
            options.tracker.absence = Duration::from_millis(1);
            options.tracker.poll = Duration::from_millis(5);
        });
        let tracked: Vec<(&str, &str)> = NAMES[..TRACKED].iter().map(|name| (*name, "0")).collect();
        files.track(&tracked);
        let seen = NAMES.iter().map(|name| (*name).to_owned()).collect();
        Self { files, signals: Vec::new(), seen }
    }

    fn path(&self, name: usize) -> PathBuf {
        self.files.path(NAMES[name])
    }

    fn text(text: u8) -> String {
        // Texts of equal length, so that the size tells nothing.
        format!("{text}").repeat(3)
    }

    fn make(&mut self, change: &Change) {
        match change {
            Change::Write(name, text) => {
                let path = self.path(*name);
                let is_new = !path.exists();
                self.make_folder(&path);
                fs::write(&path, Self::text(*text)).unwrap();
                if is_new {
                    self.signals.push(Signal::Appeared(path.clone()));
                }
                self.signals.push(Signal::Changed(path.clone()));
                self.signals.push(Signal::Written(path));
            }
            Change::Replace(name, text) => {
                let path = self.path(*name);
                self.make_folder(&path);
                let new = path.with_extension("new");
                fs::write(&new, Self::text(*text)).unwrap();
                self.rename(new, path);
            }
            Change::Rename(from, to) => {
                let (from, to) = (self.path(*from), self.path(*to));
                if from != to && from.exists() {
                    self.make_folder(&to);
                    self.rename(from, to);
                }
            }
            Change::Delete(name) => {
                let path = self.path(*name);
                if fs::remove_file(&path).is_ok() {
                    self.signals.push(Signal::Gone(path));
                }
            }
            Change::DeleteFolder(name) => {
                self.delete_folder(self.path(*name).parent().unwrap().into());
            }
            Change::Pause => std::thread::sleep(Duration::from_millis(2)),
            Change::Tell(telling) => self.tell(telling),
        }
    }

    fn make_folder(&mut self, path: &std::path::Path) {
        let folder = path.parent().unwrap();
        if !folder.exists() {
            fs::create_dir(folder).unwrap();
            self.signals.push(Signal::Appeared(folder.to_owned()));
        }
    }

    fn rename(&mut self, from: PathBuf, to: PathBuf) {
        fs::rename(&from, &to).unwrap();
        self.signals.push(Signal::Gone(from.clone()));
        self.signals.push(Signal::Written(to.clone()));
        self.signals.push(Signal::Renamed(from, to));
    }

    fn delete_folder(&mut self, folder: PathBuf) {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            self.signals.push(Signal::Gone(entry.unwrap().path()));
        }
        if fs::remove_dir_all(&folder).is_ok() {
            self.signals.push(Signal::Gone(folder));
        }
    }

    fn tell(&mut self, telling: &Telling) {
        let mut signals = std::mem::take(&mut self.signals);
        if signals.is_empty() {
            return;
        }
        let count = signals.len();
        signals.rotate_left(telling.turn % count);
        if telling.is_reversed {
            signals.reverse();
        }
        if telling.is_doubled {
            signals.extend(signals.clone());
        }
        if telling.loses > 0 {
            let mut number = 0;
            signals.retain(|_| {
                number += 1;
                number % (telling.loses + 1) != 0
            });
            signals.push(Signal::Overflow);
        }
        // One by one, so that the tracker may work in between.
        for signal in signals {
            self.files.tracking.report([signal]);
        }
    }

    /// The tracked files that the store has otherwise than the disk.
    fn stale(&self) -> Vec<String> {
        let is_tracked = |name: &String| {
            NAMES[..TRACKED].contains(&name.as_str()) || self.files.version(name).is_some()
        };
        self.files.stale(self.seen.iter().filter(|name| is_tracked(name)).cloned())
    }
}

proptest! {
    #![proptest_config(testing::cases::config(24, 1))]

    #[test]
    fn a_settled_tracker_has_stored_what_is_on_disk(
        changes in proptest::collection::vec(change(), 1..40),
    ) {
        let mut scene = Scene::new();
        for change in &changes {
            scene.make(change);
            let status = scene.files.tracking.status();
            prop_assert!(status.most_pending <= status.files, "{status:?}");
        }
        scene.tell(&Telling { turn: 0, is_reversed: false, is_doubled: false, loses: 0 });
        scene.files.settle();
        prop_assert_eq!(scene.stale(), Vec::<String>::new());
        for event in scene.files.words() {
            prop_assert!(!event.starts_with("failed"), "{}", event);
        }
    }
}
