//! Splits text into search terms, and folds spellings that should find each other. Pure; must not
//! know a query or a store.
//!
//! - Letters are folded (compatibility forms by NFKC, case, diacritics), and English words are
//!   stemmed (Snowball).
//! - An identifier gives its parts in order (`transformContext`, `tool_call_id`,
//!   `sqlite.rs`), so it is found by each part and, as a phrase, as a whole in any style;
//!   a camel-case one also gives its joined form.
//! - Scripts without spaces between words (Han, kana, Thai, …; Hangul too) give overlapping pairs
//!   of characters, and the last character alone, so every single character starts a term.
//! - Data gives no terms: base64, long runs of hexadecimal digits, texts full of control
//!   characters.

use std::ops::{ControlFlow, Range};

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::blob::{blob_end, is_blob, looks_binary, switches};

/// Longest term, in characters; longer ones are cut off, in texts and queries alike.
const MAX_TERM_CHARS: usize = 64;

/// Most terms of one text; the rest is not searched. About 8 MB of English.
const MAX_TERMS: usize = 1_000_000;

/// Shortest run of base64 characters that is tested for being data.
const BLOB_BYTES: usize = 64;

/// Shortest mixed run of letters and digits that counts as an ID and is not split.
const OPAQUE_BYTES: usize = 16;

/// The meaning of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// A word, or a part of an identifier.
    Part,
    /// All parts of a camel-case identifier; comes after them and has no place among the parts.
    Joined,
}

/// Calls `take` with the terms of a text in order, each with the bytes of the text that it comes
/// from, until it breaks or a million terms were given. The ASCII characters in a term are
/// lower-case letters and digits only.
pub fn each_term(text: &str, take: impl FnMut(&str, Range<usize>, TermKind) -> ControlFlow<()>) {
    each_term_of(text, MAX_TERMS, take);
}

fn each_term_of(
    text: &str,
    max_terms: usize,
    mut take: impl FnMut(&str, Range<usize>, TermKind) -> ControlFlow<()>,
) {
    if looks_binary(text) {
        return;
    }
    let mut left = max_terms;
    let mut counted = |term: &str, at: Range<usize>, kind: TermKind| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        if term.is_empty() { ControlFlow::Continue(()) } else { take(term, at, kind) }
    };
    let stemmer = Stemmer::create(Algorithm::English);
    // Ignore how it ended: the caller knows whether it broke off.
    let _ = Scanner { text, stemmer: &stemmer }.scan(&mut counted);
}

/// Whether a character belongs to a script without spaces between words.
pub(crate) fn is_spaceless(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF | 0x1000..=0x11FF | 0x1780..=0x17FF
        | 0x3005..=0x3007 | 0x3040..=0x318F | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F
        | 0x1AFF0..=0x1B16F | 0x20000..=0x3FFFF)
}

/// Whether a character can be part of a term.
pub(crate) fn is_word_character(character: char) -> bool {
    Class::of(character) != Class::Between
}

/// A word folded for comparison but not stemmed: the basis of a prefix.
pub(crate) fn folded(word: &str) -> String {
    fold(cut(word))
}

/// The stem of a folded word, if it has one.
pub(super) fn stem(word: &str) -> String {
    stemmed(&Stemmer::create(Algorithm::English), word.to_owned())
}

/// A character's part in the words around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Spaceless,
    Between,
}

impl Class {
    fn of(character: char) -> Self {
        if character.is_ascii() {
            return if character.is_ascii_alphanumeric() { Self::Letter } else { Self::Between };
        }
        if !character.is_alphanumeric() && !is_combining_mark(character) {
            return Self::Between;
        }
        if is_spaceless(character) { Self::Spaceless } else { Self::Letter }
    }
}

/// Takes a term, the bytes that it comes from, and what it is.
type Take<'a> = &'a mut dyn FnMut(&str, Range<usize>, TermKind) -> ControlFlow<()>;

struct Scanner<'a> {
    text: &'a str,
    stemmer: &'a Stemmer,
}

