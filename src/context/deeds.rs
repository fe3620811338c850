//! What calls did, in a few words: of one call when it comes in, of folded steps in the line that stands for them.
//!
//! Pure. Must not look at outputs: a line is made of what the session knows.

use serde_json::Value;

use super::forms;
use crate::object::{Handle, ObjectId};
use crate::session::{LineMap, ResultFact, Session, Shows, Subject};

/// Words of a command that a line shows, and their characters.
const BRIEF_WORDS: usize = 4;
const BRIEF_CHARS: usize = 40;
/// Objects that one deed names, and deeds that a line names.
const MAX_OBJECTS: usize = 16;
const MAX_DEEDS: usize = 24;
/// Commands that only prepare what comes after them.
const PREPARING: [&str; 6] = ["cd", "export", "pushd", "set", "source", "sleep"];

/// What a call asked for, where its object does not say it: of a command its first words, of an edit how many lines come
/// and go, of a `write` how many there are.
///
/// `args`: its arguments. `diff`: the host's difference of the file, if it gives one.
pub fn brief(tool: &str, args: &Value, diff: Option<&str>) -> String {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    match tool {
        "bash" => first_words(command(text("command").unwrap_or_default())),
        "edit" => {
            let (added, removed) = diff.map_or_else(|| lines_of_edits(args), lines_of_diff);
            format!("+{added} -{removed}")
        }
        "write" => {
            let lines = text("content").map_or(0, |content| content.split('\n').count() as u64);
            forms::count(lines, "line")
        }
        _ => {
            let names = ["pattern", "path", "query", "url"];
            first_words(names.iter().find_map(|name| text(name)).unwrap_or_default())
        }
    }
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
    /// Content of objects was shown.
    Showed { tool: &'a str, objects: Vec<&'a ObjectId> },
    /// A file was changed.
    Changed { tool: &'a str, file: &'a ObjectId, brief: String },
    /// Anything else.
    Ran { what: String, fact: &'a ResultFact, times: u64 },
}

impl<'a> Deed<'a> {
    /// Nothing for calls that are known by no object and showed none.
    fn of(session: &Session, fact: &'a ResultFact) -> Option<Self> {
        let tool = fact.tool.as_str();
        let brief = fact.object.as_ref().map_or("", |object| session.brief(object));
        match &fact.shows {
            Shows::File { object, .. } | Shows::Activated { object, .. } => {
                Some(Self::Showed { tool, objects: vec![object] })
            }
            Shows::Change { object } => {
                Some(Self::Changed { tool, file: object, brief: brief.to_owned() })
            }
            Shows::Own => {
                fact.object.as_ref()?;
                let what = match brief {
                    "" => tool.to_owned(),
                    brief if tool == "bash" => brief.to_owned(),
                    // The change was not made.
                    _ if matches!(tool, "edit" | "write") => tool.to_owned(),
                    brief => format!("{tool} {brief}"),
                };
                Some(Self::Ran { what, fact, times: 1 })
            }
        }
    }

    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Showed { tool: a, .. }, Self::Showed { tool: b, .. }) => a == b,
            (Self::Changed { tool: a, file: f, .. }, Self::Changed { tool: b, file: g, .. }) => {
                a == b && f == g
            }
            (Self::Ran { what: a, .. }, Self::Ran { what: b, .. }) => a == b,
            _ => false,
        }
    }

    fn join(&mut self, other: Self) {
        match (self, other) {
            (Self::Showed { objects, .. }, Self::Showed { objects: more, .. }) => {
                for object in more {
                    if !objects.contains(&object) {
                        objects.push(object);
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
            Self::Showed { tool, objects } => {
                let mut words = vec![(*tool).to_owned()];
                words.extend(objects.iter().take(MAX_OBJECTS).map(|object| name(object)));
                if objects.len() > MAX_OBJECTS {
                    words.push(format!("{} more", objects.len() - MAX_OBJECTS));
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
fn command(line: &str) -> &str {
    let parts = || line.split(['&', ';', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let prepares = |part: &&str| {
        let first = part.split_whitespace().next().unwrap_or_default();
        part.starts_with('#') || PREPARING.contains(&first)
    };
    let work = parts().find(|part| !prepares(part)).or_else(|| parts().next()).unwrap_or_default();
    let end = work.find(['|', '>', '<']).filter(|end| *end > 0).unwrap_or(work.len());
    let work = work[..end].strip_suffix(" 2").unwrap_or(&work[..end]);
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

/// The first words of a text, as many as a line shows.
fn first_words(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace().take(BRIEF_WORDS) {
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
    let text = |edit: &Value, name: &str| {
        edit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let moved = edits.iter().map(|edit| {
        LineMap::between(&text(edit, "oldText"), &text(edit, "newText")).added_removed()
    });
    moved.fold((0, 0), |sum, (added, removed)| (sum.0 + added, sum.1 + removed))
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
            ("", ""),
            ("> x", "> x"),
            ("python3 -c 'import a' one two three", "python3 -c 'import a'"),
        ] {
            assert_eq!(brief("bash", &json!({ "command": command }), None), expected, "{command}");
        }
        let long = brief("bash", &json!({ "command": "é".repeat(99) }), None);
        assert_eq!(long.chars().count(), BRIEF_CHARS);
    }

    #[test]
    fn changes_are_counted_by_lines() {
        let edits = json!({ "path": "a", "edits": [
            { "oldText": "a\nb", "newText": "a\nc\nd" }, { "oldText": "x", "newText": "" },
        ] });
        assert_eq!(brief("edit", &edits, None), "+3 -2");
        assert_eq!(brief("edit", &json!({ "oldText": "a", "newText": "b" }), None), "+1 -1");
        assert_eq!(brief("edit", &edits, Some(" 1 a\n-2 b\n+2 c\n+3 d")), "+2 -1");
        assert_eq!(brief("write", &json!({ "content": "a\nb\n" }), None), "3 lines");
        assert_eq!(brief("grep", &json!({ "pattern": "fn main", "path": "src" }), None), "fn main");
    }
}
