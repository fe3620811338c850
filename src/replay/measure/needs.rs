//! What the model needed: lines that it wrote and had from an earlier message, and where it had them from. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::message::{Message, Speaker};
use crate::object::canonical_json;

/// Names of the argument that is a path, in the order in which they are looked for.
const PATH_ARGUMENTS: [&str; 3] = ["path", "file_path", "filePath"];

/// A line that the model wrote in answer to a call and had from an earlier message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Index of the line in [`Needs::lines`].
    pub line: usize,
    /// Index of the message that it had it from: the latest that a person or the model wrote with it, else the latest output.
    pub source: usize,
    /// Whether the source is what a person or the model wrote.
    pub said: bool,
}

/// All that is needed in a transcript.
#[derive(Debug, Default)]
pub struct Needs {
    /// Each line that is ever needed.
    pub lines: Vec<NeededLine>,
    /// Of each call in order, its needs.
    pub calls: Vec<Vec<Need>>,
    by_text: HashMap<String, usize>,
}

/// A line that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededLine {
    /// Its text without the blanks around it.
    pub text: String,
    /// Origins of the outputs that hold it, over the whole transcript.
    pub origins: usize,
}

/// Where a line stands.
#[derive(Debug, Default)]
struct Held {
    output: Option<usize>,
    said: Option<usize>,
    origins: HashSet<usize>,
}

impl Needs {
    /// Finds the needs of a transcript.
    pub fn find(messages: &[Message]) -> Self {
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

    fn of_answer(&mut self, message: &Message, held: &HashMap<&str, Held>) -> Vec<Need> {
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for line in message.lines().filter(|line| seen.insert(*line)) {
            let Some(place) = held.get(line) else { continue };
            let Some(source) = place.said.or(place.output) else { continue };
            found.push(Need { line: self.intern(line), source, said: place.said.is_some() });
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

/// Of each output that answers a call, its origin as a number: equal where the path argument is, else the arguments are. IDs
/// may repeat: the newest call before counts.
fn origins(messages: &[Message]) -> HashMap<usize, usize> {
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
