//! Finds what the model needed from earlier outputs: lines it writes that come from one of them.
//!
//! Derived only from the texts of the window and kept in memory. Needs are recorded as events, so
//! they survive a restart. Must not decide anything.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

use super::host::HostMessage;
use session::number_of;

/// Shorter lines do not show where they come from.
const MIN_LINE_CHARS: usize = 30;

/// Which lines occurred where.
#[derive(Debug, Default)]
pub struct Evidence {
    lines: HashMap<u64, LineSeen>,
    taken: usize,
}

/// Where a line occurred. Small, since there is one for each line of a session.
#[derive(Debug, Default)]
struct LineSeen {
    /// The newest output with the line.
    output: Option<ChatPosition>,
    /// The newest message of a person or the model with the line.
    said: Option<ChatPosition>,
}

/// A position in the chat, plus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ChatPosition(NonZeroU32);

impl ChatPosition {
    fn at(position: u64) -> Self {
        let next = u32::try_from(position).unwrap_or(u32::MAX).saturating_add(1);
        Self(NonZeroU32::new(next).unwrap_or(NonZeroU32::MAX))
    }

    fn position(self) -> u64 {
        u64::from(self.0.get()) - 1
    }
}

/// What an answer of the model needed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AnswerNeeds {
    /// The outputs whose lines it repeats although nobody had written them before: their positions
    /// in order, each with the number of such lines.
    pub outputs: Vec<(u64, u32)>,
    /// For each line that somebody had written before: where that was last, and the newest output
    /// with the line. In the order of the places.
    pub words: Vec<(u64, Option<u64>)>,
}

impl Evidence {
    /// Number of messages of the window handled so far.
    pub fn len(&self) -> usize {
        self.taken
    }

    /// Whether no message was handled yet.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Skips the next message of the window, which has no needs.
    pub fn pass(&mut self) -> AnswerNeeds {
        self.taken += 1;
        AnswerNeeds::default()
    }

    /// Handles the next message of the window; returns the needs of a model's answer.
    ///
    /// `held`: the output in a message that is no result.
    pub fn take(&mut self, at: u64, message: &HostMessage, held: Option<&str>) -> AnswerNeeds {
        self.taken += 1;
        if message.withheld.is_some() {
            return AnswerNeeds::default();
        }
        let here = Some(ChatPosition::at(at));
        let said = message.said();
        let lines = said.iter().flat_map(|text| text.split('\n')).filter_map(key);
        if message.key.role == "toolResult" {
            lines.for_each(|line| self.lines.entry(line).or_default().output = here);
            return AnswerNeeds::default();
        }
        let held: HashSet<u64> =
            held.into_iter().flat_map(|text| text.split('\n')).filter_map(key).collect();
        let mut needed: HashMap<ChatPosition, u32> = HashMap::new();
        let mut words = Vec::new();
        for line in lines.collect::<HashSet<u64>>() {
            let seen = self.lines.entry(line).or_default();
            if held.contains(&line) {
                seen.output = here;
                continue;
            }
            match (seen.said, seen.output) {
                _ if message.key.role != "assistant" => {}
                (Some(said), output) => {
                    words.push((said.position(), output.map(ChatPosition::position)));
                }
                (None, Some(output)) => *needed.entry(output).or_default() += 1,
                (None, None) => {}
            }
            seen.said = here;
        }
        let needed = needed.into_iter().map(|(output, lines)| (output.position(), lines));
        let mut outputs: Vec<_> = needed.collect();
        outputs.sort_unstable();
        words.sort_unstable();
        AnswerNeeds { outputs, words }
    }
}

/// The hash of a line; `None` if the line is too short. A collision would only attribute a need to
/// a wrong line.
fn key(line: &str) -> Option<u64> {
    let line = line.trim();
    if line.len() < MIN_LINE_CHARS || line.chars().nth(MIN_LINE_CHARS - 1).is_none() {
        return None;
    }
    Some(number_of(line))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tokens::Counter;

    const LINE: &str = "fn parse(input: &str) -> Result<Vec<Token>> {";

    fn message(value: &Value) -> HostMessage {
        HostMessage::parse(value.to_string(), Counter::Characters)
    }

    fn output(text: &str) -> HostMessage {
        message(
            &json!({"role": "toolResult", "toolCallId": "a", "content": [{"type": "text", "text": text}]}),
        )
    }

    fn edit(old: &str) -> HostMessage {
        message(&json!({"role": "assistant", "content": [
            {"type": "toolCall", "id": "b", "name": "edit", "arguments": {"edits": [{"oldText": old}]}}
        ]}))
    }

    #[test]
    fn a_line_that_the_model_repeats_from_an_output_is_a_need() {
        let mut evidence = Evidence::default();
        evidence.take(0, &output(&format!("    {LINE}\n")), None);
        evidence.take(1, &output("nothing of it"), None);
        assert_eq!(evidence.take(2, &edit(&format!("{LINE}\nshort")), None).outputs, [(0, 1)]);
        assert_eq!(evidence.len(), 3);
    }

    #[test]
    fn a_line_that_somebody_wrote_before_is_no_need_of_an_output() {
        let mut evidence = Evidence::default();
        evidence.take(0, &output(LINE), None);
        evidence.take(1, &message(&json!({"role": "user", "content": LINE})), None);
        let needs = AnswerNeeds { outputs: Vec::new(), words: vec![(1, Some(0))] };
        assert_eq!(evidence.take(2, &edit(LINE), None), needs);
    }

    #[test]
    fn the_newest_output_with_a_line_is_the_one_that_is_needed() {
        let mut evidence = Evidence::default();
        evidence.take(0, &output(LINE), None);
        evidence.take(1, &output(LINE), None);
        assert_eq!(evidence.take(2, &edit(LINE), None).outputs, [(1, 1)]);
        let own = evidence.take(3, &edit(LINE), None);
        assert_eq!((own.outputs, own.words), (vec![], vec![(2, Some(1))]), "the model said it");
    }

    #[test]
    fn thinking_counts_and_short_lines_do_not() {
        let mut evidence = Evidence::default();
        evidence.take(0, &output(&format!("{LINE}\n}}\nreturn;")), None);
        let thought = json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": format!("I see\n{LINE}\nreturn;")}
        ]});
        assert_eq!(evidence.take(1, &message(&thought), None).outputs, [(0, 1)]);
    }
}
