//! The report of a replay, per transcript and in total. Pure.
//!
//! Tokens and costs are not rounded, since a token may be four characters. Costs are in uncached
//! input tokens.

pub mod copies;
pub mod counted;

use std::ops::Add;

use serde::{Deserialize, Serialize};

use self::counted::{Counted, RecordedReport};
use super::facts::ToolCalls;
use super::measure::MeasuredSides;
use super::measure::side::SideCall;
use super::options::Replaying;
use super::transcript::{Counts, Transcript};
use context::tokens::Counter;
use live::Notice;

/// Transcripts with fewer calls are left out of sum, median and worst.
const MIN_CALLS: u64 = 15;

/// Our figure beside the plain host's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Ours.
    pub ours: f64,
    /// The plain host's.
    pub plain: f64,
}

/// Both bills and their ratio.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayBill {
    /// Ours, including faults.
    pub ours: f64,
    /// The plain host's, including faults and compactions.
    pub plain: f64,
    /// Ours divided by the plain host's; 1 if nothing was billed.
    pub ratio: f64,
}

/// Calls with faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultyCalls {
    /// Calls with a fault.
    pub raw: u64,
    /// Number of these that lack a line of an output with fewer than two origins.
    pub strict: u64,
    /// Number of these that lack something that a person or the model wrote.
    pub own_words: u64,
    /// Their total cost.
    pub cost: f64,
}

/// The cost with perfect foresight under the same rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    /// The bills; `ours` is the bill with foresight.
    pub bill: ReplayBill,
    /// Total tokens of all requests.
    pub tokens: f64,
    /// Epochs after the first.
    pub epochs: u64,
    /// Faults. Foresight fetches content again where that is cheaper than keeping it.
    pub faults: FaultyCalls,
}

/// The cost with perfect foresight, over all transcripts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ForeseenSum {
    /// The sums.
    #[serde(flatten)]
    pub all: Foreseen,
    /// The median of the transcripts' ratios.
    pub median: f64,
    /// The largest of the transcripts' ratios.
    pub worst: f64,
}

/// A new epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Epoch {
    /// The first call of the epoch, from 0.
    pub call: u64,
    /// The reason for it.
    pub reason: String,
    /// Messages collapsed.
    pub collapsed: u64,
    /// Tokens freed.
    pub freed_tokens: u64,
}

/// Tokens of our request by kind of content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Contents {
    /// System prompt and tools.
    pub fixed: f64,
    /// Text by people and the host.
    pub user: f64,
    /// Text by the model.
    pub assistant: f64,
    /// Outputs of tools.
    pub output: f64,
    /// Text in place of content.
    pub reference: f64,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallReport {
    /// Number, from 0.
    pub call: u64,
    /// Tokens of our request by kind of content.
    pub contents: Contents,
    /// Ours.
    pub ours: SideCall,
    /// The plain host's.
    pub plain: SideCall,
    /// Whether the plain host compacted before it.
    pub compacted: bool,
    /// What the provider counted, if the transcript says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Counted>,
    /// US dollars for a million uncached input tokens, by what the transcript says that the request
    /// cost, else by the list price of its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_million: Option<f64>,
    /// What tells the answer from others: the IDs of its calls, a number of its text, and its time;
    /// `None` where that is not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// Name of the file without its ending.
    pub name: String,
    /// Calls.
    pub calls: u64,
    /// Bills.
    pub bill: ReplayBill,
    /// Total tokens of all requests.
    pub tokens: Pair,
    /// Total tokens of all requests that were read from the cache.
    pub cached_tokens: Pair,
    /// Share of the tokens that were read from the cache.
    pub cached_share: Pair,
    /// Tokens of the largest request.
    pub peak_window: Pair,
    /// Epochs after the first.
    pub epochs: Vec<Epoch>,
    /// Compactions by the host on our side.
    pub compactions: u64,
    /// Compactions by the plain host.
    pub plain_compactions: u64,
    /// Our faults.
    pub faults: FaultyCalls,
    /// The plain host's faults.
    pub plain_faults: FaultyCalls,
    /// Tool calls, and those that a live session might have treated differently.
    pub tool_calls: ToolCalls,
    /// The cost with perfect foresight; `None` unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<Foreseen>,
    /// What was left out of the file or mended, one line each with its count.
    pub notes: Vec<String>,
    /// The program that wrote the file.
    pub format: String,
    /// The session's ID, if the file has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The ID of the session whose history it begins with, if the file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// What the file holds by its own marks.
    pub held: Counts,
    /// The part of `held` on branches that were left.
    pub left: Counts,
    /// The part of `held` that failed, or whose calls have no result.
    pub interrupted: Counts,
    /// What was read.
    pub read: Counts,
    /// Requests that stand in another transcript as well, and count there.
    pub copied: u64,
    /// Lines that cannot be read, and may have held anything.
    pub unread_lines: u64,
    /// What the file records of its requests.
    pub recorded: RecordedReport,
    /// Every call.
    pub series: Vec<CallReport>,
}

