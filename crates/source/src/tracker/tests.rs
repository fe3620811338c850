//! How editors save, replayed from recorded events: each save is one change, and never a deletion.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind, RenameMode};
use serde_json::Value;

use super::{Watching, signal};
use crate::{Location, Tracker, TrackingEvent, TrackingOptions, canonical_path};
use base::object::AsOf;
use store::Store;

/// A recording of `tests/fixtures/editors`.
struct Recording {
    name: String,
    before: String,
    after: String,
    events: Vec<Step>,
}

struct Step {
    at: Duration,
    /// Paths are relative.
    event: notify::Event,
}

fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/editors");
    let mut found: Vec<Recording> =
        fs::read_dir(folder).unwrap().map(|entry| recording(&entry.unwrap().path())).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() >= 10, "there are {}", found.len());
    found
}

fn recording(path: &Path) -> Recording {
    let json: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let text = |key: &str| json[key].as_str().unwrap().to_owned();
    let step = |event: &Value| Step {
        at: Duration::from_micros(event["at_us"].as_u64().unwrap()),
        event: serde_json::from_value(event.clone()).unwrap(),
    };
    Recording {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        before: text("before"),
        after: text("after"),
        events: json["events"].as_array().unwrap().iter().map(step).collect(),
    }
}

/// Does to files what an editor did, as its events tell.
struct Player<'a> {
    recording: &'a Recording,
    folder: &'a Path,
    open: HashMap<PathBuf, File>,
}

impl Player<'_> {
    /// Does what made the event at `index`.
    fn perform(&mut self, index: usize) {
        let later = &self.recording.events[index + 1..];
        let event = &self.recording.events[index].event;
        let path = self.folder.join(&event.paths[0]);
        match event.kind {
            EventKind::Create(_) => {
                self.open.insert(path.clone(), File::create_new(path).unwrap());
            }
            EventKind::Modify(ModifyKind::Data(_)) => {
                let file = self.open.entry(path.clone());
                let file = file.or_insert_with(|| File::create(path).unwrap());
                // The last of the writes completes the text; before it the file is cut to nothing.
                let is_last = !later
                    .iter()
                    .any(|step| step.event.paths == event.paths && step.event.kind == event.kind);
                if is_last {
                    file.write_all(self.recording.after.as_bytes()).unwrap();
                }
            }
            EventKind::Access(_) => drop(self.open.remove(&path)),
            EventKind::Remove(_) => fs::remove_file(&path).unwrap(),
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                let is_end = |step: &&Step| {
                    step.event.kind == EventKind::Modify(ModifyKind::Name(RenameMode::To))
                        && step.event.tracker() == event.tracker()
                };
                let to = later.iter().find(is_end).unwrap();
                fs::rename(&path, self.folder.join(&to.event.paths[0])).unwrap();
            }
            _ => {}
        }
    }
}

/// The reports of a save, and the texts that the store got, newest first.
fn play(recording: &Recording, watching: Watching) -> (Vec<String>, Vec<Option<String>>) {
    let folder = tempfile::tempdir().unwrap();
    let root = canonical_path(folder.path());
    let path = root.join("notes.md");
    fs::write(&path, &recording.before).unwrap();
    let store = Store::open(":memory:").unwrap();
    let mut options = TrackingOptions::at(|path| Location::here("fs", path.to_owned()));
    options.tracker.watching = watching;
    // Far longer than any pause of a recording, however busy the machine is: the result must not
    // depend on the speed of the test.
    options.tracker.settle = Duration::from_secs(2);
    options.tracker.absence = Duration::from_secs(2);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let tracking = Tracker::of_store(store.clone(), options, move |events| {
        heard.lock().unwrap().extend(events);
    });
    let tracking = tracking.unwrap();
    tracking.track([path.clone()]);
    assert!(tracking.settle(Duration::from_secs(60)));
    told.lock().unwrap().clear();
    let mut player = Player { recording, folder: &root, open: HashMap::new() };
    let mut last = Duration::ZERO;
    for (index, step) in recording.events.iter().enumerate() {
        std::thread::sleep(step.at.saturating_sub(last));
        last = step.at;
        player.perform(index);
        if watching == Watching::Reported {
            tracking.report(signal::signals(Ok(absolute(&step.event, &root))));
        }
    }
    assert!(tracking.settle(Duration::from_secs(60)));
    let words = told.lock().unwrap().iter().map(word).collect();
    let id = Location::here("fs", path).id().unwrap();
    let history = store.history(&id).unwrap();
    assert!(store.get(&id, AsOf::Latest).unwrap().is_some());
    let texts = history.iter().map(|version| store.content(version).unwrap()).collect();
    (words, texts)
}

fn absolute(event: &notify::Event, root: &Path) -> notify::Event {
    let paths: Vec<PathBuf> = event.paths.iter().map(|path| root.join(path)).collect();
    notify::Event { paths, ..event.clone() }
}

fn word(event: &TrackingEvent) -> String {
    match event {
        TrackingEvent::Indexed(file) => file.outcome.as_str().to_owned(),
        other => format!("{other:?}"),
    }
}

fn check(watching: Watching) {
    // In parallel: most of the time is waiting.
    std::thread::scope(|scope| {
        for recording in recordings() {
            scope.spawn(move || {
                let (words, texts) = play(&recording, watching);
                assert_eq!(words, ["updated"], "{}", recording.name);
                let Recording { name, before, after, .. } = recording;
                assert_eq!(texts, [Some(after), Some(before)], "{name}");
            });
        }
    });
}

#[test]
fn a_save_is_one_change_by_the_events_that_were_recorded() {
    check(Watching::Reported);
}

#[test]
fn a_save_is_one_change_by_the_events_of_this_system() {
    check(Watching::System);
}
