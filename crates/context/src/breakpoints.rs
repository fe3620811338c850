//! Finds the place for one more cache breakpoint in a provider's request. Pure: it depends only on
//! the request, so a host that repeats it to keep the cache warm gets the same breakpoint.
//!
//! The host sets breakpoints after system prompt and tools and at the newest message. A new epoch
//! changes what lies between, so the cache would fall back to system prompt and tools. Ours goes on
//! the person's words before the first tool result, which never change. Must not touch anything
//! else in the request.

mod target;

use serde_json::{Value, json};

use self::target::{Target, chars_before, target};
use super::patch::Patch;

/// Most breakpoints per request, at every provider that takes them.
const MAX_BREAKPOINTS: usize = 4;

/// Least number of characters before a breakpoint. Anthropic caches no less than 1,024 tokens of
/// about four characters.
const LEAST_CHARS: usize = 4 * 1_024;

/// First system block of a request made with an OAuth token. Its breakpoint is useless if the next
/// block has one too, so ours replaces it.
const IDENTITY: &str = "You are Claude Code, Anthropic's official CLI for Claude.";

/// How the two families of formats write a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A member of a block: Anthropic, and OpenAI completions for Anthropic's models.
    Member,
    /// A block of its own: Bedrock.
    Block,
}

impl Style {
    fn name(self) -> &'static str {
        match self {
            Self::Member => "cache_control",
            Self::Block => "cachePoint",
        }
    }
}

/// The changes, in order, that add one more breakpoint to a request. Adds none if the request has
/// four already, has one in that place, or has too little text before it. What precedes the
/// messages is the same in all requests of a session, because a message thread continues only then.
///
/// Leaves requests without any breakpoint alone: the provider takes none, or the user wants none.
/// The new breakpoint copies the host's last one, including its lifetime.
pub fn breakpoint(request: &Value) -> Vec<Patch> {
    let Some(messages) = request.get("messages").and_then(Value::as_array) else {
        return Vec::new();
    };
    let style = [Style::Member, Style::Block].into_iter().find_map(|style| {
        Some((style, breakpoints(request, style))).filter(|(_, b)| !b.is_empty())
    });
    let Some((style, present)) = style else { return Vec::new() };
    let freed = (style == Style::Member && has_identity(request))
        .then(|| Patch::Remove { path: format!("/system/0/{}", style.name()) });
    let is_free = present.len() - usize::from(freed.is_some()) < MAX_BREAKPOINTS;
    let put = target(messages).zip(present.last()).filter(|(target, _)| {
        is_free
            && !is_marked(&messages[target.message], target, style)
            && chars_before(messages, target) >= LEAST_CHARS
    });
    let put = put.and_then(|(to, last)| put_on(&messages[to.message], &to, style, (*last).clone()));
    freed.into_iter().chain(put).collect()
}

/// The breakpoints of a request in order: tools, system, messages.
fn breakpoints(request: &Value, style: Style) -> Vec<&Value> {
    let tools = array(request.get("tools")).chain(array(request.pointer("/toolConfig/tools")));
    let messages = array(request.get("messages"));
    let blocks = messages.flat_map(|message| array(message.get("content")));
    // Blocks of a tool result may have their own.
    let inner = array(request.get("messages"))
        .flat_map(|message| array(message.get("content")))
        .flat_map(|block| array(block.get("content")));
    let places = tools.chain(array(request.get("system"))).chain(inner).chain(blocks);
    let marked = |value| Value::get(value, style.name()).filter(|mark| !mark.is_null());
    request.get(style.name()).into_iter().chain(places.filter_map(marked)).collect()
}

