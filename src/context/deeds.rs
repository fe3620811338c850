//! What calls did, in a few words: of one call when it comes in, of folded steps in the line that stands for them.
//!
//! Pure. Must not look at outputs: a line is made of what the session knows.

use serde_json::Value;

use super::forms;
use crate::object::{Handle, ObjectId};
use crate::session::{LineMap, ResultFact, Session, Shows, Subject};

/// Words of a command that a line shows, and their characters.
const BRIEF_WORDS: usize = 4;
const BRIEF_CHARS: usize = 48;
/// Characters of a path among them that is shown whole.
const PATH_CHARS: usize = 24;
/// Bytes of a path or a pattern that is shown whole.
const NAME_BYTES: usize = 120;
/// Files or words that one deed names, and deeds that a line names.
const MAX_ABOUT: usize = 16;
const MAX_DEEDS: usize = 24;
/// Commands that only prepare what comes after them.
const PREPARING: [&str; 6] = ["cd", "export", "pushd", "set", "source", "sleep"];

/// Arguments that name a file, and others that say what a call is about.
const PATHS: [&str; 3] = ["path", "file_path", "filePath"];
const ASKED: [&str; 3] = ["query", "url", "name"];

/// What begins the brief of a command.
const COMMAND: &str = "$ ";

/// What a call asked for: of a command its first words, behind `$ `; else a pattern or a path.
pub fn brief(args: &Value) -> String {
    let command = ["command", "cmd"].iter().find_map(|name| match args.get(*name)? {
        // A program and its arguments: the last one is the script.
        Value::Array(words) => words.last()?.as_str(),
        text => text.as_str(),
    });
    if let Some(line) = command {
        return format!("{COMMAND}{}", first_words(command_of(line)));
    }
    let text = |name: &&str| args.get(*name)?.as_str();
    let asked = text(&"pattern").or_else(|| PATHS.iter().find_map(text));
    asked.or_else(|| ASKED.iter().find_map(text)).map_or_else(String::new, asked_words)
}

/// What a call changed in a file: of an edit how many lines came and went, of a `write` how many there are. Nothing where
/// that is not known.
///
/// `diff`: the host's difference of the file, if it gives one.
pub fn brief_of_change(tool: &str, args: &Value, diff: Option<&str>) -> String {
    if tool == "write" {
        let content = args.get("content").and_then(Value::as_str).unwrap_or_default();
        return forms::count(content.split('\n').count() as u64, "line");
    }
    match diff.map_or_else(|| lines_of_edits(args), lines_of_diff) {
        (0, 0) => String::new(),
        (added, removed) => format!("+{added} -{removed}"),
    }
}

/// A brief as a line shows it.
pub fn shown_brief(brief: &str) -> &str {
    brief.strip_prefix(COMMAND).unwrap_or(brief)
}

/// The deeds of steps by the facts of their results, in the order in which each kind came first.
pub fn deeds<'a>(session: &Session, facts: impl Iterator<Item = &'a ResultFact>) -> Vec<String> {
    let mut deeds: Vec<Deed<'_>> = Vec::new();
    for deed in facts.filter_map(|fact| Deed::of(session, fact)) {
        match deeds.iter_mut().find(|known| known.is_alike(&deed)) {
            Some(known) => known.join(deed),
            None => deeds.push(deed),
        }
    }
    // What became of files says most, and of the rest the newest.
    let more = deeds.len().saturating_sub(MAX_DEEDS);
    let mut left_out = 0;
    deeds.retain(|deed| {
        let stays = left_out == more || matches!(deed, Deed::Changed { .. });
        left_out += usize::from(!stays);
        stays
    });
    let mut named = Vec::new();
    let mut words: Vec<String> = deeds.iter().map(|deed| deed.words(session, &mut named)).collect();
    if left_out > 0 {
        words.push(format!("{left_out} more"));
    }
    words
}

/// What one or several calls of a kind did.
#[derive(Debug, PartialEq, Eq)]
enum Deed<'a> {
    /// Content was shown, or asked for.
    Asked { tool: &'a str, about: Vec<About<'a>> },
    /// A file was changed.
    Changed { tool: &'a str, file: &'a ObjectId, brief: String },
    /// A command, or what failed.
    Ran { what: String, fact: &'a ResultFact, times: u64 },
}

