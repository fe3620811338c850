//! The searchable texts of an object, each with its place. Pure; must not know a store.
//!
//! `object::item` knows which parts of an item hold text.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::terms::{TermKind, each_term};
use base::object::{Envelope, Hash, ObjectType, Source, item};

/// Bytes of terms after which further texts of the same row are skipped.
const MAX_ROW_BYTES: usize = 16 << 20;

/// Payload fields without text, or whose text another field has too.
const NO_TEXT_FIELDS: [&str; 10] = [
    "args_display",
    "file_type",
    "harness",
    "host_session",
    "no_content",
    "state",
    "status",
    "tool",
    "type",
    "view",
];

/// One text of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// Its place: `path`, `content`, `fields.args.command`, `message.content[0].text`.
    pub(crate) place: String,
    /// The text itself.
    pub(crate) text: String,
}

/// Terms of a row, separated by spaces: those of names, of texts, and each joined form of an
/// identifier once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Columns(pub(crate) [String; 3]);

impl Columns {
    /// Distinguishes rows of one object.
    pub(crate) fn digest(&self) -> i64 {
        let hash = Hash::of(self.0.join("\n")).to_bytes().unwrap_or_default();
        hash.iter().take(8).fold(0, |digest, byte| (digest << 8) | i64::from(*byte))
    }
}

/// The name of the session that an object belongs to, from its own or its chat's ID; `None` for
/// objects that sessions share.
pub fn session_of<'a>(envelope: &'a Envelope, fields: &'a Map<String, Value>) -> Option<&'a str> {
    let id = envelope.id.as_str();
    match envelope.kind {
        ObjectType::File => None,
        ObjectType::Toolcall => fields.get("chat_ref")?.as_str()?.strip_prefix("chat:"),
        ObjectType::ChatSegment => {
            id.strip_prefix("chat_segment:")?.rsplit_once(':').map(|split| split.0)
        }
        ObjectType::Chat | ObjectType::Session | ObjectType::SystemPrompt => {
            id.split_once(':').map(|split| split.1)
        }
    }
}

/// The searchable texts of a version or an item. Terms in a name weigh more than those in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Searched {
    /// The path of a file, the tool of a toolcall, a nickname.
    pub(crate) name: Vec<Text>,
    /// The other texts, the content first.
    pub(crate) texts: Vec<Text>,
}

impl Searched {
    /// The texts of a version: its name, its contents, the strings in its fields.
    ///
    /// `contents`: its content as `content`, additional ones by their names.
    pub(crate) fn version(
        envelope: &Envelope,
        fields: &Map<String, Value>,
        contents: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut searched = Self::default();
        if let Some(path) = envelope.source.as_ref().and_then(Source::path) {
            searched.name.push(Text { place: "path".to_owned(), text: path.to_owned() });
        }
        if let Some(tool) = fields.get("tool").and_then(Value::as_str) {
            searched.name.push(Text { place: "fields.tool".to_owned(), text: tool.to_owned() });
        }
        let texts = contents.into_iter().map(|(place, text)| Text { place, text });
        searched.texts.extend(texts.filter(|text| !text.text.is_empty()));
        let is_text = |key: &str| {
            !item::names_identifier(key) && !NO_TEXT_FIELDS.contains(&&*key.to_lowercase())
        };
        for (key, value) in fields.iter().filter(|(key, _)| is_text(key)) {
            strings(value, format!("fields.{key}"), &|_| true, &mut searched.texts);
        }
        searched
    }

    /// The texts of an item: a chat's message, without the arguments and results of tool calls,
    /// which are objects of their own; or a session's notes.
    pub(crate) fn item(kind: ObjectType, text: &str) -> Self {
        let mut searched = Self::default();
        let Ok(value) = serde_json::from_str::<Value>(text) else { return searched };
        if let Some((place, part)) = item::searched_part(kind, &value) {
            strings(part, place.to_owned(), &item::holds_searched_text, &mut searched.texts);
        }
        searched
    }

    /// The text of a nickname.
    pub(crate) fn nickname(nickname: &str) -> Self {
        let name = vec![Text { place: "nickname".to_owned(), text: nickname.to_owned() }];
        Self { name, texts: Vec::new() }
    }

