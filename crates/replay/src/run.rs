//! Replays one transcript: plays it, measures each call, and writes the requests on demand.

use super::dump::Dump;
use super::hosts::play_host;
use super::measure::{Measure, Measured, Measuring};
use super::options::{Replaying, Sender};
use super::play::{Played, play, play_foreseen};
use super::report::{Contents, FileReport, Foreseen};
use super::transcript::Transcript;
use base::error::Result;
use config::Layout;

/// Replays a transcript.
///
/// # Errors
/// Errors of the session; `FILE` if the dump cannot be written.
pub fn replay(transcript: &Transcript, replaying: &Replaying) -> Result<FileReport> {
    let is_ours = matches!(replaying.sender, Sender::Ours(_));
    let overhead_tokens = if is_ours { replaying.overhead_tokens } else { 0 };
    let measuring = measuring(replaying, overhead_tokens);
    let mut measure = Measure::new(&transcript.messages, &measuring);
    let mut report = FileReport::new(&transcript.name, &transcript.notes);
    let dump = replaying.dump.as_ref().map(|folder| Dump::create(folder, &transcript.name));
    let mut dump = dump.transpose()?;
    let mut each = |played: Played| {
        if let Some(dump) = &mut dump {
            dump.call(played.call, &played.changes, &transcript.messages)?;
        }
        let measured = measure.call(&played);
        let contents = contents(&measured, &measuring);
        report.add(measured, contents, &played.notices);
        report.tool_calls.add(played.tool_calls);
        Ok(())
    };
    match replaying.sender {
        Sender::Host(rule) => {
            play_host(rule, transcript, &replaying.playing(Layout::Log, 0), &mut each)?;
        }
        Sender::Ours(layout) => {
            let playing = replaying.playing(layout, replaying.overhead_tokens);
            drop(play(transcript, &playing, &mut each)?);
        }
    }
    dump.map_or(Ok(()), Dump::finish)?;
    Ok(report)
}

/// Replays a transcript in the layout `log`, regardless of the options, with perfect foresight
/// instead of hazards.
///
/// # Errors
/// Errors of the session.
pub fn foreseen(transcript: &Transcript, replaying: &Replaying) -> Result<Foreseen> {
    let measuring = measuring(replaying, replaying.overhead_tokens);
    let playing = replaying.playing(Layout::Log, replaying.overhead_tokens);
    let mut measure = Measure::new(&transcript.messages, &measuring);
    let mut report = FileReport::new(&transcript.name, &[]);
    drop(play_foreseen(transcript, &playing, &mut |played| {
        let measured = measure.call(&played);
        let contents = contents(&measured, &measuring);
        report.add(measured, contents, &played.notices);
        Ok(())
    })?);
    Ok(Foreseen::of(&report))
}

fn measuring(replaying: &Replaying, overhead_tokens: u64) -> Measuring {
    Measuring {
        prices: replaying.prices.clone(),
        counter: replaying.counter,
        window_tokens: replaying.window_tokens,
        host_tokens: replaying.host_tokens,
        overhead_tokens,
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn contents(measured: &Measured, measuring: &Measuring) -> Contents {
    let tokens = |units: u64| units as f64 / measuring.counter.units_per_token() as f64;
    Contents {
        fixed: (measuring.host_tokens + measuring.overhead_tokens) as f64,
        user: tokens(measured.kinds.user),
        assistant: tokens(measured.kinds.assistant),
        output: tokens(measured.kinds.output),
        reference: tokens(measured.kinds.reference),
    }
}
