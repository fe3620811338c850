//! A message for measuring: its texts, its size, its lines. Pure.
//!
//! Role, text, thinking, tool names and arguments (as JSON) count. Times, IDs and details are not
//! sent, or cost almost nothing.

use serde_json::Value;

use context::host::{HostToolCall, frame_units, image_units, strings};
use context::tokens::Counter;
use session::number_of;

/// Shortest line that counts as a need, in Unicode scalars, without surrounding white space.
const NEEDED_CHARACTERS: usize = 30;

/// Kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text.
    Text,
    /// Name of a called tool.
    Thinking,
    /// Name of a tool that is called.
    Tool,
    /// Arguments of a call, as JSON.
    Arguments,
    /// An image, which has no text here.
    Image,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredPiece {
    /// Its kind.
    pub kind: Kind,
    /// Its text.
    pub text: String,
    /// Its size.
    pub units: u64,
    /// The string values of arguments.
    pub strings: Vec<String>,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// A person, the host, or anyone else.
    Other,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMessage {
    /// Role.
    pub role: String,
    /// Its pieces in order.
    pub pieces: Vec<MeasuredPiece>,
    /// Its size in units of the counter.
    pub units: u64,
    /// Milliseconds since 1970, if known.
    pub timestamp: Option<i64>,
    /// Tool calls that it makes.
    pub calls: Vec<HostToolCall>,
    /// ID of the tool call that it answers.
    pub answers: Option<String>,
}

impl MeasuredMessage {
    /// Reads a session's messages, each given as JSON.
    pub fn parse_all(messages: &[String], counter: Counter) -> Vec<Self> {
        messages.iter().map(|json| Self::parse(json, counter)).collect()
    }

    /// Parses a message; parts of unknown shape are ignored.
    pub fn parse(json: &str, counter: Counter) -> Self {
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let role = text("role").unwrap_or_default().to_owned();
        let mut message = Self {
            units: frame_units(counter, &role),
            role,
            pieces: Vec::new(),
            timestamp: value.get("timestamp").and_then(Value::as_i64),
            calls: Vec::new(),
            answers: text("toolCallId").map(str::to_owned),
        };
        match value.get("content") {
            Some(Value::String(text)) => message.push(Kind::Text, text, counter),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    message.push_block(block, counter);
                }
            }
            _ => {}
        }
        for name in ["command", "output", "summary"] {
            if let Some(text) = text(name) {
                message.push(Kind::Text, text, counter);
            }
        }
        message
    }

    /// Who wrote it.
    pub fn speaker(&self) -> Speaker {
        match self.role.as_str() {
            "assistant" => Speaker::Assistant,
            "toolResult" => Speaker::Tool,
            _ => Speaker::Other,
        }
    }

    /// Its lines that can be needed, from texts, thinking and string values of arguments, without
    /// surrounding white space.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().flat_map(MeasuredPiece::lines)
    }

    /// Whether a cache would treat both as the same.
    pub fn equals(&self, other: &Self) -> bool {
        self.role == other.role && self.pieces == other.pieces
    }

    /// A number derived from what [`Self::equals`] compares.
    pub fn number(&self) -> u64 {
        let pieces: Vec<_> = self.pieces.iter().map(|piece| (piece.kind, &piece.text)).collect();
        number_of((&self.role, pieces))
    }

    /// Size of the common prefix. A role is shared as a whole or not at all.
    pub fn shared_units(&self, other: &Self, counter: Counter) -> u64 {
        if self.role != other.role {
            return 0;
        }
        let mut shared = frame_units(counter, &self.role);
        for (a, b) in self.pieces.iter().zip(&other.pieces) {
            if a == b {
                shared += a.units;
                continue;
            }
            if a.kind == b.kind {
                shared += counter.units(common_prefix(&a.text, &b.text));
            }
            break;
        }
        shared
    }

    fn push(&mut self, kind: Kind, text: &str, counter: Counter) {
        let units = if kind == Kind::Image { image_units(counter) } else { counter.units(text) };
        self.units += units;
        self.pieces.push(MeasuredPiece { kind, text: text.to_owned(), units, strings: Vec::new() });
    }

    fn push_block(&mut self, block: &Value, counter: Counter) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => self.push(Kind::Text, text("text"), counter),
            "thinking" => self.push(Kind::Thinking, text("thinking"), counter),
            "image" => self.push(Kind::Image, "", counter),
            "toolCall" => {
                let args = block.get("arguments").cloned().unwrap_or(Value::Null);
                self.push(Kind::Tool, text("name"), counter);
                self.push(Kind::Arguments, &args.to_string(), counter);
                let mut found = Vec::new();
                strings(&args, &mut found);
                if let Some(piece) = self.pieces.last_mut() {
                    piece.strings = found.into_iter().map(str::to_owned).collect();
                }
                let (id, tool) = (text("id").to_owned(), text("name").to_owned());
                self.calls.push(HostToolCall { id, tool, args });
            }
            _ => {}
        }
    }
}

