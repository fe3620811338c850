//! Reads the lines of a session file as JSON objects. Handles compression, invalid text, and torn
//! and foreign lines.
//!
//! Must not know a session format.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::notes::{DAMAGED, HOLES, Notes, UNREAD_LINES};
use base::error::{Error, Result};
use base::object::Room;
use files::private;
use store::{MAX_WINDOW_LOG, max_expanded};

/// A file that begins like this is gzipped (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The mark at the beginning of a text that says how its bytes are ordered.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// A file that begins like this is compressed by zstd (RFC 8878).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A line that is a JSON object.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// Counted from 1, including blank lines.
    pub(super) number: u64,
    /// Its text if `object` was parsed from it; `None` if the text had to be mended.
    pub(super) text: Option<&'a str>,
    /// The object.
    pub(super) object: Map<String, Value>,
}

impl Line<'_> {
    /// The string at a key of the object.
    pub(super) fn text_at(&self, key: &str) -> Option<&str> {
        self.object.get(key)?.as_str()
    }

    /// The object at a key of the object.
    pub(super) fn object_at(&self, key: &str) -> Option<&Map<String, Value>> {
        self.object.get(key)?.as_object()
    }

    /// Whether the object has this key with `true`.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.object.get(key).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// The lines of a file.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// The lines that are JSON objects, in order.
    pub(super) found: Vec<Line<'a>>,
    /// The first line that is not: its number and the problem.
    bad: Option<(u64, String)>,
    /// The line that exceeded the memory limit.
    full: Option<u64>,
}

impl<'a> Lines<'a> {
    /// Reads the lines; those that are not JSON objects are left out.
    pub(super) fn parse(text: &'a str, room: &Room, notes: &mut Notes) -> Self {
        let mut lines = Self { found: Vec::new(), bad: None, full: None };
        for (number, line) in (1..).zip(text.split('\n')) {
            // Files that PowerShell joined have a byte order mark in the middle.
            let line = line.trim_start_matches(BYTE_ORDER_MARK).trim();
            if line.is_empty() {
                continue;
            }
            let is_taken = room.take(2 * size_of::<Line<'_>>()).is_ok();
            let object = object_of(line, room);
            if !is_taken || room.is_full() {
                lines.full = Some(number);
                break;
            }
            // A crash leaves a hole of NUL bytes, behind which the program goes on.
            let rest = line.trim_matches('\0').trim();
            let has_hole = rest.len() < line.len() && !rest.is_empty();
            let object = if has_hole { object_of(rest, room).or(object) } else { object };
            match object {
                Ok((object, as_given)) => {
                    if has_hole {
                        notes.count_at(HOLES, number);
                    }
                    if !as_given {
                        notes.count_at("lines with half a surrogate pair, mended", number);
                    }
                    lines.found.push(Line { number, text: as_given.then_some(rest), object });
                }
                Err(problem) => {
                    let torn = number > 1 && text.len() == line_end(text, line);
                    let what = if torn { "torn last line left out" } else { UNREAD_LINES };
                    notes.count_at(what, number);
                    lines.bad.get_or_insert((number, problem));
                }
            }
        }
        lines
    }

    /// Reads the whole text as one object or as a list of objects, whatever its lines; `None` if it
    /// does not begin like either, or if its first line is an object.
    ///
    /// # Errors
    /// The line to look at and what is wrong with it.
    pub(super) fn document(
        &self,
        text: &'a str,
        room: &Room,
        notes: &mut Notes,
    ) -> Option<Result<Vec<Line<'a>>, (u64, String)>> {
        let first = self.bad.as_ref().map(|(number, _)| *number)?;
        if self.found.first().is_some_and(|line| line.number < first) {
            return None;
        }
        let bare = text.trim();
        let parts = match bare.as_bytes().first()? {
            b'{' => vec![bare],
            b'[' => match serde_json::from_str::<Vec<&RawValue>>(bare) {
                Ok(parts) => parts.into_iter().map(RawValue::get).collect(),
                Err(error) => {
                    return Some(Err((error.line() as u64 + first - 1, not_json(&error))));
                }
            },
            _ => return None,
        };
        let mut lines = Vec::new();
        let (mut number, mut end) = (1, 0);
        for part in parts {
            let start = line_end(text, part) - part.len();
            number += memchr::memchr_iter(b'\n', &text.as_bytes()[end..start]).count() as u64;
            end = start;
            let is_taken = room.take(2 * size_of::<Line<'_>>()).is_ok();
            match object_of(part, room) {
                _ if !is_taken => return Some(Err((number, too_much(room)))),
                Ok((object, as_given)) => {
                    if !as_given {
                        notes.count("half surrogate pairs, mended");
                    }
                    lines.push(Line { number, text: None, object });
                }
                Err(problem) => {
                    let error = serde_json::from_str::<Map<String, Value>>(part).err();
                    let line = error.map_or(0, |error| error.line().saturating_sub(1) as u64);
                    return Some(Err((number + line, problem)));
                }
            }
        }
        Some(Ok(lines))
    }

    /// The line that exceeded the memory limit, and the problem.
    pub(super) fn too_much(&self, room: &Room) -> Option<(u64, String)> {
        self.full.map(|line| (line, too_much(room)))
    }

    /// Why the file is not a session file: the line to look at and what is wrong with it.
    pub(super) fn complaint(&self) -> (u64, String) {
        match (self.found.first(), &self.bad) {
            (Some(line), bad) if bad.as_ref().is_none_or(|(number, _)| line.number < *number) => {
                (line.number, UNKNOWN.to_owned())
            }
            (_, Some(bad)) => bad.clone(),
            (_, None) => (1, "is empty".to_owned()),
        }
    }
}

/// The problem with an object of no known format.
pub(super) const UNKNOWN: &str = "belongs to no session format that is known";

/// The problem if the memory limit is exceeded.
pub(super) fn too_much(room: &Room) -> String {
    format!("takes more than {} bytes of memory, with all before it", room.size())
}

/// The bytes of a regular file.
///
/// # Errors
/// `FILE`.
pub(super) fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = private::open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|source| Error::File { act: "read", path: path.to_owned(), source })?;
    Ok(bytes)
}

