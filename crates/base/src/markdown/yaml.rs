//! Reads YAML as plain JSON values, with the places of selected strings. Must not know what fields
//! mean.
//!
//! Works on the parser's events, because they carry places and make aliases cost no more than their
//! expansion. Scalars follow YAML 1.2's core schema (specification, section 10.3).

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Number, Value};

use super::document::join;

/// Deepest nesting that is read. Deeper YAML is a problem.
const MAX_DEPTH: usize = 64;
/// Most that aliases may expand to: a multiple of the YAML's length, or this many bytes if that is
/// more.
const MAX_EXPANSION: usize = 4;
const FREE_EXPANSION: usize = 65_536;

/// Why YAML could not be parsed.
#[derive(Debug)]
pub(super) struct Failure {
    /// Line of the YAML, from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

/// A scalar and its place.
#[derive(Debug)]
pub(super) struct Scalar {
    /// Keys joined by `.`, list positions in brackets.
    pub(super) path: String,
    /// Its root key, cut like paths.
    pub(super) field: String,
    pub(super) text: String,
    /// Bytes of the YAML, quotes included.
    pub(super) range: Range<usize>,
}

/// A value and the selected scalars, in order.
#[derive(Debug, Default)]
pub(super) struct Yaml {
    pub(super) value: Value,
    pub(super) scalars: Vec<Scalar>,
    /// The first duplicate key; the last value was kept.
    pub(super) doubled: Option<Failure>,
}

/// Parses one YAML document. `wanted` selects scalars by the root key above them and their text.
pub(super) fn read(text: &str, wanted: impl Fn(&str, &str) -> bool) -> Result<Yaml, Failure> {
    let mut reader = Reader {
        wanted,
        budget: text.len() * MAX_EXPANSION + FREE_EXPANSION,
        open: Vec::new(),
        anchors: HashMap::new(),
        documents: 0,
        bytes: Bytes { text, character: 0, byte: 0 },
        yaml: Yaml::default(),
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| scan_failure(&error))?;
        reader.take(event, span)?;
    }
    Ok(reader.yaml)
}

fn scan_failure(error: &ScanError) -> Failure {
    Failure { line: error.marker().line(), message: error.info().to_owned() }
}

/// A list or mapping that is still open.
#[derive(Debug)]
struct Frame {
    value: Value,
    /// In a mapping: the key whose value comes next.
    key: Option<String>,
    anchor: usize,
    /// Bytes of its contents.
    weight: usize,
    path: String,
}

/// Byte offsets of characters, for places that only move forward.
struct Bytes<'a> {
    text: &'a str,
    character: usize,
    byte: usize,
}

impl Bytes<'_> {
    fn at(&mut self, character: usize) -> usize {
        if character < self.character {
            (self.character, self.byte) = (0, 0);
        }
        let ahead = self.text[self.byte..].chars().take(character - self.character);
        self.byte += ahead.map(char::len_utf8).sum::<usize>();
        self.character = character;
        self.byte
    }
}

struct Reader<'a, W> {
    wanted: W,
    budget: usize,
    open: Vec<Frame>,
    anchors: HashMap<usize, (Value, usize)>,
    documents: usize,
    bytes: Bytes<'a>,
    yaml: Yaml,
}

