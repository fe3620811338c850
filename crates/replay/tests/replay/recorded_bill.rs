//! The cost of recorded sessions. Each is played once for all checks of its bill: beside the plain
//! host's and within the bound; every second one also by the ledger and with foresight.
//! `crates/replay/tests/bill` has the README's table, on all of them.

use replay::hosts::HostRule;
use replay::options::{Replaying, Sender};
use replay::play::play;
use replay::report::FileReport;
use replay::run::{foreseen, replay};
use replay::transcript::Transcript;

use crate::bound::{broken, replaying};

/// How far the bill with foresight may exceed ours on a recorded session: foresight knows what is
/// needed, but starts epochs by the same rules, which do not look ahead.
const MARGIN: f64 = 0.05;

fn recordings() -> Option<Vec<Transcript>> {
    let files = crate::recorded::files(&["transcripts"], None)?;
    Some(files.iter().map(|file| Transcript::read(file).unwrap()).collect())
}

/// Ours by plain, all sessions together, is at most this.
fn check_ratio(reports: &[FileReport], most: f64) {
    let sum = |cost: &dyn Fn(&FileReport) -> f64| reports.iter().map(cost).sum::<f64>();
    let ratio = sum(&|report| report.bill.ours) / sum(&|report| report.bill.plain);
    assert!(ratio <= most, "{ratio}");
}

fn replayed(recordings: &[Transcript], replaying: &Replaying) -> Vec<FileReport> {
    let mut reports = Vec::new();
    for transcript in recordings {
        let report = replay(transcript, replaying, &[]).unwrap();
        assert!(report.calls > 0 && report.bill.ratio < 1.1, "{}: {:?}", report.name, report.bill);
        assert_eq!(broken(&report, &replaying.prices), None);
        reports.push(report);
    }
    reports
}

/// What the requests of a replay cost, the ledger of a session that is played says as well.
fn check_ledger(transcript: &Transcript, replaying: &Replaying, report: &FileReport) {
    let playing = replaying.playing();
    let live = play(transcript, &playing, &mut |_| Ok(())).unwrap();
    let bill = live.state().bill();
    let ours: f64 = report.series.iter().map(|call| call.ours.cost).sum();
    let plain: f64 = report.series.iter().map(|call| call.plain.cost).sum();
    let said = (bill.our_account.cost, bill.plain_account.cost);
    let close = |a: f64, b: f64| (a - b).abs() <= 0.01 * b;
    assert!(close(said.0, ours), "{} ours: {} is {ours}", report.name, said.0);
    assert!(close(said.1, plain), "{} plain: {} is {plain}", report.name, said.1);
}

#[test]
fn recorded_sessions_cost_less_than_at_the_plain_host() {
    let Some(recordings) = recordings() else { return };
    let replaying = replaying("openai", None);
    let reports = replayed(&recordings, &replaying);
    check_ratio(&reports, 0.60);
    let without = Replaying { sender: Sender::Host(HostRule::Plain), ..replaying.clone() };
    let (mut guessed, mut known) = (0.0, 0.0);
    for (transcript, ours) in recordings.iter().zip(reports).step_by(2) {
        let plain = replay(transcript, &without, &[]).unwrap();
        assert_eq!(plain.bill.ours.to_bits(), plain.bill.plain.to_bits(), "{}", plain.name);
        assert_eq!(ours.bill.plain.to_bits(), plain.bill.plain.to_bits(), "{}", plain.name);
        assert_eq!((plain.faults.raw, plain.plain_faults.raw), (0, 0), "{}", plain.name);
        let told = foreseen(transcript, &replaying, &[]).unwrap().bill.ratio;
        let ours = ours.bill.ratio;
        assert!(told <= ours + MARGIN, "{}: {told} for {ours}", plain.name);
        (guessed, known) = (guessed + ours, known + told);
    }
    assert!(known < 0.95 * guessed, "foresight saves something: {known} for {guessed}");
}

#[test]
fn recorded_sessions_in_a_window_cost_less_too() {
    let Some(recordings) = recordings() else { return };
    let replaying = replaying("anthropic", Some(131_072));
    let reports = replayed(&recordings, &replaying);
    for (transcript, report) in recordings.iter().zip(&reports).step_by(2) {
        check_ledger(transcript, &replaying, report);
    }
    // A long run has longer sessions, in which the plain host compacts and so saves as well.
    check_ratio(&reports, if testing::cases::is_long() { 0.66 } else { 0.58 });
    let calls = reports.iter().flat_map(|report| &report.series);
    assert!(calls.into_iter().all(|call| call.ours.tokens <= 131_072.0));
}