/// All transcripts together. Those with fewer than 15 calls count only in `files` and `left_out`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    /// Number of transcripts.
    pub files: u64,
    /// Number of these with fewer than 15 calls.
    pub left_out: u64,
    /// Calls.
    pub calls: u64,
    /// Bills.
    pub bill: ReplayBill,
    /// The median of the transcripts' ratios.
    pub median: f64,
    /// The largest of the transcripts' ratios.
    pub worst: f64,
    /// Total tokens of all requests.
    pub tokens: Pair,
    /// Total tokens of all requests that were read from the cache.
    pub cached_tokens: Pair,
    /// Share of the tokens that were read from the cache.
    pub cached_share: Pair,
    /// Tokens of the largest request.
    pub peak_window: Pair,
    /// Epochs after the first.
    pub epochs: u64,
    /// Compactions by the host on our side.
    pub compactions: u64,
    /// Compactions by the plain host.
    pub plain_compactions: u64,
    /// Our faults.
    pub faults: FaultyCalls,
    /// The plain host's faults.
    pub plain_faults: FaultyCalls,
    /// Tool calls, and those that a live session might have treated differently.
    pub tool_calls: ToolCalls,
    /// The cost with perfect foresight; `None` unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<ForeseenSum>,
}

/// A whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillReport {
    /// `log`, `pools` or `plain`.
    pub layout: String,
    /// Name of the price table.
    pub prices: String,
    /// Tokens of the window; `None`: no limit.
    pub window: Option<u64>,
    /// How tokens were counted.
    pub tokens: Counter,
    /// Tokens of our own system prompt and tools.
    pub overhead_tokens: u64,
    /// Each transcript.
    pub files: Vec<FileReport>,
    /// All together.
    pub sum: Sum,
}

impl BillReport {
    /// Combines the reports of all transcripts; `prices`: name of the price table. What a transcript
    /// copied from another one counts there alone.
    pub fn new(mut files: Vec<FileReport>, replaying: &Replaying, prices: String) -> Self {
        copies::count_once(&mut files);
        let (window, tokens) = (replaying.window_tokens, replaying.counter);
        let sum = Sum::of(&files);
        Self {
            layout: replaying.sender.as_str().to_owned(),
            prices,
            window,
            tokens,
            overhead_tokens: replaying.overhead_tokens,
            files,
            sum,
        }
    }
}

impl BillReport {
    /// Takes prices and window from the transcripts, if these were played by what each records.
    pub fn follow(&mut self, prices: bool, window: bool) {
        let Some((first, rest)) = self.files.split_first() else { return };
        let first = &first.recorded;
        if prices {
            let is_one = rest.iter().all(|file| file.recorded.prices == first.prices);
            self.prices = if is_one { first.prices.clone() } else { "recorded".to_owned() };
        }
        if window {
            let is_one = rest.iter().all(|file| file.recorded.window == first.window);
            self.window = first.window.filter(|_| is_one);
        }
    }
}

impl FileReport {
    /// A report without calls.
    pub fn new(transcript: &Transcript) -> Self {
        Self {
            name: transcript.name.clone(),
            notes: transcript.notes.clone(),
            format: transcript.format.to_string(),
            session: transcript.session_id.clone(),
            forked_from: transcript.forked_from.clone(),
            held: transcript.held,
            left: transcript.left,
            interrupted: transcript.interrupted,
            read: transcript.read,
            unread_lines: transcript.unread_lines,
            ..Self::default()
        }
    }

    /// Adds a call, which [`Self::sum_up`] counts.
    pub fn add(&mut self, measured: MeasuredSides, contents: Contents, notices: &[Notice]) {
        let call = self.series.len() as u64;
        let MeasuredSides { ours, plain, .. } = measured;
        let compacted = plain.compaction > 0.0;
        self.epochs.extend(notices.iter().filter_map(|notice| epoch(call, notice)));
        let (recorded, usd_per_million, answer) = (None, None, None);
        self.series.push(CallReport {
            call,
            contents,
            ours,
            plain,
            compacted,
            recorded,
            usd_per_million,
            answer,
        });
    }

