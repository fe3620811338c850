//! Inserts a new entry into an index. Pure. The rest of the text stays byte for byte: line endings,
//! a byte order mark, whether the last line ends with a line break.

use crate::page::words;
use crate::parse::without_marker;
use base::markdown::{self, Document, Heading, UnitKind};

/// The heading for entries that suggest no other.
const NOTES: &str = "Notes";

/// Keys that name a kind of entry, with the heading that is created for such entries if they have
/// none.
const KINDS: [(&str, &str); 6] = [
    ("decision", "Decisions"),
    ("instruction", "Instructions"),
    ("rule", "Rules"),
    ("preference", "Preferences"),
    ("procedure", "Procedures"),
    ("reference", "References"),
];

/// The byte order mark that some editors write first.
const MARK: char = '\u{feff}';

/// A text with its new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inserted {
    /// The whole text.
    pub(super) text: String,
    /// First line of the entry, from 1.
    pub(super) line: usize,
}

/// Inserts an entry into an index, behind the last one below its heading.
///
/// `heading`: the wanted heading. Otherwise the entry's key decides, the words before a colon or
/// dash: a heading that says the same, or that of the kind that the key names, or `Notes`. A
/// missing heading is added at the end.
pub(super) fn insert(
    text: &str,
    heading: Option<&str>,
    key: Option<&str>,
    entry: &str,
) -> Inserted {
    if let Some(rest) = text.strip_prefix(MARK) {
        let inserted = insert(rest, heading, key, entry);
        return Inserted { text: format!("{MARK}{}", inserted.text), ..inserted };
    }
    let document = markdown::parse(text);
    let (wanted, found) = heading_for(&document, heading, key);
    let lines: Vec<&str> = text.lines().collect();
    let (after, is_below_list) = match found {
        Some(found) => end_of(&document, found, text, &lines),
        None => {
            (lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1), false)
        }
    };
    let marker = marker_in(&lines[..after]);
    let mut added: Vec<String> = Vec::new();
    let is_first = after == 0 || lines[..after].iter().all(|line| is_blank(line));
    if found.is_none() {
        if !is_first {
            added.push(String::new());
        }
        added.extend([format!("## {wanted}"), String::new()]);
    } else if !is_below_list {
        added.push(String::new());
    }
    let line = after + added.len() + 1;
    added.extend(item(marker, entry));
    // The following text begins a separate block.
    if lines.get(after).is_some_and(|next| !is_blank(next)) {
        added.push(String::new());
    }
    Inserted { text: with_lines(text, after, &added), line }
}

/// The heading for an entry according to its text and, if it exists, the heading as written.
fn heading_for<'a>(
    document: &'a Document,
    heading: Option<&str>,
    key: Option<&str>,
) -> (String, Option<&'a Heading>) {
    let standing = |name: &str| {
        let name = singular(name);
        document.headings.iter().rfind(|one| !name.is_empty() && singular(&one.text) == name)
    };
    let kind = key.and_then(|key| {
        let key = singular(key);
        KINDS.iter().find(|(kind, _)| key == [*kind]).map(|(_, heading)| *heading)
    });
    if let Some(heading) = heading {
        return (heading.split_whitespace().collect::<Vec<_>>().join(" "), standing(heading));
    }
    let found = key.and_then(standing).or_else(|| standing(kind.unwrap_or(NOTES)));
    (kind.unwrap_or(NOTES).to_owned(), found)
}

/// The words of a heading, without the ending of a plural.
fn singular(text: &str) -> Vec<String> {
    let stem = |word: String| word.strip_suffix('s').map(str::to_owned).unwrap_or(word);
    words(text).into_iter().map(stem).collect()
}

/// The number of lines before the insertion point behind the last entry below a heading, and
/// whether that entry is a list item. A list that something announces has no room for others: they go
/// before that.
fn end_of(document: &Document, heading: &Heading, text: &str, lines: &[&str]) -> (usize, bool) {
    let next = document.headings.iter().map(|one| one.line).find(|line| *line > heading.line);
    let end = next.map_or(lines.len(), |line| line - 1);
    let units = markdown::units(text).into_iter();
    let mut below = units.filter(|unit| unit.line > heading.line && unit.line <= end).rev();
    let lead_in =
        below.find(|unit| unit.lead_in.is_none()).filter(|unit| unit.kind == UnitKind::LeadIn);
    let end = lead_in.map_or(end, |unit| unit.line - 1);
    // An underlined heading has two lines.
    let start = heading.line + usize::from(is_underlined(lines, heading));
    let below = lines.get(start..end).unwrap_or_default();
    let Some(last) = below.iter().rposition(|line| !is_blank(line)) else {
        return (start.min(lines.len()), false);
    };
    let is_item = below[..=last]
        .iter()
        .rfind(|line| !is_blank(line) && !line.starts_with([' ', '\t']))
        .is_some_and(|line| marker_of(line).is_some());
    (start + last + 1, is_item)
}

fn is_underlined(lines: &[&str], heading: &Heading) -> bool {
    let is_plain =
        !lines.get(heading.line - 1).is_some_and(|line| line.trim_start().starts_with('#'));
    is_plain
        && lines.get(heading.line).is_some_and(|line| line.trim_start().starts_with(['=', '-']))
}

