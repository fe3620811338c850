//! The tests of `host.rs`.

use super::super::content::text_content;
use super::*;

#[test]
fn content_can_be_replaced_without_touching_the_rest() {
    let raw =
        r#"{"role":"toolResult","n":1e400,"content":[{"type":"text","text":"a\u0000b"}],"x":-0.0}"#;
    let message = HostMessage::parse(raw, Counter::Bundled);
    assert!(message.is_readable);
    assert_eq!(message.text(), "a\0b");
    assert_eq!(
        message.with_content("[]"),
        r#"{"role":"toolResult","n":1e400,"content":[],"x":-0.0}"#
    );
    assert_eq!(message.content().unwrap(), text_content("a\0b"));
}

#[test]
fn a_message_without_content_can_get_one() {
    for (raw, expected) in [
        ("{}", r#"{"content":[]}"#),
        (r#"{"role":"toolResult","n":1} "#, r#"{"role":"toolResult","n":1,"content":[]}"#),
        ("null", "null"),
    ] {
        assert_eq!(HostMessage::parse(raw, Counter::Bundled).with_content("[]"), expected);
    }
}

#[test]
fn content_of_any_shape_has_text_images_and_other_blocks() {
    let image = r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#;
    for (content, text, is_readable, images, other_tokens) in [
        (r#""a\nb""#.to_owned(), "a\nb", true, 0, None),
        ("[]".to_owned(), "", true, 0, None),
        ("null".to_owned(), "", true, 0, None),
        (
            r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#.to_owned(),
            "a\nb",
            true,
            0,
            None,
        ),
        (r#"[{"type":"text","text":"a","annotations":{}}]"#.to_owned(), "a", true, 0, None),
        (format!(r#"[{image},{{"type":"text","text":"a"}},{image}]"#), "a", true, 2, None),
        (r#"[{"type":"text"},7]"#.to_owned(), "", true, 0, Some(0)),
        (r#"{"text":"a"}"#.to_owned(), "", false, 0, None),
    ] {
        let raw = format!(r#"{{"role":"toolResult","content":{content}}}"#);
        let message = HostMessage::parse(&raw, Counter::Bundled);
        assert_eq!(message.text(), text, "{content}");
        let found = (message.is_readable, message.images, message.other_tokens());
        assert_eq!(found, (is_readable, images, other_tokens), "{content}");
        assert_eq!(message.image_tokens(), images * IMAGE_TOKENS);
    }
}

#[test]
fn messages_of_any_shape_are_read() {
    for raw in [
        "null",
        "5",
        "\"x\"",
        "[]",
        "{}",
        r#"{"role":7,"content":{}}"#,
        r#"{"content":[null,3,{"type":9}]}"#,
    ] {
        let message = HostMessage::parse(raw, Counter::Bundled);
        assert_eq!((message.raw.as_str(), message.key.role.as_str()), (raw, ""), "{raw}");
    }
    let list = |messages: &[&str]| {
        let messages = messages.iter().map(ToString::to_string).collect();
        HostMessage::parse_list(messages, Counter::Bundled)
    };
    assert_eq!(list(&["{}", "{"]).unwrap_err().code(), "INVALID_ARGUMENT");
    assert_eq!(list(&["{}", "1"]).unwrap().len(), 2);
}

#[test]
fn output_excluded_from_context_is_dropped() {
    let raw = r#"{"role":"bashExecution","command":"c","output":"secret","excludeFromContext":true,"timestamp":5}"#;
    let message = HostMessage::parse(raw, Counter::Bundled);
    assert!(!message.raw.contains("secret"));
    assert_eq!(message.key.timestamp, Some(5));
}

#[test]
fn calls_and_their_ids_are_read() {
    let raw = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}}],"timestamp":3}"#;
    let message = HostMessage::parse(raw, Counter::Bundled);
    assert_eq!(message.key.calls, ["c1"]);
    assert_eq!(message.calls[0].args["path"], "a");
    assert!(message.tokens() > 4);
}

#[test]
fn characters_of_role_texts_and_calls_are_counted() {
    let raw = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"☂"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}},{"type":"image","data":"xxxx"}],"timestamp":3}"#;
    let message = HostMessage::parse(raw, Counter::Characters);
    // assistant 9, hm 2, one sign, read 4, {"path":"a"} 12
    assert_eq!(message.tokens(), 28_u64.div_ceil(4));
    assert_eq!(message.tokens_with(r#"[{"type":"text","text":"abc"}]"#), 3);
}