impl<W: Fn(&str, &str) -> bool> Reader<'_, W> {
    fn take(&mut self, event: Event, span: Span) -> Result<(), Failure> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(failure(span, "more than one YAML document"));
                }
            }
            Event::MappingStart(anchor, _) => self.open(Value::Object(Map::new()), anchor, span)?,
            Event::SequenceStart(anchor, _) => self.open(Value::Array(Vec::new()), anchor, span)?,
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(frame) = self.open.pop() {
                    self.complete(frame.value, frame.weight, frame.anchor, span);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text, style, anchor, tag.as_deref(), span);
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).map(|(_, weight)| *weight);
                let weight = known.ok_or_else(|| failure(span, "alias of no value before it"))?;
                self.budget = self
                    .budget
                    .checked_sub(weight)
                    .ok_or_else(|| failure(span, "aliases expand to far more than is written"))?;
                let value = self.anchors[&anchor].0.clone();
                self.complete(value, weight, 0, span);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, value: Value, anchor: usize, span: Span) -> Result<(), Failure> {
        if self.open.len() == MAX_DEPTH {
            return Err(failure(span, "nested more than 64 levels deep"));
        }
        let path = self.path();
        self.open.push(Frame { value, key: None, anchor, weight: 1, path });
        Ok(())
    }

    /// The path of the value that comes next.
    fn path(&self) -> String {
        let Some(frame) = self.open.last() else { return String::new() };
        match (&frame.value, &frame.key) {
            (Value::Array(items), _) => join(Some(&frame.path), "", &format!("[{}]", items.len())),
            (_, Some(key)) => join(Some(&frame.path), ".", key),
            _ => frame.path.clone(),
        }
    }

    fn awaits_key(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.value.is_object() && frame.key.is_none())
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) {
        let weight = text.len() + 1;
        if self.awaits_key() {
            return self.complete(Value::String(text.into_owned()), weight, anchor, span);
        }
        let field = self.open.first().and_then(|frame| frame.key.as_deref()).unwrap_or_default();
        if (self.wanted)(field, &text) {
            let field = join(None, "", field);
            let path = self.path();
            let start = self.bytes.at(span.start.index());
            let end = self.bytes.at(span.end.index()).max(start);
            let text = text.clone().into_owned();
            self.yaml.scalars.push(Scalar { path, field, text, range: start..end });
        }
        let plain = style == ScalarStyle::Plain && tag.is_none();
        let value = if plain { resolved(&text) } else { tagged(&text, tag) };
        self.complete(value, weight, anchor, span);
    }

    /// Adds a complete value to its list or mapping.
    fn complete(&mut self, value: Value, weight: usize, anchor: usize, span: Span) {
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), weight));
        }
        let Some(frame) = self.open.last_mut() else {
            self.yaml.value = value;
            return;
        };
        frame.weight += weight;
        match (&mut frame.value, frame.key.take()) {
            (Value::Array(items), _) => items.push(value),
            (Value::Object(fields), Some(key)) => {
                if fields.contains_key(&key) && self.yaml.doubled.is_none() {
                    let key = join(None, "", &key);
                    let message = format!("key `{key}` stands twice; the last one counts");
                    self.yaml.doubled = Some(failure(span, &message));
                }
                fields.insert(key, value);
            }
            (_, None) => {
                frame.key = Some(match value {
                    Value::String(key) => key,
                    other => other.to_string(),
                });
            }
            _ => {}
        }
    }
}

fn failure(span: Span, message: &str) -> Failure {
    Failure { line: span.start.line(), message: message.to_owned() }
}

/// A scalar with a tag or quotes: a string, unless the tag is another type of the core schema.
fn tagged(text: &str, tag: Option<&Tag>) -> Value {
    let resolves = tag.is_some_and(|tag| {
        tag.handle == "tag:yaml.org,2002:"
            && matches!(&*tag.suffix, "int" | "float" | "bool" | "null")
    });
    if resolves { resolved(text) } else { Value::String(text.to_owned()) }
}

/// A plain scalar by the core schema. Values that JSON cannot hold (infinity, integers beyond 64
/// bits) stay strings.
fn resolved(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let number = integer(text).or_else(|| float(text));
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn integer(text: &str) -> Option<Number> {
    let parsed = |digits: &str, radix| {
        let digits = Some(digits).filter(|digits| !digits.starts_with(['+', '-']))?;
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return parsed(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return parsed(digits, 8);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    match text.strip_prefix('-') {
        Some(_) => text.parse::<i64>().ok().map(Number::from),
        None => digits.parse::<u64>().ok().map(Number::from),
    }
}

fn float(text: &str) -> Option<Number> {
    let first = text.strip_prefix(['+', '-']).unwrap_or(text);
    let shape =
        first.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let is_float = first.contains(['.', 'e', 'E'])
        && first.starts_with(|sign: char| sign == '.' || sign.is_ascii_digit());
    if !shape || !is_float {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}