/// What a call was about.
#[derive(Debug, PartialEq, Eq)]
enum About<'a> {
    Object(&'a ObjectId),
    Words(&'a str),
}

impl<'a> Deed<'a> {
    /// Nothing for calls that are known by no object and showed none.
    fn of(session: &'a Session, fact: &'a ResultFact) -> Option<Self> {
        let tool = fact.tool.as_str();
        let brief = fact.object.as_ref().map(|object| session.brief(object));
        let asked = |about| Self::Asked { tool, about: vec![about] };
        Some(match &fact.shows {
            Shows::File { object, .. } | Shows::Activated { object, .. } => {
                asked(About::Object(object))
            }
            Shows::Change { object } => {
                Self::Changed { tool, file: object, brief: brief.unwrap_or_default().to_owned() }
            }
            Shows::Own => match (brief?, brief?.strip_prefix(COMMAND)) {
                (_, Some(command)) if !command.is_empty() => {
                    Self::Ran { what: command.to_owned(), fact, times: 1 }
                }
                (brief, None) if fact.ok && !brief.is_empty() => asked(About::Words(brief)),
                (brief, None) if !brief.is_empty() => {
                    let what = format!("{tool} {}", session.shown_path(brief));
                    Self::Ran { what, fact, times: 1 }
                }
                _ => Self::Ran { what: tool.to_owned(), fact, times: 1 },
            },
        })
    }

    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Asked { tool: a, .. }, Self::Asked { tool: b, .. }) => a == b,
            (Self::Changed { tool: a, file: f, .. }, Self::Changed { tool: b, file: g, .. }) => {
                a == b && f == g
            }
            (Self::Ran { what: a, .. }, Self::Ran { what: b, .. }) => a == b,
            _ => false,
        }
    }

    fn join(&mut self, other: Self) {
        match (self, other) {
            (Self::Asked { about, .. }, Self::Asked { about: more, .. }) => {
                for next in more {
                    if !about.contains(&next) {
                        about.push(next);
                    }
                }
            }
            (Self::Changed { brief, .. }, Self::Changed { brief: next, .. }) => {
                *brief = match (changes(brief), changes(&next)) {
                    (Some((a, b)), Some((c, d))) => format!("+{} -{}", a + c, b + d),
                    _ => next,
                };
            }
            (Self::Ran { fact, times, .. }, Self::Ran { fact: newest, .. }) => {
                *fact = newest;
                *times += 1;
            }
            _ => {}
        }
    }

    /// The words of a line. `named`: the files that it names already; each is named with its path once.
    fn words(&self, session: &Session, named: &mut Vec<Handle>) -> String {
        let mut name = |object: &ObjectId| name(session, object, named);
        match self {
            Self::Asked { tool, about } => {
                let mut words = vec![(*tool).to_owned()];
                words.extend(about.iter().take(MAX_ABOUT).map(|about| match about {
                    About::Object(object) => name(object),
                    About::Words(words) => session.shown_path(words).to_owned(),
                }));
                if about.len() > MAX_ABOUT {
                    words.push(format!("{} more", about.len() - MAX_ABOUT));
                }
                words.join(" ")
            }
            Self::Changed { tool, file, brief } if brief.is_empty() => {
                format!("{tool} {}", name(file))
            }
            Self::Changed { tool, file, brief } => format!("{tool} {} ({brief})", name(file)),
            Self::Ran { what, fact, times } => {
                let outcome = match (fact.exit, fact.ok) {
                    (Some(0), _) => " ok".to_owned(),
                    (Some(code), _) => format!(" exit {code}"),
                    (None, false) => " failed".to_owned(),
                    (None, true) => String::new(),
                };
                let times = if *times > 1 { format!(" ×{times}") } else { String::new() };
                format!("{what}{outcome}{times}")
            }
        }
    }
}

/// Handle of an object, with the path of a file that was not named before.
fn name(session: &Session, object: &ObjectId, named: &mut Vec<Handle>) -> String {
    let Some(entry) = session.index().get(object) else { return object.to_string() };
    match &entry.subject {
        Subject::File { path, .. } if !named.contains(&entry.handle) => {
            named.push(entry.handle);
            format!("{} {}", entry.handle, session.shown_path(path))
        }
        _ => entry.handle.to_string(),
    }
}

/// The command of a shell line that does the work, without what its output goes to.
fn command_of(line: &str) -> &str {
    let (mut rest, mut first) = (line, None);
    while !rest.trim().is_empty() {
        let (part, after) = split_unquoted(rest, &['&', ';', '\n']);
        let part = part.trim();
        let word = part.split_whitespace().next().unwrap_or_default();
        if !part.is_empty() && !part.starts_with('#') && !PREPARING.contains(&word) {
            return without_settings(part);
        }
        first = first.or(Some(part).filter(|part| !part.is_empty()));
        rest = after;
    }
    first.unwrap_or_default()
}

/// A command without variables set before it and without what its output goes to.
fn without_settings(command: &str) -> &str {
    let (work, _) = split_unquoted(command, &['|', '>', '<']);
    let work = if work.is_empty() { command } else { work.strip_suffix(" 2").unwrap_or(work) };
    let is_setting = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let mut rest = work;
    while let Some((word, after)) = rest.split_once(char::is_whitespace)
        && is_setting(word)
    {
        rest = after.trim_start();
    }
    rest
}

