//! Finds and replaces the lines of a forgotten text in other texts and in JSON. No storage.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde_json::{Map, Value};

use crate::rules::escaped;
use base::error::{Error, Result};
use base::object::item::{holds_free_text, is_name};

/// Replaces forgotten text.
pub(super) const MARK: &str = "[forgotten]";

/// Shortest line that identifies a text; shorter ones occur anywhere.
const LINE_CHARS: usize = 12;

/// Shortest text that counts as a whole. A short one counts only as a separate word.
const WHOLE_CHARS: usize = 4;

/// Largest text that is also looked for as a whole.
const WHOLE_BYTES: usize = 4 << 10;

/// Bytes by which a pattern is found; the rest is compared. An automaton of whole patterns is a
/// hundred times as large as the text.
const START_BYTES: usize = 24;

/// Levels of JSON strings in which a line may be escaped: a rendered message in a call record,
/// arguments inside it.
const ESCAPES: usize = 2;

/// Collects the lines of texts. True for lines found in a content or item, and not only in fields.
#[derive(Debug, Default)]
pub(super) struct Collector(BTreeMap<String, bool>);

impl Collector {
    /// Adds the lines of a content, and the content as a whole.
    pub(super) fn add_text(&mut self, text: &str) {
        self.add_lines(text, true);
        let whole = text.trim();
        if whole.chars().nth(WHOLE_CHARS - 1).is_some() && whole.len() <= WHOLE_BYTES {
            self.0.insert(whole.to_owned(), true);
        }
    }

    /// Adds the lines of the strings of a version's fields.
    pub(super) fn add_fields(&mut self, fields: &Map<String, Value>) {
        strings(Value::Object(fields.clone()), &mut |text| self.add_lines(text, false));
    }

    /// Adds the lines of an item.
    pub(super) fn add_item(&mut self, item: &str) {
        match serde_json::from_str(item) {
            Ok(value) => strings(value, &mut |text| self.add_lines(text, true)),
            Err(_) => self.add_lines(item, true),
        }
    }

    fn add_lines(&mut self, text: &str, of_text: bool) {
        for line in long_lines(text).filter(|line| *line != MARK) {
            *self.0.entry(line.to_owned()).or_default() |= of_text;
        }
    }
}

/// Finds the lines. Each has a number, from 0.
pub(super) struct ForgottenLines {
    texts: Vec<String>,
    of_text: Vec<bool>,
    whole: HashMap<String, usize>,
    /// How patterns begin; none begins with another.
    starts: AhoCorasick,
    /// In the order of their texts.
    patterns: Vec<Pattern>,
}

/// A line as it is looked for. A line has several if JSON escapes something in it.
struct Pattern {
    text: String,
    line: usize,
    /// The longest other pattern that this one begins with.
    within: Option<usize>,
}