/// The marker of the last list before a place.
fn marker_in(lines: &[&str]) -> char {
    lines.iter().rev().find_map(|line| marker_of(line)).unwrap_or('-')
}

fn marker_of(line: &str) -> Option<char> {
    let mut chars = line.chars();
    let marker = chars.next().filter(|first| matches!(first, '-' | '*' | '+'))?;
    chars.next().is_some_and(|next| next == ' ' || next == '\t').then_some(marker)
}

/// An entry as a list item, with its further lines indented.
fn item(marker: char, entry: &str) -> Vec<String> {
    let entry = without_marker(entry.trim());
    let mut lines = entry.lines().map(str::trim_end);
    let first = format!("{marker} {}", lines.next().unwrap_or_default());
    let rest = lines.map(|line| if line.is_empty() { String::new() } else { format!("  {line}") });
    std::iter::once(first).chain(rest).collect()
}

/// A text with lines behind the first `after` ones.
fn with_lines(text: &str, after: usize, added: &[String]) -> String {
    let ending = line_ending(text);
    let starts = text.split_inclusive('\n').take(after).map(str::len).sum::<usize>();
    let (before, behind) = text.split_at(starts);
    let mut whole = before.to_owned();
    let is_open = !before.is_empty() && !before.ends_with('\n');
    if is_open {
        whole.push_str(ending);
    }
    whole.push_str(&added.join(ending));
    // A text whose last line has no line break stays that way.
    if !is_open {
        whole.push_str(ending);
    }
    whole + behind
}

fn line_ending(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    if text.matches("\r\n").count() * 2 > all { "\r\n" } else { "\n" }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::page_of;
    use crate::scope::Scope;

    fn inserted(text: &str, entry: &str) -> String {
        let page = page_of(entry, Scope::Project).unwrap();
        let inserted = insert(text, None, page.key.as_deref(), entry);
        let line = inserted.text.lines().nth(inserted.line - 1).unwrap();
        assert!(
            line.contains(entry.lines().next().unwrap().trim_start_matches("- ")),
            "{inserted:?}"
        );
        inserted.text
    }

    #[test]
    fn an_entry_goes_last_below_its_suggested_heading() {
        for (text, entry, expected) in [
            ("", "a", "## Notes\n\n- a\n"),
            ("\u{feff}", "a", "\u{feff}## Notes\n\n- a\n"),
            ("# Memory\n", "a", "# Memory\n\n## Notes\n\n- a\n"),
            ("## Notes\n", "a", "## Notes\n\n- a\n"),
            ("## Notes\n- x\n", "a", "## Notes\n- x\n- a\n"),
            ("## Notes\n- x", "a", "## Notes\n- x\n- a"),
            (
                "## notes\r\n* x\r\n\r\n## B\r\n- y\r\n",
                "a",
                "## notes\r\n* x\r\n* a\r\n\r\n## B\r\n- y\r\n",
            ),
            ("## Notes\n- x\n## B\n", "a", "## Notes\n- x\n- a\n\n## B\n"),
            ("## Notes\ntext\n\n\n## B\n", "a", "## Notes\ntext\n\n- a\n\n\n## B\n"),
            (
                "## Build\n- x\n  more\n\n  more\n\n## Notes\n",
                "Build: make",
                "## Build\n- x\n  more\n\n  more\n- Build: make\n\n## Notes\n",
            ),
            ("## Decisions\n- x\n", "Decision: y", "## Decisions\n- x\n- Decision: y\n"),
            ("- x\n", "decision: y", "- x\n\n## Decisions\n\n- decision: y\n"),
            ("- x\n", "CI: y", "- x\n\n## Notes\n\n- CI: y\n"),
            ("Notes\n=====\n- x\n\nB\n---\n", "a", "Notes\n=====\n- x\n- a\n\nB\n---\n"),
            ("## Notes\n- x\n\n### Sub\n- y\n", "a", "## Notes\n- x\n- a\n\n### Sub\n- y\n"),
            (
                "## Notes\n- x\n\nNever:\n- y\n- z\n",
                "a",
                "## Notes\n- x\n- a\n\nNever:\n- y\n- z\n",
            ),
            ("## Notes\nNever:\n- y\n", "a", "## Notes\n\n- a\n\nNever:\n- y\n"),
            ("```\n## Notes\n```\n", "a", "```\n## Notes\n```\n\n## Notes\n\n- a\n"),
            ("## Notes\n", "- a\nb\n\nc", "## Notes\n\n- a\n  b\n\n  c\n"),
        ] {
            assert_eq!(inserted(text, entry), expected, "{text:?} {entry:?}");
        }
    }

    #[test]
    fn a_heading_that_is_asked_for_is_used_or_made() {
        let at = |text: &str| insert(text, Some("Release  process"), Some("CI"), "a").text;
        assert_eq!(
            at("## release process\n- x\n\n## CI\n"),
            "## release process\n- x\n- a\n\n## CI\n"
        );
        assert_eq!(at("## CI\n"), "## CI\n\n## Release process\n\n- a\n");
    }
}