    /// Sums up the calls of the series.
    pub fn sum_up(&mut self) {
        let series = &self.series;
        let both = |of: fn(&SideCall) -> f64, with: fn(f64, f64) -> f64| Pair {
            ours: series.iter().map(|call| of(&call.ours)).fold(0.0, with),
            plain: series.iter().map(|call| of(&call.plain)).fold(0.0, with),
        };
        let count = |is: fn(&&CallReport) -> bool| series.iter().filter(is).count() as u64;
        self.calls = series.len() as u64;
        let Pair { ours, plain } = both(bill, f64::add);
        self.bill = ReplayBill { ours, plain, ratio: ratio(ours, plain) };
        self.tokens = both(|side| side.tokens, f64::add);
        self.cached_tokens = both(|side| side.cached, f64::add);
        self.cached_share = share(self.cached_tokens, self.tokens);
        self.peak_window = both(|side| side.tokens, f64::max);
        self.compactions = count(|call| call.ours.compaction > 0.0);
        self.plain_compactions = count(|call| call.compacted);
        self.faults = FaultyCalls::of(series.iter().map(|call| &call.ours));
        self.plain_faults = FaultyCalls::of(series.iter().map(|call| &call.plain));
        self.recorded.sum_up(series);
    }
}

impl Sum {
    /// The sums over all transcripts.
    pub fn of(files: &[FileReport]) -> Self {
        let mut sum = Self { files: files.len() as u64, ..Self::default() };
        let mut ratios = Vec::new();
        for file in files {
            if file.calls < MIN_CALLS {
                sum.left_out += 1;
                continue;
            }
            ratios.push(file.bill.ratio);
            sum.add(file);
        }
        sum.bill.ratio = ratio(sum.bill.ours, sum.bill.plain);
        sum.cached_share = share(sum.cached_tokens, sum.tokens);
        ratios.sort_by(f64::total_cmp);
        sum.median = median(&ratios);
        sum.worst = ratios.last().copied().unwrap_or(1.0);
        sum.oracle = ForeseenSum::of(files);
        sum
    }

    fn add(&mut self, file: &FileReport) {
        self.calls += file.calls;
        self.bill.ours += file.bill.ours;
        self.bill.plain += file.bill.plain;
        self.tokens.add(file.tokens.ours, file.tokens.plain);
        self.cached_tokens.add(file.cached_tokens.ours, file.cached_tokens.plain);
        self.peak_window.raise(file.peak_window.ours, file.peak_window.plain);
        self.epochs += file.epochs.len() as u64;
        self.compactions += file.compactions;
        self.plain_compactions += file.plain_compactions;
        self.faults.add(&file.faults);
        self.plain_faults.add(&file.plain_faults);
        self.tool_calls.add(file.tool_calls);
    }
}

impl Foreseen {
    /// The figures of a transcript that was played with foresight.
    pub fn of(report: &FileReport) -> Self {
        let (bill, faults) = (report.bill, report.faults);
        Self { bill, tokens: report.tokens.ours, epochs: report.epochs.len() as u64, faults }
    }

    fn add(&mut self, other: &Self) {
        self.bill.ours += other.bill.ours;
        self.bill.plain += other.bill.plain;
        self.bill.ratio = ratio(self.bill.ours, self.bill.plain);
        self.tokens += other.tokens;
        self.epochs += other.epochs;
        self.faults.add(&other.faults);
    }
}

impl ForeseenSum {
    /// The sums over all transcripts that count; `None` if none was played with foresight.
    fn of(files: &[FileReport]) -> Option<Self> {
        files.iter().any(|file| file.oracle.is_some()).then(|| {
            let counted = files.iter().filter(|file| file.calls >= MIN_CALLS);
            let foreseen: Vec<Foreseen> = counted.filter_map(|file| file.oracle).collect();
            let mut all = Foreseen {
                bill: ReplayBill { ratio: 1.0, ..ReplayBill::default() },
                ..Foreseen::default()
            };
            for one in &foreseen {
                all.add(one);
            }
            let mut ratios: Vec<f64> = foreseen.iter().map(|one| one.bill.ratio).collect();
            ratios.sort_by(f64::total_cmp);
            Self { all, median: median(&ratios), worst: ratios.last().copied().unwrap_or(1.0) }
        })
    }
}

impl Pair {
    fn add(&mut self, ours: f64, plain: f64) {
        self.ours += ours;
        self.plain += plain;
    }

