//! Removes secrets from a whole document: a secret found once is recognised wherever it stands,
//! also where a text was cut. The order in which secrets are found changes nothing. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::json::{JsonRole, change_strings};
use super::{Redacted, counted, is_json, mark, replace, replace_in_json, replace_value};

/// Minimum length, in characters, of a line or secret that is recognised again.
const KNOWN_CHARS: usize = 12;

/// Characters at the start or the end of a secret by which a piece of it is recognised.
const PIECE_CHARS: usize = 16;

/// Secrets that are carried on: what is derived from a text stands near it.
const MAX_CARRIED: usize = 256;

/// The member whose value is a unified difference.
const DIFF: &str = "diff";

/// A JSON text without the secrets in its strings, and in JSON inside these; `None` if there are
/// none. Other text counts as one string. A secret found once is replaced wherever it stands,
/// including in names of members. A member `diff` is a unified diff.
pub fn redact_document(text: &str) -> Option<String> {
    let mut met = RuleFindings::default();
    let once = changed(text, &mut |place, string| met.replaced(place, string));
    if met.lines.is_empty() && met.secrets.is_empty() {
        return once;
    }
    let known = DocumentSecrets::new(met);
    let again = changed(once.as_deref().unwrap_or(text), &mut |place, string| match place {
        JsonRole::Value(DIFF) => in_diff(string, &mut |text| known.replaced(text)),
        _ => known.replaced(string),
    });
    again.or(once)
}

fn changed(
    text: &str,
    change: &mut dyn FnMut(JsonRole<'_>, &str) -> Option<String>,
) -> Option<String> {
    if is_json(text) { change_strings(text, change) } else { change(JsonRole::Value(""), text) }
}

/// The markers at the start of diff lines must not hide a secret that spans several lines.
fn in_diff(diff: &str, change: &mut dyn FnMut(&str) -> Option<String>) -> Option<String> {
    let parted =
        diff.split('\n').map(|line| line.split_at(line.chars().next().map_or(0, char::len_utf8)));
    let (signs, bodies): (Vec<&str>, Vec<&str>) = parted.unzip();
    let clean = change(&bodies.join("\n")).map(|clean| {
        let lines = signs.iter().zip(clean.split('\n')).map(|(sign, body)| format!("{sign}{body}"));
        lines.collect::<Vec<_>>().join("\n")
    });
    change(clean.as_deref().unwrap_or(diff)).or(clean)
}

/// Redacts texts one after the other, as [`super::redact_text`] and [`super::redact_json`] do. What
/// is derived from a text follows it, such as a call's brief, and shows no secret that stood there,
/// though its place there no longer tells.
#[derive(Default)]
pub struct Redactor {
    secrets: BTreeMap<String, String>,
    known: Option<DocumentSecrets>,
}

impl Redactor {
    /// A text. Secrets of earlier ones are not looked for, so that equal texts stay equal.
    pub fn text(&mut self, text: &str) -> Redacted {
        self.learning(|met| replace(text, met))
    }

    /// A JSON text, also without secrets of what came before and of its other strings.
    pub fn json(&mut self, json: &str) -> Redacted {
        let Redacted { text, counts } = self.learning(|met| replace_in_json(json, met));
        let known = self.known.as_ref();
        let again = known.and_then(|known| {
            changed(text.as_deref().unwrap_or(json), &mut |place, string| match place {
                JsonRole::Name => None,
                JsonRole::Value(_) => known.replaced(string),
            })
        });
        Redacted { text: again.or(text), counts }
    }

    fn learning(
        &mut self,
        replace: impl FnOnce(&mut super::Met<'_>) -> Option<String>,
    ) -> Redacted {
        if self.secrets.len() > MAX_CARRIED {
            self.secrets.clear();
        }
        let before = self.secrets.len();
        let redacted = counted(|met| {
            replace(&mut |rule, secret| {
                learn(&mut self.secrets, rule, secret);
                met(rule, secret);
            })
        });
        if self.secrets.len() != before {
            let secrets = self.secrets.clone();
            self.known =
                Some(DocumentSecrets::new(RuleFindings { secrets, ..RuleFindings::default() }));
        }
        redacted
    }
}

/// The secrets that the rules found in a document.
#[derive(Default)]
struct RuleFindings {
    /// Texts that were searched, each with its form without secrets.
    texts: HashMap<String, Option<String>>,
    /// Lines that held a secret, with what is shown instead.
    lines: BTreeMap<String, String>,
    /// Secrets, and what is shown instead.
    secrets: BTreeMap<String, String>,
}

impl RuleFindings {
    fn replaced(&mut self, place: JsonRole<'_>, string: &str) -> Option<String> {
        match place {
            JsonRole::Name => None,
            JsonRole::Value(DIFF) => in_diff(string, &mut |text| self.text(text)),
            JsonRole::Value(name) => self.text(string).or_else(|| {
                replace_value(name, string, &mut |rule, secret| {
                    learn(&mut self.secrets, rule, secret);
                })
            }),
        }
    }

    fn text(&mut self, text: &str) -> Option<String> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let clean = replace(text, &mut |rule, secret| learn(&mut self.secrets, rule, secret));
        for (line, clean) in text.lines().zip(clean.iter().flat_map(|clean| clean.lines())) {
            let (line, clean) = (line.trim(), clean.trim());
            if line != clean && line.chars().nth(KNOWN_CHARS - 1).is_some() {
                keep_first(&mut self.lines, line, clean.to_owned());
            }
        }
        self.texts.insert(text.to_owned(), clean.clone());
        clean
    }
}

/// Learns each part of a secret, also of a key written on one line. The frame of a key is left out:
/// all keys have it.
fn learn(secrets: &mut BTreeMap<String, String>, rule: &str, secret: &str) {
    static BETWEEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"-----[A-Z0-9 ]+-----|\\[nrt]|\s+").expect("a valid pattern"));
    for part in BETWEEN.split(secret).filter(|part| is_telling(part)) {
        keep_first(secrets, part, mark(rule));
    }
}

