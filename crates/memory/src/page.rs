//! A page: an index entry or a topic file section, with what its Markdown alone says about it. Must
//! not read files, or know what a model sees.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::citations::Cite;
use super::scope::Scope;
use base::object::Hash;

/// The number of words that an entry's ID depends on, if it has no key.
pub(super) const FIRST_WORDS: usize = 6;

/// Most characters of what announces an entry that stands alone.
pub(super) const LEAD_IN_CHARS: usize = 200;

/// Characters of an ID.
const ID_CHARS: usize = 12;

/// What a page says.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// What must always or never be done.
    Instruction,
    /// How something is.
    Fact,
    /// What was decided, and why.
    Decision,
    /// How something is done, step by step.
    Procedure,
    /// What somebody prefers.
    Preference,
    /// Where to find more: a link and what it leads to.
    Reference,
}

impl PageKind {
    /// The name shown to people.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Stable name of a page: 12 hexadecimal digits. It is made of scope, file, headings and first
/// words, and carried over edits.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageId(String);

impl PageId {
    /// A new page's ID.
    ///
    /// `nth`: from 0, among pages of the same scope, file, headings and words.
    pub fn first(place: &PagePlace, words: &[String], nth: usize) -> Self {
        let parts = (place.scope, &place.file, &place.headings, words, (nth > 0).then_some(nth));
        let text = serde_json::to_string(&parts).unwrap_or_default();
        Self(Hash::of(text.as_bytes()).as_str()[..ID_CHARS].to_owned())
    }

    /// The ID's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PagePlace {
    /// Scope.
    pub scope: Scope,
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// Texts of the headings above it, outermost first.
    pub headings: Vec<String>,
    /// First line, from 1.
    pub line: u32,
    /// Last line.
    pub last_line: u32,
}

/// The block that announces a list: `Never do any of these:`. An item says nothing without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadIn {
    /// Its words, on one line.
    pub text: String,
    /// Its first and last line, from 1.
    pub lines: (u32, u32),
}

/// An entry of an index, or a section of a topic file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Stable name.
    pub id: PageId,
    /// Where it is.
    pub place: PagePlace,
    /// Its kind.
    pub kind: PageKind,
    /// Its subject, as written: the text before the first `:` or `—`, or the title of the link that
    /// it begins with.
    pub key: Option<String>,
    /// What announces the list that it is an item of.
    pub lead_in: Option<LeadIn>,
    /// Its Markdown, without trailing line breaks.
    pub text: String,
    /// Whether the person wants it in every session: the tag `#pinned` on it or on a heading above,
    /// or a heading `Pinned` or `Invariants`.
    pub is_pinned: bool,
    /// Whether it or a heading above has the tag `#important`.
    pub is_important: bool,
    /// Files that it links to or cites.
    pub cites: Vec<Cite>,
    /// Whether it, or a heading above it, looks like it holds a secret: the model does not get it,
    /// and nothing of its text is kept elsewhere.
    pub is_withheld: bool,
}

impl Page {
    /// Whether it is in its scope's index, and not in a topic file or the archive.
    pub fn is_entry(&self) -> bool {
        self.place.file == self.place.scope.index_file()
    }

    /// What announces it, on a line of its own; empty if nothing does. `most`: characters of it.
    pub fn announced(&self, most: usize) -> String {
        let Some(LeadIn { text, .. }) = &self.lead_in else { return String::new() };
        match text.char_indices().nth(most) {
            Some((end, _)) => format!("{} …:\n", &text[..end]),
            None => format!("{text}\n"),
        }
    }

    /// The key, folded for comparison.
    pub fn folded_key(&self) -> Option<String> {
        Some(words(self.key.as_deref()?).join(" ")).filter(|key| !key.is_empty())
    }
}

/// The words of a text, folded for comparison: lower case, letters and digits only.
pub fn words(text: &str) -> Vec<String> {
    each_word(text).collect()
}

