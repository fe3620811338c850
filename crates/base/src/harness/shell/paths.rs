//! The words of a command line that may be paths: its commands' arguments, and anything between
//! separators in revisions, options, other programs' text, and computed parts.
//!
//! A search pattern is not a path. Looks nothing up.

use std::collections::HashMap;

use super::{Command, Word, commands};
use crate::harness::programs;

/// Most words that one word with braces expands to.
const MAX_EXPANDED: usize = 64;
/// Longest word whose braces are read, in bytes.
const MAX_BRACED_BYTES: usize = 4_096;

/// A word that may be a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWord {
    /// Its text.
    pub text: String,
    /// Whether it is from a program's text or begins an option, where a name with dots may be a
    /// member access: `process.env`.
    pub is_code: bool,
    /// Whether it is a whole word of a command, in which `*` may stand for names. A quoted word
    /// also holds something else.
    pub is_whole: bool,
}

/// The words of a command line that may be paths, each once: first its commands' words as a shell
/// reads them, with braces expanded, then anything else between separators.
pub fn path_words(line: &str) -> Vec<PathWord> {
    let commands: Vec<Command> = commands(line).collect();
    path_words_of(line, commands.iter())
}

/// The same for a line already read. `commands`: the line's commands.
pub fn path_words_of<'a>(line: &str, commands: impl Iterator<Item = &'a Command>) -> Vec<PathWord> {
    let mut words = Words::default();
    for command in commands {
        words.take(command);
    }
    words.take_rest(line);
    words.list
}

/// What may be a path in a program in a language other than a shell's.
pub fn program_words(text: &str) -> Vec<PathWord> {
    let mut words = Words::default();
    words.take_rest(text);
    words.list
}

/// The arguments that say what a search looks for or leaves out; empty for other programs.
pub fn patterns(command: &Command) -> Vec<&Word> {
    let git = command.git();
    let arguments: Vec<&Word> = match &git {
        Some(git) if git.subcommand == "grep" => git.arguments.clone(),
        None if programs::is_search(command.program()) => command.arguments().collect(),
        _ => return Vec::new(),
    };
    let (mut found, mut first, mut is_given) = (Vec::new(), None, false);
    let (mut rest, mut has_options) = (arguments.into_iter().peekable(), true);
    while let Some(word) = rest.next() {
        let text = &*word.text;
        let is_short = !text.starts_with("--");
        if !has_options || !text.starts_with('-') || text == "-" {
            first = first.or(Some(word));
        } else if text == "--" {
            // After it, `git grep` takes only paths.
            is_given |= git.is_some() && first.is_none();
            has_options = false;
        } else if is_left_out(text) {
            found.push(word);
            found.extend(rest.next_if(|_| !text.contains('=')));
        } else if text == "--regexp" || (is_short && text.ends_with('e')) {
            found.extend(rest.next());
            is_given = true;
        } else if text.starts_with("--regexp=") || (is_short && text.contains('e')) {
            found.push(word);
            is_given = true;
        } else if text.starts_with("--file") || (is_short && text.contains('f')) {
            is_given = true;
        } else if programs::takes_value(command.program(), text) {
            found.extend(rest.next().filter(|value| value.text.starts_with('!')));
        }
    }
    found.extend(first.filter(|_| !is_given));
    found
}

/// `--exclude=.env`, `--ignore build`.
fn is_left_out(option: &str) -> bool {
    option.starts_with("--exclude") || option.starts_with("--ignore")
}

#[derive(Default)]
struct Words {
    list: Vec<PathWord>,
    /// The index of each in the list.
    places: HashMap<String, usize>,
    /// Words in search patterns, and how often each occurs.
    patterns: HashMap<String, usize>,
}

impl Words {
    fn take(&mut self, command: &Command) {
        let patterns = patterns(command);
        let program_text = command.program_text();
        let script = command.script();
        for word in &command.words {
            let text = &*word.text;
            if script.as_deref() == Some(text) {
                // Its commands are taken separately.
                continue;
            }
            if patterns.iter().any(|pattern| std::ptr::eq(*pattern, word)) {
                for piece in pieces(text) {
                    *self.patterns.entry(piece.to_owned()).or_default() += 1;
                }
                continue;
            }
            let is_program = program_text.is_some_and(|given| std::ptr::eq(given, word));
            let is_code = is_program || has_code(text);
            let is_option = text.starts_with('-');
            let is_whole = !is_code && (word.is_plain || text.contains(char::is_alphanumeric));
            self.add(text, is_code || is_option, is_whole);
            for piece in pieces(text) {
                self.add(piece, is_code || (is_option && !text.contains('=')), false);
            }
            if !is_code {
                for expanded in expanded(text) {
                    self.add(&expanded, false, true);
                }
            }
        }
    }

    /// Takes what belongs to no command: here documents, computed parts, and what is nested too
    /// deep.
    fn take_rest(&mut self, line: &str) {
        for piece in pieces(line) {
            match self.patterns.get_mut(piece).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => self.add(piece, true, false),
            }
        }
    }

    fn add(&mut self, text: &str, is_code: bool, is_whole: bool) {
        if text.is_empty() {
            return;
        }
        if let Some(place) = self.places.get(text) {
            self.list[*place].is_code &= is_code;
            self.list[*place].is_whole |= is_whole;
            return;
        }
        self.places.insert(text.to_owned(), self.list.len());
        self.list.push(PathWord { text: text.to_owned(), is_code, is_whole });
    }
}

/// The parts between separators, without leading dashes.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| c.is_whitespace() || "'\"`\\;|&<>()=$,:@{}".contains(c);
    let pieces = text.split(is_mark).map(|piece| piece.trim_start_matches('-'));
    pieces.filter(|piece| !piece.is_empty())
}