/// What stands before and behind the first of these marks that is outside of quotes.
fn split_unquoted<'t>(text: &'t str, marks: &[char]) -> (&'t str, &'t str) {
    let mut quote = None;
    let end = text.char_indices().find(|(_, c)| match (quote, *c) {
        (None, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        (None, c) => marks.contains(&c),
        (Some(open), c) => {
            quote = Some(open).filter(|open| *open != c);
            false
        }
    });
    match end {
        Some((at, mark)) => (&text[..at], &text[at + mark.len_utf8()..]),
        None => (text, ""),
    }
}

/// A name, if it is not very long, else its first words.
fn asked_words(text: &str) -> String {
    let is_name = text.len() <= NAME_BYTES && !text.contains(char::is_whitespace);
    if is_name { text.to_owned() } else { first_words(text) }
}

/// The first words of a text, as many as a line shows; of long paths the last name.
fn first_words(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace().take(BRIEF_WORDS) {
        let last = word.rsplit_once('/').map(|(_, last)| format!("…/{last}"));
        let is_long = !words.is_empty() && word.chars().count() > PATH_CHARS;
        let word = &last.filter(|_| is_long).unwrap_or_else(|| word.to_owned());
        let space = usize::from(!words.is_empty());
        let room = BRIEF_CHARS.saturating_sub(words.chars().count() + space);
        if room < word.chars().count() && !words.is_empty() {
            break;
        }
        words.push_str(&" "[..space]);
        words.extend(word.chars().take(room));
    }
    words
}

/// Lines that come and go by the arguments of an `edit`.
fn lines_of_edits(args: &Value) -> (u64, u64) {
    let edits = args.get("edits").and_then(Value::as_array);
    let edits = edits.map_or_else(|| std::slice::from_ref(args), Vec::as_slice);
    let moved = edits.iter().map(|edit| {
        let (old, new) = (["oldText", "old_string"], ["newText", "new_string"]);
        LineMap::between(text_of(edit, old), text_of(edit, new)).added_removed()
    });
    moved.fold((0, 0), |sum, (added, removed)| (sum.0 + added, sum.1 + removed))
}

fn text_of<'v>(value: &'v Value, names: [&str; 2]) -> &'v str {
    names.iter().find_map(|name| value.get(*name)?.as_str()).unwrap_or_default()
}

/// Lines that come and go by a difference.
fn lines_of_diff(diff: &str) -> (u64, u64) {
    let marked = |mark: char| diff.lines().filter(|line| line.starts_with(mark)).count() as u64;
    (marked('+'), marked('-'))
}

/// The numbers of `+12 -4`.
fn changes(brief: &str) -> Option<(u64, u64)> {
    let (added, removed) = brief.strip_prefix('+')?.split_once(" -")?;
    Some((added.parse().ok()?, removed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_is_named_by_the_words_that_do_the_work() {
        for (command, expected) in [
            ("cargo test", "cargo test"),
            (
                "cd /p && RUST_LOG=debug X=1 cargo test --lib a::b 2>&1 | tail -n 5",
                "cargo test --lib a::b",
            ),
            ("# look\nls -la", "ls -la"),
            ("cat > a.txt <<'EOF'\nx\nEOF", "cat"),
            ("cd /p", "cd /p"),
            ("A=1", "A=1"),
            ("make all 2>&1", "make all"),
            ("grep -n \"a b\\|c; d\" x.rs | head", "grep -n \"a b\\|c;"),
            ("sed -n 1,9p /home/a/project/src/main.rs", "sed -n 1,9p …/main.rs"),
            ("", ""),
            ("> x", "> x"),
            ("python3 -c 'import a' one two three", "python3 -c 'import a'"),
        ] {
            let found = brief(&json!({ "command": command }));
            assert_eq!(found.strip_prefix("$ "), Some(expected), "{command}");
        }
        let long = brief(&json!({ "command": "é".repeat(99) }));
        assert_eq!(long.chars().count(), 2 + BRIEF_CHARS);
    }

    #[test]
    fn changes_are_counted_by_lines() {
        let edits = json!({ "path": "a", "edits": [
            { "oldText": "a\nb", "newText": "a\nc\nd" }, { "oldText": "x", "newText": "" },
        ] });
        assert_eq!(brief_of_change("edit", &edits, None), "+3 -2");
        let one = json!({ "old_string": "a", "new_string": "b" });
        assert_eq!(brief_of_change("edit", &one, None), "+1 -1");
        let diff = " 1 a\n-2 b\n+2 c\n+3 d";
        assert_eq!(brief_of_change("edit", &edits, Some(diff)), "+2 -1");
        assert_eq!(brief_of_change("edit", &json!({ "patch": "x" }), None), "");
        assert_eq!(brief_of_change("write", &json!({ "content": "a\nb\n" }), None), "3 lines");
    }

    #[test]
    fn a_call_is_about_its_command_its_pattern_or_its_path() {
        for (args, expected) in [
            (json!({ "pattern": "fn main", "path": "src" }), "fn main"),
            (json!({ "file_path": "/p/a.rs" }), "/p/a.rs"),
            (json!({ "cmd": ["bash", "-lc", "cd /p && ls"] }), "$ ls"),
            (json!({ "cmd": 5 }), ""),
            (json!(null), ""),
        ] {
            assert_eq!(brief(&args), expected, "{args}");
        }
    }
}
