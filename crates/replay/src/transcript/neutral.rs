//! The neutral form: a first line `{"session":{…}}`, then one pi-ai message per line, which is
//! passed on unchanged.
//!
//! Only `id`, `cwd` and `tools` (name to `{kind}`) of the first line are used. Must not know
//! another format.

use serde_json::Value;

use super::lines::Line;
use super::message::Message;
use super::notes::Notes;
use super::pi::counts_of_answer;
use super::{Counts, Parts};

/// Whether a line is the first of a file in this form. Without it, `messages` tells the messages
/// from those of other lists.
pub(super) fn knows(line: &Line<'_>) -> bool {
    let has = |key: &str| line.object.contains_key(key);
    let is_head = !["type", "items", "messages", "role"].into_iter().any(has);
    is_head && line.object_at("session").is_some()
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let (mut parts, mut held) = (Parts::default(), Counts::default());
    for line in lines {
        if let Some(session) = line.object_at("session").filter(|_| knows(&line)) {
            let text = |key: &str| session.get(key).and_then(Value::as_str).map(str::to_owned);
            (parts.session_id, parts.cwd) = (text("id"), text("cwd"));
            let tools = session.get("tools").and_then(Value::as_object).into_iter().flatten();
            let kinds = tools.filter_map(|(name, tool)| {
                Some((name.clone(), tool.get("kind")?.as_str()?.to_owned()))
            });
            parts.tool_kinds.extend(kinds);
            continue;
        }
        let (number, is_system) = (line.number, line.text_at("role") == Some("system"));
        if line.text_at("role") == Some("assistant") {
            held = held + counts_of_answer(&line.object);
        }
        match Message::taken(line.object, line.text, notes) {
            Some(message) => parts.messages.push(message),
            None if is_system => notes.count_at("system messages left out", number),
            None => notes.count_at("lines that are not messages left out", number),
        }
    }
    parts.held = Some(held);
    parts
}