impl MeasuredPiece {
    /// Its lines that can be needed.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let own = matches!(self.kind, Kind::Text | Kind::Thinking).then_some(&self.text);
        let texts = own.into_iter().chain(&self.strings);
        texts.flat_map(|text| text.split('\n')).map(str::trim).filter(|line| can_be_needed(line))
    }
}

fn can_be_needed(line: &str) -> bool {
    line.chars().nth(NEEDED_CHARACTERS - 1).is_some()
}

/// The longest common prefix of two texts.
fn common_prefix<'a>(a: &'a str, b: &str) -> &'a str {
    let mut same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(same) {
        same -= 1;
    }
    &a[..same]
}

#[cfg(test)]
mod tests {
    use super::*;
    use context::host::HostMessage;

    fn parse(json: &str) -> MeasuredMessage {
        MeasuredMessage::parse(json, Counter::Characters)
    }

    #[test]
    fn a_message_has_the_size_that_the_session_counts() {
        for json in [
            r#"{"role":"user","content":"hello world"}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm ☂"},{"type":"text","text":"a"},{"type":"toolCall","id":"c","name":"read","arguments":{"b":1,"a":"x\ny"}}]}"#,
            r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"x"},{"type":"image","data":""}]}"#,
            r#"{"role":"bashExecution","command":"ls","output":"a\nb"}"#,
            "7",
        ] {
            for counter in [Counter::Characters, Counter::Bundled] {
                let tokens = HostMessage::parse(json, counter).tokens();
                assert_eq!(
                    counter.tokens(MeasuredMessage::parse(json, counter).units),
                    tokens,
                    "{json}"
                );
            }
        }
    }

    #[test]
    fn lines_of_thirty_characters_count_when_trimmed() {
        let line = "é".repeat(30);
        let json = serde_json::json!({ "role": "assistant", "content": [
            { "type": "text", "text": format!("  {line}\r\nshort\n{}", "é".repeat(29)) },
            { "type": "toolCall", "id": "c", "name": "x".repeat(40), "arguments": { "a": [format!("{line}b\n")] } },
        ] });
        let message = parse(&json.to_string());
        assert_eq!(message.lines().collect::<Vec<_>>(), [line.clone(), format!("{line}b")]);
    }

    #[test]
    fn the_front_is_shared_up_to_the_first_other_character() {
        let result = |text: &str| {
            let content = serde_json::json!([{ "type": "text", "text": text }]);
            parse(&serde_json::json!({ "role": "toolResult", "content": content }).to_string())
        };
        let shared = |a: &str, b: &str| result(a).shared_units(&result(b), Counter::Characters);
        assert_eq!(shared("abc☂d", "abc☂e"), 10 + 4);
        assert_eq!(shared("☂", "☃"), 10, "characters are not cut");
        assert_eq!(shared("abc", "abcdef"), 10 + 3);
        let user = parse(r#"{"role":"user","content":[{"type":"text","text":"abc"}]}"#);
        assert_eq!(user.shared_units(&result("abc"), Counter::Characters), 0);
    }
}
