//! A run of chat messages as one text: what the person and the model said, with arguments of calls,
//! and one line per tool result, whose output is a separate object.
//!
//! Pure. The text follows from the messages and what the session knew about them then, so it never
//! changes later.

use std::ops::Range;

use serde_json::Value;

use super::content::images_of;
use super::forms;
use super::host::HostMessage;
use super::plain::plain;
use base::harness::Call;
use base::object::{Handle, ObjectId};
use session::{LineRange, MessageKind, Session, Shows};

/// Most parts that an outline lists. In longer segments, several turns or steps share one part.
const MAX_PARTS: usize = 40;
/// Characters that an outline quotes from the beginning of a part.
const BEGINNING_CHARS: usize = 60;

/// The words of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// What was said, line by line.
    pub text: String,
    /// The images of the messages, each as the JSON of its block. Images of tool results belong to
    /// the toolcalls.
    pub images: Vec<String>,
    parts: Vec<Part>,
}

/// What one message contributes to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// Its position in the chat.
    at: u64,
    /// Its first line, from 1.
    line: u64,
    turn: u32,
    /// `None` for what the model did not say.
    step: Option<u32>,
    begins: String,
}

impl Words {
    /// The words of the chat's messages from position `first` on, as far as `messages` reach. Tool
    /// results contribute only what the session knows, so their contents may be omitted.
    pub fn of(session: &Session, first: u64, messages: &[HostMessage]) -> Self {
        let mut words = Self::default();
        let mut lines: Vec<String> = Vec::new();
        let mut turn = None;
        for (at, message) in (first..).zip(messages) {
            let Some(known) = session.chat().get(at) else { continue };
            let before = lines.len();
            match &known.kind {
                MessageKind::Result(_) => lines.extend(result_line(session, at)),
                MessageKind::User => {
                    let new = Some(known.turn).filter(|_| turn != Some(known.turn));
                    turn = Some(known.turn);
                    lines.push(forms::speaker_line("user", new));
                    lines.extend(message.texts.iter().flat_map(|text| lines_of(text)));
                }
                MessageKind::Assistant => {
                    // Stop at the end: later results may still come in, and the words must not
                    // change.
                    let end = first + messages.len() as u64;
                    answer(message, answered(session, at + 1..end), session, &mut lines);
                }
                MessageKind::Other => other(message, &mut lines),
            }
            if !matches!(known.kind, MessageKind::Result(_)) && message.images > 0 {
                lines.push(forms::count(message.images, "image"));
                let content = message.content().unwrap_or_default();
                words.images.extend(images_of(content).into_iter().map(str::to_owned));
            }
            if lines.len() > before {
                let begins = beginning(message);
                let is_step = !matches!(known.kind, MessageKind::User | MessageKind::Other);
                let (line, step) = (before as u64 + 1, Some(known.step).filter(|_| is_step));
                words.parts.push(Part { at, line, turn: known.turn, step, begins });
            }
        }
        words.text = lines.join("\n");
        words
    }

    /// The number of lines before the words of a person's message, by its position in the chat.
    pub fn lines_before(&self, at: u64) -> Option<u64> {
        // The line above the words says whose they are.
        self.parts.iter().find(|part| part.at == at).map(|part| part.line)
    }

    /// An outline of a long text: its turns or, within a single turn, its steps.
    pub fn outline(&self, segment: Handle, turns: (u32, u32)) -> String {
        let by_turn = turns.0.max(1) < turns.1;
        let number = |part: &Part| if by_turn { Some(part.turn) } else { part.step };
        let mut groups: Vec<&Part> = Vec::new();
        for part in &self.parts {
            if groups.last().is_none_or(|last| number(last) != number(part)) {
                groups.push(part);
            }
        }
        let lines = self.text.split('\n').count() as u64;
        let at_once = groups.len().div_ceil(MAX_PARTS).max(1);
        let chunks: Vec<&[&Part]> = groups.chunks(at_once).collect();
        let mut shown = vec![forms::outline_line(segment, turns, lines)];
        for (place, chunk) in chunks.iter().enumerate() {
            let (from, to) = (chunk[0], chunk[chunk.len() - 1]);
            let end = chunks.get(place + 1).map_or(lines, |next| next[0].line - 1);
            let range = LineRange { first: from.line, last: end };
            let what = match (number(from), number(to)) {
                (Some(first), Some(last)) if by_turn => forms::turns_phrase((first, last)),
                (Some(first), Some(last)) => forms::steps_phrase((first, last)),
                _ => "user".to_owned(),
            };
            shown.push(forms::outline_part(range, &what, &from.begins));
        }
        shown.join("\n")
    }
}

