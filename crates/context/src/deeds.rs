//! Says in a few words what calls did: one call when it arrives, and folded steps in the line that
//! replaces them.
//!
//! Pure. Must not look at outputs; lines are made from what the session knows.

use std::borrow::Cow;

use serde_json::Value;

use super::forms;
use super::host::{HostToolCall, strings};
use super::plain::plain;
use base::harness::{Call, ToolKind};
use base::object::{Handle, ObjectId, line_count, quote};
use session::{LineMap, LineRange, ResultFact, Session, Shows, Subject, merge_ranges};

/// Longest one-line argument shown verbatim, in characters: models repeat paths, patterns and
/// commands word for word. Longer commands are cut.
const SHORT_CHARS: usize = 200;
/// Most files or words in one deed, and most deeds in a line.
const MAX_ABOUT: usize = 64;
const MAX_DEEDS: usize = 256;
/// Most ranges of lines that a change names.
const MAX_RANGES: usize = 3;
/// Prefix of a command's brief.
const COMMAND: &str = "$ ";

/// What a call asked for: for a command, its first line after `$ `, cut to 200 characters;
/// otherwise its short arguments verbatim.
pub fn brief(tool: &str, args: &Value) -> String {
    match Call::new(tool, args).command() {
        Some(line) => format!("{COMMAND}{}", beginning(&line)),
        None => texts(args).filter(|text| is_short(text)).collect::<Vec<_>>().join(" "),
    }
}

/// What a tool's own inner calls asked for, each once: `read a.txt, cargo test`. About 200
/// characters; the rest are counted.
pub fn brief_of_inner(calls: &[HostToolCall]) -> String {
    let mut named: Vec<String> = Vec::new();
    let mut chars = 0;
    for (at, call) in calls.iter().enumerate() {
        let asked = Call::new(&call.tool, &call.args);
        let said = match (asked.command(), asked.path()) {
            (Some(line), _) => beginning(&line),
            (None, Some(path)) => format!("{} {path}", call.tool),
            (None, None) => format!("{} {}", call.tool, brief(&call.tool, &call.args)),
        };
        let said = said.trim().to_owned();
        if named.contains(&said) {
            continue;
        }
        chars += said.chars().count();
        if chars > SHORT_CHARS {
            named.push(format!("{} more", calls.len() - at));
            break;
        }
        named.push(said);
    }
    named.join(", ")
}

/// The arguments of a call that its lines do not show.
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
    let line = text.lines().map(plain).find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(SHORT_CHARS).collect()
}

/// What a call changed in a file: lines added and removed, or the number of lines if it wrote the
/// whole file. Empty if unknown.
///
/// `diff`: the host's diff of the file, if any.
pub fn brief_of_change(tool: &str, args: &Value, diff: Option<&str>) -> String {
    let call = Call::new(tool, args);
    if call.kind() == ToolKind::Write {
        return forms::count(line_count(call.content().unwrap_or_default()), "line");
    }
    let patched = || call.patched_lines().unwrap_or_else(|| lines_of_edits(call));
    match diff.map_or_else(patched, lines_of_diff) {
        (0, 0) => String::new(),
        (added, removed) => format!("+{added} -{removed}"),
    }
}

/// A brief as shown in a line.
pub fn shown_brief(brief: &str) -> &str {
    brief.strip_prefix(COMMAND).unwrap_or(brief)
}

/// The deeds of steps, from the facts of their results, in the order of time. What ran again with
/// the same outcome is told where it ran last, and what was read or changed between two runs is told
/// together: whoever reads the line must not take an earlier failure for the newest outcome.
pub fn deeds<'a>(session: &Session, facts: impl Iterator<Item = &'a ResultFact>) -> Vec<String> {
    let mut deeds = joined(facts.filter_map(|fact| Deed::of(session, fact)).collect());
    // File changes say most; among the rest, the newest do.
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
        words.insert(0, format!("{left_out} earlier"));
    }
    words
}