/// Of two replacements for the same text, keeps the alphabetically first one, so that the order of
/// finding does not matter.
fn keep_first(map: &mut BTreeMap<String, String>, key: &str, shown: String) {
    match map.get_mut(key) {
        Some(known) if *known > shown => *known = shown,
        Some(_) => {}
        None => drop(map.insert(key.to_owned(), shown)),
    }
}

/// Whether a secret is unmistakable wherever it stands: not a word.
fn is_telling(secret: &str) -> bool {
    secret.chars().nth(KNOWN_CHARS - 1).is_some()
        && secret.bytes().any(|byte| byte.is_ascii_digit())
        && secret.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The secrets known from a document: a part of a text must not show what the whole does not.
struct DocumentSecrets {
    lines: BTreeMap<String, String>,
    secrets: Vec<(String, String)>,
    /// The start and the end of each secret.
    pieces: Option<AhoCorasick>,
}

/// Bytes that two texts share from where both are read.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    let same = one.zip(other).take_while(|(one, other)| one == other);
    same.map(|(one, _)| one.len_utf8()).sum()
}

/// A range to replace in a text, and its replacement.
type Span<'a> = (usize, usize, &'a str);

impl DocumentSecrets {
    fn new(met: RuleFindings) -> Self {
        let secrets: Vec<(String, String)> = met.secrets.into_iter().collect();
        let pieces = secrets.iter().flat_map(|(secret, _)| {
            let start = secret.char_indices().nth(PIECE_CHARS).map_or(secret.len(), |(at, _)| at);
            let end = secret.char_indices().nth_back(PIECE_CHARS - 1).map_or(0, |(at, _)| at);
            [&secret[..start], &secret[end..]]
        });
        let pieces = AhoCorasick::new(pieces).ok();
        Self { lines: met.lines, secrets, pieces }
    }

    /// A text without known secrets; `None` if it holds none.
    fn replaced(&self, text: &str) -> Option<String> {
        let lines = text.split('\n').map(|line| {
            let known = self.lines.get(line.trim());
            known.map_or_else(|| line.to_owned(), |known| line.replacen(line.trim(), known, 1))
        });
        let clean = lines.collect::<Vec<_>>().join("\n");
        let spans = self.spans(&clean);
        let (mut shown, mut end) = (String::new(), 0);
        for (from, to, instead) in spans {
            if from >= end {
                shown.extend([&clean[end..from], instead]);
            }
            end = end.max(to);
        }
        shown.push_str(&clean[end..]);
        (shown != text).then_some(shown)
    }

    /// Finds the start or the end of each secret, extended as far as the text matches the secret.
    /// All are searched in the original text: where one contains a part of another, removing that
    /// part would hide the rest of the other.
    fn spans(&self, text: &str) -> Vec<Span<'_>> {
        let pieces = self.pieces.iter().flat_map(|pieces| pieces.find_overlapping_iter(text));
        let spans = pieces.map(|piece| {
            let (secret, instead) = &self.secrets[piece.pattern().as_usize() / 2];
            if piece.pattern().as_usize() % 2 == 0 {
                let start = piece.start();
                (start, start + common(secret.chars(), text[start..].chars()), &**instead)
            } else {
                let end = piece.end();
                (end - common(secret.chars().rev(), text[..end].chars().rev()), end, &**instead)
            }
        });
        let mut spans: Vec<Span<'_>> = spans.collect();
        spans.sort_by_key(|(from, to, instead)| (*from, std::cmp::Reverse(*to), *instead));
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: &str = "Zk3vQ9x1LmT7sWc5RyB2nH8d";

