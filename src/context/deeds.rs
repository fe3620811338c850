//! What calls did, in a few words: of one call when it comes in, of folded steps in the line that stands for them.
//!
//! Pure. Must not look at outputs: a line is made of what the session knows.

use serde_json::Value;

use super::forms;
use super::host::strings;
use super::tool_kind::{self, ToolKind};
use crate::object::{Handle, ObjectId};
use crate::session::{LineMap, ResultFact, Session, Shows, Subject};

/// Arguments of at most so many characters, on one line, stand in a line as they are: the model repeats paths, patterns and
/// commands word for word. Of longer commands the beginning does.
const SHORT_CHARS: usize = 200;
/// Objects that one deed names, and deeds that a line names.
const MAX_OBJECTS: usize = 16;
const MAX_DEEDS: usize = 48;

/// What a call asked for: its short arguments as they are, the beginning of a long command, of an edit how many lines come
/// and go, of a `write` how many there are.
///
/// `args`: its arguments. `diff`: the host's difference of the file, if it gives one.
pub fn brief(tool: &str, args: &Value, diff: Option<&str>) -> String {
    let mut parts: Vec<String> =
        texts(args).filter(|text| is_short(text)).map(str::to_owned).collect();
    match tool_kind::kind(tool, args) {
        ToolKind::Shell(_) => parts.extend(texts(args).find(|text| !is_short(text)).map(beginning)),
        ToolKind::Edit => {
            let (added, removed) = diff.map_or_else(|| lines_of_edits(args), lines_of_diff);
            if added + removed > 0 {
                parts.push(format!("+{added} -{removed}"));
            }
        }
        ToolKind::Write => {
            let content = args.get("content").and_then(Value::as_str);
            parts.extend(content.map(|text| forms::count(text.split('\n').count() as u64, "line")));
        }
        _ => {}
    }
    parts.join(" ")
}

/// What of the arguments a line does not show.
pub fn left_out(args: &Value) -> String {
    texts(args).filter(|text| !is_short(text)).collect::<Vec<_>>().join("\n")
}

fn texts(args: &Value) -> impl Iterator<Item = &str> {
    let mut found = Vec::new();
    strings(args, &mut found);
    found.into_iter().filter(|text| !text.trim().is_empty())
}

fn is_short(text: &str) -> bool {
    !text.contains(['\n', '\r']) && text.chars().nth(SHORT_CHARS).is_none()
}

fn beginning(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(SHORT_CHARS).collect()
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
                Some(Self::Changed { tool, file: object, brief: change(brief) })
            }
            Shows::Own => {
                fact.object.as_ref()?;
                let what = match brief {
                    "" => tool.to_owned(),
                    brief if matches!(tool_kind::kind(tool, &Value::Null), ToolKind::Shell(_)) => {
                        brief.to_owned()
                    }
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

/// What changed, of what an `edit` or `write` asked for: its end, `+12 -4` or `3 lines`.
fn change(brief: &str) -> String {
    let words: Vec<&str> = brief.split(' ').collect();
    words[words.len().saturating_sub(2)..].join(" ")
}

/// The numbers of `+12 -4`.
fn changes(change: &str) -> Option<(u64, u64)> {
    let (added, removed) = change.strip_prefix('+')?.split_once(" -")?;
    Some((added.parse().ok()?, removed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_arguments_stand_as_they_are() {
        let run =
            json!({ "command": "cd /p && cargo test --lib a::b 2>&1 | tail -n 5", "timeout": 9 });
        assert_eq!(brief("bash", &run, None), "cd /p && cargo test --lib a::b 2>&1 | tail -n 5");
        let script = json!({ "command": "\ncat > a.txt <<'EOF'\nx\nEOF" });
        assert_eq!(brief("bash", &script, None), "cat > a.txt <<'EOF'");
        let long = brief("bash", &json!({ "command": "é".repeat(999) }), None);
        assert_eq!(long.chars().count(), SHORT_CHARS);
        assert_eq!(
            brief("grep", &json!({ "pattern": "fn main", "path": "src" }), None),
            "fn main src"
        );
    }

    #[test]
    fn what_a_line_leaves_out_is_long() {
        let write = json!({ "path": "a.rs", "content": "fn main() {\n}\n" });
        assert_eq!(left_out(&write), "fn main() {\n}\n");
        assert_eq!(left_out(&json!({ "path": "a.rs" })), "");
    }

    #[test]
    fn changes_are_counted_by_lines() {
        let edits = json!({ "path": "a", "edits": [
            { "oldText": "a\nb", "newText": "a\nc\nd" }, { "oldText": "x", "newText": "" },
        ] });
        assert_eq!(brief("edit", &edits, None), "a x +3 -2");
        assert_eq!(brief("edit", &json!({ "oldText": "a", "newText": "b" }), None), "a b +1 -1");
        assert_eq!(brief("edit", &edits, Some(" 1 a\n-2 b\n+2 c\n+3 d")), "a x +2 -1");
        assert_eq!(brief("write", &json!({ "content": "a\nb\n" }), None), "3 lines");
        assert_eq!(change("src/a.rs +2 -1"), "+2 -1");
    }
}
