//! Whether a text that has the form of a secret, or stands where secrets stand, looks like one.
//! Pure.

use std::collections::BTreeSet;

/// A check by its name in `rules.txt`.
pub(super) fn named(name: &str) -> Option<fn(&str) -> bool> {
    Some(match name {
        "any" => |_| true,
        "chosen" => super::noted::chosen,
        "cookie" => |pairs| pairs.split([';', '=']).any(mixed),
        "key" => key,
        "key_block" => key_block,
        "letters" => letters,
        "mixed" => mixed,
        "no_example" => no_example,
        "no_placeholder" => no_placeholder,
        "random" => random,
        "strong" => super::noted::strong,
        _ => return None,
    })
}

fn no_example(secret: &str) -> bool {
    !secret.contains("EXAMPLE") && distinct(secret) > 6
}

/// Whether a block contains a key, and not only its first line.
fn key_block(block: &str) -> bool {
    let digits = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    block.bytes().filter(digits).count() >= 120
}

/// Whether letters and digits look random: not a word, `xxxx` or an example.
fn random(secret: &str) -> bool {
    let has = |test: fn(&u8) -> bool| secret.as_bytes().iter().any(test);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && distinct(secret) >= 12
        && no_placeholder(secret)
}

/// As [`random`], and in one piece: words joined by dashes do not count.
fn key(secret: &str) -> bool {
    let pieces = secret.split(|c: char| !c.is_ascii_alphanumeric());
    random(secret) && pieces.into_iter().any(|piece| piece.len() >= 10 && is_chance(piece))
}

fn letters(secret: &str) -> bool {
    distinct(secret) >= 14 && no_placeholder(secret)
}

/// Whether a value in a place for secrets is a secret: it has a run of letters and digits that is
/// not a word, number or name.
pub(super) fn mixed(value: &str) -> bool {
    let value = value.trim_end_matches(['.', ',', ';', '?', '!']);
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    value.len() >= 12
        && !is_path(value)
        && !is_address(value)
        && no_placeholder(value)
        && runs.into_iter().any(is_chance)
}

/// Whether a run alternates between letters and digits too often to be a name with a number.
fn is_chance(run: &str) -> bool {
    let class = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let bytes = run.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = bytes.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    digits > 0 && digits < bytes.len() && bytes.len() >= 8 && changes >= 3 && distinct(run) >= 7
}

/// Whether a value is an address of an account or a contract, which everybody may see.
fn is_address(value: &str) -> bool {
    let hex = value.strip_prefix("0x").unwrap_or_default();
    hex.len() == 40 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a value is a path, a member expression (`process.env.API_KEY2`), or the name of a call.
fn is_path(value: &str) -> bool {
    value.starts_with(['/', '.', '$', '%', '@', '#', '-'])
        || value.contains("://")
        || value.split('.').count() > 1
            && value.split('.').all(|part| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && part.len() < 24
            })
}

pub(super) fn no_placeholder(secret: &str) -> bool {
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