impl ForgottenLines {
    pub(super) fn new(collected: Collector) -> Result<Self> {
        let (lines, of_text): (Vec<String>, Vec<bool>) = collected.0.into_iter().unzip();
        let mut forms = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let mut form = line.clone();
            for _ in 0..=ESCAPES {
                let escaped = escaped(&form);
                let is_plain = escaped == form;
                forms.push((std::mem::replace(&mut form, escaped), number));
                if is_plain {
                    break;
                }
            }
        }
        let patterns = patterns(forms);
        let starts = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(starts(&patterns))
            .map_err(|error| Error::argument("target", format!("has too much text: {error}")))?;
        let whole = lines.iter().cloned().zip(0..).collect();
        Ok(Self { texts: lines, of_text, whole, starts, patterns })
    }

    pub(super) fn count(&self) -> usize {
        self.texts.len()
    }

    /// A line by its number.
    pub(super) fn text(&self, number: usize) -> &str {
        self.texts.get(number).map_or("", String::as_str)
    }

    /// The number of a line.
    pub(super) fn number(&self, line: &str) -> Option<usize> {
        self.whole.get(line).copied()
    }

    /// Whether a line was in a content or item, and not only in fields.
    pub(super) fn is_of_text(&self, number: usize) -> bool {
        self.of_text.get(number).copied().unwrap_or_default()
    }

    /// Whether a line contains something like a key: a run of at least 16 characters without
    /// spaces, with letters and digits mixed.
    pub(super) fn looks_like_key(&self, number: usize) -> bool {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+/_-=.".contains(letter);
        self.text(number).split(|letter| !is_part(letter)).any(|run| {
            let digits = run.chars().filter(char::is_ascii_digit).count();
            let letters = run.chars().filter(char::is_ascii_alphabetic).count();
            run.len() >= 16 && digits >= 3 && letters >= 3
        })
    }

    /// Adds the lines that occur anywhere in a text, and those that are whole lines of it. Returns
    /// the number of its lines that are long enough; 0 if it has none of ours.
    pub(super) fn find(
        &self,
        text: &str,
        inside: &mut BTreeSet<usize>,
        whole: &mut BTreeSet<usize>,
    ) -> usize {
        let mut found = self.matches(text).map(|(number, _)| number).peekable();
        if found.peek().is_none() {
            return 0;
        }
        inside.extend(found);
        let all: BTreeSet<&str> = long_lines(text).collect();
        whole.extend(all.iter().filter_map(|line| self.whole.get(*line)));
        all.len()
    }

    /// Replaces the lines in a text for which `goes` is true; `None` if the text has none of them.
    /// With `with_rest`, a text that has one of them loses all other lines too; this is for texts
    /// known to be about the forgotten one.
    pub(super) fn replaced(&self, text: &str, goes: &[bool], with_rest: bool) -> Option<String> {
        let named = |number: usize| goes.get(number).copied().unwrap_or_default();
        let found: Vec<_> = self.matches(text).collect();
        if !found.iter().any(|(number, _)| named(*number)) {
            return None;
        }
        let mut replaced = String::with_capacity(text.len());
        let mut end = 0;
        for (_, range) in found.into_iter().filter(|(number, _)| with_rest || named(*number)) {
            replaced.push_str(&text[end..range.start]);
            replaced.push_str(MARK);
            end = range.end;
        }
        replaced.push_str(&text[end..]);
        Some(replaced)
    }

    /// As [`Self::replaced`], for the strings of a JSON value; returns whether it changed.
    pub(super) fn replace_json(&self, value: &mut Value, goes: &[bool], with_rest: bool) -> bool {
        change_strings(value, "", false, &mut |text| self.replaced(text, goes, with_rest))
    }

    /// As [`Self::replaced`], for an item, which is JSON in practice; `None` if nothing changes.
    pub(super) fn replaced_item(
        &self,
        item: &str,
        goes: &[bool],
        with_rest: bool,
    ) -> Option<String> {
        match serde_json::from_str::<Value>(item) {
            Ok(mut value) => {
                self.replace_json(&mut value, goes, with_rest).then(|| value.to_string())
            }
            Err(_) => self.replaced(item, goes, with_rest),
        }
    }

    /// The longest pattern that a text begins with.
    fn longest(&self, text: &str) -> Option<&Pattern> {
        let mut at = self.patterns.partition_point(|it| it.text.as_str() <= text).checked_sub(1);
        while let Some(pattern) = at.and_then(|at| self.patterns.get(at)) {
            if text.starts_with(&pattern.text) {
                return Some(pattern);
            }
            at = pattern.within;
        }
        None
    }

    fn matches(&self, text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut from = 0;
        let next = move || loop {
            let start = self.starts.find(Input::new(text).range(from..))?.start();
            from = start + 1;
            if let Some(pattern) = self.longest(text.get(start..)?) {
                from = start + pattern.text.len();
                return Some((pattern.line, start..from));
            }
        };
        std::iter::from_fn(next).filter(|(number, range)| {
            let long = self.text(*number).chars().nth(LINE_CHARS - 1).is_some();
            long || is_word(text, range.clone())
        })
    }
}

