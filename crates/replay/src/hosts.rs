//! Plays a transcript as a host without Palimpsest sends it: as it is, or made smaller by a rule
//! that other programs use, so that the bill has something to stand beside. If the window is
//! limited, the host compacts.
//!
//! Must not measure anything.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use strum::{EnumString, IntoStaticStr};

use super::compaction::{Compacting, Sized};
use super::facts::ToolCalls;
use super::measure::message::{MeasuredMessage, Speaker};
use super::play::{Played, PlayedChange, PlayedRequest, Playing, answers, sized, summary};
use super::transcript::Transcript;
use base::error::Result;
use base::harness::{Call, ToolKind};
use session::number_of;

/// What stands in place of content that a rule takes out.
const TAKEN_OUT: &str = "[Old tool result content cleared]";
/// [`HostRule::Clearing`]: tokens of the newest outputs that stay, and tokens that must be freed.
const STAYING_TOKENS: u64 = 40_000;
const FREED_TOKENS: u64 = 20_000;
/// [`HostRule::Clearing`]: number of newest turns whose outputs stay.
const STAYING_TURNS: usize = 2;
/// [`HostRule::Pruning`]: number of answers after which the arguments of a failed call leave.
const FAILED_ANSWERS: usize = 4;

/// How a host without Palimpsest keeps its requests small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum HostRule {
    /// Not at all.
    Plain,
    /// All outputs but the newest `keepResults` are masked at every call, as SWE-agent does
    /// (`last_n_observations`; *The Complexity Trap*, 2025).
    Masking,
    /// When a person writes, outputs before the newest 40,000 tokens of outputs and before the last
    /// two turns are cleared, if that frees 20,000 tokens, as OpenCode does with `compaction.prune`.
    Clearing,
    /// What the plug-in *Dynamic Context Pruning* does by itself at every call: of calls that are
    /// alike, only the newest output stays; the text of a written file leaves once the file is read;
    /// the arguments of a failed call leave after four answers.
    Pruning,
}

/// Plays a transcript; `each` gets every call in order. Of the settings, only `keepResults` has an
/// effect. `hidden`: tokens that messages have beyond what they show, by their indexes.
///
/// # Errors
/// Errors of `each`.
pub fn play_host(
    rule: HostRule,
    transcript: &Transcript,
    playing: &Playing,
    hidden: &[u64],
    each: &mut dyn FnMut(Played) -> Result<()>,
) -> Result<()> {
    let mut host = RuledHost::new(transcript, playing, hidden);
    for (call, before) in answers(&transcript.messages).enumerate() {
        host.take_out(rule, before);
        let compaction_cost = host.compacting.compact_if_due(&host.sizes[..before]);
        let changes = vec![host.change(before, compaction_cost.is_some())];
        let compaction_cost = compaction_cost.unwrap_or(0.0);
        let (notices, tool_calls) = (Vec::new(), ToolCalls::default());
        each(Played { call, before, changes, notices, compaction_cost, tool_calls })?;
    }
    Ok(())
}

/// A tool call of a transcript that was answered.
struct Answered {
    /// Index of the message that made it, and of its result.
    at: usize,
    result: usize,
    id: String,
    /// The same number for calls that are alike.
    number: u64,
    kind: ToolKind,
    path: String,
    failed: bool,
}

/// A host, with the messages as it sends them.
struct RuledHost<'a> {
    playing: &'a Playing,
    given: &'a [String],
    hidden: &'a [u64],
    speakers: Vec<Speaker>,
    calls: Vec<Answered>,
    sizes: Vec<Sized>,
    /// The messages that go out changed.
    cut: HashMap<usize, String>,
    compacting: Compacting,
    /// The previous request.
    sent: Vec<PlayedRequest>,
    /// Number of messages that the rule has seen.
    seen: usize,
}

impl<'a> RuledHost<'a> {
    fn new(transcript: &'a Transcript, playing: &'a Playing, hidden: &'a [u64]) -> Self {
        let given = transcript.messages.as_slice();
        let counter = playing.counter;
        let parsed = MeasuredMessage::parse_all(given, counter);
        let fixed_units = playing.fixed_tokens * counter.units_per_token();
        let mut host = Self {
            playing,
            given,
            hidden,
            speakers: parsed.iter().map(MeasuredMessage::speaker).collect(),
            calls: answered(given, &parsed),
            sizes: Vec::new(),
            cut: HashMap::new(),
            compacting: Compacting::new(counter, fixed_units, playing.window_tokens),
            sent: Vec::new(),
            seen: 0,
        };
        host.sizes =
            parsed.iter().enumerate().map(|(at, message)| host.size(at, message)).collect();
        host
    }

    /// The size of a message that goes out as this.
    fn size(&self, at: usize, message: &MeasuredMessage) -> Sized {
        let unit = self.playing.counter.units_per_token();
        let hidden = self.hidden.get(at).copied().unwrap_or(0) * unit;
        let sized = sized(message);
        Sized { units: sized.units + hidden, ..sized }
    }

    /// Applies the rule to the messages before an answer.
    fn take_out(&mut self, rule: HostRule, before: usize) {
        match rule {
            HostRule::Plain => {}
            HostRule::Masking => {
                let keep =
                    usize::try_from(self.playing.settings.keep_results).unwrap_or(usize::MAX);
                let outputs: Vec<usize> = self.outputs(before).rev().skip(keep).collect();
                self.cut_outputs(outputs);
            }
            HostRule::Clearing => self.clear(before),
            HostRule::Pruning => self.prune(before),
        }
        self.seen = before;
    }