/// The text of a file, decompressed as far as possible. Bytes that are not UTF-8 become U+FFFD.
///
/// # Errors
/// `ARCHIVE_EXPANDS` for a file that expands to more than an archive may.
pub(super) fn text_of<'a>(bytes: &'a [u8], notes: &mut Notes) -> Result<Cow<'a, str>> {
    let decoder: Option<Box<dyn Read + '_>> = if bytes.starts_with(&GZIP) {
        Some(Box::new(MultiGzDecoder::new(bytes)))
    } else if bytes.starts_with(&ZSTD) {
        zstd::Decoder::new(bytes).ok().map(|mut decoder| {
            // The value is valid, so setting it cannot fail; a read error would come later.
            let _ = decoder.window_log_max(MAX_WINDOW_LOG);
            Box::new(decoder) as Box<dyn Read + '_>
        })
    } else {
        None
    };
    let Some(decoder) = decoder else { return Ok(decoded(Cow::Borrowed(bytes), notes)) };
    let limit = max_expanded(bytes.len() as u64);
    let mut plain = Vec::new();
    if decoder.take(limit + 1).read_to_end(&mut plain).is_err() {
        notes.count(DAMAGED);
    }
    if plain.len() as u64 > limit {
        let line = memchr::memchr_iter(b'\n', &plain).count() as u64 + 1;
        return Err(Error::ArchiveExpands { what: "session file", line, limit });
    }
    Ok(decoded(Cow::Owned(plain), notes))
}

/// The text of bytes: UTF-8, or UTF-16 as PowerShell writes it. What is neither becomes U+FFFD.
fn decoded<'a>(bytes: Cow<'a, [u8]>, notes: &mut Notes) -> Cow<'a, str> {
    let text = match unit_order(&bytes) {
        Some(unit_of) => {
            let units = bytes.chunks_exact(2).map(|pair| unit_of([pair[0], pair[1]]));
            Cow::Owned(char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect())
        }
        None => match bytes {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return without_mark(Cow::Owned(text)),
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
            },
        },
    };
    if text.contains('\u{fffd}') && matches!(text, Cow::Owned(_)) {
        notes.count("bytes that are not UTF-8 replaced");
    }
    without_mark(text)
}

fn without_mark(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)),
        Cow::Owned(mut text) => {
            if text.starts_with(BYTE_ORDER_MARK) {
                text.drain(..BYTE_ORDER_MARK.len_utf8());
            }
            Cow::Owned(text)
        }
    }
}

