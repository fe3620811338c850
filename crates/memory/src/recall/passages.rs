//! Splits a memory file into passages, the units that recall finds. Pure; must not read files, or
//! say which passage is better.

use std::sync::LazyLock;

use regex::Regex;

use super::dates;
use crate::checks::without_comments;
use crate::parse::headings_at;
use base::markdown::{self, Document, TextUnit, UnitKind};
use store::SnippetLine;

/// A self-contained part of a document: a list item, a paragraph, a line of a conversation, a
/// message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    /// Number of its document, from 0.
    pub(super) document: usize,
    /// Number of its section in the document.
    pub(super) section: usize,
    /// Its context: name of the document, headings, what announces it, and dates in these in other
    /// spellings.
    pub(super) context: String,
    /// Its text as written.
    pub(super) text: String,
    /// What announces it: its line, and its beginning on one.
    pub(super) lead_in: Option<SnippetLine>,
    /// The words before its first colon, if they are few.
    pub(super) key: Option<String>,
    /// Whether it is said in a talk, where those beside it go on with it; anything else mostly stands
    /// for itself.
    pub(super) is_talk: bool,
    /// Texts of the headings above it, outermost first.
    pub(super) headings: Vec<String>,
    /// Its first line, from 1; for a message, its position in the chat.
    pub(super) line: u64,
}

/// The passages of a Markdown file, in order. Comments are left out.
///
/// `document`: its number; `name`: its path.
pub(super) fn passages(document: usize, name: &str, text: &str) -> Vec<Passage> {
    let parsed = markdown::parse(text);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let mut found: Vec<Passage> = Vec::new();
    let mut add = |section: usize,
                   headings: Vec<String>,
                   lead_in: Option<SnippetLine>,
                   line: usize,
                   text: &str| {
        let mut above = format!("{name}\n{}", headings.join("\n"));
        above.extend(lead_in.iter().flat_map(|lead_in| ["\n", &lead_in.text]));
        found.push(Passage {
            document,
            section,
            context: format!("{above}\n{}", dates::other_spellings(&above)),
            text: text.to_owned(),
            lead_in,
            key: label(text),
            is_talk: false,
            headings,
            line: line as u64,
        });
    };
    if let Some(front) = parsed.front_matter.as_ref().map(|front| front.range.clone())
        && let Some(front) = text.get(front)
    {
        let said = front.trim_matches(|char: char| char == '-' || char.is_whitespace());
        if !said.is_empty() {
            add(0, Vec::new(), None, 2, said);
        }
    }
    let mut announced = None;
    for unit in markdown::units(text).iter().filter(|unit| unit.kind != UnitKind::Comment) {
        let (section, headings) = section(&parsed, unit);
        let lead_in = announced.clone().filter(|_| unit.lead_in.is_some());
        for (line, part) in parts(unit, text) {
            add(section, headings.clone(), lead_in.clone(), line, part);
        }
        if unit.kind == UnitKind::LeadIn {
            let said = without_comments(&text[unit.range.clone()]);
            let said: Vec<&str> = said.split_whitespace().collect();
            let mut line = SnippetLine::plain(&said.join(" "));
            line.line = unit.line as u64;
            announced = Some(line);
        }
    }
    for section in found.chunk_by_mut(|one, other| one.section == other.section) {
        if is_talk(section) {
            for passage in section {
                passage.is_talk = true;
            }
        }
    }
    found
}

/// Whether the passages of a section are a talk: most begin with a name, and names come again.
fn is_talk(section: &[Passage]) -> bool {
    let mut names: Vec<&str> =
        section.iter().filter_map(|passage| passage.key.as_deref()).collect();
    let spoken = names.len();
    names.sort_unstable();
    names.dedup();
    spoken * 2 > section.len() && names.len() * 2 <= spoken
}

/// The section of a unit: its number, and the headings above.
fn section(document: &Document, unit: &TextUnit) -> (usize, Vec<String>) {
    let section = document.headings.partition_point(|found| found.range.start <= unit.range.start);
    (section, headings_at(document, unit.range.start))
}

