//! Checks whether a provider's request holds the texts we gave the host. If not, another extension
//! changed the list after us. Pure, and lenient about formats: compares the texts of persons and
//! tools in order, ignoring white space and phrases that Pi's converters insert. Must not decide
//! what is recorded.
//!
//! Understands the messages of Anthropic, `OpenAI` (completions and responses), Gemini, Bedrock,
//! Mistral and Pi itself. Other requests are not compared.

use serde_json::Value;

use super::host::HostMessage;
use base::object::Hash;

/// JSON pointers to the list of messages in each format.
const LISTS: [&str; 4] = ["/messages", "/input", "/contents", "/context/messages"];

/// Phrases that Pi's converters (0.87.1) insert for images and for missing or empty results, and
/// what the one for Mistral puts before a failed result. Without white space.
const PHRASES: [&str; 12] = [
    "(imageomitted:modeldoesnotsupportimages)",
    "(toolimageomitted:modeldoesnotsupportimages)",
    "[toolimageomitted:modeldoesnotsupportimages]",
    "(seeattachedimage)",
    "(notooloutput)",
    "Noresultprovided",
    "Attachedimage(s)fromtoolresult:",
    "Toolresultimage:",
    "Imagereadingisdisabled.",
    "[toolerror]",
    "<empty>",
    "\u{fffd}",
];

/// The text of a request's message, for comparison.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestText {
    /// Text in the user role.
    User(Hash),
    /// Text of a tool.
    Tool(Hash),
    /// Unknown text in the user role, such as the host's own. It may also be missing.
    UnknownUser,
    /// Unknown text of a tool.
    UnknownTool,
}

impl RequestText {
    /// The text of a host's message; `None` if it is not compared. `content`, if given, replaces
    /// its own.
    pub fn of_message(message: &HostMessage, content: Option<&str>) -> Option<Self> {
        let is_tool = match message.key.role.as_str() {
            "assistant" | "system" => return None,
            "user" | "custom" => false,
            "toolResult" => true,
            _ => return Some(Self::UnknownUser),
        };
        if message.withheld.is_some() {
            return Some(if is_tool { Self::UnknownTool } else { Self::UnknownUser });
        }
        let words = match content {
            Some(content) => {
                let content: Value = serde_json::from_str(content).unwrap_or_default();
                words(&text_of(&content))
            }
            None => words(&message.texts.concat()),
        };
        Self::known(&words, is_tool)
    }

    /// Whether its text is known.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::User(_) | Self::Tool(_))
    }

    fn is_tool(&self) -> bool {
        matches!(self, Self::Tool(_) | Self::UnknownTool)
    }

    fn known(words: &str, is_tool: bool) -> Option<Self> {
        if words.is_empty() {
            return None;
        }
        let hash = Hash::of(words);
        Some(if is_tool { Self::Tool(hash) } else { Self::User(hash) })
    }
}

/// The messages of a request, in its own format; `None` if the format is unknown.
pub fn messages(request: &Value) -> Option<&Vec<Value>> {
    LISTS.iter().find_map(|place| request.pointer(place)?.as_array())
}

/// The texts of a request's message, in order: each tool result separately, the rest together.
pub fn said_in(message: &Value) -> Vec<RequestText> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let kind = message.get("type").and_then(Value::as_str).unwrap_or_default();
    let content = message.get("content").or_else(|| message.get("parts"));
    if matches!(kind, "function_call_output" | "custom_tool_call_output") {
        return tool(message.get("output")).into_iter().collect();
    }
    match (role, content) {
        ("tool" | "toolResult", content) => tool(content).into_iter().collect(),
        ("user", Some(Value::Array(blocks))) => {
            let mut said: Vec<RequestText> =
                blocks.iter().filter_map(|block| tool(result(block))).collect();
            let own = blocks.iter().filter(|block| result(block).is_none());
            let text: String = own.map(text_of).collect();
            said.extend(RequestText::known(&words(&text), false));
            said
        }
        // Pi's own format keeps the roles of messages.
        ("user" | "custom", Some(content)) => {
            RequestText::known(&words(&text_of(content)), false).into_iter().collect()
        }
        ("bashExecution" | "branchSummary" | "compactionSummary", _) => {
            vec![RequestText::UnknownUser]
        }
        _ => Vec::new(),
    }
}

