//! Sessions that begin with a copy of another: Codex writes the history into the new file when a
//! session is resumed or forked. Such requests count once. Pure.

use super::FileReport;

/// Between the IDs of the calls of an answer.
pub const SEPARATOR: char = ',';

/// Takes out of each report the calls with which an earlier one begins as well.
pub(super) fn count_once(files: &mut [FileReport]) {
    for at in 1..files.len() {
        let (before, rest) = files.split_at_mut(at);
        let file = &mut rest[0];
        let copied = before.iter().map(|other| shared(other, file)).max().unwrap_or_default();
        if copied > 0 {
            file.drop_first(copied);
        }
    }
}

/// With how many same calls two sessions begin; none if no answer among them has an ID.
fn shared(one: &FileReport, other: &FileReport) -> usize {
    if one.session.is_none() || one.session == other.session {
        return 0;
    }
    let pairs = one.series.iter().zip(&other.series);
    let same = pairs.take_while(|(one, other)| one.answer.is_some() && one.answer == other.answer);
    let answers: Vec<&str> = same.filter_map(|(one, _)| one.answer.as_deref()).collect();
    if answers.iter().any(|answer| calls(answer) > 0) { answers.len() } else { 0 }
}

/// How many calls an answer has.
pub(super) fn calls(answer: &str) -> u64 {
    answer.split(SEPARATOR).filter(|id| !id.is_empty()).count() as u64
}
