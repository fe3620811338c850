//! The content of a message in every shape that hosts use: a string, nothing, or blocks of text,
//! images and unknown types, possibly with unknown keys. Pure.
//!
//! The text of a content is the string, or the texts of its text blocks joined by line feeds. A
//! text block has `type` `"text"` and a string as `text`, whatever other keys it has. Line numbers
//! of an output refer to this text. Whatever replaces the text goes out as one text block. Images
//! (blocks with `type` `"image"`) stay in place, byte for byte, or leave with the text if they can
//! be brought back. All other blocks stay.
//!
//! The only module that knows these shapes. Must not know tools or treatments.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use base::error::Result;

/// The text of a block; `None` if it is not a text block.
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

/// Whether a content is [`text_content`] of this text, found out without writing it.
pub fn is_text_content(content: &str, text: &str) -> bool {
    let (before, after) = (r#"[{"type":"text","text":"#, "}]");
    let Some(shown) = content.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)) else {
        return false;
    };
    let mut left = Left(shown.as_bytes());
    serde_json::to_writer(&mut left, text).is_ok() && left.0.is_empty()
}

/// What is still to be written of some bytes; other bytes are refused.
struct Left<'b>(&'b [u8]);

impl Write for Left<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether images stay when a line replaces the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// They stay in place.
    Stay,
    /// They leave with the text.
    Leave,
}

/// The JSON of a content with its texts replaced by `text`: one text block where the first text
/// stood, among the blocks that stay.
pub fn with_text(content: Option<&str>, text: &str, images: Images) -> String {
    let mut blocks = Vec::new();
    let mut place = None;
    for block in content.map(blocks_of).unwrap_or_default() {
        if text_span(block, is_string).is_some() {
            place = place.or(Some(blocks.len()));
        } else if images == Images::Stay || !is_image(block) {
            blocks.push(Cow::Borrowed(block));
        }
    }
    blocks.insert(place.unwrap_or(0), Cow::Owned(text_block(text)));
    format!("[{}]", blocks.join(","))
}

/// The JSON of a content with these bytes of one of its texts replaced: nothing else changes.
///
/// `place`: which of its texts, from 0.
pub fn with_part(content: &str, place: usize, part: Range<usize>, text: &str) -> String {
    let texts = places(content, is_string, |_| false);
    let Some((span, _)) = texts.into_iter().nth(place) else { return content.to_owned() };
    let whole: String = serde_json::from_str(&content[span.clone()]).unwrap_or_default();
    let (before, after) = (whole.get(..part.start), whole.get(part.end..));
    let (Some(before), Some(after)) = (before, after) else { return content.to_owned() };
    let changed = Value::from(format!("{before}{text}{after}")).to_string();
    replaced(content, std::iter::once((span, changed)))
}

/// The JSON of the images of a content, in order.
pub fn images_of(content: &str) -> Vec<&str> {
    blocks_of(content).into_iter().filter(|block| is_image(block)).collect()
}

/// What a frame leaves out of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutContent {
    /// Texts and images.
    All,
    /// Images.
    Images,
}

/// The frame of a content: its JSON with each omitted text replaced by its line count, and each
/// omitted image by its number, from 1. [`fill`] restores the content from the frame, text and
/// images.
pub fn frame(content: &str, left_out: LeftOutContent) -> String {
    let lines_of = |text: &str| {
        let text: String = serde_json::from_str(text).unwrap_or_default();
        text.split('\n').count().to_string()
    };
    let mut images = 0;
    let places = places(content, is_string, is_image);
    let places = places.into_iter().filter_map(|(span, place)| match place {
        ItemKind::Text if left_out == LeftOutContent::All => {
            Some((span.clone(), lines_of(&content[span])))
        }
        ItemKind::Text => None,
        ItemKind::Image => {
            images += 1;
            Some((span, images.to_string()))
        }
    });
    replaced(content, places)
}

/// Restores the content from a frame, the text and the images. `image` gives the JSON of an image
/// by its number. The last text gets the rest of the lines.
///
/// # Errors
/// Those of `image`.
pub fn fill(
    frame: &str,
    text: &str,
    image: &mut dyn FnMut(usize) -> Result<String>,
) -> Result<String> {
    let mut rest = Some(text);
    let mut places_filled = Vec::new();
    for (span, place) in places(frame, is_number, is_number) {
        let number: usize = frame[span.clone()].parse().unwrap_or_default();
        let json = match place {
            ItemKind::Text => {
                let (own, after) = split_lines(rest.unwrap_or_default(), number);
                rest = after;
                Value::from(own).to_string()
            }
            ItemKind::Image => image(number)?,
        };
        places_filled.push((span, json));
    }
    Ok(replaced(frame, places_filled.into_iter()))
}

/// What stands, or was left out, at a place in a content.
enum ItemKind {
    Text,
    Image,
}

/// The first lines of a text, and what follows the line feed after them.
fn split_lines(text: &str, lines: usize) -> (&str, Option<&str>) {
    let end = text.match_indices('\n').nth(lines.saturating_sub(1));
    end.map_or((text, None), |(end, _)| (&text[..end], Some(&text[end + 1..])))
}