fn array(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether the target already has a breakpoint.
fn is_marked(message: &Value, target: &Target, style: Style) -> bool {
    let blocks = message.get("content").and_then(Value::as_array);
    let Some((blocks, block)) = blocks.zip(target.block) else { return false };
    let place = match style {
        Style::Member => blocks.get(block),
        Style::Block => blocks.get(block + 1),
    };
    place.is_some_and(|place| place.get(style.name()).is_some_and(|mark| !mark.is_null()))
}

fn put_on(message: &Value, target: &Target, style: Style, mark: Value) -> Option<Patch> {
    let content = format!("/messages/{}/content", target.message);
    Some(match (target.block, style) {
        (Some(block), Style::Member) => {
            Patch::Add { path: format!("{content}/{block}/{}", style.name()), value: mark }
        }
        (Some(block), Style::Block) => {
            let value = json!({ style.name(): mark });
            Patch::Add { path: format!("{content}/{}", block + 1), value }
        }
        (None, Style::Member) => {
            let text = message.get("content")?;
            let block = json!({ "type": "text", "text": text, style.name(): mark });
            Patch::Replace { path: content, value: json!([block]) }
        }
        (None, Style::Block) => return None,
    })
}

/// Whether the first system block is an OAuth identity block whose breakpoint the next block makes
/// useless.
fn has_identity(request: &Value) -> bool {
    let marked =
        |at: &str| request.pointer(at).is_some_and(|block| block.get("cache_control").is_some());
    request.pointer("/system/0/text").is_some_and(|text| text == IDENTITY)
        && marked("/system/0")
        && marked("/system/1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::patch::apply;

    fn words() -> String {
        "words ".repeat(1_000)
    }

    fn mark() -> Value {
        json!({ "type": "ephemeral", "ttl": "1h" })
    }

    fn block(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    fn marked(text: &str) -> Value {
        json!({ "type": "text", "text": text, "cache_control": mark() })
    }

    /// A request in Anthropic's format, with the breakpoints that Pi sets.
    fn anthropic(system: &[Value], first: &Value) -> Value {
        let result = json!({ "type": "tool_result", "tool_use_id": "c", "content": [block("out")],
            "cache_control": mark() });
        json!({
            "model": "claude", "system": system,
            "tools": [{ "name": "a" }, { "name": "b", "cache_control": mark() }],
            "messages": [
                { "role": "user", "content": first },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "a", "input": {} }] },
                { "role": "user", "content": [result] },
            ],
        })
    }

    fn bedrock(first: &Value) -> Value {
        let point = json!({ "cachePoint": { "type": "default", "ttl": "1h" } });
        json!({
            "modelId": "claude", "system": [{ "text": "system" }, point.clone()],
            "messages": [
                { "role": "user", "content": first },
                { "role": "assistant", "content": [{ "toolUse": { "toolUseId": "c", "name": "a", "input": {} } }] },
                { "role": "user", "content": [{ "toolResult": { "toolUseId": "c", "content": [{ "text": "out" }] } }, point] },
            ],
        })
    }

    fn with_breakpoint(request: &Value) -> Value {
        let mut changed = request.clone();
        apply(&mut changed, &breakpoint(request));
        assert_eq!(breakpoint(&changed), [], "applied twice it changes nothing");
        changed
    }

    #[test]
    fn an_api_key_puts_the_free_breakpoint_on_the_users_words() {
        let request = anthropic(&[marked("system")], &json!([block(&words()), block("do it")]));
        let mut expected = request.clone();
        expected["messages"][0]["content"][1] = marked("do it");
        assert_eq!(with_breakpoint(&request), expected);
    }

    #[test]
    fn a_content_that_is_a_string_becomes_a_block() {
        let request = anthropic(&[marked("system")], &json!(words()));
        let mut expected = request.clone();
        expected["messages"][0]["content"] = json!([marked(&words())]);
        assert_eq!(with_breakpoint(&request), expected);
    }

    #[test]
    fn with_oauth_the_breakpoint_of_the_identity_moves() {
        let system = [marked(IDENTITY), marked("system")];
        let request = anthropic(&system, &json!([block(&words())]));
        let mut expected = request.clone();
        expected["system"][0] = block(IDENTITY);
        expected["messages"][0]["content"] = json!([marked(&words())]);
        assert_eq!(with_breakpoint(&request), expected);
    }

    #[test]
    fn with_oauth_system_and_tools_are_the_same_in_every_request() {
        let system = [marked(IDENTITY), marked("system")];
        let later = anthropic(&system, &json!([block(&words())]));
        let mut first = later.clone();
        first["messages"] = json!([{ "role": "user", "content": [marked(&words())] }]);
        let short = anthropic(&system, &json!("hi"));
        for request in [first, short] {
            let changed = with_breakpoint(&request);
            for part in ["system", "tools"] {
                assert_eq!(changed[part], with_breakpoint(&later)[part], "{part}");
            }
            assert_eq!(changed["messages"], request["messages"]);
        }
    }

    #[test]
    fn four_breakpoints_of_others_are_left_alone() {
        let system = [marked("mine"), marked("system")];
        let request = anthropic(&system, &json!([block(&words())]));
        assert_eq!(breakpoint(&request), []);
        let mut automatic = anthropic(&[marked("system")], &json!([block(&words())]));
        automatic["cache_control"] = mark();
        assert_eq!(breakpoint(&automatic), []);
    }

    #[test]
    fn the_breakpoint_is_before_fold_lines() {
        let fold = block("[t1-t9] s1 · 4 steps: read f3\n[t10-t12] s2 · 1 step: cargo test ok");
        let mut request = anthropic(&[marked("system")], &json!([block(&words()), fold]));
        let later = json!({ "role": "user", "content": [block(&words())] });
        request["messages"].as_array_mut().unwrap().insert(1, later);
        let changed = with_breakpoint(&request);
        assert_eq!(changed["messages"][0]["content"][0], marked(&words()));
        assert_eq!(changed["messages"][1], request["messages"][1]);
    }

    #[test]
    fn the_message_before_the_first_result_gets_the_breakpoint() {
        let mut request = anthropic(&[marked("system")], &json!([block(&words())]));
        let later = [
            json!({ "role": "assistant", "content": [block("which?")] }),
            json!({ "role": "system", "content": [block("a change")] }),
            json!({ "role": "user", "content": [block("that")] }),
        ];
        request["messages"].as_array_mut().unwrap().splice(1..1, later);
        assert_eq!(with_breakpoint(&request)["messages"][3]["content"], json!([marked("that")]));
    }

    #[test]
    fn bedrock_gets_a_block_of_its_own() {
        let request = bedrock(&json!([{ "text": words() }]));
        let mut expected = request.clone();
        let point = expected["system"][1].clone();
        expected["messages"][0]["content"].as_array_mut().unwrap().push(point);
        assert_eq!(with_breakpoint(&request), expected);
    }

    #[test]
    fn completions_for_anthropics_models_get_the_breakpoint_too() {
        let request = json!({
            "model": "anthropic/claude", "tools": [{ "type": "function", "cache_control": mark() }],
            "messages": [
                { "role": "system", "content": [marked("system")] },
                { "role": "user", "content": words() },
                { "role": "assistant", "content": null, "tool_calls": [{ "id": "c" }] },
                { "role": "tool", "tool_call_id": "c", "content": [marked("out")] },
            ],
        });
        let changed = with_breakpoint(&request);
        assert_eq!(changed["messages"][1]["content"], json!([marked(&words())]));
    }

    #[test]
    fn requests_that_take_none_are_left_alone() {
        let without = |mut request: Value| {
            request["messages"][2]["content"] =
                json!([{ "type": "tool_result", "content": "out" }]);
            request["tools"] = json!([]);
            request
        };
        for request in [
            without(anthropic(&[block("system")], &json!([block(&words())]))),
            anthropic(&[marked("system")], &json!([block("short")])),
            anthropic(&[marked("system")], &json!([])),
            json!({ "input": [{ "role": "user", "content": words() }], "prompt_cache_key": "k" }),
            json!({ "contents": [{ "role": "user", "parts": [{ "text": words() }] }] }),
            json!({ "messages": "none" }),
            json!(null),
        ] {
            assert_eq!(breakpoint(&request), [], "{request}");
        }
    }

    #[test]
    fn the_first_request_keeps_the_hosts_own_breakpoint() {
        let request = json!({ "system": [marked("s")],
            "messages": [{ "role": "user", "content": [marked(&words())] }] });
        assert_eq!(breakpoint(&request), []);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!(mark())),
            Just(json!("user")),
            Just(json!(words())),
            Just(json!(IDENTITY)),
            Just(json!("[t1-t9] 4 steps: read f3")),
        ];
        let names =
            ["content", "text", "cache_control", "cachePoint", "role", "type", "toolResult"];
        leaf.prop_recursive(4, 40, 4, move |inner| {
            let member = (prop::sample::select(names.to_vec()), inner.clone());
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                prop::collection::vec(member, 0..4).prop_map(|members| members
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), v))
                    .collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn in_any_request_only_breakpoints_change(system in any_json(), messages in any_json(), tools in any_json()) {
            let request = json!({ "system": system, "tools": tools, "messages": messages });
            let changed = with_breakpoint(&request);
            let count = |request: &Value, style| breakpoints(request, style).len();
            for style in [Style::Member, Style::Block] {
                prop_assert!(count(&changed, style) <= count(&request, style).max(MAX_BREAKPOINTS));
            }
        }

        #[test]
        fn a_real_request_changes_by_one_breakpoint_only(
            texts in prop::collection::vec("[a-z]{0,3000}", 1..4), oauth in any::<bool>(),
        ) {
            let system = if oauth { vec![marked(IDENTITY), marked("s")] } else { vec![marked("s")] };
            let texts: Vec<Value> = texts.iter().map(|text| block(text)).collect();
            let request = anthropic(&system, &Value::from(texts));
            let changed = with_breakpoint(&request);
            let moved = usize::from(oauth);
            let count = |request: &Value| breakpoints(request, Style::Member).len();
            let is_put = changed["messages"] != request["messages"];
            prop_assert_eq!(count(&changed), count(&request) - moved + usize::from(is_put));
        }
    }
}
