//! Entries that cite a file and do not stand in full in the system prompt: once the session reads or
//! edits the file, a note has them. Pure; must not look at files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::page::PageId;
use base::object::quote;
use context::tokens;

/// Most tokens of an entry in a note; a longer one is shortened.
pub(super) const MOST_TOKENS: u32 = 120;
/// Most tokens of the entries of a note.
const NOTE_TOKENS: u64 = 240;
/// Most entries of a note.
const NOTE_ENTRIES: usize = 5;
/// Most notes for one call.
const NOTES: usize = 3;

/// An entry that cites files.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its page.
    pub(super) id: PageId,
    /// What a note has of it.
    pub(super) text: String,
    /// Whether it is to be obeyed: then it comes first.
    pub(super) is_rule: bool,
    /// Where it stands, as the model knows it.
    pub(super) file: String,
    /// Its first line there.
    pub(super) line: u32,
    /// The cited files, each with its path as the model knows it.
    pub(super) cites: Vec<(PathBuf, String)>,
}

/// What memory has on files besides the system prompt.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    entries: Vec<Entry>,
    /// The pages of which the model was told in full.
    told: BTreeSet<PageId>,
    /// Paths of the files that the session met.
    met: BTreeSet<String>,
}

impl AtHand {
    /// For a section that was made while the session knew these files.
    pub(super) fn new(met: &[String]) -> Self {
        Self { met: met.iter().cloned().collect(), ..Self::default() }
    }

    /// These are the entries now.
    pub(super) fn lay(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.entries.sort_by_key(|entry| !entry.is_rule);
    }

    /// The model learned of these pages another way.
    pub(super) fn were_told(&mut self, pages: impl Iterator<Item = PageId>) {
        self.told.extend(pages);
    }

    /// Paths of the files that the session met.
    pub(super) fn met(&self) -> &BTreeSet<String> {
        &self.met
    }

    /// The notes on files that are new to the session, each entry once. Files behind the most notes
    /// count as not met yet. `paths`: see [`Self::met`].
    pub(super) fn notes(&mut self, paths: Vec<String>) -> Vec<String> {
        let mut notes = Vec::new();
        for path in paths {
            if notes.len() == NOTES {
                break;
            }
            notes.extend(self.note(Path::new(&path)));
            self.met.insert(path);
        }
        notes
    }

    fn note(&mut self, path: &Path) -> Option<String> {
        let cites = |entry: &Entry| {
            let cited = entry.cites.iter().find(|(cited, _)| cited == path)?;
            (!self.told.contains(&entry.id)).then(|| cited.1.clone())
        };
        let on: Vec<(&Entry, String)> =
            self.entries.iter().filter_map(|entry| Some((entry, cites(entry)?))).collect();
        let (_, name) = on.first()?;
        let (mut left, mut shown) = (NOTE_TOKENS, Vec::new());
        for (entry, _) in on.iter().take(NOTE_ENTRIES) {
            let cost = tokens::count(&entry.text) + 1;
            if cost > left {
                break;
            }
            left -= cost;
            shown.push(*entry);
        }
        let at = places(shown.iter().map(|entry| (&*entry.file, entry.line)));
        let mut note = format!("{BEGINNING}{} ({at}):", quote::name(name));
        for entry in &shown {
            let _ = write!(note, "\n{}", entry.text.trim_end());
        }
        let rest = on.len() - shown.len();
        if rest > 0 {
            let entries = if rest == 1 { "entry cites" } else { "entries cite" };
            let _ = write!(note, "\n… {rest} more {entries} it");
        }
        let told: Vec<PageId> = on.iter().map(|(entry, _)| entry.id.clone()).collect();
        self.told.extend(told);
        Some(note)
    }
}

/// How a note begins.
const BEGINNING: &str = "Memory at hand, ";

/// Where entries stand, by file and line: `MEMORY.md:12, 31, build.md:3`.
pub(super) fn places<'e>(entries: impl IntoIterator<Item = (&'e str, u32)>) -> String {
    let mut places = String::new();
    let mut last = "";
    for (file, line) in entries {
        let between = if places.is_empty() { "" } else { ", " };
        let _ = if last == file {
            write!(places, "{between}{line}")
        } else {
            write!(places, "{between}{}:{line}", quote::name(file))
        };
        last = file;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::scope::Scope;
    use super::*;

    fn entries(text: &str) -> Vec<Entry> {
        let pages = parse(Scope::Project, "MEMORY.md", text);
        let entries = pages.iter().map(|page| Entry {
            id: page.id.clone(),
            text: page.text.clone(),
            is_rule: page.text.contains("Never"),
            file: "MEMORY.md".to_owned(),
            line: page.place.line,
            cites: page
                .cites
                .iter()
                .map(|cite| (Path::new("/p").join(&cite.path), cite.path.clone()))
                .collect(),
        });
        entries.collect()
    }

    fn at_hand(text: &str) -> AtHand {
        let mut at_hand = AtHand::default();
        at_hand.lay(entries(text));
        at_hand
    }

    fn notes(at_hand: &mut AtHand, paths: &[&str]) -> Vec<String> {
        at_hand.notes(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn entries_come_once_with_the_file_that_they_cite() {
        let text =
            "- one in `src/a.rs`\n- two in `src/b.rs`\n- Never touch `src/a.rs` or `src/b.rs`\n";
        let mut at_hand = at_hand(text);
        assert_eq!(notes(&mut at_hand, &["/p/src/c.rs", "/q/src/a.rs"]), Vec::<String>::new());
        assert_eq!(
            notes(&mut at_hand, &["/p/src/a.rs"]),
            [
                "Memory at hand, src/a.rs (MEMORY.md:3, 1):\n- Never touch `src/a.rs` or `src/b.rs`\n- one in `src/a.rs`"
            ]
        );
        assert_eq!(
            notes(&mut at_hand, &["/p/src/a.rs", "/p/src/b.rs"]),
            ["Memory at hand, src/b.rs (MEMORY.md:2):\n- two in `src/b.rs`"]
        );
        at_hand.lay(entries(text));
        assert_eq!(notes(&mut at_hand, &["/p/src/a.rs"]), Vec::<String>::new());
    }

    #[test]
    fn what_is_beyond_the_limits_is_counted_at_hand() {
        let many: Vec<String> =
            (0..8).map(|number| format!("- fact {number} of `src/a.rs`")).collect();
        let many = many.join("\n");
        let note = notes(&mut at_hand(&many), &["/p/src/a.rs"]).remove(0);
        assert!(
            note.starts_with("Memory at hand, src/a.rs (MEMORY.md:1, 2, 3, 4, 5):\n"),
            "{note}"
        );
        assert!(note.ends_with("\n… 3 more entries cite it"), "{note}");
        let mut at_hand = at_hand("- `a.rs`\n- `b.rs`\n- `c.rs`\n- `d.rs`\n");
        let paths = ["/p/a.rs", "/p/b.rs", "/p/c.rs", "/p/d.rs"];
        assert_eq!(notes(&mut at_hand, &paths).len(), 3);
        assert_eq!(notes(&mut at_hand, &paths).len(), 1);
    }
}
