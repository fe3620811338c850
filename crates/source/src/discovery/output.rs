//! Finds paths in the output of a command: bare paths, statuses, search matches, and places named
//! by compilers, tracebacks and test runners.
//!
//! A line only suggests paths; the caller decides which of them are files. Looks nothing up.

use std::borrow::Cow;

/// Number of bytes of a line that are read.
const MAX_LINE_BYTES: usize = 4_096;
/// Number of words of a line that are read.
const MAX_WORDS: usize = 64;
/// Maximum number of marks in a line that may end a path; the text before each is tried.
pub(super) const MAX_MARKS: usize = 16;
/// Number of words at the start of a line that may be paths without naming a line: `PASS a.js`, `ok
/// 3 a.js`.
const HEAD_WORDS: usize = 3;
/// Prefixes of a path that are not part of it.
const HEADINGS: [&str; 8] =
    ["+++ ", "--- ", "diff --git ", "==> ", "--> ", "::: ", "rename from ", "rename to "];

/// Suggests the paths of a line to `is_file`, which says whether one is a file. The first place
/// that a line names decides: text after `path:12:` is the file's own.
pub(super) fn suggest(line: &str, is_file: &mut dyn FnMut(&str) -> bool) {
    let line = without_colours(cut(line, MAX_LINE_BYTES));
    let text = line.trim();
    if text.is_empty() {
        return;
    }
    if may_be_bare(text) && is_file(&unquoted(text)) {
        return;
    }
    if let Some(rest) = listed(&line).or_else(|| headed(text)) {
        let sides = rest.split('\t').flat_map(|side| side.split(" -> "));
        if sides.filter(|side| is_file(&unquoted(side.trim()))).count() > 0 {
            return;
        }
    }
    let text = HEADINGS.iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    if marks(text).take(MAX_MARKS).any(|at| is_file(&text[..at])) {
        return;
    }
    let last = text.split_whitespace().next_back();
    for (place, word) in text.split_whitespace().take(MAX_WORDS).chain(last).enumerate() {
        let (path, says_place) = path_of(word);
        let is_at_end = place < HEAD_WORDS || last == Some(word);
        if (says_place || is_at_end) && looks_like_path(path) {
            is_file(path);
        }
    }
}

/// The folder at the head of a list of names in the output of `ls -R`: `src/sub:`.
pub(super) fn folder_heading(line: &str) -> Option<&str> {
    line.strip_suffix(':').filter(|folder| !folder.is_empty() && folder.len() <= MAX_LINE_BYTES)
}

/// Offsets at which the path in a line of Pi's `grep` may end: before `:12: ` or `-12- `.
pub(super) fn mark_offsets(line: &str) -> impl Iterator<Item = usize> {
    numbered_marks(line)
        .filter(|(_, after)| after.is_empty() || after.starts_with(' '))
        .map(|(at, _)| at)
}

/// Offsets at which a path may end, likeliest first: before a number between two marks (`:12:`,
/// `-12-`), then before `:`.
fn marks(text: &str) -> impl Iterator<Item = usize> {
    let colon = text.find(':').filter(|at| *at > 0);
    numbered_marks(text).map(|(at, _)| at).chain(colon)
}

/// Numbers between two marks: the offset of the first mark, and the text after the second.
pub(super) fn numbered_marks(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.match_indices([':', '-']).filter_map(|(offset, mark)| {
        let rest = &line[offset + 1..];
        let text = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let after = text.strip_prefix(mark).filter(|_| offset > 0 && text.len() < rest.len())?;
        Some((offset, after))
    })
}

/// Whether a whole line may be a path: one word, or several that look like one path.
fn may_be_bare(text: &str) -> bool {
    !text.contains(char::is_whitespace) || text.starts_with('"') || looks_like_path(text)
}

/// The names after a git status (` M a`, `?? a`, `R100<tab>a<tab>b`, `new file:   a`) or in a long
/// listing.
fn listed(line: &str) -> Option<&str> {
    let is_status = |status: &str| status.bytes().all(|byte| b" MTADRCU?!".contains(&byte));
    if let Some((status, rest)) = line.split_at_checked(2)
        && is_status(status)
        && !status.trim().is_empty()
    {
        return rest.strip_prefix(' ');
    }
    if let Some((status, names)) = line.split_once('\t')
        && (1..=4).contains(&status.len())
        && status.bytes().all(|byte| b"MTADRCU0123456789".contains(&byte))
    {
        return Some(names);
    }
    let is_mode =
        |mode: &str| mode.len() >= 10 && mode.bytes().all(|b| b"-lrwxsStT.+@".contains(&b));
    let mode = line.split(' ').next().filter(|mode| is_mode(mode));
    if mode.is_some() {
        // A long listing has mode, links, user, group, size and three words of time before the
        // name.
        return (0..8)
            .try_fold(line, |rest, _| rest.trim_start().split_once(' ').map(|(_, rest)| rest));
    }
    let (_, name) = line.split_once(":  ")?;
    Some(name)
}

/// The path of a heading: `+++ b/path`, `==> path <==`.
fn headed(text: &str) -> Option<&str> {
    let rest = HEADINGS.iter().find_map(|mark| text.strip_prefix(mark))?;
    let rest = rest.split('\t').next().unwrap_or(rest).trim_end_matches(" <==");
    // In `diff --git a/x b/x` both paths are the same unless the file was moved.
    let second = rest.split_once(" b/").map(|(_, path)| path);
    second.or_else(|| without_side(rest)).or(Some(rest))
}