    /// [`HostRule::Clearing`].
    fn clear(&mut self, before: usize) {
        let by_person = |at: &usize| self.speakers[*at] == Speaker::Other;
        if !(self.seen..before).any(|at| by_person(&at)) {
            return;
        }
        // The turn that begins now has no output yet.
        let Some(turn) = (0..before).rev().filter(by_person).nth(STAYING_TURNS) else { return };
        let unit = self.playing.counter.units_per_token();
        let (mut passed, mut old, mut freed) = (0, Vec::new(), 0);
        for at in self.outputs(turn).rev().take_while(|at| !self.cut.contains_key(at)) {
            passed += self.sizes[at].units;
            if passed > STAYING_TOKENS * unit {
                freed += self.sizes[at].units;
                old.push(at);
            }
        }
        if freed > FREED_TOKENS * unit {
            self.cut_outputs(old);
        }
    }

    /// [`HostRule::Pruning`].
    fn prune(&mut self, before: usize) {
        let of_model = |at: &usize| self.speakers[*at] == Speaker::Assistant;
        let last = (0..before).rev().filter(of_model).nth(FAILED_ANSWERS - 1).unwrap_or(0);
        let (mut outputs, mut arguments) = (Vec::new(), Vec::new());
        let (mut newest, mut read_later) = (HashSet::new(), HashSet::new());
        for call in self.calls.iter().rev().filter(|call| call.result < before) {
            if !newest.insert(call.number) {
                outputs.push(call.result);
            }
            let is_read = call.kind == ToolKind::Write && read_later.contains(&call.path);
            if is_read || (call.failed && call.at < last) {
                arguments.push((call.at, call.id.clone()));
            }
            if call.kind == ToolKind::Read {
                read_later.insert(&call.path);
            }
        }
        self.cut_outputs(outputs);
        for (at, call) in arguments {
            self.cut_arguments(at, &call);
        }
    }

    /// Positions of the outputs before a message.
    fn outputs(&self, before: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..before).filter(|at| self.speakers[*at] == Speaker::Tool)
    }

    fn cut_outputs(&mut self, outputs: Vec<usize>) {
        for at in outputs {
            if !self.cut.contains_key(&at) {
                let mut message: Value = serde_json::from_str(&self.given[at]).unwrap_or_default();
                message["content"] = json!([{ "type": "text", "text": TAKEN_OUT }]);
                self.replace(at, message.to_string());
            }
        }
    }

    /// Takes out the long arguments of a call.
    fn cut_arguments(&mut self, at: usize, call: &str) {
        let json = self.cut.get(&at).unwrap_or(&self.given[at]);
        let mut message: Value = serde_json::from_str(json).unwrap_or_default();
        let blocks = message["content"].as_array_mut().into_iter().flatten();
        for block in blocks.filter(|block| block["id"] == call) {
            let arguments = block["arguments"].as_object_mut();
            for (_, value) in arguments.into_iter().flatten() {
                if value.to_string().len() > TAKEN_OUT.len() {
                    *value = Value::from(TAKEN_OUT);
                }
            }
        }
        self.replace(at, message.to_string());
    }

    fn replace(&mut self, at: usize, json: String) {
        if self.cut.get(&at) != Some(&json) {
            self.sizes[at] = self.size(at, &MeasuredMessage::parse(&json, self.playing.counter));
            self.cut.insert(at, json);
        }
    }

    /// How the next request differs from the previous one. `compacted`: all of it is new.
    fn change(&mut self, before: usize, compacted: bool) -> PlayedChange {
        let Compacting { start, compactions, .. } = self.compacting;
        let summary = (compactions > 0).then(|| PlayedRequest::Ours(summary(0)));
        let sent = (start..before).map(|index| match self.cut.get(&index) {
            Some(json) => PlayedRequest::Changed { index, json: json.clone() },
            None => PlayedRequest::Given(index),
        });
        let list: Vec<PlayedRequest> = summary.into_iter().chain(sent).collect();
        let same = self.sent.iter().zip(&list).take_while(|(a, b)| a == b).count();
        let at = if compacted { 0 } else { same };
        let remove = self.sent.len() - at;
        let insert = list[at..].to_vec();
        self.sent = list;
        PlayedChange { at, remove, insert }
    }
}

/// The answered calls of a transcript, in order.
fn answered(given: &[String], parsed: &[MeasuredMessage]) -> Vec<Answered> {
    let results: HashMap<&str, usize> = parsed
        .iter()
        .enumerate()
        .filter_map(|(at, message)| Some((message.answers.as_deref()?, at)))
        .collect();
    let has_failed = |result: usize| {
        let message: Value = serde_json::from_str(&given[result]).unwrap_or_default();
        message["isError"] == true
    };
    let made = parsed.iter().enumerate();
    let made = made.flat_map(|(at, message)| message.calls.iter().map(move |call| (at, call)));
    made.filter_map(|(at, call)| {
        let result = *results.get(call.id.as_str())?;
        let asked = Call::new(&call.tool, &call.args);
        Some(Answered {
            at,
            result,
            id: call.id.clone(),
            number: number_of((&call.tool, call.args.to_string())),
            kind: asked.kind(),
            path: asked.path().unwrap_or_default().to_owned(),
            failed: has_failed(result),
        })
    })
    .collect()
}
