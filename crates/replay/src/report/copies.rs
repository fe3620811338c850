//! Sessions that begin with a copy of another, or of a part of it: programs write the history into the new
//! file when a session is forked, Codex also when it is resumed, Claude Code for the agent that sums it up.
//! Such requests count once. Pure.

use std::collections::HashMap;

use super::{CallReport, FileReport};
use crate::transcript::Counts;

/// Behind the ID of each call of an answer; then comes the number of its text.
pub const SEPARATOR: char = ',';
/// Before the time of an answer, if it is in the name.
pub const TIME: char = '@';

/// Takes out of each report the calls with which it begins and that another has: an earlier one from its
/// first on, or any in its midst, as where the copy begins at a compaction.
pub(super) fn count_once(files: &mut [FileReport]) {
    let mut places: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        for (from, call) in file.series.iter().enumerate() {
            let Some(answer) = &call.answer else { continue };
            places.entry(answer).or_default().push((at, from));
        }
    }
    // All are compared before any is changed: a copy may be copied again.
    let copied = files.iter().enumerate().map(|(at, file)| {
        let first = file.series.first().and_then(|call| places.get(call.answer.as_deref()?));
        let others = first.into_iter().flatten();
        let before = others.filter(|(other, from)| *other < at || (*other > at && *from > 0));
        before.map(|(other, from)| shared(&files[*other], *from, file)).max().unwrap_or_default()
    });
    let copied: Vec<usize> = copied.collect();
    for (file, copied) in files.iter_mut().zip(copied).filter(|(_, copied)| *copied > 0) {
        file.drop_first(copied);
    }
}

/// With how many answers, from this one of `one` on, the other begins as well; none unless an answer among
/// them has a time, or calls, whose IDs no other answer has, or both begin so and one of the sessions says
/// that it began with the other.
fn shared(one: &FileReport, from: usize, other: &FileReport) -> usize {
    let pairs = one.series[from..].iter().zip(&other.series);
    let same = pairs.take_while(|(one, other)| one.answer.is_some() && one.answer == other.answer);
    let answers: Vec<&str> = same.filter_map(|(one, _)| one.answer.as_deref()).collect();
    let is_fork = [(one, other), (other, one)]
        .iter()
        .any(|(one, other)| one.session.is_some() && one.session == other.forked_from);
    let is_told = (is_fork && from == 0)
        || answers.iter().any(|answer| answer.contains(TIME) || calls(answer) > 0);
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
