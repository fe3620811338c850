//! Finds text that looks like a secret and replaces it. Pure; must not know a store or an archive.
//!
//! A rule describes a provider's form of keys, or a place where secrets occur (`Authorization: Bearer`, `password=`,
//! a URL). In such a place a value counts only if it is not a word, path or placeholder, so ordinary code, hashes and
//! IDs stay as they are. After the rules here come those of gitleaks, see [`super::secret_rules`], for the forms of many more
//! providers. Secrets in other forms and places are missed, and a secret found in one place is not looked for elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};
use serde_json::{Map, Value};

use super::json::{change_strings, is_json};
use super::secret_rules;

/// Number of replacements, by rule.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// A text without its secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text; `None` if nothing was replaced.
    pub text: Option<String>,
    /// How often something was replaced, by rule.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What a replacement begins with.
const MARK: &str = "[redacted:";

/// Levels to which JSON inside of JSON strings is searched.
const MAX_NESTING: u32 = 8;

/// A string of at least this many base64 digits and nothing else is data: an image, a signature.
const DATA_CHARS: usize = 1_024;

/// One form of secret. The group `secret` of its pattern, or else the whole match, is replaced if it passes the
/// check.
struct Rule {
    name: &'static str,
    pattern: &'static str,
    check: fn(&str) -> bool,
}

/// In order: a form comes before others that would match a part of it.
const RULES: [Rule; 18] = [
    Rule {
        name: "private_key",
        pattern: r#"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[A-Za-z0-9+/=]{16,}|["'`][,+\s\\]*["'`](?:\\[nr])*[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\"]*)*(?:[A-Za-z0-9+/=]*(?:\s|\\[nr]|["'`+,])*-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)?"#,
        check: holds_key,
    },
    Rule {
        name: "jwt",
        pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}",
        check: any,
    },
    Rule {
        name: "aws_access_key",
        pattern: r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)",
        check: is_no_example,
    },
    Rule {
        name: "aws_secret_key",
        pattern: r#"(?i)aws[a-z0-9_. -]{0,20}(?:secret|access)[a-z0-9_. -]{0,20}["']?\s*(?:=>|:=|[:=])\s*["']?(?-i:(?<secret>[A-Za-z0-9/+]{40}))(?:[^A-Za-z0-9/+=]|$)"#,
        check: is_random,
    },
    Rule {
        name: "github_token",
        pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?-u:\b)",
        check: is_random,
    },
    Rule {
        name: "gitlab_token",
        pattern: r"(?-u:\b)gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{20,}",
        check: is_random,
    },
    Rule {
        name: "slack_token",
        pattern: r"(?-u:\b)(?:xox[abeposr]-(?:[A-Za-z0-9]+-)*[A-Za-z0-9]{10,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{32,})",
        check: is_random,
    },
    Rule {
        name: "slack_webhook",
        pattern: r"https://hooks\.slack\.com/(?:services|workflows)/(?<secret>T[A-Z0-9]{6,}/[A-Z0-9]{6,}/[A-Za-z0-9/]{16,})",
        check: is_random,
    },
    Rule {
        name: "stripe_key",
        pattern: r"(?-u:\b)(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{20,}",
        check: is_random,
    },
    Rule {
        name: "google_key",
        pattern: r"(?-u:\b)(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,})",
        check: is_random,
    },
    Rule {
        name: "anthropic_key",
        pattern: r"(?-u:\b)sk-ant-[A-Za-z0-9]+-[A-Za-z0-9_-]{20,}",
        check: is_random,
    },
    Rule {
        name: "openai_key",
        pattern: r"(?-u:\b)sk-(?:[A-Za-z0-9]{1,12}-){0,2}[A-Za-z0-9_-]{20,}",
        check: is_key,
    },
    Rule { name: "npm_token", pattern: r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)", check: is_random },
    Rule { name: "pypi_token", pattern: r"(?-u:\b)pypi-AgE[A-Za-z0-9_-]{50,}", check: any },
    Rule {
        name: "huggingface_token",
        pattern: r"(?-u:\b)hf_[A-Za-z0-9]{34,}(?-u:\b)",
        check: is_random_letters,
    },
    Rule {
        name: "bearer",
        pattern: r#"(?i)(?:(?:authorization|x-api-key)["']?\s*[:=]\s*["'`]?(?:bearer|basic|token)?|(?-u:\b)bearer)\s+(?-i:(?<secret>[A-Za-z0-9._~+/-]{16,}=*))"#,
        check: is_mixed,
    },
    Rule {
        name: "url_credentials",
        pattern: r#"(?-u:\b)[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'`<>\[\]{}$]*:(?<secret>[^\s/:@"'`<>\[\]{}$]{6,})@[A-Za-z0-9]"#,
        check: is_no_placeholder,
    },
    Rule {
        name: "assignment",
        pattern: r#"(?i)(?:passwd|password|passphrase|secret|secret[_-]?key|(?:api|access|encryption|signing|private|account)[_-]?key|(?:auth|access|api|refresh|bot|bearer|client|secret)[_-]?token|(?-u:\b)token|(?-u:\b)pwd)\\?["']?\s*(?:=>|:=|[:=])\s*\\?["'`]?(?-i:(?<secret>[A-Za-z0-9_~!@#%^&*+./=|?-]{12,}))"#,
        check: is_mixed,
    },
];

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(RULES.iter().map(|rule| rule.pattern)).expect("the patterns are tested")
});

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |rule: &Rule| Regex::new(rule.pattern).expect("the patterns are tested");
    RULES.iter().map(compile).collect()
});