/// The patterns of these texts and their lines.
fn patterns(mut forms: Vec<(String, usize)>) -> Vec<Pattern> {
    forms.sort();
    forms.dedup_by(|next, kept| next.0 == kept.0);
    let mut patterns: Vec<Pattern> = Vec::with_capacity(forms.len());
    for (text, line) in forms {
        let mut within = patterns.len().checked_sub(1);
        while let Some(at) = within.filter(|at| !text.starts_with(&patterns[*at].text)) {
            within = patterns[at].within;
        }
        patterns.push(Pattern { text, line, within });
    }
    patterns
}

/// How patterns begin, without those that begin with another.
fn starts(patterns: &[Pattern]) -> Vec<&[u8]> {
    let mut starts: Vec<&[u8]> = Vec::new();
    for pattern in patterns {
        let bytes = pattern.text.as_bytes();
        if !starts.last().is_some_and(|start| bytes.starts_with(start)) {
            starts.push(&bytes[..bytes.len().min(START_BYTES)]);
        }
    }
    starts
}

/// Calls `each` with the strings of a JSON value that are text.
pub(super) fn strings(mut value: Value, each: &mut dyn FnMut(&str)) {
    // The walk that changes strings, so that both have the same rules.
    change_strings(&mut value, "", false, &mut |text| {
        each(text);
        None
    });
}

/// The trimmed lines of a text that are long enough to identify it.
fn long_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| line.chars().nth(LINE_CHARS - 1).is_some())
}

/// Whether anything changed.
fn change_strings(
    value: &mut Value,
    member: &str,
    free: bool,
    change: &mut dyn FnMut(&str) -> Option<String>,
) -> bool {
    match value {
        Value::String(text) if free || !is_name(member, text) => match change(text) {
            // The path of a file that stays is kept whole, even if it contains forgotten names of
            // folders.
            Some(changed) if free || member != "path" || changed == MARK => {
                *text = changed;
                true
            }
            _ => false,
        },
        Value::Array(list) => {
            let mut changed = false;
            for element in list {
                changed |= change_strings(element, member, free, change);
            }
            changed
        }
        Value::Object(members) => {
            let mut changed = false;
            for (name, value) in members.iter_mut() {
                let free = free || holds_free_text(name);
                changed |= change_strings(value, name, free, change);
            }
            (free && rename_members(members, change)) || changed
        }
        _ => false,
    }
}

/// Names of members inside a tool's arguments are text too.
fn rename_members(
    members: &mut Map<String, Value>,
    change: &mut dyn FnMut(&str) -> Option<String>,
) -> bool {
    let names: Vec<Option<String>> = members.keys().map(|name| change(name)).collect();
    if names.iter().all(Option::is_none) {
        return false;
    }
    let mut renamed = Map::new();
    for ((name, value), new) in std::mem::take(members).into_iter().zip(names) {
        let mut name = new.unwrap_or(name);
        while renamed.contains_key(&name) {
            name.push('_');
        }
        renamed.insert(name, value);
    }
    *members = renamed;
    true
}