/// A content with these places, given in order, replaced.
fn replaced(content: &str, places: impl Iterator<Item = (Range<usize>, String)>) -> String {
    let mut written = String::with_capacity(content.len());
    let mut end = 0;
    for (span, json) in places {
        written.push_str(&content[end..span.start]);
        written.push_str(&json);
        end = span.end;
    }
    written.push_str(&content[end..]);
    written
}

/// The texts and images of a content or frame, in order. `is_text` tells by the first character
/// whether a value is a text, `is_image` whether a block is an image.
fn places(
    content: &str,
    is_text: fn(&str) -> bool,
    is_image: fn(&str) -> bool,
) -> Vec<(Range<usize>, ItemKind)> {
    if is_text(content) {
        return std::iter::once((0..content.len(), ItemKind::Text)).collect();
    }
    let places = blocks_of(content).into_iter().filter_map(|block| {
        let start = span_within(content, block).start;
        if is_image(block) {
            return Some((start..start + block.len(), ItemKind::Image));
        }
        let span = text_span(block, is_text)?;
        Some((start + span.start..start + span.end, ItemKind::Text))
    });
    places.collect()
}

/// The JSON of each block of a content.
fn blocks_of(content: &str) -> Vec<&str> {
    let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    blocks.into_iter().map(RawValue::get).collect()
}

/// Byte range of the text in a block; `None` if it is not a text block.
fn text_span(block: &str, is_text: fn(&str) -> bool) -> Option<Range<usize>> {
    let fields: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(block).ok()?;
    let text = fields.get("text")?.get();
    (is_text(text) && is_kind(&fields, "text")).then(|| span_within(block, text))
}

fn is_image(block: &str) -> bool {
    serde_json::from_str(block).is_ok_and(|fields| is_kind(&fields, "image"))
}

fn is_kind(fields: &HashMap<Cow<'_, str>, &RawValue>, kind: &str) -> bool {
    let given = fields.get("type").map(|given| serde_json::from_str::<String>(given.get()));
    given.is_some_and(|given| given.is_ok_and(|given| given == kind))
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
    fn a_content_is_compared_with_a_text_without_writing_it() {
        for text in ["", "a\nb", "\"\\\u{1}\u{7f}é👍"] {
            let content = text_content(text);
            assert!(is_text_content(&content, text), "{content}");
            for other in [format!("{text}x"), format!("x{text}")] {
                assert!(!is_text_content(&content, &other), "{content}");
                assert!(!is_text_content(&text_content(&other), text), "{content}");
            }
        }
        for other in ["null", r#"["a"]"#, r#"[{"type":"text","text":"a","more":1}]"#] {
            assert!(!is_text_content(other, "a"), "{other}");
        }
    }

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
            assert_eq!(with_text(content.as_deref(), "x", Images::Stay), expected, "{content:?}");
        }
    }

    #[test]
    fn images_leave_with_the_text_and_other_blocks_stay() {
        let content = r#"[{"type":"image","data":"AA"},{"type":"text","text":"a"},{"type":"x"},{"data":"","type":"image"}]"#;
        let expected = r#"[{"type":"text","text":"x"},{"type":"x"}]"#;
        assert_eq!(with_text(Some(content), "x", Images::Leave), expected);
        let images = [r#"{"type":"image","data":"AA"}"#, r#"{"data":"","type":"image"}"#];
        assert_eq!(images_of(content), images);
    }

    #[test]
    fn a_frame_holds_no_text() {
        for (content, expected) in [
            (r#""a\nb""#, "2"),
            (
                r#"[{"type":"text","text":"a\n"},{"type":"text","text":"","n":[1]},{"type":"image"}]"#,
                r#"[{"type":"text","text":2},{"type":"text","text":1,"n":[1]},1]"#,
            ),
            ("[]", "[]"),
            ("null", "null"),
        ] {
            assert_eq!(frame(content, LeftOutContent::All), expected, "{content}");
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
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn a_frame_and_its_text_give_the_content_again(content in any_content()) {
            let (json, text) = (content.to_string(), text_of(&content));
            let images = images_of(&json);
            for left_out in [LeftOutContent::All, LeftOutContent::Images] {
                let frame = frame(&json, left_out);
                prop_assert!(!frame.contains("image"), "{}", frame);
                let filled = fill(&frame, &text, &mut |number| Ok(images[number - 1].to_owned()));
                prop_assert_eq!(filled.unwrap(), &*json);
            }
        }

        #[test]
        fn content_of_any_shape_becomes_one_text_and_the_other_blocks(content in any_content()) {
            let after: Vec<Value> = serde_json::from_str(&with_text(Some(&content.to_string()), "x", Images::Stay)).unwrap();
            let stays = |blocks: &[Value]| -> Vec<Value> {
                blocks.iter().filter(|block| block_text(block).is_none()).cloned().collect()
            };
            let before = content.as_array().cloned().unwrap_or_default();
            prop_assert_eq!(stays(&after), stays(&before));
            prop_assert_eq!(text_of(&Value::from(after)), "x");
        }

        #[test]
        fn no_frame_and_no_text_make_it_panic(frame in "[\\[\\]{}\"a1,:n]{0,12}", text in "[a\n]{0,4}") {
            fill(&frame, &text, &mut |number| Ok(number.to_string())).unwrap();
            with_text(Some(&frame), &text, Images::Leave);
        }
    }
}