impl Scanner<'_> {
    fn scan(&self, take: Take<'_>) -> ControlFlow<()> {
        let mut at = 0;
        // Up to here the text is known not to be a blob.
        let mut looked_at = 0;
        while let Some((start, class)) = self.next_word(at) {
            if class == Class::Letter && start >= looked_at {
                let end = blob_end(self.text, start);
                if end - start >= BLOB_BYTES && is_blob(&self.text.as_bytes()[start..end]) {
                    at = end;
                    continue;
                }
                looked_at = end;
            }
            let end = self.word_end(start, class);
            at = end;
            match class {
                Class::Spaceless => self.pairs(start..end, take)?,
                _ if self.is_contraction(start..end) => {}
                _ => self.word(start..end, take)?,
            }
        }
        ControlFlow::Continue(())
    }

    fn next_word(&self, at: usize) -> Option<(usize, Class)> {
        self.text[at..].char_indices().find_map(|(offset, character)| {
            let class = Class::of(character);
            (class != Class::Between).then_some((at + offset, class))
        })
    }

    fn word_end(&self, start: usize, class: Class) -> usize {
        let rest = &self.text[start..];
        let end = rest.char_indices().find(|(_, character)| Class::of(*character) != class);
        start + end.map_or(rest.len(), |(offset, _)| offset)
    }

    /// Whether a word is what follows the apostrophe of `don't`, `it's` or `we'll`.
    fn is_contraction(&self, word: Range<usize>) -> bool {
        let before = &self.text[..word.start];
        word.len() <= 2
            && before
                .strip_suffix(['\'', '’'])
                .and_then(|before| before.chars().next_back())
                .is_some_and(char::is_alphabetic)
            && self.text[word].bytes().all(|byte| byte.is_ascii_lowercase())
    }

    fn word(&self, word: Range<usize>, take: Take<'_>) -> ControlFlow<()> {
        let text = &self.text[word.clone()];
        let parts = parts(text);
        for part in &parts {
            let term = self.term(&text[part.clone()]);
            take(&term, word.start + part.start..word.start + part.end, TermKind::Part)?;
        }
        if parts.len() > 1 {
            take(&self.term(text), word, TermKind::Joined)?;
        }
        ControlFlow::Continue(())
    }

    fn term(&self, word: &str) -> String {
        stemmed(self.stemmer, fold(cut(word)))
    }

    fn pairs(&self, run: Range<usize>, take: Take<'_>) -> ControlFlow<()> {
        let text = &self.text[run.clone()];
        let folded: Vec<char> = fold(text).chars().collect();
        let mut places: Vec<usize> = text.char_indices().map(|(at, _)| run.start + at).collect();
        places.push(run.end);
        // If folding joined characters, their places are lost, and each term covers the whole run.
        let exact = places.len() == folded.len() + 1;
        let place = |first: usize, last: usize| {
            if exact { places[first]..places[last + 1] } else { run.clone() }
        };
        let mut term = String::new();
        for (at, pair) in folded.windows(2).enumerate() {
            term.clear();
            term.extend(pair);
            take(&term, place(at, at + 1), TermKind::Part)?;
        }
        if let Some(last) = folded.last() {
            take(&last.to_string(), place(folded.len() - 1, folded.len() - 1), TermKind::Part)?;
        }
        ControlFlow::Continue(())
    }
}

/// The ranges of a word's parts: split at a change from lower case to capitals
/// (`transformContext`), before the last of several capitals (`HTTPServer`), and before a number
/// behind letters (`server2`).
fn parts(word: &str) -> Vec<Range<usize>> {
    let is_opaque = word.len() >= OPAQUE_BYTES && switches(word.as_bytes()) * 3 > word.len();
    let mut starts = vec![0];
    if !is_opaque && word.chars().any(char::is_lowercase) {
        let mut characters = word.char_indices().peekable();
        let mut before = ' ';
        while let Some((at, character)) = characters.next() {
            let next_is_small = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
            let rises = character.is_uppercase()
                && (before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && next_is_small));
            if at > 0 && rises {
                starts.push(at);
            }
            before = character;
        }
    }
    let ends = starts.iter().skip(1).copied().chain([word.len()]);
    starts
        .iter()
        .copied()
        .zip(ends)
        .flat_map(|(start, end)| split_number(word, start..end))
        .collect()
}

fn split_number(word: &str, part: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let text = &word[part.clone()];
    let letters = text.trim_end_matches(|character: char| character.is_ascii_digit());
    let splits = letters.len() < text.len()
        && letters.chars().nth(1).is_some()
        && letters.chars().all(char::is_alphabetic);
    let middle = if splits { part.start + letters.len() } else { part.end };
    [part.start..middle, middle..part.end].into_iter().filter(|range| !range.is_empty())
}

/// Folds case, compatibility forms and diacritics.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let lower = text.nfkd().flat_map(char::to_lowercase);
    let bare: String = lower.filter(|character| !is_diacritic(*character)).nfc().collect();
    let is_kept = |character: &char| Class::of(*character) != Class::Between;
    bare.replace('ß', "ss").chars().filter(is_kept).collect()
}

/// Marks above and below letters that people leave out when they type: of Latin, Greek, Cyrillic,
/// Hebrew, Arabic.
fn is_diacritic(character: char) -> bool {
    matches!(u32::from(character),
        0x0300..=0x036F | 0x0483..=0x0487 | 0x0591..=0x05BD | 0x064B..=0x065F | 0x0670 | 0x1AB0..=0x1AFF
        | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF)
}

fn stemmed(stemmer: &Stemmer, word: String) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    stemmer.stem(&word).into_owned()
}

fn cut(word: &str) -> &str {
    match word.char_indices().nth(MAX_TERM_CHARS) {
        Some((end, _)) => &word[..end],
        None => word,
    }
}

#[cfg(test)]
mod tests;
