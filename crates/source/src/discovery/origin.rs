//! Finds the files that an output names as the origin of its text: before each line, above the
//! lines, in the headings of a diff or of a file, in JSON.
//!
//! Most names found are no paths: the caller checks. Looks nothing up.

use std::collections::HashSet;

use base::harness::shell;

use super::output::{cut, numbered_marks, unquoted, without_colours};

/// Number of bytes of a line that are read.
const MAX_LINE_BYTES: usize = 4_096;
/// Maximum number of marks in a line that may end a path.
const MAX_MARKS: usize = 16;

/// The names that an output gives for the file that its text comes from: `path:12: text`, `path-12-
/// text` and `path:text` of a search, also after a revision; the path above lines with numbers,
/// `==> path <==`, `File: path`, the headings of a diff (the command that `diff -r` says above each
/// file, too), `rg --json`.
///
/// `heads_matches`: whether the path may stand above lines without numbers. If so, every line
/// counts as a name.
pub fn named_in_output(output: &str, heads_matches: bool) -> HashSet<String> {
    let mut named = Named::default();
    // The line that may head those that follow, and whether it stands between lines of colons, as
    // in `more`.
    let (mut above, mut is_framed) = (None, false);
    for line in output.lines() {
        let line = without_colours(cut(line, MAX_LINE_BYTES));
        let text = line.trim_end();
        named.take_line(text);
        match number_mark(text) {
            Some(':') => named.add_all(above.as_deref()),
            Some(_) => {}
            None if text == "--" => {}
            None => {
                if heads_matches || is_framed {
                    named.add(text);
                }
                above = Some(text.to_owned()).filter(|text| !text.is_empty());
            }
        }
        is_framed = text.starts_with("::::::::");
    }
    named.paths
}

/// The mark after the number at the start of a line: `12:text`, `12-text`.
fn number_mark(line: &str) -> Option<char> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = (1..=7).contains(&(line.len() - rest.len()));
    rest.chars().next().filter(|mark| is_numbered && matches!(mark, ':' | '-'))
}

#[derive(Default)]
struct Named {
    paths: HashSet<String>,
}

impl Named {
    fn add(&mut self, path: &str) {
        if !path.is_empty() && !self.paths.contains(path) {
            self.paths.insert(path.to_owned());
        }
    }

    fn add_all<'a>(&mut self, paths: impl IntoIterator<Item = &'a str>) {
        paths.into_iter().for_each(|path| self.add(path));
    }

    /// Takes the names that a line itself contains.
    fn take_line(&mut self, line: &str) {
        if let Some(path) = path_in_json(line) {
            self.add(path);
            return;
        }
        self.heading(line);
        self.add_all(numbered_marks(line).take(MAX_MARKS).map(|(at, _)| &line[..at]));
        self.add_all(line.split_once('\0').map(|(path, _)| path));
        let mut before = 0;
        for (at, _) in line.match_indices(':').take(2) {
            if line[..at].contains(char::is_whitespace) {
                break;
            }
            self.add(&line[before..at]);
            before = at + 1;
        }
        self.add_all(
            line.split_once(':').map(|(path, _)| path).filter(|path| is_spaced_path(path)),
        );
    }

    /// Headings of a diff, of `head` and `tail`, of `bat`.
    fn heading(&mut self, line: &str) {
        let marks = ["+++ ", "--- ", "diff --git ", "==> "];
        if let Some(rest) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
            let rest = rest.trim_end_matches(" <==");
            let whole = unquoted(rest.split('\t').next().unwrap_or(rest));
            self.add(without_side(&whole));
            self.add_all(rest.split_whitespace().map(without_side));
        }
        if let Some(command) =
            line.starts_with("diff -").then(|| shell::commands(line).next()).flatten()
        {
            // The two sides of `diff -r` stand last, quoted as Git quotes.
            for word in command.from_program().iter().rev().take(2) {
                self.add(&unquoted(&format!("\"{}\"", word.text)));
            }
        }
        let inner = line.trim_start_matches([' ', '│']);
        self.add_all(inner.strip_prefix("File: ").map(str::trim));
    }
}

/// Whether the text before a colon is a path with spaces in its folders; a sentence may contain a
/// colon too.
fn is_spaced_path(text: &str) -> bool {
    let starts = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    let name = text.rsplit('/').next().unwrap_or_default();
    starts && !name.contains(char::is_whitespace) && !text.contains('"')
}

/// The path in a line of `rg --json`.
fn path_in_json(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("{\"type\":\"")?.split_once("\"path\":{\"text\":\"")?;
    rest.split('"').next()
}

/// `a/path` and `b/path` of a diff as `path`.
fn without_side(path: &str) -> &str {
    ["a/", "b/"].iter().find_map(|side| path.strip_prefix(side)).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: &[&str], others: &[&str]) {
        let named = named_in_output(output, false);
        for path in expected {
            assert!(named.contains(*path), "{output:?}: {named:?}");
        }
        for path in others {
            assert!(!named.contains(*path), "{output:?}: {named:?}");
        }
    }

    #[test]
    fn each_way_to_say_where_a_line_is_from_is_read() {
        check("a b.txt:12: x\nc-3- y\n./d e/f:z\ng:h", &["a b.txt", "c", "./d e/f", "g"], &[]);
        check("HEAD:a:2:x\na b: c\n/d/e: f: g\n/h i: j", &["HEAD:a", "a"], &["a b", "/h i"]);
        check(".env file at \"/a/.env\": x\nb.example:5:x:y", &["b.example"], &["b.example:5"]);
        check("a\u{0}b", &["a"], &[]);
        check("+++ b/c d\t2026\n--- a/e\n==> f g <==", &["c d", "e", "f g"], &[]);
        check("+++ \"b/\\303\\244\"", &["ä"], &[]);
        check("diff -re a/b \"c/d \\303\\244\"\n1c\nx\n.", &["a/b", "c/d ä"], &["-re"]);
        check(
            "\u{1b}[1m+++ b/c\u{1b}[m\n\u{1b}[35md\u{1b}[0m:\u{1b}[32m2\u{1b}[0m:x",
            &["c", "d"],
            &[],
        );
        check("{\"type\":\"match\",\"data\":{\"path\":{\"text\":\"a b\"},\"x\":1}}", &["a b"], &[]);
        check("      │ File: a.b\n::::::::::::::\nc\n::::::::::::::\nd", &["a.b", "c"], &[]);
    }

    #[test]
    fn a_line_above_numbered_lines_is_their_heading() {
        check("a b\n1-x\n2:y\n--\n9:z\n\nc\n3:w", &["a b", "c"], &[]);
        check("a\nb\n\n2:x\n2024-01.md\nc\n1-d", &[], &["a", "b", "c"]);
        let headed = named_in_output("a\nx\nb\ny", true);
        assert!(headed.contains("a") && headed.contains("b"));
    }
}
