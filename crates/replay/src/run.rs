//! Replays one transcript: plays it, measures each call, and writes the requests on demand.

use super::dump::Dump;
use super::hosts::play_host;
use super::measure::message::MeasuredMessage;
use super::measure::{Measure, MeasuredSides};
use super::options::{Replaying, Sender};
use super::play::{Played, Playing, answers, play};
use super::recorded::{FIRST_TIME, Follows, Recorded};
use super::report::copies::{SEPARATOR, TIME};
use super::report::{Contents, FileReport, Foreseen};
use super::transcript::{Format, Transcript};
use base::error::Result;
use config::Layout;
use context::tokens::Counter;

/// Replays a transcript with the options that it records, as far as they follow it. `prices`: name
/// of the price table of the others. `oracle`: whether to add what foresight would cost.
///
/// # Errors
/// As [`replay`].
pub fn replay_recorded(
    transcript: &Transcript,
    given: &Replaying,
    follows: Follows,
    prices: &str,
    oracle: bool,
) -> Result<FileReport> {
    let recorded = Recorded::of(transcript, given.counter);
    let replaying = recorded.options(given, follows);
    let hidden: &[u64] = if follows.sizes { &recorded.hidden } else { &[] };
    let mut report = replay(transcript, &replaying, hidden)?;
    let given = (!follows.prices).then_some(prices);
    report.recorded = recorded.report(&mut report.series, &replaying, given);
    report.sum_up();
    report.oracle = oracle.then(|| foreseen(transcript, &replaying, hidden)).transpose()?;
    Ok(report)
}

/// Replays a transcript. `hidden`: tokens that messages have beyond what they show, by their
/// indexes.
///
/// # Errors
/// Errors of the session; `FILE` if the dump cannot be written.
pub fn replay(
    transcript: &Transcript,
    replaying: &Replaying,
    hidden: &[u64],
) -> Result<FileReport> {
    replayed(transcript, replaying, hidden, false)
}

/// Replays a transcript in the layout `log`, regardless of the options, with perfect foresight
/// instead of hazards. `hidden` as for [`replay`].
///
/// # Errors
/// Errors of the session.
pub fn foreseen(
    transcript: &Transcript,
    replaying: &Replaying,
    hidden: &[u64],
) -> Result<Foreseen> {
    let sender = Sender::Ours(Layout::Log);
    let replaying = Replaying { sender, dump: None, ..replaying.clone() };
    Ok(Foreseen::of(&replayed(transcript, &replaying, hidden, true)?))
}

/// `foresees`: whether the session knows the transcript's needs.
fn replayed(
    transcript: &Transcript,
    replaying: &Replaying,
    hidden: &[u64],
    foresees: bool,
) -> Result<FileReport> {
    let mut measure = Measure::new(&transcript.messages, replaying, hidden);
    let mut report = FileReport::new(transcript);
    let dump = replaying.dump.as_ref().map(|folder| Dump::create(folder, &transcript.name));
    let mut dump = dump.transpose()?;
    let mut each = |played: Played| {
        if let Some(dump) = &mut dump {
            dump.call(played.call, &played.changes, &transcript.messages)?;
        }
        let measured = measure.call(&played);
        let contents = contents(&measured, replaying);
        report.add(measured, contents, &played.notices);
        report.tool_calls.add(played.tool_calls);
        Ok(())
    };
    let playing = Playing { foresees, ..replaying.playing() };
    match replaying.sender {
        Sender::Host(rule) => play_host(rule, transcript, &playing, hidden, &mut each)?,
        Sender::Ours(_) => drop(play(transcript, &playing, &mut each)?),
    }
    dump.map_or(Ok(()), Dump::finish)?;
    for (call, answer) in report.series.iter_mut().zip(answers(&transcript.messages)) {
        call.answer = name_of(&transcript.messages[answer], transcript.format);
    }
    report.sum_up();
    Ok(report)
}

/// What tells an answer from all others: the IDs of its calls, a number of its text, and its time,
/// without which calls of most programs are not told. Codex gives copies times of their own, and
/// calls IDs that nobody else gives.
fn name_of(answer: &str, format: Format) -> Option<String> {
    let message = MeasuredMessage::parse(answer, Counter::Characters);
    let ids = message.calls.iter().map(|call| format!("{}{SEPARATOR}", call.id));
    let name = ids.collect::<String>() + &format!("{:x}", message.number());
    if format == Format::Codex {
        return Some(name);
    }
    let time = message.timestamp.filter(|time| *time > FIRST_TIME)?;
    Some(format!("{name}{TIME}{time}"))
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn contents(measured: &MeasuredSides, replaying: &Replaying) -> Contents {
    let tokens = |units: u64| units as f64 / replaying.counter.units_per_token() as f64;
    Contents {
        fixed: (replaying.host_tokens + replaying.sent_overhead()) as f64,
        user: tokens(measured.kinds.user),
        assistant: tokens(measured.kinds.assistant),
        output: tokens(measured.kinds.output),
        reference: tokens(measured.kinds.reference),
    }
}