/// A unit as it is, or split into the lines of a conversation.
fn parts<'a>(unit: &TextUnit, text: &'a str) -> Vec<(usize, &'a str)> {
    let text = &text[unit.range.clone()];
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for (line, content) in text.split_inclusive('\n').enumerate() {
        if !matches!(unit.kind, UnitKind::Item { .. }) && label(content).is_some() {
            starts.push((line, at));
        }
        at += content.len();
    }
    if starts.len() < 2 {
        return vec![(unit.line, text)];
    }
    if starts[0].1 > 0 {
        starts.insert(0, (0, 0));
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([text.len()]);
    let parts = starts
        .iter()
        .zip(ends)
        .map(|((line, start), end)| (unit.line + line, text[*start..end].trim_end()));
    parts.collect()
}

/// The words before a text's first colon, if they are few: `Ann: …`, `- **Tests:** …`.
fn label(text: &str) -> Option<String> {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:(?:[-*+>]|\d{1,9}[.)])\s+)?[*_`]{0,3}(\p{L}[\p{L}\p{N}'’.-]*(?: [\p{L}\p{N}'’.-]+){0,2})[*_`]{0,3}:(?:[*_]{1,3})?\s")
            .expect("a valid pattern")
    });
    LABEL.captures(text).map(|found| found[1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(usize, u64, String)> {
        let passages = passages(0, "notes/a.md", text).into_iter();
        passages.map(|passage| (passage.section, passage.line, passage.text)).collect()
    }

    fn row(section: usize, line: u64, text: &str) -> (usize, u64, String) {
        (section, line, text.to_owned())
    }

    #[test]
    fn items_and_paragraphs_are_passages_of_their_sections() {
        let text = "---\ntitle: x\n---\nIntro,\ntwo lines.\n\n# Top\n- one\n  more\n- two\n\n<!-- no -->\n\n## Sub\nlast\n";
        let expected = [
            row(0, 2, "title: x"),
            row(0, 4, "Intro,\ntwo lines."),
            row(1, 8, "- one\n  more"),
            row(1, 10, "- two"),
            row(2, 15, "last"),
        ];
        assert_eq!(seen(text), expected);
        assert_eq!(passages(0, "notes/a.md", text)[4].headings, ["Top", "Sub"]);
    }

    #[test]
    fn the_lines_of_a_conversation_are_passages() {
        let expected = [row(0, 1, "said:"), row(0, 2, "Ann: hi\nand more"), row(0, 4, "Bob: yes")];
        assert_eq!(seen("said:\nAnn: hi\nand more\nBob: yes\n"), expected);
        assert_eq!(seen("one line\nNote: not a talk\n").len(), 1);
    }

    #[test]
    fn items_are_a_talk_where_names_come_again() {
        let is_talk = |text: &str| {
            let passages = passages(0, "a.md", text).into_iter();
            passages.map(|passage| passage.is_talk).collect::<Vec<_>>()
        };
        assert_eq!(is_talk("- Ann: hi\n- Bob: hello\n- Ann: well\n- Bob: so\n"), [true; 4]);
        assert_eq!(is_talk("- Node: 22\n- Build: make\n- Tests: vitest\n"), [false; 3]);
        assert_eq!(is_talk("One.\n\nTwo.\n"), [false; 2]);
    }

    #[test]
    fn a_label_is_what_few_words_before_a_colon_say() {
        for (text, expected) in [
            ("Ann: hi", Some("Ann")),
            ("- **Package manager:** pnpm", Some("Package manager")),
            ("1. `CI`: green", Some("CI")),
            ("* [x] done", None),
            ("see https://a.b", None),
            ("a::b panics", None),
            ("so many words before it: no", None),
            ("12: number", None),
        ] {
            assert_eq!(label(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn dates_above_a_passage_are_found_in_other_spellings() {
        let found = passages(0, "2023-05-08.md", "said\n");
        assert!(found[0].context.contains("8 May 2023"), "{:?}", found[0].context);
    }
}