/// Whether no letter or digit touches a place.
fn is_word(text: &str, range: Range<usize>) -> bool {
    let joins = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    !joins(text[..range.start].chars().next_back()) && !joins(text[range.end..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> ForgottenLines {
        let mut collector = Collector::default();
        for text in texts {
            collector.add_text(text);
        }
        ForgottenLines::new(collector).unwrap()
    }

    fn replaced(lines: &ForgottenLines, text: &str) -> Option<String> {
        lines.replaced(text, &vec![true; lines.count()], false)
    }

    #[test]
    fn a_line_is_found_inside_longer_text() {
        let lines = lines(&["first line of it\n  short\n\tthe \"second\" line\n"]);
        let text = "he said: first line of it, and the \"second\" line.";
        assert_eq!(replaced(&lines, text).unwrap(), "he said: [forgotten], and [forgotten].");
        assert_eq!(replaced(&lines, "short"), None);
    }

    #[test]
    fn of_lines_that_begin_alike_the_longest_is_found() {
        let start = "a line that begins as all the others do";
        let lines =
            lines(&[&format!("{start}\n{start}, and on\n{start}, and on again\n"), "a line\n"]);
        let found = |text: &str| replaced(&lines, text).unwrap_or_default();
        assert_eq!(found(&format!("x {start}, and on again!")), format!("x {MARK}!"));
        assert_eq!(found(&format!("{start}, and off")), format!("{MARK}, and off"));
        assert_eq!(found("a line that begins otherwise"), format!("{MARK} that begins otherwise"));
        assert_eq!(found(&format!("a line{start}")), format!("a line{MARK}"));
    }

    #[test]
    fn a_short_text_counts_where_it_is_a_word() {
        let lines = lines(&["hunter2\n"]);
        assert_eq!(replaced(&lines, "pw=hunter2;").unwrap(), "pw=[forgotten];");
        assert_eq!(replaced(&lines, "hunter22"), None);
    }

    #[test]
    fn escaped_lines_are_found_and_json_stays_json() {
        let lines = lines(&["say \"hello\" to \\ me"]);
        let inner = serde_json::json!({ "text": "say \"hello\" to \\ me" }).to_string();
        let nested = serde_json::json!({ "message": serde_json::json!([inner]).to_string() });
        let goes = vec![true; lines.count()];
        let changed = lines.replaced_item(&nested.to_string(), &goes, false).unwrap();
        let outer: Value = serde_json::from_str(&changed).unwrap();
        let list: Value = serde_json::from_str(outer["message"].as_str().unwrap()).unwrap();
        let inner: Value = serde_json::from_str(list[0].as_str().unwrap()).unwrap();
        assert_eq!(inner["text"], MARK);
    }

    #[test]
    fn names_and_ids_are_no_text_but_all_of_a_tools_arguments_is() {
        let request = "0172cb370a653d4e";
        let lines = lines(&["assistant", "bash", request]);
        let item = serde_json::json!({ "role": "assistant", "content": [
            { "name": "bash", "arguments": { "name": "bash", "bash": "assistant" } } ] });
        let goes = vec![true; lines.count()];
        let changed = lines.replaced_item(&item.to_string(), &goes, false).unwrap();
        assert_eq!(
            changed,
            r#"{"role":"assistant","content":[{"name":"bash","arguments":{"name":"[forgotten]","[forgotten]":"[forgotten]"}}]}"#
        );
        let event = |request: &str| serde_json::json!({ "request": request }).to_string();
        assert_eq!(lines.replaced_item(&event(request), &goes, false), None);
        let said = lines.replaced_item(&event(&format!("key {request}")), &goes, false);
        assert_eq!(said.unwrap(), event("key [forgotten]"));
    }

    #[test]
    fn the_path_of_a_file_that_stays_is_kept_whole() {
        let lines = lines(&["/home/a/packages", "/home/a/secret"]);
        let goes = vec![true; lines.count()];
        let item = |path: &str| serde_json::json!({ "event": "file", "path": path }).to_string();
        assert_eq!(lines.replaced_item(&item("/home/a/packages/b.rs"), &goes, true), None);
        let changed = lines.replaced_item(&item("/home/a/secret"), &goes, true);
        assert_eq!(changed.unwrap(), item(MARK));
    }

    #[test]
    fn keys_are_told_from_code() {
        let lines = lines(&["token: sk_live_51Habcdef0123", "use std::collections::HashMap;"]);
        let keys: Vec<bool> = (0..lines.count()).map(|line| lines.looks_like_key(line)).collect();
        assert_eq!(keys, [true, false]);
    }
}
