//! The placeholder stored instead of a message whose text must not be stored: its identity, its
//! calls, and a line with its hash and length. Pure; `live` decides which messages these are.

use serde_json::{Map, Value, json};

use super::host::{HostMessage, HostToolCall};
use base::harness::is_given_paths_only;
use base::object::Hash;
use session::{Withheld, WithheldReason};

const MARK_START: &str = "[withheld: ";

impl HostMessage {
    /// Replaces the message's text with a placeholder. `calls`: its calls, without their text.
    #[must_use]
    pub fn withhold(&self, reason: WithheldReason, calls: Vec<HostToolCall>) -> Self {
        let withheld = Withheld {
            reason,
            digest: self.digest().clone(),
            bytes: self.withheld.as_ref().map_or(self.raw.len() as u64, |withheld| withheld.bytes),
            tokens: self.tokens(),
        };
        let raw = self.placeholder(&withheld, &calls).to_string();
        let mut placeholder = Self::from_stored(&raw, Some(withheld), self.counter);
        placeholder.calls = calls;
        placeholder
    }

    fn placeholder(&self, withheld: &Withheld, calls: &[HostToolCall]) -> Value {
        let Withheld { reason, digest, bytes, .. } = withheld;
        let line = format!("[withheld: {}, {bytes} bytes, SHA-256 {digest}]", reason.as_str());
        let mut message = Map::from_iter([("role".to_owned(), json!(self.key.role))]);
        if self.key.role == "bashExecution" {
            message.insert("output".into(), json!(line));
        } else {
            let calls = calls.iter().map(|HostToolCall { id, tool, args }| {
                json!({ "type": "toolCall", "id": id, "name": tool, "arguments": args })
            });
            let text = json!({ "type": "text", "text": line });
            message.insert("content".into(), std::iter::once(text).chain(calls).collect());
        }
        if let Some(tool) = &self.tool {
            message.insert("toolCallId".into(), json!(self.key.calls.first()));
            message.insert("toolName".into(), json!(tool));
            message.extend(self.is_error.map(|failed| ("isError".to_owned(), json!(failed))));
        }
        if let Some(time) = self.key.timestamp {
            message.insert("timestamp".into(), json!(time));
        }
        Value::Object(message)
    }
}

/// Arguments of a call without text: strings become their length and hash, except those that
/// `stays` allows.
pub fn without_text(args: &Value, stays: &dyn Fn(&str) -> bool) -> Value {
    match args {
        Value::String(text) if !stays(text) => json!(mark(text)),
        Value::Array(values) => values.iter().map(|value| without_text(value, stays)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), without_text(value, stays))).collect()
        }
        other => other.clone(),
    }
}

/// A shell command reduced to words that cannot hold text of a file: programs that take only paths,
/// short options, numbers, and words that `stays` allows. `…` and the command's hash replace the
/// rest; if there is no rest, the command stays as it is. Splits at white space so that words stay
/// as written.
pub fn command_without_text(command: &str, stays: &dyn Fn(&str) -> bool) -> String {
    let is_safe = |word: &&str| {
        let is_option = word.len() <= 3 && word.starts_with('-');
        let is_mark = matches!(*word, "|" | "||" | "&&" | ";" | "&");
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() <= 6;
        is_option || is_mark || is_number || is_given_paths_only(word) || stays(word)
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let kept: Vec<&str> = words.iter().copied().filter(is_safe).collect();
    if kept.len() == words.len() {
        return command.to_owned();
    }
    format!("{} … {}", kept.join(" "), mark(command))
}

/// The mark that replaces a text in arguments.
fn mark(text: &str) -> String {
    format!("{MARK_START}{} bytes, SHA-256 {}]", text.len(), Hash::of(text))
}

/// Whether [`without_text`] or [`command_without_text`] removed text from these arguments.
pub fn lacks_text(args: &Value) -> bool {
    match args {
        Value::String(text) => text.contains(MARK_START),
        Value::Array(values) => values.iter().any(lacks_text),
        Value::Object(fields) => fields.values().any(lacks_text),
        _ => false,
    }
}

/// Paths of the files that Pi pasted into a message (`@path` on its command line):
/// `<file name="path">`.
pub fn attached_files(text: &str) -> impl Iterator<Item = &str> {
    text.split("<file name=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Counter;

    const SECRET: &str = "sk-7f3a9c";

    #[test]
    fn a_placeholder_has_the_messages_identity_but_no_text() {
        for raw in [
            r#"{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"sk-7f3a9c"}],"details":{"diff":"sk-7f3a9c"},"isError":false,"timestamp":5}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"sk-7f3a9c"},{"type":"toolCall","id":"c1","name":"write","arguments":{"path":".env","content":"sk-7f3a9c"}}],"timestamp":6}"#,
            r#"{"role":"bashExecution","command":"cat .env","output":"sk-7f3a9c","exitCode":0,"timestamp":7}"#,
            r#"{"role":"user","content":"sk-7f3a9c"}"#,
        ] {
            let given = HostMessage::parse(raw, Counter::Bundled);
            let stays = |text: &str| text == ".env";
            let calls = given.calls.iter().map(|call| HostToolCall {
                args: without_text(&call.args, &stays),
                ..call.clone()
            });
            let held = given.withhold(WithheldReason::Excluded, calls.collect());
            assert!(!format!("{held:?}").contains(SECRET), "{held:?}");
            assert_eq!(
                (&held.key, held.digest(), held.tokens()),
                (&given.key, given.digest(), given.tokens())
            );
            let again = HostMessage::from_stored(&held.raw, held.withheld.clone(), held.counter);
            assert_eq!(format!("{again:?}"), format!("{held:?}"), "it reads back as it was");
            assert!(!again.with_content("[]").contains("withheld"));
        }
    }

    #[test]
    fn commands_keep_what_cannot_be_text_of_a_file() {
        let stays = |word: &str| word == ".env";
        for command in ["cat .env", "head -n 5 .env | sort", "ls -la .env && wc -l .env"] {
            assert_eq!(command_without_text(command, &stays), command);
            assert!(!lacks_text(&json!({ "command": command })));
        }
        for command in
            ["echo KEY=sk-7f3a9c > .env", "grep sk-7f3a9c .env", "cat > .env <<EOF\nsk-7f3a9c\nEOF"]
        {
            let kept = command_without_text(command, &stays);
            assert!(!kept.contains(SECRET) && kept.split(' ').any(|word| word == ".env"), "{kept}");
            assert!(lacks_text(&json!({ "command": kept })));
        }
    }

    #[test]
    fn attached_files_are_found() {
        let text = "<file name=\"/p/.env\">\nA=1\n</file>\n<file name=\"/p/b\"></file>";
        assert_eq!(attached_files(text).collect::<Vec<_>>(), ["/p/.env", "/p/b"]);
    }
}
