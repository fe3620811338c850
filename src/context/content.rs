//! The content of a message in every shape that hosts give it: a string, no content at all, or blocks of text, images and types
//! that are not known, with keys that are not known. Pure.
//!
//! The text of a content is the string, or the texts of its text blocks joined by line feeds; a text block is one with `type`
//! `"text"` and a string as `text`, whatever other keys it has. Line numbers of an output count in this text. What takes the place
//! of the text goes out as one text block; blocks that are no text blocks stay where they are, byte for byte.
//!
//! The only place that knows shapes. Must not know tools or treatments.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

/// The text of a block; `None` if it is no text block.
pub fn block_text(block: &Value) -> Option<&str> {
    let is_text = block.get("type").is_some_and(|kind| kind == "text");
    block.get("text").filter(|_| is_text)?.as_str()
}

/// The JSON of a content with one text block, as `JSON.stringify` writes it.
pub fn text_content(text: &str) -> String {
    format!("[{}]", text_block(text))
}

/// The JSON of a text block, as `JSON.stringify` writes it.
pub fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, Value::from(text))
}

/// The JSON of a content in which `text` takes the place of its texts: one text block where the first text stood, between the
/// blocks that stay.
pub fn with_text(content: Option<&str>, text: &str) -> String {
    let mut blocks = Vec::new();
    let mut place = None;
    for block in content.map(blocks_of).unwrap_or_default() {
        if text_span(block, is_string).is_none() {
            blocks.push(Cow::Borrowed(block));
        } else if place.is_none() {
            place = Some(blocks.len());
        }
    }
    blocks.insert(place.unwrap_or(0), Cow::Owned(text_block(text)));
    format!("[{}]", blocks.join(","))
}

/// The frame of a content: its JSON with the number of its lines in the place of each text. With the text, [`fill`] gives the
/// content again.
pub fn frame(content: &str) -> String {
    replaced(content, is_string, |text| {
        let text: String = serde_json::from_str(text).unwrap_or_default();
        text.split('\n').count().to_string()
    })
}

/// The content with this frame and this text. The last text gets the rest of the lines.
pub fn fill(frame: &str, text: &str) -> String {
    let mut rest = Some(text);
    replaced(frame, is_number, |lines| {
        let lines: usize = lines.parse().unwrap_or_default();
        let (own, after) = split_lines(rest.unwrap_or_default(), lines);
        rest = after;
        Value::from(own).to_string()
    })
}

/// The first lines of a text, and what follows the line feed behind them.
fn split_lines(text: &str, lines: usize) -> (&str, Option<&str>) {
    let end = text.match_indices('\n').nth(lines.saturating_sub(1));
    end.map_or((text, None), |(end, _)| (&text[..end], Some(&text[end + 1..])))
}

/// A content with something else in the place of its texts. `is_text` tells by its first character whether a value is one.
fn replaced(
    content: &str,
    is_text: fn(&str) -> bool,
    mut replacement: impl FnMut(&str) -> String,
) -> String {
    let mut written = String::with_capacity(content.len());
    let mut end = 0;
    for span in text_spans(content, is_text) {
        written.push_str(&content[end..span.start]);
        written.push_str(&replacement(&content[span.clone()]));
        end = span.end;
    }
    written.push_str(&content[end..]);
    written
}

/// Byte ranges of the texts of a content, in order.
fn text_spans(content: &str, is_text: fn(&str) -> bool) -> Vec<Range<usize>> {
    if is_text(content) {
        return std::iter::once(0..content.len()).collect();
    }
    let spans = blocks_of(content).into_iter().filter_map(|block| {
        let start = span_within(content, block).start;
        text_span(block, is_text).map(|span| start + span.start..start + span.end)
    });
    spans.collect()
}

/// The JSON of each block of a content.
fn blocks_of(content: &str) -> Vec<&str> {
    let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    blocks.into_iter().map(RawValue::get).collect()
}

/// Byte range of the text of a block; `None` if it is no text block.
fn text_span(block: &str, is_text: fn(&str) -> bool) -> Option<Range<usize>> {
    let fields: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(block).ok()?;
    let kind: String = serde_json::from_str(fields.get("type")?.get()).ok()?;
    let text = fields.get("text")?.get();
    (kind == "text" && is_text(text)).then(|| span_within(block, text))
}