/// Whether two lists say the same. An unknown text matches any one text of its kind in the other
/// list, or none.
pub fn says_the_same(ours: &[RequestText], theirs: &[RequestText]) -> bool {
    let mut rest = theirs.iter().filter(|said| said.is_known());
    // Number of texts that may be skipped: user texts, and tool texts.
    let mut unknown = [0_usize; 2];
    for said in theirs.iter().filter(|said| !said.is_known()) {
        unknown[usize::from(said.is_tool())] += 1;
    }
    let pass_over = |unknown: &mut [usize; 2], said: &RequestText| {
        let left = &mut unknown[usize::from(said.is_tool())];
        let may = *left > 0;
        *left = left.saturating_sub(1);
        may
    };
    for said in ours {
        if !said.is_known() {
            unknown[usize::from(said.is_tool())] += 1;
            continue;
        }
        loop {
            match rest.next() {
                Some(found) if found == said => break,
                Some(found) if pass_over(&mut unknown, found) => {}
                _ => return false,
            }
        }
    }
    rest.all(|said| pass_over(&mut unknown, said))
}

/// The content of a block that is a tool result, in the formats of Anthropic, Bedrock and Gemini.
fn result(block: &Value) -> Option<&Value> {
    if block.get("type").is_some_and(|kind| kind == "tool_result") {
        return Some(block.get("content").unwrap_or(&Value::Null));
    }
    let inner = block.get("toolResult").map(|result| result.get("content"));
    let response = || block.get("functionResponse").map(|result| result.get("response"));
    inner.or_else(response).map(|content| content.unwrap_or(&Value::Null))
}

fn tool(content: Option<&Value>) -> Option<RequestText> {
    RequestText::known(&words(&text_of(content?)), true)
}