    fn raise(&mut self, ours: f64, plain: f64) {
        self.ours = self.ours.max(ours);
        self.plain = self.plain.max(plain);
    }
}

impl FaultyCalls {
    /// The faults among the calls of a side.
    fn of<'s>(calls: impl Iterator<Item = &'s SideCall>) -> Self {
        let mut all = Self::default();
        for fault in calls.filter_map(|call| call.fault.as_ref()) {
            all.raw += 1;
            all.strict += u64::from(fault.strict);
            all.own_words += u64::from(fault.own_words);
            all.cost += fault.cost;
        }
        all
    }

    fn add(&mut self, other: &Self) {
        self.raw += other.raw;
        self.strict += other.strict;
        self.own_words += other.own_words;
        self.cost += other.cost;
    }
}

fn bill(call: &SideCall) -> f64 {
    call.cost + call.fault.as_ref().map_or(0.0, |fault| fault.cost)
}

fn ratio(ours: f64, plain: f64) -> f64 {
    if plain > 0.0 { ours / plain } else { 1.0 }
}

fn share(part: Pair, whole: Pair) -> Pair {
    let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    Pair { ours: of(part.ours, whole.ours), plain: of(part.plain, whole.plain) }
}

/// The median of sorted ratios; 1 if there are none.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted {
        [] => 1.0,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

fn epoch(call: u64, notice: &Notice) -> Option<Epoch> {
    let Notice::EpochStarted { reason, collapsed, freed_tokens, .. } = notice else { return None };
    let (collapsed, freed_tokens) = (*collapsed, *freed_tokens);
    Some(Epoch { call, reason: reason.clone(), collapsed, freed_tokens })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::faults::FaultyCall;

    fn file(calls: u64, ours: f64, plain: f64) -> FileReport {
        let bill = ReplayBill { ours, plain, ratio: ratio(ours, plain) };
        let faults = FaultyCalls { raw: 1, strict: 1, own_words: 0, cost: 2.0 };
        FileReport {
            calls,
            bill,
            faults,
            ..FileReport { name: "a".to_owned(), ..FileReport::default() }
        }
    }

    #[test]
    fn short_sessions_are_left_out_of_sum_median_and_worst() {
        let sum = Sum::of(&[
            file(14, 9.0, 1.0),
            file(15, 1.0, 2.0),
            file(20, 9.0, 10.0),
            file(99, 4.0, 8.0),
        ]);
        assert_eq!((sum.files, sum.left_out, sum.calls), (4, 1, 134));
        assert!((sum.bill.ratio - 0.7).abs() < 1e-9, "{:?}", sum.bill);
        assert!((sum.median - 0.5).abs() < 1e-9 && (sum.worst - 0.9).abs() < 1e-9);
        assert_eq!(sum.faults, FaultyCalls { raw: 3, strict: 3, own_words: 0, cost: 6.0 });
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert!((median(&[0.4, 0.5, 0.7, 0.9]) - 0.6).abs() < 1e-9);
        assert!((median(&[]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_fault_is_billed_and_counted() {
        let fault =
            FaultyCall { lines: 1, strict: true, own_words: true, sources: vec![3], cost: 5.0 };
        let side =
            |fault| SideCall { tokens: 100.0, cached: 80.0, cost: 30.0, compaction: 7.0, fault };
        let mut report = FileReport::default();
        let call = MeasuredSides {
            ours: side(Some(fault)),
            plain: side(None),
            kinds: crate::measure::request::RequestKinds::default(),
        };
        report.add(call.clone(), Contents::default(), &[]);
        let started =
            Notice::EpochStarted { epoch: 1, reason: "r".into(), collapsed: 2, freed_tokens: 9 };
        report.add(MeasuredSides { ours: side(None), ..call }, Contents::default(), &[started]);
        report.sum_up();
        assert!((report.bill.ours - 65.0).abs() < 1e-9 && (report.bill.plain - 60.0).abs() < 1e-9);
        assert_eq!(report.faults, FaultyCalls { raw: 1, strict: 1, own_words: 1, cost: 5.0 });
        assert_eq!((report.compactions, report.plain_compactions), (2, 2));
        assert_eq!(
            report.epochs,
            [Epoch { call: 1, reason: "r".into(), collapsed: 2, freed_tokens: 9 }]
        );
        assert!((report.cached_share.ours - 0.8).abs() < 1e-9);
        assert!((report.peak_window.plain - 100.0).abs() < 1e-9);
    }
}