    /// A secret, and another one with a long part in common.
    fn secrets() -> (String, String) {
        (format!("ghp_{SHARED}J4fG6aPqE0Ua"), format!("q8H{}", &SHARED[2..]))
    }

    fn clean(texts: &[&str]) -> Vec<String> {
        let json = serde_json::to_string(texts).unwrap();
        serde_json::from_str(&redact_document(&json).unwrap_or(json)).unwrap()
    }

    #[test]
    fn overlapping_secrets_leave_no_pieces() {
        let (longer, other) = secrets();
        let lines =
            [format!("Authorization: Bearer {other}"), format!("git clone with {longer} today")];
        let end = &longer[longer.len() - 16..];
        let cut = format!("cut: {}; whole: {longer}; its end: {end}", &longer[2..]);
        let shown = clean(&[&lines[0], &lines[1], &cut]).pop().unwrap();
        assert_eq!(clean(&[&lines[1], &cut, &lines[0]])[1], shown, "the order changes nothing");
        assert!(
            !shown.contains(&longer[longer.len() - 12..]) && !shown.contains(&SHARED[..12]),
            "{shown}"
        );
        let (cut, rest) = shown.split_once("; whole: ").unwrap();
        assert!(cut.ends_with(']') && cut.contains("[redacted:"), "{shown}");
        let (whole, end) = rest.split_once("; its end: ").unwrap();
        assert_eq!(whole, "[redacted:github_token]");
        assert!(end.starts_with("[redacted:") && end.ends_with(']'), "{shown}");
    }

    #[test]
    fn known_secrets_are_removed_from_keys_json_and_cut_text() {
        let (token, _) = secrets();
        let inner =
            serde_json::json!({ &token: 1, "said": format!("… {}", &token[..17]) }).to_string();
        let shown =
            clean(&[&format!("with {token}"), &inner, &token[token.len() - 16..], "with ghp_"]);
        assert_eq!(shown[0], "with [redacted:github_token]");
        assert_eq!(shown[1], r#"{"[redacted:github_token]":1,"said":"… [redacted:github_token]"}"#);
        assert_eq!(shown[2..], ["[redacted:github_token]", "with ghp_"]);
    }

    #[test]
    fn a_name_gives_a_secret_away_that_then_is_known_elsewhere() {
        let secret = "hT5wK9pL2xV7nB4m";
        let json = serde_json::json!({ "said": format!("it is {secret}"), "token": [secret] });
        let shown = redact_document(&json.to_string()).unwrap();
        assert_eq!(
            shown,
            r#"{"said":"it is [redacted:assignment]","token":["[redacted:assignment]"]}"#
        );
    }

    #[test]
    fn what_follows_a_text_shows_no_secret_of_it() {
        let secret = "hT5wK9pL2xV7nB4m";
        let mut redactor = Redactor::default();
        let call =
            serde_json::json!({ "args": { "password": secret }, "brief": format!("bob {secret}") });
        let shown = redactor.json(&call.to_string()).text.unwrap();
        assert!(!shown.contains(secret), "{shown}");
        let other = "q8Zk2LmN4pQr6StU8vW0";
        assert!(!redactor.text(&format!("password={other}\n")).text.unwrap().contains(other));
        let event = serde_json::json!({ "last": other, "names": [secret] }).to_string();
        assert_eq!(
            redactor.json(&event).text.unwrap(),
            r#"{"last":"[redacted:assignment]","names":["[redacted:assignment]"]}"#
        );
        assert_eq!(redactor.text(other).text, None, "a text is redacted by itself");
    }

    #[test]
    fn the_signs_of_a_difference_hide_no_key_of_several_lines() {
        let line = format!("{SHARED}{SHARED}q8H");
        let key = format!(
            "-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n{line}\n-----END PRIVATE KEY-----"
        );
        let diff = format!("@@ -1 +1,5 @@\n+{}\n+after", key.replace('\n', "\n+"));
        let shown = redact_document(&serde_json::json!({ "diff": diff }).to_string()).unwrap();
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let expected = "@@ -1 +1,5 @@\n+[redacted:private_key]\n+\n+\n+\n+\n+after";
        assert_eq!(shown["diff"], expected);
    }

    #[test]
    fn what_holds_no_secret_stays() {
        let json = r#" {"a\u0062": ["x", "{\"y\": 1.50}"], "diff": "+a\n-b\n"} "#;
        assert_eq!(redact_document(json), None);
        assert_eq!(redact_document("no JSON"), None);
        assert!(
            redact_document(&format!("token={}", secrets().1))
                .unwrap()
                .starts_with("token=[redacted:")
        );
    }
}