/// A key whose value is a secret if it looks like one.
static SECRET_KEY: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)(?:passwd|password|passphrase|secret|pwd|(?:secret|api|access|encryption|signing|private)[_-]?key|token)$";
    Regex::new(pattern).expect("the pattern is tested")
});

/// Replaces text that looks like a secret by `[redacted:RULE]`. Line breaks inside of it stay, so lines keep their
/// numbers.
pub fn redact_text(text: &str) -> Redacted {
    let mut counts = Counts::new();
    let text = replace(text, &mut counts);
    Redacted { text, counts }
}

/// As [`redact_text`], in the string values of a JSON text, which stays JSON, and of JSON inside of these. Other text
/// is redacted as a whole.
pub fn redact_json(json: &str) -> Redacted {
    let mut counts = Counts::new();
    let text = if is_json(json) {
        replace_in_json(json, &mut counts, MAX_NESTING)
    } else {
        replace(json, &mut counts)
    };
    Redacted { text, counts }
}

/// Replaces text that looks like a secret in the string values of fields.
pub(super) fn redact_fields(fields: &mut Map<String, Value>) -> Counts {
    let mut counts = Counts::new();
    for (key, value) in fields {
        replace_in_value(Some(key), value, &mut counts);
    }
    counts
}

fn replace_in_value(key: Option<&str>, value: &mut Value, counts: &mut Counts) {
    match value {
        Value::String(text) => {
            if let Some(changed) = replace_in_string(key, text, counts, MAX_NESTING) {
                *text = changed;
            }
        }
        Value::Array(list) => {
            for value in list {
                replace_in_value(None, value, counts);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                replace_in_value(Some(key), value, counts);
            }
        }
        _ => {}
    }
}

fn replace_in_json(json: &str, counts: &mut Counts, nesting: u32) -> Option<String> {
    change_strings(json, &mut |key, value| replace_in_string(key, value, counts, nesting))
}

fn replace_in_string(
    key: Option<&str>,
    value: &str,
    counts: &mut Counts,
    nesting: u32,
) -> Option<String> {
    let is_nested = nesting > 0 && value.trim_start().starts_with(['{', '[']) && is_json(value);
    if is_nested {
        return replace_in_json(value, counts, nesting - 1);
    }
    if let Some(changed) = replace(value, counts) {
        return Some(changed);
    }
    let is_secret = key.is_some_and(|key| SECRET_KEY.is_match(key))
        && (12..=512).contains(&value.len())
        && !value.contains(char::is_whitespace)
        && is_mixed(value);
    is_secret.then(|| {
        *counts.entry("assignment").or_default() += 1;
        "[redacted:assignment]".to_owned()
    })
}