fn is_string(json: &str) -> bool {
    json.starts_with('"')
}

fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first.is_ascii_digit())
}

/// The byte range of `part`, a slice of `whole`.
pub fn span_within(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_text_block_takes_the_place_of_all_texts() {
        let image = r#"{"type":"image","data":"AA","mimeType":"image/png","z":1.50}"#;
        let odd = r#"{"type":"resource","text":"stays"}"#;
        for (content, expected) in [
            (None, r#"[{"type":"text","text":"x"}]"#.to_owned()),
            (Some(r#""a string""#.to_owned()), r#"[{"type":"text","text":"x"}]"#.to_owned()),
            (Some("[]".to_owned()), r#"[{"type":"text","text":"x"}]"#.to_owned()),
            (Some("null".to_owned()), r#"[{"type":"text","text":"x"}]"#.to_owned()),
            (
                Some(format!(
                    r#"[ {image}, {{"type":"text","text":"a","n":1}} , {odd} ,{{"text":"b","type":"text"}}]"#
                )),
                format!(r#"[{image},{{"type":"text","text":"x"}},{odd}]"#),
            ),
            (
                Some(format!(r#"[{image},{{"type":"text","text":5}}]"#)),
                format!(r#"[{{"type":"text","text":"x"}},{image},{{"type":"text","text":5}}]"#),
            ),
        ] {
            assert_eq!(with_text(content.as_deref(), "x"), expected, "{content:?}");
        }
    }

    #[test]
    fn a_frame_holds_no_text() {
        for (content, expected) in [
            (r#""a\nb""#, "2"),
            (
                r#"[{"type":"text","text":"a\n"},{"type":"text","text":"","n":[1]},{"type":"image"}]"#,
                r#"[{"type":"text","text":2},{"type":"text","text":1,"n":[1]},{"type":"image"}]"#,
            ),
            ("[]", "[]"),
            ("null", "null"),
        ] {
            assert_eq!(frame(content), expected, "{content}");
        }
    }

    fn any_block() -> impl Strategy<Value = Value> {
        prop_oneof![
            4 => "[ab\n\r\"é]{0,6}".prop_map(|text| json!({ "type": "text", "text": text })),
            2 => "[ab\n]{0,6}".prop_map(|text| json!({ "x": { "text": 1 }, "text": text, "type": "text" })),
            1 => "[ab]{0,3}".prop_map(|data| json!({ "type": "image", "data": data })),
            1 => Just(json!(null)),
            1 => Just(json!("text")),
        ]
    }

    fn any_content() -> impl Strategy<Value = Value> {
        prop_oneof![
            3 => prop::collection::vec(any_block(), 0..5).prop_map(Value::from),
            1 => "[ab\n\"]{0,6}".prop_map(Value::from),
            1 => Just(Value::Null),
        ]
    }

    /// The text of a content.
    fn text_of(content: &Value) -> String {
        let blocks = content.as_array().into_iter().flatten().filter_map(block_text);
        let texts: Vec<&str> = content.as_str().into_iter().chain(blocks).collect();
        texts.join("\n")
    }

    proptest! {
        #[test]
        fn a_frame_and_its_text_give_the_content_again(content in any_content()) {
            let (json, text) = (content.to_string(), text_of(&content));
            prop_assert_eq!(fill(&frame(&json), &text), json);
        }

        #[test]
        fn whatever_the_shape_one_text_block_and_what_is_no_text_is_left(content in any_content()) {
            let after: Vec<Value> = serde_json::from_str(&with_text(Some(&content.to_string()), "x")).unwrap();
            let stays = |blocks: &[Value]| -> Vec<Value> {
                blocks.iter().filter(|block| block_text(block).is_none()).cloned().collect()
            };
            let before = content.as_array().cloned().unwrap_or_default();
            prop_assert_eq!(stays(&after), stays(&before));
            prop_assert_eq!(text_of(&Value::from(after)), "x");
        }

        #[test]
        fn no_frame_and_no_text_make_it_panic(frame in "[\\[\\]{}\"a1,:n]{0,12}", text in "[a\n]{0,4}") {
            fill(&frame, &text);
            with_text(Some(&frame), &text);
        }
    }
}