/// The whole text of a content: a string, blocks with `text`, or Gemini's `output` and `error`.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text_of).collect(),
        Value::Object(block) => {
            let text =
                ["text", "output", "error"].iter().find_map(|name| block.get(*name)?.as_str());
            text.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// A text without white space and without the converters' phrases.
fn words(text: &str) -> String {
    let mut words: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    for phrase in PHRASES {
        if words.contains(phrase) {
            words = words.replace(phrase, "");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tokens::Counter;

    fn ours(messages: &[Value]) -> Vec<RequestText> {
        let messages = messages
            .iter()
            .map(|message| HostMessage::parse(message.to_string(), Counter::default()));
        messages.filter_map(|message| RequestText::of_message(&message, None)).collect()
    }

    fn theirs(request: &Value) -> Vec<RequestText> {
        messages(request).unwrap().iter().flat_map(said_in).collect()
    }

    fn list() -> Vec<Value> {
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let two =
            json!([{ "type": "text", "text": "out " }, { "type": "text", "text": "[t1] note" }]);
        let image = json!([{ "type": "image", "data": "AA", "mimeType": "image/png" }]);
        vec![
            json!({ "role": "compactionSummary", "summary": "so far" }),
            json!({ "role": "user", "content": text("do it\n") }),
            json!({ "role": "assistant", "content": text("well") }),
            json!({ "role": "toolResult", "toolCallId": "a", "content": two }),
            json!({ "role": "toolResult", "toolCallId": "b", "content": image }),
            json!({ "role": "toolResult", "toolCallId": "c", "content": text("failed") }),
            json!({ "role": "bashExecution", "command": "ls", "excludeFromContext": true }),
            json!({ "role": "custom", "content": "from elsewhere" }),
        ]
    }

    fn requests() -> Vec<(&'static str, Value)> {
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let summary = "The conversation before was summarised: so far";
        vec![
            (
                "anthropic",
                json!({ "messages": [
                { "role": "user", "content": text(summary) },
                { "role": "user", "content": text("do it") },
                { "role": "assistant", "content": text("well") },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "out" }, { "type": "text", "text": "[t1] note" }] },
                    { "type": "tool_result", "tool_use_id": "b", "content": [{ "type": "text", "text": "(see attached image)" }] },
                    { "type": "tool_result", "tool_use_id": "c", "content": "failed" },
                ] },
                { "role": "user", "content": "from elsewhere" },
            ] }),
            ),
            (
                "completions",
                json!({ "messages": [
                { "role": "system", "content": "system" },
                { "role": "user", "content": text(summary) },
                { "role": "user", "content": text("do it") },
                { "role": "assistant", "content": "well" },
                { "role": "tool", "tool_call_id": "a", "content": "out \n[t1] note" },
                { "role": "tool", "tool_call_id": "b", "content": "(see attached image)" },
                { "role": "tool", "tool_call_id": "c", "content": "[tool error] failed" },
                { "role": "user", "content": text("Attached image(s) from tool result:") },
                { "role": "user", "content": text("from elsewhere") },
            ] }),
            ),
            (
                "responses",
                json!({ "input": [
                { "role": "user", "content": [{ "type": "input_text", "text": summary }] },
                { "role": "user", "content": [{ "type": "input_text", "text": "do it" }] },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "well" }] },
                { "type": "function_call_output", "call_id": "a", "output": "out \n[t1] note" },
                { "type": "function_call_output", "call_id": "b", "output": [{ "type": "input_image" }] },
                { "type": "custom_tool_call_output", "call_id": "c", "output": "failed" },
                { "role": "user", "content": [{ "type": "input_text", "text": "from elsewhere" }] },
            ] }),
            ),
            (
                "gemini",
                json!({ "contents": [
                { "role": "user", "parts": [{ "text": summary }] },
                { "role": "user", "parts": [{ "text": "do it" }] },
                { "role": "model", "parts": [{ "text": "well" }] },
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "x", "response": { "output": "out \n[t1] note" } } },
                    { "functionResponse": { "name": "x", "response": { "output": "" } } },
                    { "functionResponse": { "name": "x", "response": { "error": "failed" } } },
                ] },
                { "role": "user", "parts": [{ "text": "from elsewhere" }] },
            ] }),
            ),
            (
                "bedrock",
                json!({ "messages": [
                { "role": "user", "content": [{ "text": summary }] },
                { "role": "user", "content": [{ "text": "do it" }] },
                { "role": "assistant", "content": [{ "text": "well" }] },
                { "role": "user", "content": [
                    { "toolResult": { "toolUseId": "a", "content": [{ "text": "out" }, { "text": "[t1] note" }] } },
                    { "toolResult": { "toolUseId": "b", "content": [{ "text": "<empty>" }] } },
                    { "toolResult": { "toolUseId": "c", "content": [{ "text": "failed" }] } },
                ] },
                { "role": "user", "content": [{ "text": "from elsewhere" }, { "cachePoint": { "type": "default" } }] },
            ] }),
            ),
            ("pi", json!({ "context": { "messages": list() } })),
        ]
    }

    #[test]
    fn every_format_says_what_the_list_says() {
        for (format, request) in requests() {
            assert!(says_the_same(&ours(&list()), &theirs(&request)), "{format}");
        }
    }

    #[test]
    fn a_changed_missing_or_added_text_is_noticed_in_every_format() {
        let mut changed = list();
        changed[3]["content"][0]["text"] = json!("OUT");
        let mut added = list();
        let one = json!({ "role": "toolResult", "content": "x" });
        added.insert(4, one);
        let mut missing = list();
        missing.remove(5);
        for (format, request) in requests() {
            for list in [&changed, &added, &missing] {
                assert!(!says_the_same(&ours(list), &theirs(&request)), "{format}");
            }
        }
    }

    #[test]
    fn what_is_no_request_is_not_compared() {
        for request in [json!(null), json!({ "prompt": "x" }), json!({ "messages": "x" })] {
            assert_eq!(messages(&request), None);
        }
    }

    fn any_said() -> impl Strategy<Value = RequestText> {
        prop_oneof![
            "[ab]".prop_map(|text| RequestText::User(Hash::of(text))),
            "[ab]".prop_map(|text| RequestText::Tool(Hash::of(text))),
            Just(RequestText::UnknownUser),
            Just(RequestText::UnknownTool),
        ]
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn a_list_says_the_same_as_itself(list in prop::collection::vec(any_said(), 0..8)) {
            prop_assert!(says_the_same(&list, &list));
        }

        #[test]
        fn without_unknown_texts_only_equal_lists_say_the_same(
            one in prop::collection::vec(any_said(), 0..4), other in prop::collection::vec(any_said(), 0..4),
        ) {
            let known = |list: Vec<RequestText>| -> Vec<RequestText> {
                list.into_iter().filter(RequestText::is_known).collect()
            };
            let (one, other) = (known(one), known(other));
            prop_assert_eq!(says_the_same(&one, &other), one == other);
        }
    }
}
