//! The bound on recorded sessions, at every call.
//!
//! The assertion is weaker than the promise: in each sample, four of five sessions keep the bound
//! at every call, and none exceeds it by more than the cost of writing its largest request.

use std::path::PathBuf;
use std::sync::Mutex;

use replay::options::Replaying;
use replay::report::FileReport;
use replay::run::replay;
use replay::transcript::Transcript;

use crate::bound::{broken, least_margin, replaying};
use testing::data;

const PRESETS: [&str; 6] = ["anthropic", "openai", "gemini", "deepseek", "none", "anthropic-1h"];

/// The folders of recorded sessions.
const FOLDERS: [&str; 2] = ["transcripts", "transcripts-2"];

/// All recorded sessions, in the order of their names. `None` where they are absent.
pub(crate) fn recordings() -> Option<Vec<Transcript>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(data::find(folder)?).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.to_string_lossy().ends_with(".jsonl.gz"));
    files.sort();
    assert!(!files.is_empty(), "folders without recordings");
    Some(files.iter().map(|file| Transcript::read(file).unwrap()).collect())
}

/// Replays each recording, on two threads; the reports are in the order of the recordings.
pub(crate) fn replay_all(recordings: &[&Transcript], replaying: &Replaying) -> Vec<FileReport> {
    let (next, done) = (Mutex::new(0..recordings.len()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(at) = { next.lock().unwrap().next() } {
                    let report = replay(recordings[at], replaying, &[]).unwrap();
                    done.lock().unwrap().push((at, report));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, report)| report).collect()
}

#[test]
fn no_recorded_session_costs_more_than_the_bound_at_any_call() {
    let Some(recordings) = recordings() else { return };
    // One of three, others with each price table.
    let step = if testing::cases::is_long() { 1 } else { 3 };
    let mut wrong = Vec::new();
    for (turn, prices) in PRESETS.into_iter().enumerate() {
        let replaying = replaying(prices, None);
        let some: Vec<&Transcript> = recordings.iter().skip(turn % step).step_by(step).collect();
        let reports = replay_all(&some, &replaying);
        let broken = reports.iter().filter_map(|report| broken(report, &replaying.prices));
        wrong.extend(broken.map(|what| format!("{prices}, {what}")));
        let kept = reports.iter().filter(|made| least_margin(made, &replaying.prices).1 >= 0.0);
        let share = kept.count() * 100 / reports.len();
        assert!(share >= 80, "{prices}: the bound is kept to the token in {share} of 100 sessions");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
