//! Inserts a new entry into an index. Pure. The rest of the text stays byte for byte: line endings,
//! a byte order mark, whether the last line ends with a line break.

use crate::kind::is_step;
use crate::page::heading_words;
use crate::parse::without_marker;
use base::markdown::{self, Document, Heading, TextUnit, UnitKind};

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
/// `path`: the wanted heading, behind those above it. If it is empty, the entry's key decides, the words
/// before a colon or dash: a heading that says the same, or that of the kind that the key names, or
/// `Notes`. Missing headings are added at the end of what stands below the others.
pub(super) fn insert(text: &str, path: &[String], key: Option<&str>, entry: &str) -> Inserted {
    if let Some(rest) = text.strip_prefix(MARK) {
        let inserted = insert(rest, path, key, entry);
        return Inserted { text: format!("{MARK}{}", inserted.text), ..inserted };
    }
    let document = markdown::parse(text);
    let (found, missing) = heading_for(&document, path, key);
    let lines: Vec<&str> = text.lines().collect();
    let (after, is_below_list) = match found {
        Some(found) if missing.is_empty() => end_of(&document, found, text, &lines),
        _ => {
            let end = found.map_or(lines.len(), |found| found.last_line.min(lines.len()));
            (lines[..end].iter().rposition(|line| !is_blank(line)).map_or(0, |at| at + 1), false)
        }
    };
    let marker = marker_in(&lines[..after]);
    let mut added: Vec<String> = Vec::new();
    let is_first = after == 0 || lines[..after].iter().all(|line| is_blank(line));
    if missing.is_empty() && !is_below_list || !missing.is_empty() && !is_first {
        added.push(String::new());
    }
    let levels = found.map_or(2, |found| usize::from(found.level) + 1)..;
    for (name, level) in missing.iter().zip(levels) {
        added.extend([format!("{} {name}", "#".repeat(level.min(6))), String::new()]);
    }
    let line = after + added.len() + 1;
    added.extend(item(marker, entry));
    // The following text begins a separate block.
    if lines.get(after).is_some_and(|next| !is_blank(next)) {
        added.push(String::new());
    }
    Inserted { text: with_lines(text, after, &added), line }
}

/// The innermost heading for an entry that is there, as written, and those below it that are missing.
fn heading_for<'a>(
    document: &'a Document,
    path: &[String],
    key: Option<&str>,
) -> (Option<&'a Heading>, Vec<String>) {
    // The outermost counts, and of several the last.
    let standing = |name: &str, above: Option<usize>| {
        let name = heading_words(name);
        let is_it = |(_, one): &(usize, &Heading)| {
            let is_below = above.is_none() || one.parent == above;
            is_below && !name.is_empty() && heading_words(&one.text) == name
        };
        let found = document.headings.iter().enumerate().rev().filter(is_it);
        found.min_by_key(|(_, one)| one.level).map(|(at, _)| at)
    };
    if !path.is_empty() {
        let known = path.iter().scan(None, |above, name| {
            *above = Some(standing(name, *above)?);
            *above
        });
        let known: Vec<usize> = known.collect();
        let missing = path[known.len()..].iter();
        let missing = missing.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
        return (known.last().map(|at| &document.headings[*at]), missing.collect());
    }
    let kind = key.and_then(|key| {
        let key = heading_words(key);
        KINDS.iter().find(|(kind, _)| key == [*kind]).map(|(_, heading)| *heading)
    });
    let wanted = kind.unwrap_or(NOTES);
    let found = key.and_then(|key| standing(key, None)).or_else(|| standing(wanted, None));
    match found {
        Some(at) => (Some(&document.headings[at]), Vec::new()),
        None => (None, vec![wanted.to_owned()]),
    }
}

/// The number of lines before the insertion point behind the last entry below a heading, and
/// whether that entry is a list item. Lists that something announces have no room for others, nor is
/// there any behind what would announce one: they go before that.
fn end_of(document: &Document, heading: &Heading, text: &str, lines: &[&str]) -> (usize, bool) {
    let next = document.headings.iter().map(|one| one.line).find(|line| *line > heading.line);
    let end = next.map_or(lines.len(), |line| line - 1);
    let units = markdown::units(text).into_iter();
    let below = units.filter(|unit| unit.line > heading.line && unit.line <= end).rev();
    let is_announced = |unit: &TextUnit| {
        unit.lead_in.is_some()
            || unit.kind == UnitKind::LeadIn
            || (unit.kind == UnitKind::Block && markdown::announces(&text[unit.range.clone()]))
    };
    let end = below.take_while(is_announced).last().map_or(end, |unit| unit.line - 1);
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
    let entry = entry.trim();
    // A number may be a part of what is said: `3. October`.
    let entry = if is_step(entry) { entry.to_owned() } else { without_marker(entry) };
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
        let inserted = insert(text, &[], page.key.as_deref(), entry);
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
            (
                "## Notes\n- x\n\nDo:\n- y\n\nDon't:\n- z\n",
                "a",
                "## Notes\n- x\n- a\n\nDo:\n- y\n\nDon't:\n- z\n",
            ),
            ("## Notes\n\nThings to do:\n", "a", "## Notes\n\n- a\n\nThings to do:\n"),
            ("```\n## Notes\n```\n", "a", "```\n## Notes\n```\n\n## Notes\n\n- a\n"),
            ("## Notes\n", "- a\nb\n\nc", "## Notes\n\n- a\n  b\n\n  c\n"),
            ("## Notes\n", "1. a\n2. b", "## Notes\n\n- 1. a\n  2. b\n"),
            ("## Notes\n", "3. October: closed", "## Notes\n\n- 3. October: closed\n"),
        ] {
            assert_eq!(inserted(text, entry), expected, "{text:?} {entry:?}");
        }
    }

    #[test]
    fn an_entry_goes_below_the_headings_above_its_own() {
        let path = ["Backend", "Build"].map(str::to_owned);
        for (text, expected) in [
            ("", "## Backend\n\n### Build\n\n- a\n"),
            (
                "## Frontend\n\n### Build\n- x\n",
                "## Frontend\n\n### Build\n- x\n\n## Backend\n\n### Build\n\n- a\n",
            ),
            (
                "## Backend\n- x\n\n### Run\n- y\n\n## Other\n- z\n",
                "## Backend\n- x\n\n### Run\n- y\n\n### Build\n\n- a\n\n## Other\n- z\n",
            ),
            (
                "## Backend\n### Build\n- x\n\n## Other\n### Build\n",
                "## Backend\n### Build\n- x\n- a\n\n## Other\n### Build\n",
            ),
        ] {
            assert_eq!(insert(text, &path, None, "a").text, expected, "{text:?}");
        }
    }

    #[test]
    fn a_heading_that_is_asked_for_is_used_or_made() {
        let path = ["Release  process".to_owned()];
        let at = |text: &str| insert(text, &path, Some("CI"), "a").text;
        assert_eq!(
            at("## release process\n- x\n\n## CI\n"),
            "## release process\n- x\n- a\n\n## CI\n"
        );
        assert_eq!(at("## CI\n"), "## CI\n\n## Release process\n\n- a\n");
    }
}
