//! The table of rules, `rules.txt`: forms of secrets, our own and those of gitleaks by provider.
//! Rules are found by their keywords, and matches are checked by entropy, by lists of allowed text,
//! and by `checks`. The table is not read before the first text is searched, and no pattern is
//! compiled before one of its keywords occurs.
//!
//! Pure; must not know what is done with a secret. Matching takes time in proportion to the text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

use super::checks;

const TEXT: &str = include_str!("rules.txt");

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(TEXT));

/// Memory limit of one compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 32 << 20;

/// One form of secret.
pub(super) struct Rule {
    /// The name that a replacement shows.
    pub name: &'static str,
    /// Minimum entropy of a secret, in bits for each character; 0: any.
    entropy: f64,
    /// The group of the pattern that is the secret; 0: the first one that took part, or else the
    /// whole match.
    group: usize,
    pattern: Pattern,
    allowed: Allowed,
    /// Whether a match is a secret, whatever its entropy and the allowed lists say.
    check: Option<fn(&str) -> bool>,
}

/// A pattern that is compiled when it is first needed.
struct Pattern {
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

/// Text that has the form of a secret and is none.
#[derive(Default)]
struct Allowed {
    secrets: Vec<Pattern>,
    matches: Vec<Pattern>,
    lines: Vec<Pattern>,
    words: Option<&'static str>,
    stop: OnceLock<Option<AhoCorasick>>,
}

#[derive(Default)]
struct Rules {
    all: Vec<Rule>,
    everywhere: Allowed,
    keywords: Option<AhoCorasick>,
    /// For each keyword, the indexes of its rules.
    owners: Vec<Vec<usize>>,
}

/// The rules that have a keyword in a text, in their order.
pub(super) fn candidates(text: &str) -> Vec<&'static Rule> {
    let rules = &*RULES;
    let Some(keywords) = &rules.keywords else { return Vec::new() };
    let mut met = vec![false; rules.owners.len()];
    for found in keywords.find_overlapping_iter(text) {
        met[found.pattern().as_usize()] = true;
    }
    let owners = rules.owners.iter().zip(met).filter(|(_, met)| *met);
    let places: BTreeSet<usize> = owners.flat_map(|(owners, _)| owners.iter().copied()).collect();
    places.into_iter().map(|place| &rules.all[place]).collect()
}

impl Rule {
    /// The secrets of this form in a text, in order.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(pattern) = self.pattern.regex() else { return Vec::new() };
        let captures = pattern.captures_iter(text.as_bytes());
        let ranges = captures.filter_map(|captures| {
            let whole = captures.get(0)?;
            let first = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
            let secret = if self.group > 0 { captures.get(self.group) } else { first() };
            let secret = on_characters(text, secret.unwrap_or(whole).range());
            let whole = on_characters(text, whole.range());
            self.is_secret(text, &secret, &whole).then_some(secret)
        });
        ranges.collect()
    }

    fn is_secret(&self, text: &str, secret: &Range<usize>, whole: &Range<usize>) -> bool {
        let found = &text[secret.clone()];
        let is_dense = self.entropy == 0.0 || entropy(found) > self.entropy;
        let is_allowed = |allowed: &Allowed| allowed.allows(text, secret, whole);
        self.check.is_some_and(|check| check(found))
            || is_dense && !is_allowed(&self.allowed) && !is_allowed(&RULES.everywhere)
    }
}

impl Pattern {
    fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// Character classes are ASCII only, as in Go.
    fn regex(&self) -> Option<&Regex> {
        let compile =
            || RegexBuilder::new(self.text).unicode(false).size_limit(PATTERN_LIMIT).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }

    fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text.as_bytes()))
    }
}

impl Allowed {
    fn allows(&self, text: &str, secret: &Range<usize>, whole: &Range<usize>) -> bool {
        let found = &text[secret.clone()];
        let any = |patterns: &[Pattern], part: &str| patterns.iter().any(|one| one.is_in(part));
        any(&self.secrets, found)
            || self.stop_words().is_some_and(|words| words.is_match(found))
            || any(&self.matches, &text[whole.clone()])
            || (!self.lines.is_empty() && any(&self.lines, lines_of(text, whole)))
    }

    fn stop_words(&self) -> Option<&AhoCorasick> {
        let read = || self.words.and_then(|words| any_case(words.split(',')));
        self.stop.get_or_init(read).as_ref()
    }
}