/// The line of a tool result; `None` for our own tools if they showed nothing.
fn result_line(session: &Session, at: u64) -> Option<String> {
    let fact = session.result(at)?;
    let handle = match (&fact.object, &fact.shows) {
        (Some(object), _) => session.handle(object),
        (None, Shows::Activated { object, version, .. }) => {
            session.index().of_version(object, version).map(|entry| entry.handle)
        }
        (None, _) => None,
    };
    Some(forms::output_line(handle?, fact))
}

/// What the model thought, said and called.
///
/// `objects`: the objects of calls with results, in order, each with the call's ID.
fn answer(
    message: &HostMessage,
    mut objects: Vec<(&str, Option<&ObjectId>)>,
    session: &Session,
    lines: &mut Vec<String>,
) {
    for (speaker, texts) in [("thinking", &message.thinking), ("assistant", &message.texts)] {
        let said: Vec<&String> = texts.iter().filter(|text| !text.trim().is_empty()).collect();
        if !said.is_empty() {
            lines.push(forms::speaker_line(speaker, None));
            lines.extend(said.into_iter().flat_map(|text| lines_of(text)));
        }
    }
    for call in &message.calls {
        let place = objects.iter().position(|(id, _)| *id == call.id);
        let object = place.and_then(|place| objects.remove(place).1);
        let handle = object.and_then(|object| session.handle(object));
        lines.push(forms::call_line(handle, &call.tool));
        arguments(&call.args, "", lines);
    }
}

/// The calls answered by the results right after an answer, in order, each with its object.
fn answered(session: &Session, behind: Range<u64>) -> Vec<(&str, Option<&ObjectId>)> {
    let messages = behind.map_while(|at| session.chat().get(at));
    let of_step = messages
        .take_while(|message| !matches!(message.kind, MessageKind::User | MessageKind::Assistant));
    let results = of_step.filter_map(|message| match &message.kind {
        MessageKind::Result(fact) => {
            Some((message.key.calls.first()?.as_str(), fact.object.as_ref()))
        }
        _ => None,
    });
    results.collect()
}

/// Arguments, one per line: `command: cargo test`. A text of several lines follows its name
/// unchanged.
fn arguments(value: &Value, name: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                arguments(value, &name, lines);
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                arguments(element, &format!("{name}[{at}]"), lines);
            }
        }
        Value::String(text) if text.contains('\n') => {
            lines.push(format!("{name}:"));
            lines.extend(lines_of(text));
        }
        Value::String(text) => lines.push(format!("{name}: {text}")),
        Value::Null => {}
        other => lines.push(format!("{name}: {other}")),
    }
}

/// A message of another kind: a person's command, a summary, an extension's message.
fn other(message: &HostMessage, lines: &mut Vec<String>) {
    let value: Value = serde_json::from_str(&message.raw).unwrap_or_default();
    let named = ["command", "summary"].iter().filter_map(|name| value.get(*name)?.as_str());
    let texts: Vec<&str> = named.chain(message.texts.iter().map(String::as_str)).collect();
    if !texts.is_empty() {
        lines.push(forms::speaker_line(&message.key.role, None));
        lines.extend(texts.into_iter().flat_map(lines_of));
    }
}

/// The beginning of what a message says.
fn beginning(message: &HostMessage) -> String {
    let call = || {
        let call = message.calls.first()?;
        let asked = Call::new(&call.tool, &call.args);
        let about = asked.command().or_else(|| asked.path().map(str::to_owned));
        Some(format!("{} {}", call.tool, about.unwrap_or_default()))
    };
    let first = |texts: &[String]| {
        let mut lines = texts.iter().flat_map(|text| text.lines());
        lines.find(|line| !line.trim().is_empty()).map(str::to_owned)
    };
    let begins = first(&message.texts).or_else(call).or_else(|| first(&message.thinking));
    let begins = begins.unwrap_or_default();
    plain(begins.lines().next().unwrap_or_default()).trim().chars().take(BEGINNING_CHARS).collect()
}

fn lines_of(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}
