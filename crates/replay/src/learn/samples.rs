//! Collects samples: at each call the features of every older output and step, and how many of the
//! next calls need it.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use crate::measure::FIXED_TOKENS;
use crate::measure::message::{MeasuredMessage, Speaker};
use crate::measure::needed::needed;
use crate::play::{Playing, play_watched};
use crate::transcript::Transcript;
use base::error::Result;
use config::Settings;
use context::hazard::{OUTPUT_COUNT, STEP_COUNT, SeenOutput, SeenStep};
use context::tokens::Counter;
use session::{NEWEST_STEPS, Session};

/// An output counts only after this many newer ones. Until then it stays in the window, whatever
/// its hazard.
const MIN_NEWER_OUTPUTS: usize = 3;
/// Features are rounded to 1 / this, so that similar items are counted together.
const DIGITS: f64 = 4.0;
/// Number of calls to look ahead, about the length of an epoch.
const AHEAD_CALLS: usize = 20;

/// Counts of all items with the same features (as bits), over all sessions.
pub(super) type Alike<const N: usize> = BTreeMap<[u64; N], NeedCount>;

/// How often items were needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NeedCount {
    /// Number of calls examined.
    pub(super) calls: u64,
    /// Number of those calls that needed the item.
    pub(super) needs: u64,
}

/// The samples. They are only counts, so the order of the sessions does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Sessions.
    pub sessions: u64,
    /// Calls.
    pub calls: u64,
    /// Needs of older outputs: one for each call and each output that it needs.
    pub output_needs: u64,
    /// Needs of older steps: one for each call and each step that it needs.
    pub step_needs: u64,
    /// Outputs.
    pub(super) outputs: Alike<OUTPUT_COUNT>,
    /// Steps.
    pub(super) steps: Alike<STEP_COUNT>,
}

impl Samples {
    /// Plays a transcript and adds its samples.
    ///
    /// # Errors
    /// Those of the session.
    pub fn take(&mut self, transcript: &Transcript) -> Result<()> {
        let told = UnplayedTranscript::new(&transcript.messages);
        self.sessions += 1;
        self.calls += told.calls as u64;
        drop(play_watched(transcript, &playing(), &mut |played, session| {
            self.take_outputs(session, &told, played.call, played.before);
            self.take_steps(session, &told, played.call, played.before);
            Ok(())
        })?);
        Ok(())
    }

    /// Adds the outputs before a call.
    fn take_outputs(
        &mut self,
        session: &Session,
        told: &UnplayedTranscript,
        call: usize,
        before: usize,
    ) {
        let older = told.outputs.partition_point(|at| *at < before);
        for at in &told.outputs[..older.saturating_sub(MIN_NEWER_OUTPUTS)] {
            let Some(output) = SeenOutput::at(session, *at as u64) else { continue };
            let (seen, now) = told.ahead(*at, call);
            self.outputs.entry(rounded(output.features())).or_default().add(seen);
            self.output_needs += u64::from(now);
        }
    }

    /// Adds the steps before a call.
    fn take_steps(
        &mut self,
        session: &Session,
        told: &UnplayedTranscript,
        call: usize,
        before: usize,
    ) {
        let older = told.steps.partition_point(|range| *range.start() < before);
        for range in &told.steps[..older] {
            let places = *range.start() as u64..=*range.end() as u64;
            let step = SeenStep::at(session, places);
            let Some(step) = step.filter(|step| step.steps_since >= NEWEST_STEPS) else {
                continue;
            };
            let (seen, now) = told.ahead(*range.start(), call);
            self.steps.entry(rounded(step.features())).or_default().add(seen);
            self.step_needs += u64::from(now);
        }
    }
}

/// The bits of the features, rounded.
fn rounded<const N: usize>(inputs: [f64; N]) -> [u64; N] {
    inputs.map(|input| ((input * DIGITS).round() / DIGITS).to_bits())
}

impl NeedCount {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.needs += other.needs;
    }
}

/// What a transcript tells without playing it.
struct UnplayedTranscript {
    calls: usize,
    /// Indexes of the outputs.
    outputs: Vec<usize>,
    /// Indexes of the messages of each step with calls.
    steps: Vec<RangeInclusive<usize>>,
    /// For each message that is an output or the model's own words, the calls that need it, in
    /// order.
    needed: HashMap<usize, Vec<usize>>,
}

impl UnplayedTranscript {
    fn new(messages: &[String]) -> Self {
        let messages = MeasuredMessage::parse_all(messages, Counter::Characters);
        let places = |speaker| {
            let of = move |(at, message): (usize, &MeasuredMessage)| {
                (message.speaker() == speaker).then_some(at)
            };
            messages.iter().enumerate().filter_map(of)
        };
        let step = |at: usize| {
            let results = messages[at + 1..].iter();
            at..=at + results.take_while(|message| message.speaker() == Speaker::Tool).count()
        };
        let with_calls = places(Speaker::Assistant).filter(|at| !messages[*at].calls.is_empty());
        Self {
            calls: places(Speaker::Assistant).count(),
            outputs: places(Speaker::Tool).collect(),
            steps: with_calls.map(step).collect(),
            needed: needed(&messages, true),
        }
    }

    /// The number of calls from this one on that need a message, and whether this one does.
    fn ahead(&self, at: usize, call: usize) -> (NeedCount, bool) {
        let end = (call + AHEAD_CALLS).min(self.calls);
        let calls = (end - call) as u64;
        let Some(needing) = self.needed.get(&at) else {
            return (NeedCount { calls, needs: 0 }, false);
        };
        let from = needing.partition_point(|needs| *needs < call);
        let to = needing.partition_point(|needs| *needs < end);
        (NeedCount { calls, needs: (to - from) as u64 }, needing.get(from) == Some(&call))
    }
}

/// Options with which nothing leaves the window and nothing is previewed. This is fast, and the
/// features do not depend on it.
fn playing() -> Playing {
    Playing {
        settings: Settings { collapse_tokens: u64::MAX, preview_tokens: 0, ..Settings::default() },
        snapshots: None,
        foresees: false,
        counter: Counter::Characters,
        window_tokens: None,
        fixed_tokens: FIXED_TOKENS,
        overhead_tokens: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_ahead_are_counted_up_to_the_end() {
        let told = UnplayedTranscript {
            calls: 50,
            outputs: vec![],
            steps: vec![],
            needed: HashMap::from([(7, vec![10, 29, 30])]),
        };
        let ahead = |call| {
            let (seen, now) = told.ahead(7, call);
            (seen.calls, seen.needs, now)
        };
        assert_eq!(ahead(10), (20, 2, true));
        assert_eq!(ahead(11), (20, 2, false));
        assert_eq!(ahead(45), (5, 0, false));
        assert_eq!(told.ahead(8, 10), (NeedCount { calls: 20, needs: 0 }, false));
    }
}