/// Deeds in the order of time, those that are alike told once.
fn joined(deeds: Vec<Deed<'_>>) -> Vec<Deed<'_>> {
    let mut newest: Vec<Deed<'_>> = Vec::new();
    for deed in deeds.into_iter().rev() {
        let is_run = matches!(deed, Deed::Ran { .. });
        match newest.iter_mut().find(|later| is_run && later.is_alike(&deed)) {
            Some(later) => later.join(deed),
            None => newest.push(deed),
        }
    }
    let mut joined: Vec<Deed<'_>> = Vec::new();
    for deed in newest.into_iter().rev() {
        let since_run =
            joined.iter_mut().rev().take_while(|told| !matches!(told, Deed::Ran { .. }));
        match since_run.filter(|told| told.is_alike(&deed)).last() {
            Some(told) => told.join(deed),
            None => joined.push(deed),
        }
    }
    joined
}

/// What one or several calls of a kind did.
#[derive(Debug, PartialEq, Eq)]
enum Deed<'a> {
    /// Content was shown or asked for.
    Asked { tool: &'a str, about: Vec<About<'a>> },
    /// A file was changed.
    Changed { tool: &'a str, file: &'a ObjectId, brief: String, lines: Vec<LineRange> },
    /// A command, or a call that failed.
    Ran { what: String, fact: &'a ResultFact, times: u64 },
}

/// What a call was about.
#[derive(Debug, PartialEq, Eq)]
enum About<'a> {
    Object(&'a ObjectId),
    Words(&'a str),
}

impl<'a> Deed<'a> {
    /// `None` for calls without an object that showed none.
    fn of(session: &'a Session, fact: &'a ResultFact) -> Option<Self> {
        let is_shell = || matches!(Call::new(&fact.tool, &Value::Null).kind(), ToolKind::Shell(_));
        let is_file = matches!(fact.shows, Shows::File { .. });
        // A command that showed a file is a read of it.
        let tool = if is_file && is_shell() { "read" } else { fact.tool.as_str() };
        let brief = fact.object.as_ref().map(|object| session.brief(object));
        let asked = |about| Self::Asked { tool, about: vec![about] };
        Some(match &fact.shows {
            Shows::File { object, .. } | Shows::Activated { object, .. } => {
                asked(About::Object(object))
            }
            Shows::Change { object } => {
                let toolcall = fact.object.as_ref();
                let lines = toolcall.map(|id| session.files().lines_written(object, id));
                let lines = lines.unwrap_or_default();
                Self::Changed {
                    tool,
                    file: object,
                    brief: brief.unwrap_or_default().to_owned(),
                    lines,
                }
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
            (Self::Ran { what: a, fact: f, .. }, Self::Ran { what: b, fact: g, .. }) => {
                a == b && outcome(f) == outcome(g)
            }
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
            (
                Self::Changed { brief, lines, .. },
                Self::Changed { brief: next, lines: more, .. },
            ) => {
                lines.extend(more);
                *brief = match (changes(brief), changes(&next)) {
                    (Some((a, b)), Some((c, d))) => format!("+{} -{}", a + c, b + d),
                    _ => next,
                };
            }
            (Self::Ran { times, .. }, Self::Ran { times: more, .. }) => *times += more,
            _ => {}
        }
    }

    /// The words for a line. `named`: files already named in the line, because each path appears
    /// only once.
    fn words(&self, session: &Session, named: &mut Vec<Handle>) -> String {
        let mut name = |object: &ObjectId, lines: &[LineRange]| name(session, object, lines, named);
        match self {
            Self::Asked { tool, about } => {
                let mut words = vec![quote::name(tool).into_owned()];
                words.extend(about.iter().take(MAX_ABOUT).map(|about| match about {
                    About::Object(object) => name(object, &[]),
                    About::Words(words) => quote::line(session.shown_path(words)).into_owned(),
                }));
                if about.len() > MAX_ABOUT {
                    words.push(format!("{} more", about.len() - MAX_ABOUT));
                }
                words.join(" ")
            }
            Self::Changed { tool, file, brief, lines } => {
                let file = name(file, &few(lines));
                let tool = quote::name(tool);
                if brief.is_empty() {
                    format!("{tool} {file}")
                } else {
                    format!("{tool} {file} ({})", quote::line(brief))
                }
            }
            Self::Ran { what, fact, times } => {
                let times = if *times > 1 { format!(" ×{times}") } else { String::new() };
                format!("{}{}{times}", quote::line(what), outcome(fact))
            }
        }
    }
}

/// How a command ended.
fn outcome(fact: &ResultFact) -> Cow<'static, str> {
    match (fact.exit, fact.ok) {
        (Some(0), _) if fact.hides_failure => " exit 0 with failures in its output".into(),
        (Some(0), _) => " ok".into(),
        (Some(code), _) => format!(" exit {code}").into(),
        (None, false) => " failed".into(),
        (None, true) => "".into(),
    }
}

/// The handle of an object, with lines of it and, at its first mention, a file's path.
fn name(
    session: &Session,
    object: &ObjectId,
    lines: &[LineRange],
    named: &mut Vec<Handle>,
) -> String {
    let Some(entry) = session.index().get(object) else { return object.to_string() };
    let mut name = entry.handle.to_string();
    if !lines.is_empty() {
        name.extend([":", &forms::range_list(lines, ",")]);
    }
    match &entry.subject {
        file @ Subject::File { .. } if !named.contains(&entry.handle) => {
            named.push(entry.handle);
            format!("{name} {}", quote::name(session.shown_path(file.agent_path())))
        }
        _ => name,
    }
}

/// The lines in a few ranges: those nearest to each other are joined.
fn few(lines: &[LineRange]) -> Vec<LineRange> {
    let mut ranges = merge_ranges(lines);
    while ranges.len() > MAX_RANGES {
        let gaps = ranges.windows(2).map(|pair| pair[1].first - pair[0].last);
        let Some((nearest, _)) = gaps.enumerate().min_by_key(|(_, gap)| *gap) else { break };
        ranges[nearest].last = ranges.remove(nearest + 1).last;
    }
    ranges
}

/// Lines added and removed according to a call's arguments.
fn lines_of_edits(call: Call<'_>) -> (u64, u64) {
    let edits = call.replacements().into_iter();
    let moved = edits.map(|(old, new)| LineMap::between(old, new).added_removed());
    moved.fold((0, 0), |sum, (added, removed)| (sum.0 + added, sum.1 + removed))
}

/// Lines added and removed according to a diff.
fn lines_of_diff(diff: &str) -> (u64, u64) {
    let marked = |mark: char| diff.lines().filter(|line| line.starts_with(mark)).count() as u64;
    (marked('+'), marked('-'))
}

/// Parses `+12 -4`.
fn changes(brief: &str) -> Option<(u64, u64)> {
    let (added, removed) = brief.strip_prefix('+')?.split_once(" -")?;
    Some((added.parse().ok()?, removed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use base::object::Hash;
    use session::Event;

    #[test]
    fn a_short_command_is_whole_and_a_long_one_is_cut() {
        for (command, expected) in [
            ("cargo test", "$ cargo test"),
            ("cd /p && cargo test 2>&1 | tail -n 5", "$ cd /p && cargo test 2>&1 | tail -n 5"),
            ("\ncat > a.txt <<'EOF'\nx\nEOF", "$ cat > a.txt <<'EOF'"),
            ("", "$ "),
        ] {
            assert_eq!(brief("bash", &json!({ "command": command })), expected, "{command}");
        }
        let long = brief("bash", &json!({ "command": "é".repeat(999) }));
        assert_eq!(long.chars().count(), 2 + SHORT_CHARS);
    }

    #[test]
    fn a_script_is_named_by_what_it_called() {
        let call =
            |tool: &str, args: Value| HostToolCall { id: String::new(), tool: tool.into(), args };
        let mut calls = vec![
            call("read", json!({ "path": "a.rs", "limit": 5 })),
            call("read", json!({ "path": "a.rs" })),
            call("edit", json!({ "path": "b.rs", "edits": [{ "oldText": "x", "newText": "y" }] })),
            call("bash", json!({ "command": "cargo test\n# more" })),
            call("mcp__docs__search", json!({ "query": "threads" })),
            call("list", json!({})),
        ];
        let said = "read a.rs, edit b.rs, cargo test, mcp__docs__search threads, list";
        assert_eq!(brief_of_inner(&calls), said);
        calls.extend((0..90).map(|n| call("read", json!({ "path": format!("part{n}.rs") }))));
        let long = brief_of_inner(&calls);
        assert!(long.starts_with(said) && long.ends_with(", 80 more"), "{long}");
        assert_eq!(brief_of_inner(&[]), "");
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
        assert_eq!(brief_of_change("edit", &edits, None), "+3 -2");
        let one = json!({ "old_string": "a", "new_string": "b" });
        assert_eq!(brief_of_change("edit", &one, None), "+1 -1");
        let diff = " 1 a\n-2 b\n+2 c\n+3 d";
        assert_eq!(brief_of_change("edit", &edits, Some(diff)), "+2 -1");
        assert_eq!(brief_of_change("edit", &json!({ "patch": "x" }), None), "");
        let patch = json!({ "input": "*** Update File: a\n-x\n+y\n+z" });
        assert_eq!(brief_of_change("apply_patch", &patch, None), "+2 -1");
        assert_eq!(brief_of_change("write", &json!({ "content": "a\nb\n" }), None), "2 lines");
    }

    #[test]
    fn a_call_is_about_its_command_or_its_short_arguments() {
        for (tool, args, expected) in [
            ("grep", json!({ "pattern": "fn main", "path": "src" }), "fn main src"),
            ("Read", json!({ "file_path": "/p/a.rs" }), "/p/a.rs"),
            ("exec_command", json!({ "cmd": ["bash", "-lc", "cd /p && ls"] }), "$ cd /p && ls"),
            ("shell", json!({ "command": ["cargo", "test"] }), "$ cargo test"),
            ("exec_command", json!({ "cmd": 5 }), ""),
            ("bash", json!(null), ""),
        ] {
            assert_eq!(brief(tool, &args), expected, "{args}");
        }
    }

    /// The deeds of calls: `run x`, `fail x`, `hide x`, `read x`, `edit x`.
    fn told(calls: &[&str]) -> String {
        let mut session = Session::default();
        let facts: Vec<ResultFact> = calls
            .iter()
            .enumerate()
            .map(|(at, call)| {
                let (what, name) = call.split_once(' ').unwrap();
                let mut fact = crate::bash_result(&format!("call-{at}"));
                let mut brief = format!("$ {name}");
                match what {
                    "fail" => (fact.ok, fact.exit) = (false, Some(1)),
                    "hide" => (fact.exit, fact.hides_failure) = (Some(0), true),
                    "read" => (fact.tool, brief) = ("read".into(), name.into()),
                    "edit" => {
                        fact.shows = Shows::Change { object: ObjectId::new(name) };
                        (fact.tool, brief) = ("edit".into(), "+1 -0".into());
                    }
                    _ => {}
                }
                session.apply(&Event::Toolcall {
                    object: fact.object.clone().unwrap(),
                    tool: fact.tool.clone(),
                    ok: fact.ok,
                    version: Hash::of(""),
                    shows: None,
                    brief,
                });
                fact
            })
            .collect();
        deeds(&session, facts.iter()).join(", ")
    }

    #[test]
    fn deeds_are_told_in_the_order_of_time_with_what_stands() {
        for (calls, expected) in [
            (vec!["run t", "edit f", "fail t"], "t ok, edit f (+1 -0), t exit 1"),
            (vec!["fail t", "edit f", "run t"], "t exit 1, edit f (+1 -0), t ok"),
            (vec!["fail t", "run u", "run t", "run u"], "t exit 1, t ok, u ok ×2"),
            (
                vec!["fail t", "edit f", "fail t", "edit f", "run t"],
                "edit f (+1 -0), t exit 1 ×2, edit f (+1 -0), t ok",
            ),
            (vec!["edit f", "edit g", "edit f", "run t"], "edit f (+2 -0), edit g (+1 -0), t ok"),
            (vec!["read a", "read b", "run t", "read a"], "read a b, t ok, read a"),
            (vec!["run t", "run t", "run t"], "t ok ×3"),
            (vec!["hide t", "hide t", "run t"], "t exit 0 with failures in its output ×2, t ok"),
        ] {
            assert_eq!(told(&calls), expected, "{calls:?}");
        }
    }

    #[test]
    fn many_changed_lines_are_named_in_a_few_ranges() {
        let range = |first, last| LineRange { first, last };
        let lines = [range(90, 95), range(1, 4), range(6, 6), range(40, 62), range(5, 5)];
        assert_eq!(few(&lines), [range(1, 6), range(40, 62), range(90, 95)]);
        assert_eq!(few(&[range(1, 1), range(9, 9), range(12, 12), range(30, 30)])[1], range(9, 12));
        assert_eq!(few(&[]), []);
    }

    #[test]
    fn of_many_deeds_the_oldest_are_counted_where_they_were() {
        let calls: Vec<String> = (0..300).map(|n| format!("run t{n}")).collect();
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let told = told(&calls);
        assert!(told.starts_with("44 earlier, t44 ok, ") && told.ends_with(", t299 ok"), "{told}");
    }
}
