//! Tells the model about memory that changed after its system prompt was rendered: one note per
//! file, with the added and removed entries. Pure. Must not know when the model gets the note.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::checks::{shown, without_comments};
use super::page::{LEAD_IN_CHARS, Page, PageId};
use super::scope::Scope;
use base::object::quote;
use context::tokens;

/// Lines of entries that a note shows.
const MAX_LINES: usize = 40;
/// Tokens of entries that a note shows.
const MAX_TOKENS: u64 = 1_000;

/// Pages as the model knows them.
#[derive(Debug, Clone, Default)]
pub(super) struct ToldPages {
    pages: BTreeMap<(Scope, String), Vec<(PageId, Said)>>,
}

/// What announces a page, and its text.
type Said = (String, String);

fn said(page: &Page) -> Said {
    (page.announced(LEAD_IN_CHARS), without_comments(&page.text).into_owned())
}

/// What changed in a file, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) scope: Scope,
    /// Path in the scope's folder.
    pub(super) file: String,
    added: Vec<Said>,
    removed: Vec<Said>,
}

impl ToldPages {
    /// The pages that the model knows, or would be told about.
    pub(super) fn of<'a>(pages: impl Iterator<Item = &'a Page>) -> Self {
        let mut told = Self::default();
        for page in pages {
            let file = (page.place.scope, page.place.file.clone());
            told.pages.entry(file).or_default().push((page.id.clone(), said(page)));
        }
        told
    }

    /// Whether the model knows a page as it is.
    pub(super) fn holds(&self, page: &Page) -> bool {
        let known = self.pages.get(&(page.place.scope, page.place.file.clone()));
        known.is_some_and(|pages| pages.contains(&(page.id.clone(), said(page))))
    }

    /// The differences to `now`, file by file.
    pub(super) fn changes(&self, now: &Self) -> Vec<Change> {
        let files: std::collections::BTreeSet<&(Scope, String)> =
            self.pages.keys().chain(now.pages.keys()).collect();
        let none = Vec::new();
        let changes = files.into_iter().map(|file| {
            let (before, after) =
                (self.pages.get(file).unwrap_or(&none), now.pages.get(file).unwrap_or(&none));
            Change {
                scope: file.0,
                file: file.1.clone(),
                added: missing(after, before),
                removed: missing(before, after),
            }
        });
        changes.filter(|change| !change.added.is_empty() || !change.removed.is_empty()).collect()
    }
}

/// What pages say that the others do not, in their order.
fn missing(pages: &[(PageId, Said)], others: &[(PageId, Said)]) -> Vec<Said> {
    let mut counts: HashMap<&Said, usize> = HashMap::new();
    for (_, text) in others {
        *counts.entry(text).or_default() += 1;
    }
    let mut lacking = Vec::new();
    for (_, text) in pages {
        match counts.get_mut(text).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => lacking.push(text.clone()),
        }
    }
    lacking
}

impl Change {
    /// The note. `place`: the file as the model knows it. `number`: counts the changes since the
    /// system prompt was rendered, so that no two notes have the same text.
    pub(super) fn note(&self, place: &str, number: u32) -> String {
        let (added, removed) = (self.added.len(), self.removed.len());
        let place = quote::name(place);
        let mut note = format!("{}{place} (+{added} -{removed}):", numbered(number));
        let (mut lines, mut left, mut rest) = (0, MAX_TOKENS, 0);
        let entries = self
            .removed
            .iter()
            .map(|said| ('-', said))
            .chain(self.added.iter().map(|said| ('+', said)));
        let mut above = (' ', "");
        for (sign, (announced, text)) in entries {
            // What is not announced must not stand below what announces something else.
            let said = match announced.as_str() {
                same if above == (sign, same) => text.clone(),
                "" if above != (sign, "") && above.0 == sign => format!("\n{text}"),
                _ => format!("{announced}{text}"),
            };
            above = (sign, announced);
            let shown: Vec<String> =
                quote::section(&said).lines().map(|line| format!("{sign} {line}")).collect();
            let cost: u64 = shown.iter().map(|line| tokens::count(line) + 1).sum();
            if rest > 0 || lines + shown.len() > MAX_LINES || cost > left {
                rest += 1;
                continue;
            }
            lines += shown.len();
            left -= cost;
            let _ = write!(note, "\n{}", shown.join("\n"));
        }
        if rest > 0 {
            let entries = if rest == 1 { "entry" } else { "entries" };
            let _ = write!(note, "\n… {rest} more {entries} changed in {place}");
        }
        note
    }
}

