//! Collects what is learned from: at each call what is known of every older output and step, and in how many of the next calls
//! it is needed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

use crate::context::deeds;
use crate::context::hazard::{OutputWeights, StepWeights, output_features, step_features};
use crate::context::tokens::Counter;
use crate::error::Result;
use crate::replay::measure::FIXED_TOKENS;
use crate::replay::measure::message::{Message, Speaker};
use crate::replay::measure::needs::Needs;
use crate::replay::play::{Playing, play_watched};
use crate::replay::transcript::Transcript;
use crate::session::Session;
use crate::settings::Settings;

/// An output or step counts when so many newer ones stand behind it: before, it stays whatever its hazard is.
const MIN_AGE: u32 = 6;
/// So many calls ahead are looked at, about as long as an epoch.
const AHEAD_CALLS: usize = 20;

/// Those whose features are the same, as bits, in whatever session.
pub(super) type Alike<const N: usize> = BTreeMap<[u64; N], Seen>;

/// What became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Calls ahead.
    pub(super) calls: u64,
    /// Those of them that needed it.
    pub(super) needs: u64,
}

/// What was collected. Counts alone, so no order of the sessions shows in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Sessions.
    pub sessions: u64,
    /// Calls.
    pub calls: u64,
    /// Calls that needed an older output, once for each such output.
    pub output_needs: u64,
    /// Calls that needed an older step, once for each such step.
    pub step_needs: u64,
    /// Outputs.
    pub(super) outputs: Alike<{ OutputWeights::COUNT }>,
    /// Steps.
    pub(super) steps: Alike<{ StepWeights::COUNT }>,
}

impl Samples {
    /// Plays a transcript and adds what it shows.
    ///
    /// # Errors
    /// What the session reports.
    pub fn take(&mut self, transcript: &Transcript) -> Result<()> {
        let told = Told::new(&transcript.messages);
        self.sessions += 1;
        self.calls += told.calls as u64;
        drop(play_watched(transcript, &playing(), &mut |played, session| {
            self.take_outputs(session, &told, played.call, played.before);
            self.take_steps(session, &told, played.call, played.before);
            Ok(())
        })?);
        Ok(())
    }

    /// The outputs before a call.
    fn take_outputs(&mut self, session: &Session, told: &Told, call: usize, before: usize) {
        let older = told.outputs.partition_point(|at| *at < before);
        for at in &told.outputs[..older.saturating_sub(MIN_AGE as usize)] {
            let Some(features) = output_features(session, *at as u64) else { continue };
            let (seen, now) = told.ahead(*at, call);
            let inputs = OutputWeights::inputs(&features).map(f64::to_bits);
            self.outputs.entry(inputs).or_default().add(seen);
            self.output_needs += u64::from(now);
        }
    }

    /// The steps before a call.
    fn take_steps(&mut self, session: &Session, told: &Told, call: usize, before: usize) {
        let older = told.steps.partition_point(|range| *range.start() < before);
        for range in &told.steps[..older] {
            let places = *range.start() as u64..=*range.end() as u64;
            let features = step_features(session, places);
            let Some(features) = features.filter(|step| step.steps_since >= MIN_AGE) else {
                continue;
            };
            let (seen, now) = told.ahead(*range.start(), call);
            let inputs = StepWeights::inputs(&features).map(f64::to_bits);
            self.steps.entry(inputs).or_default().add(seen);
            self.step_needs += u64::from(now);
        }
    }
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.needs += other.needs;
    }
}

/// What a transcript tells without being played.
struct Told {
    calls: usize,
    /// Indexes of the outputs.
    outputs: Vec<usize>,
    /// Indexes of the messages of each step with calls.
    steps: Vec<RangeInclusive<usize>>,
    /// The calls that need an output, or the model's own words, by the index of the message; in order.
    needed: HashMap<usize, Vec<usize>>,
}

impl Told {
    fn new(messages: &[String]) -> Self {
        let messages: Vec<Message> =
            messages.iter().map(|json| Message::parse(json, Counter::Characters)).collect();
        let places = |speaker| {
            let of = move |(at, message): (usize, &Message)| {
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
            needed: needed(&messages),
        }
    }

    /// What the calls from this one on need of a message, and whether this one does.
    fn ahead(&self, at: usize, call: usize) -> (Seen, bool) {
        let end = (call + AHEAD_CALLS).min(self.calls);
        let calls = (end - call) as u64;
        let Some(needing) = self.needed.get(&at) else { return (Seen { calls, needs: 0 }, false) };
        let from = needing.partition_point(|needs| *needs < call);
        let to = needing.partition_point(|needs| *needs < end);
        (Seen { calls, needs: (to - from) as u64 }, needing.get(from) == Some(&call))
    }
}

/// The calls that need each message: an output whose lines nobody had said before, or an answer whose words would be lost with
/// its step, since neither a line for that nor what a person wrote holds them.
fn needed(messages: &[Message]) -> HashMap<usize, Vec<usize>> {
    let needs = Needs::find(messages);
    let mut by_person: HashSet<usize> = HashSet::new();
    let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut calls = needs.calls.iter().enumerate();
    for message in messages {
        match message.speaker() {
            Speaker::Other => by_person.extend(message.lines().filter_map(|line| needs.line(line))),
            Speaker::Tool => {}
            Speaker::Assistant => {
                let Some((call, of_call)) = calls.next() else { break };
                for need in of_call {
                    let text = &needs.lines[need.line].text;
                    let is_kept = by_person.contains(&need.line)
                        || (need.said && is_in_line(&messages[need.source], text));
                    let needing = found.entry(need.source).or_default();
                    if !is_kept && needing.last() != Some(&call) {
                        needing.push(call);
                    }
                }
            }
        }
    }
    found
}

/// Whether the line that would stand for a step shows this line of its answer.
fn is_in_line(answer: &Message, line: &str) -> bool {
    answer.calls.iter().any(|call| deeds::brief(&call.args).contains(line))
}

/// Nothing leaves the window and nothing is shown in part: the features do not depend on it, and it takes no time.
fn playing() -> Playing {
    Playing {
        settings: Settings { collapse_tokens: u64::MAX, preview_tokens: 0, ..Settings::default() },
        counter: Counter::Characters,
        window_tokens: None,
        fixed_tokens: FIXED_TOKENS,
        overhead_tokens: 0,
    }
}
