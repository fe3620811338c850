//! Finds text that looks like a secret and replaces it. Pure: text in, text out; must not know a
//! store.
//!
//! A rule (`rules.txt`) describes a provider's key format, or a place where secrets occur
//! (`Authorization: Bearer`, `password=`, a URL). In such a place a value counts only if it is not
//! a word, path or placeholder, so ordinary code, hashes and IDs stay as they are. Secrets in other
//! forms and places are missed, and a secret found in one place is looked for elsewhere only in a
//! whole document, see [`redact_document`]. Read [`redact_text`] first.

mod checks;
mod json;
mod known;
mod noted;
mod rules;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use self::json::{JsonRole, change_strings, is_json};
pub use self::known::{Redactor, redact_document};

/// A text without its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text; `None` if nothing was replaced.
    pub text: Option<String>,
    /// Number of replacements by rule.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What a replacement begins with.
const MARK: &str = "[redacted:";

/// The rule for a value that follows a word such as `password`.
const ASSIGNMENT: &str = "assignment";

/// A string of at least this many base64 digits and nothing else is data, such as an image or a
/// signature.
const DATA_CHARS: usize = 1_024;

/// What the base64 of a PEM file begins with: `-----BEGIN`.
const ENCODED_PEM: &str = "LS0tLS1CRUdJTi";

/// The name of a member whose value is a secret if it looks like one.
static SECRET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)(?:passwd|password|passphrase|secret|pwd|(?:secret|api|access|encryption|signing|private)[_-]?key|token)$";
    Regex::new(pattern).expect("the pattern is tested")
});

/// Replaces text that looks like a secret with `[redacted:RULE]`. Line breaks inside it stay, so
/// lines keep their numbers.
pub fn redact_text(text: &str) -> Redacted {
    counted(|met| replace(text, met))
}

/// As [`redact_text`], and passwords in the words and commands in which notes say them, see `noted`.
pub fn redact_note(text: &str) -> Redacted {
    counted(|met| {
        let mut changed = replace(text, met);
        for way in noted::ways(text) {
            let present = changed.as_deref().unwrap_or(text);
            if let Some(next) = without(present, &way.find(present), way.rule, met) {
                changed = Some(next);
            }
        }
        changed
    })
}

/// As [`redact_text`], in the string values of a JSON text, which stays JSON, and of JSON inside
/// these. Other text is redacted as a whole.
pub fn redact_json(json: &str) -> Redacted {
    counted(|met| replace_in_json(json, met))
}

fn replace_in_json(json: &str, met: &mut Met<'_>) -> Option<String> {
    if !is_json(json) {
        return replace(json, met);
    }
    let mut change = |place: JsonRole<'_>, text: &str| match place {
        JsonRole::Name => None,
        JsonRole::Value(name) => replace_value(name, text, met),
    };
    change_strings(json, &mut change)
}

/// Called with each secret that is replaced: its rule and its text.
type Met<'a> = dyn FnMut(&'static str, &str) + 'a;

fn counted(replace: impl FnOnce(&mut Met<'_>) -> Option<String>) -> Redacted {
    let mut counts = BTreeMap::new();
    let text = replace(&mut |rule, _| *counts.entry(rule).or_default() += 1);
    Redacted { text, counts }
}

/// The value of a member without its secrets; `None` if it holds none.
fn replace_value(name: &str, value: &str, met: &mut Met<'_>) -> Option<String> {
    if let Some(changed) = replace(value, met) {
        return Some(changed);
    }
    let may_be = !name.is_empty()
        && (12..DATA_CHARS).contains(&value.len())
        && !value.contains(char::is_whitespace);
    let is_named = || SECRET_NAME.is_match(name) && checks::mixed(value);
    let is_assigned = || replace(&format!("{name}={value}"), &mut |_, _| {}).is_some();
    let is_secret = may_be && (is_named() || is_assigned());
    is_secret.then(|| {
        met(ASSIGNMENT, value);
        mark(ASSIGNMENT)
    })
}

/// A text without its secrets; `None` if it holds none.
fn replace(text: &str, met: &mut Met<'_>) -> Option<String> {
    if is_data(text) {
        return None;
    }
    let mut changed: Option<String> = None;
    for rule in rules::candidates(text) {
        let present = changed.as_deref().unwrap_or(text);
        if let Some(next) = without(present, &rule.find(present), rule.name, met) {
            changed = Some(next);
        }
    }
    changed
}

/// A text without these secrets; `None` if none is replaced. A match that contains an earlier
/// replacement stays.
fn without(
    text: &str,
    secrets: &[Range<usize>],
    rule: &'static str,
    met: &mut Met<'_>,
) -> Option<String> {
    let (mut next, mut end) = (String::new(), 0);
    for secret in secrets {
        let found = &text[secret.clone()];
        if secret.start < end || found.contains(MARK) || text[..secret.start].ends_with(MARK) {
            continue;
        }
        met(rule, found);
        let breaks = "\n".repeat(found.matches('\n').count());
        next.extend([&text[end..secret.start], &mark(rule), &breaks]);
        end = secret.end;
    }
    next.push_str(&text[end..]);
    (end > 0).then_some(next)
}

/// The replacement of a secret.
fn mark(rule: &str) -> String {
    format!("{MARK}{rule}]")
}

fn is_data(text: &str) -> bool {
    text.len() >= DATA_CHARS
        && !text.starts_with(ENCODED_PEM)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
}