/// How two bytes make a unit of UTF-16, if the bytes are that: by their mark, or because a text of
/// JSON, and the space before it, begins with one character of one byte.
fn unit_order(bytes: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match bytes {
        [0xff, 0xfe, ..] | [b'{' | b'[' | b'\r' | b'\n' | b' ', 0, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, b'{' | b'[' | b'\r' | b'\n' | b' ', ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// Where `line`, a part of `text`, ends in it.
fn line_end(text: &str, line: &str) -> usize {
    line.as_ptr() as usize - text.as_ptr() as usize + line.len()
}

/// Parses an object, such as a line; also returns whether it is unchanged. JavaScript writes lone
/// surrogates, which are not valid text, as escapes; these become U+FFFD.
///
/// # Errors
/// What is wrong with it; also if there is no memory left for it, and `room` is then full.
pub(super) fn object_of(line: &str, room: &Room) -> Result<(Map<String, Value>, bool), String> {
    let error = match room.object(line) {
        Ok(object) => return Ok((object, true)),
        Err(error) => error,
    };
    if room.is_full() {
        return Err(too_much(room));
    }
    let mended = without_lone_surrogates(line);
    match mended.map(|mended| room.object(&mended)) {
        Some(Ok(object)) => Ok((object, false)),
        _ if error.is_data() => Err("is not a JSON object".to_owned()),
        _ => Err(not_json(&error)),
    }
}

/// The line with escapes of lone surrogates replaced. `None` if it has none.
fn without_lone_surrogates(line: &str) -> Option<String> {
    let mut mended = String::with_capacity(line.len());
    let mut rest = line;
    let mut changed = false;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        let (length, replaced) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, false),
            (Some(0xd800..=0xdfff), _) => (6, true),
            // A backslash and the character it escapes, which may be another backslash.
            _ => (1 + escape[1..].chars().next().map_or(0, char::len_utf8), false),
        };
        mended.push_str(&rest[..at]);
        mended.push_str(if replaced { "\\ufffd" } else { &escape[..length] });
        changed |= replaced;
        rest = &escape[length..];
    }
    mended.push_str(rest);
    changed.then_some(mended)
}

