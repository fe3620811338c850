//! What an entry names that a file can hold: names of things in code, numbers, quoted words and
//! commands. The places of a cited file that hold them are what the entry rests on. Must not look
//! at files.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use super::citations::{by_script, names_file, path_in_code};

/// Most names of one entry.
const MAX_NAMES: usize = 24;
/// Shortest quoted text that counts, in characters.
const MIN_QUOTED: usize = 3;

/// Numbers that people write as words.
const NUMBER_WORDS: [(&str, &str); 20] = [
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
    ("fifteen", "15"),
    ("sixteen", "16"),
    ("twenty", "20"),
    ("thirty", "30"),
    ("forty", "40"),
    ("fifty", "50"),
    ("sixty", "60"),
    ("hundred", "100"),
    ("thousand", "1000"),
];

/// What an entry names, each once, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Claim {
    names: Vec<String>,
}

impl Claim {
    /// What a text names.
    pub(super) fn of(entry: &str) -> Self {
        static CODE: LazyLock<Regex> = LazyLock::new(|| pattern("`+([^`]+)`+"));
        // What is quoted may hold code, and code quotes.
        static QUOTED: LazyLock<Regex> =
            LazyLock::new(|| pattern(r#"`+[^`]+`+|"([^"\n]+)"|“([^”\n]+)”"#));
        let mut claim = Self::default();
        for found in QUOTED.captures_iter(entry) {
            let said = found.get(1).or(found.get(2)).map_or("", |said| said.as_str());
            if said.chars().count() >= MIN_QUOTED {
                claim.add(said);
            }
        }
        for span in CODE.captures_iter(entry) {
            claim.add_code(span[1].trim());
        }
        let prose = CODE.replace_all(entry, " ");
        for word in prose.split_whitespace().flat_map(by_script) {
            claim.add_word(word);
        }
        claim
    }

    /// The names of these that stand in a text.
    pub(super) fn standing_in(&self, text: &Said<'_>) -> Vec<String> {
        self.names.iter().filter(|name| text.says(name)).cloned().collect()
    }

    /// The names that can tell a place: a number stands anywhere.
    pub(super) fn telling(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str).filter(|name| !is_number(name))
    }

    /// The numbers that it names.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str).filter(|name| is_number(name))
    }

    fn add_code(&mut self, code: &str) {
        static CALL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([\w.:]+)\(([\w\s,]+)\)$"));
        // What a file of scripts or targets defines.
        static RUN: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"^(?:npm|pnpm|yarn|bun|make|just|task|rake|deno)(?: run| task)? ([\w:.-]+)")
        });
        if let Some(cite) = path_in_code(code) {
            if let Some(symbol) = cite.symbol {
                self.add(&symbol);
            } else if cite.lines.is_none() && !names_file(&cite.path) {
                // An address or another name with slashes, which a file may hold.
                self.add(&cite.path);
            }
            return;
        }
        if let Some(call) = CALL.captures(code) {
            self.add_code(&call[1]);
            call[2].split(',').for_each(|given| self.add(given.trim()));
            return;
        }
        let code = code.trim_end_matches("()");
        self.add(code);
        if let Some(run) = RUN.captures(code) {
            self.add(&run[1]);
        }
        if let Some((_, last)) =
            code.rsplit_once([':', '.', '#']).filter(|(_, last)| is_plain(last))
        {
            self.add(last);
        }
    }

    fn add_word(&mut self, word: &str) {
        static DAY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{4}-\d\d-\d\d$"));
        let word = word.trim_end_matches(['.', ',', ';', ':']);
        let called = word.strip_suffix("()").filter(|name| is_plain(name));
        let word = word.trim_matches(|char: char| !char.is_alphanumeric() && char != '_');
        let is_path = word.contains('/') || word.split(['#', ':']).next().is_some_and(names_file);
        if is_path || DAY.is_match(word) {
            return;
        }
        if let Some(name) = called {
            return self.add(name);
        }
        let folded = word.to_lowercase();
        if let Some((_, number)) = NUMBER_WORDS.iter().find(|(name, _)| *name == folded) {
            return self.add(number);
        }
        if word.starts_with(|char: char| char.is_ascii_digit()) {
            numbers(word).for_each(|number| self.add(&number));
        }
        // `ubuntu-22.04`, `localhost:6379`
        let has = |test: fn(char) -> bool| word.contains(test);
        if has(char::is_numeric) && has(char::is_alphabetic) && word.contains(['-', '.', ':']) {
            self.add(word);
        }
        for part in word.split(|char: char| !char.is_alphanumeric() && char != '_') {
            if looks_like_code(part) {
                self.add(part);
            }
        }
    }

    fn add(&mut self, name: &str) {
        let name = if is_number(name) { plain_number(name) } else { name.to_owned() };
        let is_said = name.chars().any(char::is_alphanumeric);
        if is_said && self.names.len() < MAX_NAMES && !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

/// A text in which names are looked up.
#[derive(Debug)]
pub(super) struct Said<'a> {
    text: &'a str,
    squeezed: OnceCell<String>,
    numbers: OnceCell<BTreeSet<String>>,
}

