//! Sessions that begin with a copy of another: programs write the history into the new file when a
//! session is forked, Codex also when it is resumed. Such requests count once. Pure.

use super::{CallReport, FileReport};
use crate::transcript::Counts;

/// Behind the ID of each call of an answer; then comes the number of its text.
pub const SEPARATOR: char = ',';
/// Before the time of an answer, if it is in the name.
pub const TIME: char = '@';

/// Takes out of each report the calls with which an earlier one begins as well.
pub(super) fn count_once(files: &mut [FileReport]) {
    // All are compared before any is changed: a copy may be copied again.
    let copied = (0..files.len()).map(|at| {
        let (before, rest) = files.split_at(at);
        before.iter().map(|other| shared(other, &rest[0])).max().unwrap_or_default()
    });
    let copied: Vec<usize> = copied.collect();
    for (file, copied) in files.iter_mut().zip(copied).filter(|(_, copied)| *copied > 0) {
        file.drop_first(copied);
    }
}

/// With how many same answers two sessions begin; none unless an answer among them has a time, or
/// calls, whose IDs no other answer has, or one of the sessions says that it began with the other.
fn shared(one: &FileReport, other: &FileReport) -> usize {
    let pairs = one.series.iter().zip(&other.series);
    let same = pairs.take_while(|(one, other)| one.answer.is_some() && one.answer == other.answer);
    let answers: Vec<&str> = same.filter_map(|(one, _)| one.answer.as_deref()).collect();
    let is_fork = [(one, other), (other, one)]
        .iter()
        .any(|(one, other)| one.session.is_some() && one.session == other.forked_from);
    let is_told =
        is_fork || answers.iter().any(|answer| answer.contains(TIME) || calls(answer) > 0);
    if is_told { answers.len() } else { 0 }
}

/// How many calls an answer has.
fn calls(answer: &str) -> u64 {
    answer.matches(SEPARATOR).count() as u64
}

impl FileReport {
    /// Takes the first calls out of the sums and the series: they count in another transcript.
    fn drop_first(&mut self, count: usize) {
        let copied: Vec<CallReport> = self.series.drain(..count).collect();
        let calls = copied.iter().filter_map(|call| call.answer.as_ref()).map(|ids| calls(ids));
        let copied = Counts { requests: copied.len() as u64, calls: calls.sum() };
        (self.held, self.read) = (self.held.without(copied), self.read.without(copied));
        self.copied = copied.requests;
        self.epochs.retain(|epoch| epoch.call >= copied.requests);
        self.sum_up();
    }
}