fn replace(text: &str, counts: &mut Counts) -> Option<String> {
    if is_data(text) {
        return None;
    }
    let mut changed: Option<String> = None;
    for rule in SET.matches(text) {
        let (rule, pattern) = (&RULES[rule], &PATTERNS[rule]);
        let mut count = 0;
        let present = changed.as_deref().unwrap_or(text);
        let next = pattern.replace_all(present, |captures: &Captures<'_>| {
            let whole = captures.get(0).map_or("", |found| found.as_str());
            let secret = captures.name("secret").or_else(|| captures.get(0));
            let Some(secret) = secret.filter(|secret| (rule.check)(secret.as_str())) else {
                return whole.to_owned();
            };
            count += 1;
            let start = captures.get(0).map_or(0, |found| found.start());
            let breaks = "\n".repeat(secret.as_str().matches('\n').count());
            let before = &whole[..secret.start() - start];
            let after = &whole[secret.end() - start..];
            format!("{before}{MARK}{}]{breaks}{after}", rule.name)
        });
        if count > 0 {
            let next = next.into_owned();
            *counts.entry(rule.name).or_default() += count;
            changed = Some(next);
        }
    }
    for rule in secret_rules::candidates(text) {
        let present = changed.as_deref().unwrap_or(text);
        let found = rule.find(present);
        let next = without(present, &found, rule.name);
        if let Some((next, count)) = next {
            *counts.entry(rule.name).or_default() += count;
            changed = Some(next);
        }
    }
    changed
}

/// A text without these secrets, and how many were replaced; `None` if none was. What holds an earlier replacement stays.
fn without(text: &str, secrets: &[Range<usize>], rule: &str) -> Option<(String, u64)> {
    let (mut next, mut end, mut count) = (String::new(), 0, 0);
    for secret in secrets {
        let found = &text[secret.clone()];
        if secret.start < end || found.contains(MARK) || text[..secret.start].ends_with(MARK) {
            continue;
        }
        let breaks = "\n".repeat(found.matches('\n').count());
        next.extend([&text[end..secret.start], MARK, rule, "]", &breaks]);
        end = secret.end;
        count += 1;
    }
    next.push_str(&text[end..]);
    (count > 0).then_some((next, count))
}

fn is_data(text: &str) -> bool {
    text.len() >= DATA_CHARS
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
}

fn any(_: &str) -> bool {
    true
}

fn is_no_example(secret: &str) -> bool {
    !secret.contains("EXAMPLE") && distinct(secret) > 6
}

/// Whether a block contains a key, and not only its first line.
fn holds_key(block: &str) -> bool {
    let digits = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    block.bytes().filter(digits).count() >= 120
}

/// Whether letters and digits look random: not a word, `xxxx` or an example.
fn is_random(secret: &str) -> bool {
    let has = |test: fn(&u8) -> bool| secret.as_bytes().iter().any(test);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && distinct(secret) >= 12
        && is_no_placeholder(secret)
}

/// As [`is_random`], and in one piece: names joined by dashes are not.
fn is_key(secret: &str) -> bool {
    let pieces = secret.split(|c: char| !c.is_ascii_alphanumeric());
    is_random(secret) && pieces.into_iter().any(|piece| piece.len() >= 10 && is_chance(piece))
}

fn is_random_letters(secret: &str) -> bool {
    distinct(secret) >= 14 && is_no_placeholder(secret)
}

/// Whether a value in a place for secrets is one: it has a run of letters and digits that is not a word, number or
/// name.
fn is_mixed(value: &str) -> bool {
    let value = value.trim_end_matches(['.', ',', ';', '?', '!']);
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    value.len() >= 12
        && !is_path(value)
        && is_no_placeholder(value)
        && runs.into_iter().any(is_chance)
}

/// Whether a run alternates between letters and digits too often for a name with a number.
fn is_chance(run: &str) -> bool {
    let class = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let bytes = run.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = bytes.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    digits > 0 && digits < bytes.len() && bytes.len() >= 8 && changes >= 3 && distinct(run) >= 7
}

/// Whether a value is a path, a member of something (`process.env.API_KEY2`), or a call's name.
fn is_path(value: &str) -> bool {
    value.starts_with(['/', '.', '$', '%', '@', '#', '-'])
        || value.contains("://")
        || value.split('.').count() > 1
            && value.split('.').all(|part| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && part.len() < 24
            })
}

fn is_no_placeholder(secret: &str) -> bool {
    const WORDS: [&str; 14] = [
        "example",
        "redacted",
        "placeholder",
        "your",
        "changeme",
        "password",
        "dummy",
        "sample",
        "xxxx",
        "****",
        "fake",
        "secret",
        "<",
        "...",
    ];
    let lower = secret.to_ascii_lowercase();
    !WORDS.iter().any(|word| lower.contains(word))
}

fn distinct(text: &str) -> usize {
    text.bytes().collect::<BTreeSet<_>>().len()
}
