//! The README's table: what recorded sessions cost beside the plain host, by window, under the
//! worst of three price tables.

use replay::report::{BillReport, Sum};

use crate::bound::replaying;
use crate::recorded::{recordings, replay_all};

/// The price tables.
const PRESETS: [&str; 3] = ["anthropic", "openai", "gemini"];

/// How far a figure may be above what was measured when its limit was set: the sessions are few,
/// and one epoch that starts a call earlier moves the worst of them.
const MARGIN: f64 = 0.01;

/// How far faults may be above the compacting host's, as a share of them: with `gemini`'s prices, at
/// 200,000 tokens, they are 12 % above it.
const FAULTS_MARGIN: f64 = 0.15;

/// What must hold with a window, for each price table. Bills are relative to the plain host's.
struct Row {
    window: Option<u64>,
    sum: f64,
    median: f64,
    worst: f64,
    /// Calls with strict faults and with faults on own words, in percent; `None`: at most the
    /// compacting host's.
    faults: Option<(f64, f64)>,
}

const ROWS: [Row; 4] = [
    Row { window: None, sum: 0.41, median: 0.53, worst: 1.02, faults: Some((0.8, 0.3)) },
    Row { window: Some(200_000), sum: 0.60, median: 0.58, worst: 1.02, faults: None },
    Row { window: Some(131_072), sum: 0.69, median: 0.64, worst: 1.06, faults: None },
    Row { window: Some(65_536), sum: 0.78, median: 0.72, worst: 1.12, faults: None },
];

#[test]
fn recorded_sessions_cost_what_the_table_says() {
    let Some(recordings) = recordings() else { return };
    let recordings: Vec<_> = recordings.iter().collect();
    let mut wrong = Vec::new();
    for row in &ROWS {
        for prices in PRESETS {
            let replaying = replaying(prices, row.window);
            let files = replay_all(&recordings, &replaying);
            let report = BillReport::new(files, &replaying, prices.to_owned());
            println!("{}", described(row.window, prices, &report.sum));
            let over = above_the_window(&report);
            wrong.extend(
                broken(row, &report.sum)
                    .into_iter()
                    .chain(over)
                    .map(|what| format!("{what}: {}", described(row.window, prices, &report.sum))),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The figures of a row that are not as they must be.
fn broken(row: &Row, sum: &Sum) -> Vec<&'static str> {
    let mut broken = Vec::new();
    let mut hold = |what, found: f64, most: f64| {
        if found > most {
            broken.push(what);
        }
    };
    hold("sum", sum.bill.ratio, row.sum + MARGIN);
    hold("median", sum.median, row.median + MARGIN);
    hold("worst", sum.worst, row.worst + MARGIN);
    let percent = |calls: u64| calls as f64 * 100.0 / sum.calls as f64;
    match row.faults {
        Some((strict, own)) => {
            hold("strict faults", percent(sum.faults.strict), strict);
            hold("faults on own words", percent(sum.faults.own_words), own);
        }
        None => {
            let most = percent(sum.plain_faults.raw) * (1.0 + FAULTS_MARGIN);
            hold("faults", percent(sum.faults.raw), most);
        }
    }
    broken
}

/// Whether any request has more tokens than the window.
fn above_the_window(report: &BillReport) -> Option<&'static str> {
    let window = report.window? as f64;
    let calls = report.files.iter().flat_map(|file| &file.series);
    calls.into_iter().any(|call| call.ours.tokens > window).then_some("requests above the window")
}

fn described(window: Option<u64>, prices: &str, sum: &Sum) -> String {
    let percent = |calls: u64| calls as f64 * 100.0 / sum.calls as f64;
    format!(
        "window {window:?}, {prices}: {:.3} in sum, {:.3} median, {:.3} worst; faults {:.2} %, strict {:.2} %, own words {:.2} % \
         (host {:.2} %); {} sessions",
        sum.bill.ratio,
        sum.median,
        sum.worst,
        percent(sum.faults.raw),
        percent(sum.faults.strict),
        percent(sum.faults.own_words),
        percent(sum.plain_faults.raw),
        sum.files - sum.left_out,
    )
}
