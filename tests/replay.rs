//! Replays: transcripts through a session, measured. Those of `tests/common/recordings.rs` where they are there.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "common/data.rs"]
mod data;

use std::path::{Path, PathBuf};

use palimpsest::context::prices::Prices;
use palimpsest::context::tokens::Counter;
use palimpsest::replay::measure::OVERHEAD_TOKENS;
use palimpsest::replay::report::FileReport;
use palimpsest::replay::run::{Replaying, replay};
use palimpsest::replay::transcript::Transcript;
use palimpsest::settings::{Layout, Settings};

fn replaying(layout: Option<Layout>) -> Replaying {
    Replaying {
        layout,
        prices: Prices::preset("anthropic").unwrap(),
        window_tokens: None,
        counter: Counter::Characters,
        overhead_tokens: OVERHEAD_TOKENS,
        settings: Settings::default(),
        dump: None,
    }
}

fn recordings() -> Option<Vec<PathBuf>> {
    let entries = std::fs::read_dir(data::find("transcripts")?).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    Some(files)
}

fn replayed(file: &Path, layout: Option<Layout>) -> FileReport {
    replay(&Transcript::read(file).unwrap(), &replaying(layout)).unwrap()
}

#[test]
fn recorded_sessions_cost_less_and_the_plain_host_costs_what_it_costs() {
    let Some(files) = recordings() else { return };
    for file in files.iter().step_by(6) {
        let ours = replayed(file, Some(Layout::Log));
        let plain = replayed(file, None);
        assert!(ours.calls > 0 && ours.bill.ratio < 1.1, "{}: {:?}", ours.name, ours.bill);
        assert_eq!(plain.bill.ours.to_bits(), plain.bill.plain.to_bits(), "{}", plain.name);
        assert_eq!(ours.bill.plain.to_bits(), plain.bill.plain.to_bits(), "{}", plain.name);
        assert_eq!((plain.faults.raw, plain.plain_faults.raw), (0, 0), "{}", plain.name);
    }
}
