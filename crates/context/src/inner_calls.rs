//! Calls that a tool made itself, such as those of a script. They have no messages of their own;
//! the host notes them on the tool's result, Pi since 1.5 as `nestedCalls`. Reads that note; must
//! not judge it.

use serde_json::Value;

use super::host::{HostMessage, HostToolCall};

/// The calls that a tool made.
#[derive(Debug, Default, PartialEq)]
pub struct InnerCalls {
    /// The calls whose arguments are known.
    pub calls: Vec<HostToolCall>,
    /// Whether there were more. The host limits the note.
    pub has_more: bool,
}

impl HostMessage {
    /// The calls that this result's tool made itself.
    pub fn inner_calls(&self) -> InnerCalls {
        // Every message is asked, but few have any, so a text search comes before parsing.
        if self.key.role != "toolResult" || !self.raw.contains("\"nestedCalls\"") {
            return InnerCalls::default();
        }
        let message: Value = serde_json::from_str(&self.raw).unwrap_or_default();
        let Some(note) = message.get("nestedCalls") else { return InnerCalls::default() };
        let noted = note.get("calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let calls: Vec<HostToolCall> = noted.iter().filter_map(call).collect();
        let is_complete =
            note.get("complete").is_some_and(|complete| *complete == Value::Bool(true));
        let has_more = !is_complete || calls.len() < noted.len();
        InnerCalls { calls, has_more }
    }
}

/// A call of the note; `None` if its arguments are left out.
fn call(noted: &Value) -> Option<HostToolCall> {
    let text = |name: &str| noted.get(name)?.as_str().map(str::to_owned);
    Some(HostToolCall {
        id: text("id").unwrap_or_default(),
        tool: text("name")?,
        args: noted.get("arguments")?.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokens::Counter;

    fn inner(note: &Value) -> InnerCalls {
        let message =
            json!({ "role": "toolResult", "toolCallId": "c", "content": [], "nestedCalls": note });
        HostMessage::parse(message.to_string(), Counter::default()).inner_calls()
    }

    #[test]
    fn calls_are_read_from_the_note_and_what_it_lacks_is_said() {
        let read =
            json!({ "id": "c/1", "name": "read", "arguments": { "path": "a" }, "status": "ok" });
        let long = json!({ "id": "c/2", "name": "write", "argumentsBytes": 9_000, "status": "ok" });
        let known =
            HostToolCall { id: "c/1".into(), tool: "read".into(), args: json!({ "path": "a" }) };
        let whole = inner(&json!({ "calls": [read], "complete": true }));
        assert_eq!(whole, InnerCalls { calls: vec![known.clone()], has_more: false });
        for (calls, complete) in [(json!([read, long]), true), (json!([read]), false)] {
            let part = inner(&json!({ "calls": calls, "complete": complete }));
            assert_eq!(part, InnerCalls { calls: vec![known.clone()], has_more: true });
        }
        for odd in [json!(null), json!("x"), json!({ "calls": 3, "complete": "yes" }), json!([])] {
            assert_eq!(inner(&odd).calls, [], "{odd}");
        }
    }
}