/// Whether a word is the text of a program.
fn has_code(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || "()'\"`;".contains(c))
}

/// The words to which a shell expands braces: `{a,b}.c` becomes `a.c` and `b.c`. Empty without
/// braces.
fn expanded(text: &str) -> Vec<String> {
    if text.len() > MAX_BRACED_BYTES {
        return Vec::new();
    }
    let mut waiting = vec![text.to_owned()];
    let mut found = Vec::new();
    while let Some(text) = waiting.pop() {
        let Some((before, choices, after)) = innermost_braces(&text) else {
            found.push(text);
            continue;
        };
        if waiting.len() + found.len() >= MAX_EXPANDED {
            return found;
        }
        waiting.extend(
            choices.split(',').take(MAX_EXPANDED).map(|choice| format!("{before}{choice}{after}")),
        );
    }
    if found.len() == 1 && found[0] == text { Vec::new() } else { found }
}

/// The text before, inside and after the first braces that hold a choice and no other braces.
fn innermost_braces(text: &str) -> Option<(&str, &str, &str)> {
    let mut open = None;
    for (at, mark) in text.match_indices(['{', '}']) {
        match (mark, open) {
            ("{", _) => open = Some(at),
            (_, Some(start)) if text[start..at].contains(',') => {
                return Some((&text[..start], &text[start + 1..at], &text[at + 1..]));
            }
            _ => open = None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a line, with `?` after those in a program's text.
    fn words(line: &str) -> Vec<String> {
        let shown =
            |word: PathWord| format!("{}{}", word.text, if word.is_code { "?" } else { "" });
        path_words(line).into_iter().map(shown).collect()
    }

    fn has(line: &str, expected: &[&str]) {
        let words = words(line);
        for word in expected {
            assert!(words.contains(&(*word).to_owned()), "{line}: {words:?}");
        }
    }

    fn lacks(line: &str, word: &str) {
        assert!(path_words(line).iter().all(|found| found.text != word), "{line}");
    }

    #[test]
    fn whatever_may_be_a_path_is_found() {
        has("python -c \"open('.env')\";cat<.key", &["cat", ".key", ".env?"]);
        has("cat 'my key.pem' .e\"n\"v", &["my key.pem?", ".env"]);
        has("git show HEAD:.env 'a@{0}':b", &[".env", "b"]);
        has("curl -d @.env --env-file=a.env -Sb.env", &[".env", "a.env", "-Sb.env?"]);
        has("node -e \"read(\\\"k.pem\\\")\"", &["k.pem?"]);
        has("bash -c 'node -e \"read(\\\"k.pem\\\")\"'", &["k.pem?"]);
        has("python - <<'E'\nopen('k.pem')\nE", &["k.pem?"]);
        has("cat ${x:-k.pem} $(cat a) <<< `cat b`", &["k.pem?", "a", "b"]);
        has("bash -c \"cat a.pem\"", &["a.pem"]);
        has("sed -n /process.env/p a; awk '/b.key/' c", &["/process.env/p?", "a", "/b.key/?", "c"]);
    }

    #[test]
    fn a_star_stands_for_names_in_whole_words_alone() {
        let wild = |line: &str| {
            path_words(line).iter().any(|word| word.is_whole && word.text.contains('*'))
        };
        for line in ["cat *", "cat .e*", "find . -name '.e*'", "bash -c 'cat *'", "cat {a,b}*"] {
            assert!(wild(line), "{line}");
        }
        for line in
            ["x a@*/b $((6 * 7))", "x '*' \"***\"", "python -c 'f(\"s*\", 2 * x)'", "grep 's*' a"]
        {
            let words = path_words(line);
            let found =
                words.iter().filter(|word| word.is_whole && word.text.starts_with(['*', 's']));
            assert_eq!(found.count(), 0, "{line}: {words:?}");
        }
    }

    #[test]
    fn braces_are_expanded_and_not_without_end() {
        assert_eq!(expanded(".{env,foo}"), [".foo", ".env"]);
        assert_eq!(expanded("{a,.{b,c}}"), [".c", "a", ".b", "a"]);
        assert_eq!(expanded("a{b}c"), [""; 0]);
        assert_eq!(expanded("{a,b"), [""; 0]);
        assert!(expanded(&"{a,b}".repeat(99)).len() <= MAX_EXPANDED);
        has("cat .{env,foo} '{x,y}.pem'", &[".env", ".foo"]);
    }

    #[test]
    fn what_a_search_looks_for_is_no_path() {
        for line in [
            "grep -rn .env src",
            "grep -A 3 .env a",
            "grep -e .env a",
            "grep -rne .env a",
            "rg --regexp=.env a",
            "rg -t js .env a",
            "rg -g !.env x",
            "git grep -n .env -- a",
            "git -C sub grep -e .env -- a",
            "a | xargs grep '\\.env'",
            "bash -lc 'grep -n \"\\.env\" a'",
            "grep -r x --exclude=.env .",
            "grep -r x --exclude .env .",
        ] {
            lacks(line, ".env");
        }
        for line in [
            "grep x .env",
            "grep -e x .env",
            "grep -rnex .env",
            "grep -f pattern .env",
            "grep -- x .env",
            "rg --files .env",
            "rg -g .env x",
            "git grep x -- .env",
            "git grep -- .env",
            "git show x .env",
            "grep .env .env",
            "grep .env a; python -c \"open('.env')\"",
        ] {
            assert!(path_words(line).iter().any(|word| word.text == ".env"), "{line}");
        }
    }
}