/// The UTF-16 unit of an escape `\uXXXX` at the start of a text.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// The problem with a text that is not JSON, without line and column, since only one line was read.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    format!("is not JSON: {}", text.split(" at line ").next().unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Room {
        Room::for_file(0)
    }

    #[test]
    fn many_small_values_are_read_only_as_long_as_there_is_room() {
        let text = format!("{{}}\n{{\"a\":[{}0]}}\n", "{\"a\":1},".repeat(10_000));
        let room = Room::of(100_000);
        let lines = Lines::parse(&text, &room, &mut Notes::default());
        assert_eq!(lines.found.len(), 1);
        let (line, problem) = lines.too_much(&room).unwrap();
        assert_eq!(line, 2);
        assert!(problem.contains("more than 100000 bytes of memory"), "{problem}");
        let room = Room::of(100_000);
        let text = "{}\n".repeat(10_000);
        let lines = Lines::parse(&text, &room, &mut Notes::default());
        assert!(lines.found.len() < 1_000 && lines.too_much(&room).is_some());
    }

    #[test]
    fn what_expands_without_end_is_refused_where_it_is_too_much() {
        use std::io::Write as _;
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        bomb.write_all(&vec![b'x'; 1 << 20]).unwrap();
        let member = bomb.finish().unwrap();
        let frame = zstd::encode_all(&vec![b'x'; 1 << 20][..], 1).unwrap();
        for part in [member, frame] {
            let error = text_of(&part.repeat(2_000), &mut Notes::default()).unwrap_err();
            assert_eq!(error.code(), "ARCHIVE_EXPANDS");
            assert!(error.to_string().contains("session file"), "{error}");
        }
    }

    #[test]
    fn texts_are_read_as_powershell_writes_them() {
        let text = "{\"a\":\"ä 😀\"}\r\n{\"b\":1}\r\n";
        let little =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let big =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
        let marked = format!("\u{feff}{text}");
        let zipped: Vec<u8> = zstd::encode_all(marked.as_bytes(), 1).unwrap();
        let forms: [Vec<u8>; 6] =
            [marked.clone().into(), little(&marked), big(&marked), little(text), big(text), zipped];
        for text in ["\r\n{}", "[{}]"] {
            for bytes in [little(text), big(text)] {
                assert_eq!(text_of(&bytes, &mut Notes::default()).unwrap(), text);
            }
        }
        for bytes in forms {
            let mut notes = Notes::default();
            assert_eq!(text_of(&bytes, &mut notes).unwrap(), text);
            assert_eq!(notes.into_lines(), Vec::<String>::new());
        }
        let joined = format!("{marked}{marked}");
        let mut notes = Notes::default();
        assert_eq!(Lines::parse(&joined, &room(), &mut notes).found.len(), 4);
        let odd = &little(&marked)[..40];
        assert!(text_of(&odd[..39], &mut notes).unwrap().starts_with("{\"a\""), "a torn file");
    }

    fn notes_of(text: &str) -> (usize, Vec<String>) {
        let mut notes = Notes::default();
        let found = Lines::parse(text, &room(), &mut notes).found.len();
        (found, notes.into_lines())
    }

    #[test]
    fn blank_lines_are_passed_over_and_counted_in_the_numbers() {
        let mut notes = Notes::default();
        let lines = Lines::parse("\n{\"a\":1}\r\n\n{\"b\":2}", &room(), &mut notes);
        let numbers: Vec<u64> = lines.found.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [2, 4]);
    }

    #[test]
    fn a_bad_line_is_distinguished_from_a_torn_one() {
        assert_eq!(
            notes_of("{}\n{\"a\":\n[1]\n{\"b\""),
            (
                1,
                vec![
                    "lines that are not JSON objects left out: 2 (first at line 2)".to_owned(),
                    "torn last line left out: 1 (line 4)".to_owned(),
                ]
            )
        );
        let ended = "lines that are not JSON objects left out: 1 (line 2)".to_owned();
        assert_eq!(notes_of("{}\n{\"b\"\n"), (1, vec![ended]));
    }

    #[test]
    fn a_hole_of_nul_bytes_loses_no_line_behind_it() {
        assert_eq!(
            notes_of("{}\n\0\0\0{\"a\":1}\n{}\n\0\0"),
            (
                3,
                vec![
                    "holes of NUL bytes, which may have been lines: 1 (line 2)".to_owned(),
                    "torn last line left out: 1 (line 4)".to_owned(),
                ]
            )
        );
    }

    #[test]
    fn half_a_surrogate_pair_does_not_lose_the_line() {
        let mut notes = Notes::default();
        let text = r#"{"a":"x\ud83dy \ud83d\ude00 \\ud83d","b":"\udc00"}"#;
        let lines = Lines::parse(text, &room(), &mut notes);
        assert_eq!(lines.found[0].text_at("a"), Some("x\u{fffd}y 😀 \\ud83d"));
        assert_eq!(lines.found[0].text_at("b"), Some("\u{fffd}"));
        assert_eq!(lines.found[0].text, None);
    }

    #[test]
    fn an_object_or_list_over_several_lines_is_a_document() {
        let document = |text: &str| {
            let mut notes = Notes::default();
            let lines = Lines::parse(text, &room(), &mut notes);
            let found = lines.document(text, &room(), &mut notes);
            let sizes = |lines: Vec<Line<'_>>| {
                lines.iter().map(|line| (line.number, line.object.len())).collect::<Vec<_>>()
            };
            found.map(|found| found.map(sizes))
        };
        assert_eq!(document("\n{\n \"a\": 1,\n \"b\": {}\n}\n"), Some(Ok(vec![(2, 2)])));
        assert_eq!(document("[\n {\"a\": 1},\n {\n}]\n"), Some(Ok(vec![(2, 1), (3, 0)])));
        assert_eq!(document("[{}, {\"a\": {}}]"), Some(Ok(vec![(1, 0), (1, 1)])));
        assert_eq!(document("[{},\n7]"), Some(Err((2, "is not a JSON object".to_owned()))));
        let list = "is not JSON: EOF while parsing a list".to_owned();
        assert_eq!(document("[{},\n{}"), Some(Err((2, list))));
        let eof = "is not JSON: EOF while parsing an object".to_owned();
        assert_eq!(document("{\n \"a\": 1,\n \"b\": {}\n"), Some(Err((3, eof))));
        let comma = "is not JSON: expected `,` or `}`".to_owned();
        assert_eq!(document("{\n \"a\": 1\n \"b\": 2\n}"), Some(Err((3, comma))));
        assert_eq!(document("{\"a\":1}\n{\"b\""), None, "the first line is an object");
        assert_eq!(document("a,b\n"), None);
        assert_eq!(document(""), None);
    }

    #[test]
    fn what_is_no_json_is_named() {
        for (text, expected) in [
            ("", (1, "is empty")),
            ("\n# notes\n", (2, "is not JSON: expected value")),
            ("[1]\n", (1, "is not a JSON object")),
            ("{\"a\":1}\nx", (1, "belongs to no session format that is known")),
            ("x\n{\"a\":1}", (1, "is not JSON: expected value")),
        ] {
            let (line, problem) = Lines::parse(text, &room(), &mut Notes::default()).complaint();
            assert_eq!((line, problem.as_str()), expected, "{text}");
        }
    }
}