impl<'a> Said<'a> {
    /// A text to look in.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, squeezed: OnceCell::new(), numbers: OnceCell::new() }
    }

    /// Whether a name stands in it: as a whole word; a phrase whatever its blanks are.
    pub(super) fn says(&self, name: &str) -> bool {
        if is_number(name) {
            let all = || numbers(self.text).flat_map(|number| beginnings(&number)).collect();
            self.numbers.get_or_init(all).contains(name)
        } else if is_plain(name) {
            has_word(self.text, name)
        } else {
            let text = self.squeezed.get_or_init(|| squeezed(self.text));
            memmem::find(text.as_bytes(), squeezed(name).as_bytes()).is_some()
        }
    }
}

/// Whether a text has a word, bounded by what is not a part of a name.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    memmem::find_iter(text.as_bytes(), word)
        .any(|at| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// A text without blanks and byte order marks, which formatters change.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace() && *char != '\u{feff}').collect()
}

/// The numbers of a text, without separators: `16,384` and `16_384` are `16384`.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d+(?:[_,]\d{3})*(?:\.\d+)*"));
    NUMBER.find_iter(text).map(|found| plain_number(found.as_str()))
}

/// A number, and of a version what it begins with: whoever says 18 means 18.2.0, too.
fn beginnings(number: &str) -> Vec<String> {
    let parts: Vec<&str> = number.split('.').collect();
    let least = if parts.len() == 3 { 1 } else { parts.len() };
    (least..=parts.len()).map(|count| parts[..count].join(".")).collect()
}

/// The lines, from 1, that set something to a number, as `MAX = 3` and `"max": "^3"` do, by the number.
pub(super) type Settings = HashMap<String, Vec<u32>>;

/// What the lines of a text set to numbers.
pub(super) fn settings(lines: &[&str]) -> Settings {
    static SET: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"[\w\])][\s\w<>]*["']?[=:]\s*["'^~<>=]*(-?\d[\d_,.]*)"#));
    let mut found = Settings::new();
    let may_set =
        |line: &&str| line.contains(['=', ':']) && line.bytes().any(|byte| byte.is_ascii_digit());
    for (number, line) in (1..).zip(lines).filter(|(_, line)| may_set(line)) {
        for set in SET.captures_iter(line) {
            let lines = found.entry(plain_number(set[1].trim_end_matches(['.', ',']))).or_default();
            if lines.last() != Some(&number) {
                lines.push(number);
            }
        }
    }
    found
}

fn plain_number(text: &str) -> String {
    text.replace(['_', ','], "")
}

pub(super) fn is_number(name: &str) -> bool {
    name.starts_with(|char: char| char.is_ascii_digit())
        && name.chars().all(|char| char.is_ascii_digit() || "._,".contains(char))
}

pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_')
}

/// Whether a word of a sentence is a name in code: `max_steps`, `maxSteps`, `MAX`, `u32`.
fn looks_like_code(word: &str) -> bool {
    let is_letter = |char: char| char.is_alphabetic();
    let has_hump = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    let is_loud = word.len() > 2 && !word.contains(char::is_lowercase);
    let has_digit = word.contains(|char: char| char.is_ascii_digit());
    let is_joined = word.trim_matches('_').contains('_');
    word.contains(is_letter)
        && !word.starts_with(|char: char| char.is_ascii_digit())
        && (is_joined || has_hump || is_loud || has_digit)
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant that tests compile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_code_numbers_and_quoted_words() {
        for (entry, named) in [
            ("- Paths: 64 steps at most, `src/a.rs::MAX_STEPS`", vec!["MAX_STEPS", "64"]),
            ("- Limit: at most ten calls, see `src/a.rs:3-9`", vec!["10"]),
            ("- Build: `npm run build`, then `parse()`", vec!["npm run build", "build", "parse"]),
            ("- says \"no such page\" as of 2026-11-23", vec!["no such page"]),
            (
                "- reserves 16,384 tokens (maxTokens, MAX, u32)",
                vec!["16384", "maxTokens", "MAX", "u32"],
            ),
            ("- The store is in src/store.rs; docs/a.md says so", vec![]),
            (
                "- `/api/v1/users` by `src/routes.rs`, `bin/serve`",
                vec!["/api/v1/users", "bin/serve"],
            ),
            ("- CI runs on ubuntu-22.04 (x.yml)", vec!["ubuntu-22.04"]),
            ("- 超时：30秒，见src/a.rs", vec!["超时", "30", "秒", "见"]),
        ] {
            assert_eq!(Claim::of(entry).names, named, "{entry}");
        }
    }

    #[test]
    fn a_name_stands_as_a_whole_word_and_a_phrase_with_any_blanks() {
        let said = Said::of("const MAX_STEPS: u32 = 16_384;\nrun(\"npm  run\tbuild -j4\")");
        for (name, stands) in [
            ("MAX_STEPS", true),
            ("STEPS", false),
            ("16384", true),
            ("384", false),
            ("4", true),
            ("npm run build", true),
            ("npm run test", false),
        ] {
            assert_eq!(said.says(name), stands, "{name}");
        }
    }
}