    /// The terms in the form of the index; `None` if there are none.
    pub(crate) fn columns(&self) -> Option<Columns> {
        let mut columns = Columns::default();
        let mut joined = BTreeSet::new();
        let mut add = |text: &Text, column: &mut String| {
            each_term(&text.text, |term, _, kind| {
                match kind {
                    TermKind::Joined => drop(joined.insert(term.to_owned())),
                    TermKind::Part => {
                        if !column.is_empty() {
                            column.push(' ');
                        }
                        column.push_str(term);
                    }
                }
                ControlFlow::Continue(())
            });
        };
        for text in &self.name {
            add(text, &mut columns.0[0]);
        }
        for text in &self.texts {
            if columns.0[1].len() < MAX_ROW_BYTES {
                add(text, &mut columns.0[1]);
            }
        }
        columns.0[2] = joined.into_iter().collect::<Vec<_>>().join(" ");
        columns.0.iter().any(|column| !column.is_empty()).then_some(columns)
    }

    /// All texts, those that are quoted first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().chain(&self.name)
    }
}

/// Adds the strings in a JSON value, except under keys without text.
fn strings(value: &Value, place: String, is_text: &dyn Fn(&str) -> bool, found: &mut Vec<Text>) {
    match value {
        Value::String(text) if !text.is_empty() => found.push(Text { place, text: text.clone() }),
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                strings(value, format!("{place}[{at}]"), is_text, found);
            }
        }
        Value::Object(values) => {
            for (key, value) in values.iter().filter(|(key, _)| is_text(key)) {
                strings(value, format!("{place}.{key}"), is_text, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use base::object::ObjectId;

    fn places(searched: &Searched) -> Vec<(&str, &str)> {
        searched
            .name
            .iter()
            .chain(&searched.texts)
            .map(|text| (&*text.place, &*text.text))
            .collect()
    }

    #[test]
    fn a_toolcall_is_searched_by_tool_output_and_arguments() {
        let envelope = Envelope::unsourced(ObjectId::new("call"), ObjectType::Toolcall).unwrap();
        let fields = json!({
            "tool": "bash", "args": { "command": "ls", "id": "x", "all": [1, "a"] }, "args_display": "ls",
            "chat_ref": "chat:s", "status": "ok", "file_refs": ["f"], "short_summary": "lists",
        });
        let contents = [("content".to_owned(), "out".to_owned())];
        let searched = Searched::version(&envelope, fields.as_object().unwrap(), contents);
        let expected = [
            ("fields.tool", "bash"),
            ("content", "out"),
            ("fields.args.command", "ls"),
            ("fields.args.id", "x"),
            ("fields.args.all[1]", "a"),
            ("fields.short_summary", "lists"),
        ];
        assert_eq!(places(&searched), expected);
    }

    #[test]
    fn a_file_is_searched_by_its_path() {
        let source = Source::Filesystem { filesystem_id: "fs".into(), path: "/a/b.rs".into() };
        let envelope = Envelope::sourced(ObjectType::File, source).unwrap();
        let fields = json!({ "file_type": "rs", "char_count": 0 });
        let searched = Searched::version(&envelope, fields.as_object().unwrap(), []);
        assert_eq!(places(&searched), [("path", "/a/b.rs")]);
    }

    #[test]
    fn a_message_is_searched_without_ids_signatures_and_data() {
        let item = json!({ "turn": 1, "step": 1, "message": {
            "role": "assistant", "provider": "p", "responseId": "r", "content": [
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "xx" },
                { "type": "text", "text": "hello" },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                { "type": "toolCall", "id": "c", "name": "bash", "arguments": { "data": "d", "id": "i" } },
            ] } });
        let searched = Searched::item(ObjectType::Chat, &item.to_string());
        let expected = [
            ("message.content[0].thinking", "hm"),
            ("message.content[1].text", "hello"),
            ("message.content[3].name", "bash"),
        ];
        assert_eq!(places(&searched), expected);
    }

    #[test]
    fn results_events_and_what_is_not_json_give_nothing() {
        let result = json!({ "turn": 1, "message": { "role": "toolResult", "content": "text" } });
        for (kind, item) in [
            (ObjectType::Chat, &*result.to_string()),
            (ObjectType::Chat, "no json"),
            (ObjectType::Session, r#"{"event":"called","text":"a"}"#),
        ] {
            assert_eq!(Searched::item(kind, item), Searched::default(), "{item}");
        }
        let note =
            Searched::item(ObjectType::Session, r#"{"event":"noted","at":1,"text":"a note"}"#);
        assert_eq!(places(&note), [("text", "a note")]);
    }
}