/// As [`words`], one after another: of many a long text the first ones are enough.
pub(crate) fn each_word(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// The words of a heading, without the ending of a plural.
pub(crate) fn heading_words(text: &str) -> Vec<String> {
    let stem = |word: String| word.strip_suffix('s').map(str::to_owned).unwrap_or(word);
    each_word(text).map(stem).collect()
}

/// The words and signs of a text: texts that have the same say the same. Blanks, emphasis, quotes,
/// brackets, tags, dashes between words and what ends a part of a sentence are none. In lower case
/// but for code, in which every sign counts.
pub(crate) fn each_said(text: &str) -> impl Iterator<Item = String> {
    let (mut at, mut is_code) = (0, false);
    std::iter::from_fn(move || {
        loop {
            let (before, rest) = text.split_at(at);
            let (before, sign) = (before.chars().next_back(), rest.chars().next()?);
            if sign.is_alphanumeric() {
                let end = rest.find(|char: char| !char.is_alphanumeric()).unwrap_or(rest.len());
                at += end;
                let word = &rest[..end];
                return Some(if is_code { word.to_owned() } else { word.to_lowercase() });
            }
            if let Some(tag) = tag(rest).filter(|_| !is_code && is_blank(before)) {
                at += tag.len();
                continue;
            }
            at += sign.len_utf8();
            is_code ^= sign == '`';
            let next = text[at..].chars().next();
            if sign != '`' && !sign.is_whitespace() && (is_code || says(before, sign, next)) {
                return Some(sign.to_string());
            }
        }
    })
}

fn is_blank(char: Option<char>) -> bool {
    char.is_none_or(char::is_whitespace)
}

/// Whether a sign outside of code says something.
fn says(before: Option<char>, sign: char, next: Option<char>) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    match sign {
        '*' | '_' | '~' => is_word(before) && is_word(next),
        '.' | ',' | ';' | ':' | '!' | '?' => is_word(next) || matches!(next, Some('=' | '/')),
        '-' | '–' | '—' => !(is_blank(before) && is_blank(next)),
        _ => !"\"'“”„‘’«»()[]…，；：。、\u{fe0f}".contains(sign),
    }
}

/// The tag that a text begins with. A number is none, and neither is a colour: `#12`, `#ff0000`.
pub(crate) fn tag(text: &str) -> Option<&str> {
    let name = text.strip_prefix('#')?;
    let is_part = |char: char| char.is_alphanumeric() || "_-/".contains(char);
    let name = &name[..name.find(|char: char| !is_part(char)).unwrap_or(name.len())];
    let is_colour =
        matches!(name.len(), 3 | 4 | 6 | 8) && name.chars().all(|char| char.is_ascii_hexdigit());
    let is_tag = name.contains(char::is_alphabetic) && !is_colour;
    is_tag.then(|| &text[..=name.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_count_and_marks_do_not() {
        let says_same = |one: &str, other: &str| each_said(one).eq(each_said(other));
        for (one, other) in [
            ("Package manager: pnpm", "**package manager** — \"PNPM\"."),
            (
                "Run `make`, then (if it is green) wait!",
                "run `make` then if it is green wait #important",
            ),
            ("Use it: yes", "Use *it*: `yes`"),
            ("超时：30", "超时: 30"),
        ] {
            assert!(says_same(one, other), "{one}");
        }
        for (one, other) in [
            ("Language: C++", "Language: C#"),
            ("CI on main: ✅", "CI on main: ❌"),
            ("Offset: -1", "Offset: 1"),
            ("while n < 5", "while n >= 5"),
            ("n != 5", "n = 5"),
            ("Branch: release/1.2", "Branch: release-1.2"),
            ("Variable: `FOO`", "Variable: `foo`"),
            ("Files: `a:`", "Files: `a`"),
            ("Colour: #ff0000", "Colour: #00ff00"),
            ("Issue: #12", "Issue: 12"),
        ] {
            assert!(!says_same(one, other), "{one}");
        }
    }
}