fn without_side(path: &str) -> Option<&str> {
    ["a/", "b/"].iter().find_map(|side| path.strip_prefix(side))
}

/// The path in a word, and whether the word names a line: `(/a/b.js:12:5)`, `a.ts(12,5):`,
/// `a.py::test`, `"a.py",`.
fn path_of(word: &str) -> (&str, bool) {
    let bare = word.trim_matches(|c: char| "\"'`()[]{}<>,;:!?*│".contains(c));
    let bare = bare.strip_prefix("file://").unwrap_or(bare);
    if bare.contains("://") {
        return ("", false);
    }
    let is_digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let ends = bare.match_indices([':', '(']).find(|(at, mark)| {
        let rest = &bare[at + 1..];
        is_digit(rest) || (*mark == ":" && rest.starts_with(':'))
    });
    let is_quoted = word.starts_with('"') && word.ends_with("\",");
    match ends {
        Some((at, _)) => (&bare[..at], true),
        None => (bare.trim_end_matches('.'), is_quoted),
    }
}

/// Whether a text has a folder or an extension, as paths do and words do not.
fn looks_like_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let has_extension = name.rsplit_once('.').is_some_and(|(_, extension)| {
        (1..=10).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    !name.is_empty() && (has_extension || name.len() < text.len())
}

/// Removes git's quotes from a name: `"a\303\244.txt"`.
pub(super) fn unquoted(text: &str) -> Cow<'_, str> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else { return Cow::Borrowed(text) };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|byte| (b'0'..b'8').contains(byte)).count();
        if digits == 3 {
            let value =
                rest[..3].iter().fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
            bytes.extend(u8::try_from(value));
            rest = &rest[3..];
        } else if let [escaped, after @ ..] = rest {
            bytes.push(match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other => *other,
            });
            rest = after;
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Removes colour sequences from a line.
pub(super) fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    Cow::Owned(plain)
}

/// The start of a text, at most this many bytes.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line suggests where these are files: the files, in order.
    fn files(line: &str, there: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        suggest(line, &mut |path| {
            let is_there = there.contains(&path);
            if is_there {
                found.push(path.to_owned());
            }
            is_there
        });
        found.dedup();
        found
    }

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(files(line, expected), expected, "{line:?}");
    }

    #[test]
    fn bare_paths_and_statuses_are_read() {
        check("src/a.rs", &["src/a.rs"]);
        check("./Makefile\r", &["./Makefile"]);
        check("my file.txt", &["my file.txt"]);
        check("\"a\\303\\244 \\\"b\\\".txt\"", &["aä \"b\".txt"]);
        check(" M src/a.rs", &["src/a.rs"]);
        check("?? new file", &["new file"]);
        check("R  old.rs -> new.rs", &["new.rs"]);
        check("M\tMakefile", &["Makefile"]);
        check("R100\told\tnew name", &["old", "new name"]);
        check("R  old.rs -> \"n w\"", &["old.rs", "n w"]);
        check("\tmodified:   src/a.rs", &["src/a.rs"]);
        check("\trenamed:    a b -> c d", &["c d"]);
        check("-rw-r--r-- 1 root root  123 Nov 21 18:53 a b.rs", &["a b.rs"]);
        check("lrwxrwxrwx  1 u g 4 Jan  2  2026 link -> a", &["link", "a"]);
        check("+++ b/src/a.rs\t2026-01-01", &["src/a.rs"]);
        check("diff --git a/x y.rs b/x y.rs", &["x y.rs"]);
        check("==> src/a.rs <==", &["src/a.rs"]);
    }

    #[test]
    fn matches_and_places_are_read() {
        check("src/a b.rs:12:use b.rs;", &["src/a b.rs"]);
        check("src/a.rs-12-use b.rs;", &["src/a.rs"]);
        check("a:text", &["a"]);
        check("src/a.rs:12:5: error: no", &["src/a.rs"]);
        check("src/a.c: In function 'f':", &["src/a.c"]);
        check("  --> src/my a.rs:10:2", &["src/my a.rs"]);
        check("   at f (/w/a.js:12:5)", &["/w/a.js"]);
        check("    at file:///w/a.mjs:3:1", &["/w/a.mjs"]);
        check("src/a.ts(12,5): error TS1005", &["src/a.ts"]);
        check("  File \"/w/x.py\", line 3, in f", &["/w/x.py"]);
        check("thread 'main' panicked at src/a.rs:12:5:", &["src/a.rs"]);
        check("\u{1b}[31mFAIL\u{1b}[0m src/a.test.ts > it works", &["src/a.test.ts"]);
        check("FAILED tests/a.py::test_x - assert 1", &["tests/a.py"]);
        check("tests/a.py ..F.   [ 50%]", &["tests/a.py"]);
        check("     Running unittests src/lib.rs (target/debug/deps/x-1)", &["src/lib.rs"]);
        check("wrote the whole of it to dist/out.js", &["dist/out.js"]);
    }

    #[test]
    fn words_of_a_text_are_no_paths() {
        let there = ["the", "test", "a", "index.html", "/index.html"];
        for line in
            ["test the a", "see http://host/index.html now", "and so the index ends", "", "  "]
        {
            assert_eq!(files(line, &there), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_folder_heads_its_names() {
        assert_eq!(folder_heading("src/sub:"), Some("src/sub"));
        assert_eq!(folder_heading(":"), None);
    }
}