/// The beginning of a note. `number`: see [`Change::note`].
pub(super) fn numbered(number: u32) -> String {
    format!("Memory change {number}: ")
}

/// What follows it in the note on an entry whose cited files changed: `"Limit: ten" cites src/a.rs,
/// which changed`. `files`: those that are not as when the entry was written, with what became of
/// them; none if all are, whether they came back or the entry was edited or confirmed.
pub(super) fn stale_note(page: &Page, files: &[(&str, &str)]) -> String {
    let entry = shown(page);
    match files.first() {
        None => format!("{entry} cites files that are as when it was written or confirmed"),
        Some((path, change)) => {
            let change = if *change == "gone" { "is gone" } else { "changed" };
            let more = and_more(files.len() - 1);
            format!("{entry} cites {}, which {change}{more}", quote::name(path))
        }
    }
}

/// The same of several entries that no note of their own names. `places`: where they stand.
pub(super) fn stale_rest(count: usize, is_stale: bool, places: &str) -> String {
    let what = if is_stale {
        "changed or are gone"
    } else {
        "are as when these were written or confirmed"
    };
    format!("{count} more entries cite files that {what}: {places}")
}

/// Ends a list in words: `, and 3 more`; nothing if there are no more.
pub(super) fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    fn told(text: &str) -> ToldPages {
        ToldPages::of(parse(Scope::Project, "MEMORY.md", text).iter())
    }

    fn notes(before: &str, after: &str) -> Vec<String> {
        let changes = told(before).changes(&told(after));
        changes.iter().map(|change| change.note(".pi/memory/MEMORY.md", 1)).collect()
    }

    #[test]
    fn entries_that_came_and_went_are_named() {
        assert_eq!(
            notes("- a: 1\n- b: 2\n- c: 3\n", "- b: 2\n- a: 9\n- d: 4\n  more\n"),
            [
                "Memory change 1: .pi/memory/MEMORY.md (+2 -2):\n- - a: 1\n- - c: 3\n+ - a: 9\n+ - d: 4\n+   more"
            ]
        );
    }

    #[test]
    fn entries_are_told_with_what_announces_their_list() {
        assert_eq!(
            notes("Never:\n- a\n", "Always:\n- a\n- b\n\nSo.\n"),
            [
                "Memory change 1: .pi/memory/MEMORY.md (+3 -1):\n- Never:\n- - a\n+ Always:\n+ - a\n+ - b\n+ \n+ So."
            ]
        );
    }

    #[test]
    fn an_entry_that_only_moved_is_no_change() {
        assert_eq!(notes("- a\n- b\n", "## H\n- b\n\n- a\n"), Vec::<String>::new());
    }

    #[test]
    fn a_second_entry_with_the_same_text_is_a_change() {
        assert_eq!(notes("- a\n", "- a\n- a\n").len(), 1);
    }

    #[test]
    fn what_is_beyond_the_limits_is_counted() {
        let many: Vec<String> = (0..60).map(|number| format!("- entry {number}")).collect();
        let many = many.join("\n");
        let note = notes("", &many).remove(0);
        assert_eq!(note.lines().count(), 42);
        assert!(note.ends_with("\n… 20 more entries changed in .pi/memory/MEMORY.md"), "{note}");
        let long = format!("- {}\n", "word ".repeat(2_000));
        assert!(notes("", &long)[0].ends_with("\n… 1 more entry changed in .pi/memory/MEMORY.md"));
    }
}