impl Rules {
    /// Reads the lines of `rules.txt`, which documents their format.
    fn read(text: &'static str) -> Self {
        let mut read = Self::default();
        let mut keywords: Vec<&str> = Vec::new();
        for line in text.lines() {
            match (line.split_once('\t'), read.all.last_mut()) {
                (Some(("rule", parts)), _) => read.add(parts, &mut keywords),
                (Some(("all", parts)), _) => read.everywhere.add(parts),
                (Some(("regex", pattern)), Some(rule)) => rule.pattern = Pattern::new(pattern),
                (Some(_), Some(rule)) => rule.allowed.add(line),
                _ => {}
            }
        }
        read.keywords = any_case(keywords);
        read
    }

    /// Adds a rule without its pattern.
    fn add(&mut self, parts: &'static str, keywords: &mut Vec<&'static str>) {
        let mut parts = parts.split('\t');
        let mut part = || parts.next().unwrap_or_default();
        let (name, entropy, group) = (part(), part(), part());
        for keyword in part().split(',') {
            let known = keywords.iter().position(|known| *known == keyword);
            let place = known.unwrap_or_else(|| {
                keywords.push(keyword);
                self.owners.push(Vec::new());
                keywords.len() - 1
            });
            self.owners[place].push(self.all.len());
        }
        self.all.push(Rule {
            name,
            entropy: entropy.parse().unwrap_or(f64::INFINITY),
            group: group.parse().unwrap_or(0),
            pattern: Pattern::new(""),
            allowed: Allowed::default(),
            check: checks::named(part()),
        });
    }
}

impl Allowed {
    /// Adds what a line allows: `words` or `allow` with their parts.
    fn add(&mut self, line: &'static str) {
        let mut parts = line.splitn(3, '\t');
        let patterns = match (parts.next(), parts.next()) {
            (Some("words"), words) => {
                self.words = words;
                return;
            }
            (_, Some("match")) => &mut self.matches,
            (_, Some("line")) => &mut self.lines,
            _ => &mut self.secrets,
        };
        patterns.extend(parts.next().map(Pattern::new));
    }
}

fn any_case<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<AhoCorasick> {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
}

/// Patterns match bytes, so the ends of a match move out to whole characters.
fn on_characters(text: &str, Range { mut start, mut end }: Range<usize>) -> Range<usize> {
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// The lines that contain a match.
fn lines_of<'t>(text: &'t str, whole: &Range<usize>) -> &'t str {
    let start = text[..whole.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[whole.end..].find('\n').map_or(text.len(), |at| whole.end + at);
    &text[start..end]
}

/// Shannon entropy of the characters of a text, in bits.
fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    let mut all = 0_u32;
    for character in text.chars() {
        *counts.entry(character).or_insert(0_u32) += 1;
        all = all.saturating_add(1);
    }
    let part = |count: &u32| {
        let share = f64::from(*count) / f64::from(all);
        -share * libm::log2(share)
    };
    counts.values().map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_can_be_compiled_and_every_rule_has_a_keyword() {
        let rules = &*RULES;
        assert_eq!(rules.all.len(), 28 + 197);
        let lists = rules.all.iter().map(|rule| &rule.allowed).chain([&rules.everywhere]);
        let allowed = lists.flat_map(|list| [&list.secrets, &list.matches, &list.lines]).flatten();
        let patterns: Vec<&Pattern> =
            rules.all.iter().map(|rule| &rule.pattern).chain(allowed).collect();
        assert_eq!(patterns.len(), 28 + 197 + 27);
        for pattern in patterns {
            assert!(!pattern.text.is_empty());
            assert!(pattern.regex().is_some(), "{}", pattern.text);
        }
        assert_eq!(rules.all.iter().filter(|rule| rule.check.is_some()).count(), 28);
        for place in 0..rules.all.len() {
            assert!(rules.owners.iter().any(|owners| owners.contains(&place)));
        }
    }

    #[test]
    fn entropy_is_counted_in_bits() {
        assert!(entropy("aaaa").abs() < 1e-9);
        assert!((entropy("abcd") - 2.0).abs() < 1e-9);
        assert!((entropy("äöäö") - 1.0).abs() < 1e-9);
    }
}
