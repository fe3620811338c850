//! What the model needed: lines that it took from an earlier message, and which message. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::message::{MeasuredMessage, Speaker};
use base::object::canonical_json;

/// Names of the argument that holds a path, in order of preference.
const PATH_ARGUMENTS: [&str; 3] = ["path", "file_path", "filePath"];

/// A line in an answer of the model that comes from an earlier message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Index of the line in [`TranscriptNeeds::lines`].
    pub line: usize,
    /// Index of the source: the latest message with the line that a person or the model wrote, or
    /// otherwise the latest output.
    pub source: usize,
    /// Whether a person or the model wrote the source.
    pub said: bool,
    /// Index of the latest output with the line, if that came after the source.
    pub shown_again: Option<usize>,
}

/// All needs of a transcript.
#[derive(Debug, Default)]
pub struct TranscriptNeeds {
    /// Each line that is ever needed.
    pub lines: Vec<NeededLine>,
    /// The needs of each call, in order.
    pub calls: Vec<Vec<Need>>,
    by_text: HashMap<String, usize>,
}

/// A line that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededLine {
    /// Its text, without surrounding white space.
    pub text: String,
    /// Number of different origins of the outputs that hold it, over the whole transcript.
    pub origins: usize,
}

/// Where a line occurs.
#[derive(Debug, Default)]
struct Held {
    output: Option<usize>,
    said: Option<usize>,
    origins: HashSet<usize>,
}

impl TranscriptNeeds {
    /// Finds the needs of a transcript.
    pub fn find(messages: &[MeasuredMessage]) -> Self {
        let origins = origins(messages);
        let mut held: HashMap<&str, Held> = HashMap::new();
        let mut needs = Self::default();
        for (index, message) in messages.iter().enumerate() {
            if message.speaker() == Speaker::Assistant {
                let call = needs.of_answer(message, &held);
                needs.calls.push(call);
            }
            for line in message.lines() {
                let place = held.entry(line).or_default();
                if message.speaker() == Speaker::Tool {
                    place.output = Some(index);
                    place.origins.extend(origins.get(&index));
                } else {
                    place.said = Some(index);
                }
            }
        }
        for line in &mut needs.lines {
            line.origins = held.get(line.text.as_str()).map_or(0, |place| place.origins.len());
        }
        needs
    }

    /// The index of a line that is ever needed.
    pub fn line(&self, text: &str) -> Option<usize> {
        self.by_text.get(text).copied()
    }

    fn of_answer(&mut self, message: &MeasuredMessage, held: &HashMap<&str, Held>) -> Vec<Need> {
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for line in message.lines().filter(|line| seen.insert(*line)) {
            let Some(place) = held.get(line) else { continue };
            let Some(source) = place.said.or(place.output) else { continue };
            let shown_again = place.output.filter(|output| *output > source);
            let said = place.said.is_some();
            found.push(Need { line: self.intern(line), source, said, shown_again });
        }
        found
    }

    fn intern(&mut self, text: &str) -> usize {
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        let index = self.lines.len();
        self.lines.push(NeededLine { text: text.to_owned(), origins: 0 });
        self.by_text.insert(text.to_owned(), index);
        index
    }
}

/// The origin of each output as a number. Two outputs have the same origin if their calls have the
/// same path argument or, if there is none, the same arguments. IDs may repeat: the newest call
/// before the output counts.
fn origins(messages: &[MeasuredMessage]) -> HashMap<usize, usize> {
    let mut asked: HashMap<&str, &Value> = HashMap::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut found = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        asked.extend(message.calls.iter().map(|call| (call.id.as_str(), &call.args)));
        let Some(args) = message.answers.as_ref().and_then(|id| asked.get(id.as_str())) else {
            continue;
        };
        let next = numbers.len();
        found.insert(index, *numbers.entry(origin(args)).or_insert(next));
    }
    found
}

fn origin(args: &Value) -> String {
    let path = PATH_ARGUMENTS.iter().find_map(|name| args.get(name)?.as_str());
    match path {
        Some(path) => path.to_owned(),
        None => canonical_json(args).unwrap_or_else(|_| args.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use context::tokens::Counter;

    fn messages(values: &[Value]) -> Vec<MeasuredMessage> {
        values
            .iter()
            .map(|value| MeasuredMessage::parse(&value.to_string(), Counter::Characters))
            .collect()
    }

    fn says(role: &str, text: &str) -> Value {
        json!({ "role": role, "content": [{ "type": "text", "text": text }] })
    }

    fn asks(id: &str, args: &Value) -> Value {
        let call = json!({ "type": "toolCall", "id": id, "name": "run", "arguments": args });
        json!({ "role": "assistant", "content": [call] })
    }

    fn answers(id: &str, text: &str) -> Value {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "role": "toolResult", "toolCallId": id, "content": content })
    }

    fn line(name: &str) -> String {
        format!("{name} {}", "=".repeat(30))
    }

    #[test]
    fn the_source_is_the_latest_output_until_somebody_said_it() {
        let line = line("a");
        let found = TranscriptNeeds::find(&messages(&[
            answers("x", &format!("  {line}\nmore")),
            answers("y", &line),
            says("assistant", &format!("{line}\n{line}")),
            answers("z", &line),
            says("assistant", &line),
            says("user", &line),
            says("assistant", &line),
        ]));
        let need = |source, said, shown_again| vec![Need { line: 0, source, said, shown_again }];
        let expected = [need(1, false, None), need(2, true, Some(3)), need(5, true, None)];
        assert_eq!(found.calls, expected);
    }

    #[test]
    fn a_new_line_or_one_inside_a_longer_line_is_no_need() {
        let line = line("a");
        let found = TranscriptNeeds::find(&messages(&[
            answers("x", &format!("12: {line}")),
            says("assistant", &format!("{line}\nshort")),
            says("user", "short"),
            says("assistant", "short"),
        ]));
        assert_eq!(found.calls, [vec![], vec![]]);
    }

    #[test]
    fn lines_of_arguments_are_needed_and_said() {
        let line = line("a");
        let found = TranscriptNeeds::find(&messages(&[
            answers("x", &line),
            asks("1", &json!({ "edits": [{ "old": format!("x\n\t{line}\n") }] })),
            says("assistant", &line),
        ]));
        assert_eq!(found.calls[0], [Need { line: 0, source: 0, said: false, shown_again: None }]);
        assert_eq!(found.calls[1], [Need { line: 0, source: 1, said: true, shown_again: None }]);
    }

    #[test]
    fn origins_are_paths_else_arguments_over_the_whole_transcript() {
        let (first, second, third) = (line("a"), line("b"), line("c"));
        let found = TranscriptNeeds::find(&messages(&[
            asks("1", &json!({ "path": "p", "offset": 1 })),
            answers("1", &format!("{first}\n{second}")),
            asks("2", &json!({ "path": "p", "offset": 9 })),
            answers("2", &format!("{first}\n{third}")),
            says("assistant", &format!("{first}\n{second}\n{third}")),
            // Later ones count too, and the same arguments in another order are one origin.
            asks("3", &json!({ "a": 1, "b": 2 })),
            answers("3", &second),
            asks("4", &json!({ "b": 2, "a": 1 })),
            answers("4", &format!("{second}\n{third}")),
        ]));
        let origins = |text: &str| found.lines[found.line(text).unwrap()].origins;
        assert_eq!([&first, &second, &third].map(|text| origins(text)), [1, 2, 2]);
    }
}
