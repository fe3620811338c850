//! The lines that replace content. Golden files hold them, because models learn these forms.
//!
//! Pure text. No line reads like an error or an invitation to repeat a call. Quoted parts come in
//! raw and are [`quote`]d here, unless stated to be our own words.

use std::borrow::Cow;

use serde_json::Value;

use super::plain::plain;
use base::object::{Handle, Nickname, TxId, VersionSelector, quote};
use session::{Columns, LineRange, ResultFact, Session, Subject};

/// Most fields of an object in its reference line, and most characters of each.
const LABEL_FIELDS: usize = 6;
const LABEL_CHARS: usize = 120;

/// Characters quoted from a line so that it can be found.
const QUOTED_CHARS: usize = 60;

/// A collapsed tool output: `[t17] exit 0 · 412 lines · last: "test result: ok. 96 passed"`, and
/// one with an image: `[t17] ok · 2 lines · 1 image · last: "saved"`, `[t17] ok · 1 image`. Of an
/// output that is stored in part: `[t17] exit 0 · 774 of 20,000 lines · last: "done"`.
pub fn output_line(handle: Handle, fact: &ResultFact) -> String {
    named_output_line(handle, fact, None)
}

/// The same of an output in a message of its own, with what it is of: `[t18] ok · 80 lines ·
/// test-watcher · last: "3 failed"`, `[t1] ok · 412 lines · @a.md @b.md · last: "the end"`.
pub fn named_output_line(handle: Handle, fact: &ResultFact, name: Option<&str>) -> String {
    let state = match (fact.exit, fact.ok) {
        (Some(code), _) => format!("exit {code}"),
        (None, true) => "ok".to_owned(),
        (None, false) => "failed".to_owned(),
    };
    let last = match &*fact.last {
        "" => String::new(),
        last => format!(" · last: \"{}\"", quote::line(last)),
    };
    let mut parts = Vec::new();
    if fact.images == 0 || fact.lines > 1 || !fact.last.is_empty() {
        let all = count(fact.counted_lines(), "line");
        let kept = fact.kept_lines().filter(|kept| *kept > 0);
        parts.push(kept.map_or(all.clone(), |kept| format!("{} of {all}", grouped(kept))));
    }
    if fact.images > 0 {
        parts.push(count(fact.images, "image"));
    }
    let name = name.map_or_else(String::new, |name| format!(" · {}", quote::name(name)));
    format!("[{handle}] {state} · {}{name}{last}", parts.join(" · "))
}

/// A collapsed showing of a file: `[t12] f3 src/main.rs · lines 1-210`.
pub fn showing_line(
    result: Option<Handle>,
    file: Handle,
    path: &str,
    ranges: &[LineRange],
) -> String {
    let path = quote::name(path);
    let head = match result {
        Some(result) => format!("[{result}] {file} {path}"),
        None => format!("[{file}] {path}"),
    };
    format!("{head} · {}", lines_phrase(ranges))
}

/// The label of a reference line: ` · named entry · short_summary: "parses arguments" · tags:
/// ["a"]`. `fields`: those that the object's view names.
pub fn label(nickname: Option<&Nickname>, fields: &[(String, Value)]) -> String {
    let named = |name: &Nickname| format!(" · named {}", quote::name(name.as_str()));
    let mut label = nickname.map_or_else(String::new, named);
    for (name, value) in fields.iter().take(LABEL_FIELDS) {
        let shown = match value {
            Value::String(text) => {
                format!("\"{}\"", text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            other => other.to_string(),
        };
        let shown = shortened(&plain(&shown), LABEL_CHARS);
        label.extend([" · ", &quote::name(name), ": ", &quote::line(&shown)]);
    }
    label
}

/// Lines of a read that stand above: `f3 unchanged; lines 1-210 stand in the read result above
/// (t12).`
pub fn standing_line(file: Handle, range: LineRange, tool: &str, result: Option<Handle>) -> String {
    let place = result.map_or_else(String::new, |handle| format!(" ({handle})"));
    let tool = quote::name(tool);
    format!("{file} unchanged; {} in the {tool} result above{place}.", lines_stand(range))
}

/// Lines that stand in a note above: `f3 unchanged; lines 1-210 stand in a note above.`
pub fn standing_in_note_line(object: Handle, range: LineRange) -> String {
    format!("{object} unchanged; {} in a note above.", lines_stand(range))
}

fn lines_stand(range: LineRange) -> String {
    if range.len() == 1 {
        format!("line {} stands", range.first)
    } else {
        format!("lines {range} stand")
    }
}

/// Lines that a preview leaves out: `… 1,240 lines between (t17:81-1320) …`, of a listing or a
/// search with all its lines: `… 1,240 lines between (t17:81-1320 of 1,400) …`
pub fn between_line(handle: Handle, range: LineRange, of: Option<u64>) -> String {
    let of = of.map_or_else(String::new, |all| format!(" of {}", grouped(all)));
    format!("… {} between ({handle}:{range}{of}) …", count(range.len(), "line"))
}

/// Lines of an output that stand in another one or in the showing of a file. Line numbers are not
/// printed there, so the first line that says something is quoted:
/// `… 31 lines as in t12:40-70, from "running 31 tests" …`,
/// `… 31 lines as in f3:40-70 (t12), from "fn main() {" …`. Without a quote, as in earlier
/// releases: `… 31 lines as in t12:40-70 …`
pub fn as_in_line(
    subject: Handle,
    range: LineRange,
    result: Option<Handle>,
    quote: Option<&str>,
) -> String {
    let place = result.map_or_else(String::new, |handle| format!(" ({handle})"));
    let from = quote.map_or_else(String::new, |line| format!(", from \"{}\"", beginning(line)));
    format!("… {} as in {subject}:{range}{place}{from} …", count(range.len(), "line"))
}

/// The beginning of a line, by which it can be found.
fn beginning(line: &str) -> String {
    quote::line(&shortened(line, QUOTED_CHARS)).into_owned()
}

/// The beginning of a text, with `…` for what is cut.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Characters of a long line that are not shown: `… 3,100 characters between (t17:5:201-3300) …`;
/// of a line that has no name: `… 3,100 characters …`
pub fn columns_between(handle: Option<Handle>, columns: Columns) -> String {
    let place = handle.map_or_else(String::new, |handle| format!(" between ({handle}:{columns})"));
    format!("… {}{place} …", count(columns.last + 1 - columns.first, "character"))
}

/// Approximate length of [`columns_between`]: fewer characters are shown instead.
pub const COUNTED_CHARS: u64 = 40;

/// First line of a note, to which a colon is added where lines follow: `[f3] src/main.rs changed on
/// disk after t12 (+4 -1)`. If another session of the same store edited or wrote the file:
/// `[f3] src/main.rs changed on disk after t12, by another session (+4 -1)`
pub fn changed_line(
    file: Handle,
    path: &str,
    after: Option<Handle>,
    by_other: bool,
    (added, removed): (u64, u64),
) -> String {
    let after = after.map_or_else(String::new, |handle| format!(" after {handle}"));
    let (path, by) = (quote::name(path), if by_other { ", by another session" } else { "" });
    format!("[{file}] {path} changed on disk{after}{by} (+{added} -{removed})")
}

/// Whether a note tells that a file changed on disk. No name of a file says that, see
/// [`quote::name`].
pub fn tells_change(note: &str) -> bool {
    note.lines().next().is_some_and(|line| line.contains(" changed on disk"))
}

/// What is added to the last note on a file that changes again and again: ` and keeps changing`.
pub const KEEPS_CHANGING: &str = " and keeps changing";

/// Files that changed, in one line: `[f3] src/main.rs, f4 src/lib.rs, f9 src/a.rs and 3 more files
/// changed on disk`. The first has its path only.
pub fn all_changed_line(files: &[(Handle, String)], more: u64) -> String {
    let mut parts = Vec::new();
    for (place, (file, path)) in files.iter().enumerate() {
        let path = quote::name(path);
        parts.push(if place == 0 { format!("[{file}] {path}") } else { format!("{file} {path}") });
    }
    let more = if more > 0 { format!(" and {}", count(more, "more file")) } else { String::new() };
    format!("{}{more} changed on disk", parts.join(", "))
}

/// A note on a file whose text is not stored: `[f3] a.png changed on disk after t12 (18,240 bytes)`.
pub fn bytes_changed_line(file: Handle, path: &str, after: Option<Handle>, size: u64) -> String {
    let after = after.map_or_else(String::new, |handle| format!(" after {handle}"));
    format!("[{file}] {} changed on disk{after} ({})", quote::name(path), count(size, "byte"))
}

/// The same for one that is gone, and for one that is there again: `[f3] a.png is no longer on
/// disk.`, `[f3] a.png is on disk again (18,240 bytes).`
pub fn bytes_gone_line(file: Handle, path: &str) -> String {
    format!("[{file}] {} is no longer on disk.", quote::name(path))
}

/// See [`bytes_gone_line`].
pub fn bytes_back_line(file: Handle, path: &str, size: u64) -> String {
    format!("[{file}] {} is on disk again ({}).", quote::name(path), count(size, "byte"))
}

/// What [`kept_line`] says of a file: it is gone, it no longer has text, it cannot be read for now.
pub const GONE: &str = "is no longer on disk";
/// See [`GONE`].
pub const NO_TEXT: &str = "changed on disk and holds no text now";
/// See [`GONE`].
pub const OUT_OF_REACH: &str = "is out of reach for now";

/// A note on a file whose text is known but not there now: `[f3] src/main.rs is no longer on disk;
/// its text of t12 is kept as f3.`
pub fn kept_line(file: Handle, path: &str, now: &str, after: Option<Handle>) -> String {
    let path = quote::name(path);
    let of = after.map_or_else(String::new, |handle| format!(" of {handle}"));
    format!("[{file}] {path} {now}; its text{of} is kept as {file}.")
}

/// The answer for a file without text: `[f3] a.bin · no text: it is binary, 1,240 bytes`
pub fn textless_line(file: Handle, path: &str, why: &str) -> String {
    format!("[{file}] {} · no text: {}", quote::name(path), quote::line(why))
}

/// What [`back_line`] says of a file: it exists again, it can be read again.
pub const ON_DISK: &str = "is on disk again";
/// See [`ON_DISK`].
pub const WITHIN_REACH: &str = "is within reach again";

/// A note on a file whose text is there again: `[f3] src/main.rs is on disk again, as it was in
/// t12.`
pub fn back_line(file: Handle, path: &str, now: &str, seen: Option<Handle>) -> String {
    let path = quote::name(path);
    let seen = seen.map_or_else(|| "before".to_owned(), |handle| format!("in {handle}"));
    format!("[{file}] {path} {now}, as it was {seen}.")
}

/// A note on a file at the place from which another one moved: `[f9] src/a.rs is on disk again,
/// beside f3 src/b.rs.`
pub fn again_line((file, path): (Handle, &str), (moved, now): (Handle, &str)) -> String {
    let (path, now) = (quote::name(path), quote::name(now));
    format!("[{file}] {path} is on disk again, beside {moved} {now}.")
}

/// A note on the files that a file links to: `[f3] notes.md links to f4 a.md, f5 b.md`
pub fn links_line((file, path): (Handle, &str), linked: &[(Handle, &str)]) -> String {
    let linked: Vec<String> =
        linked.iter().map(|(handle, path)| format!("{handle} {}", quote::name(path))).collect();
    format!("[{file}] {} links to {}", quote::name(path), linked.join(", "))
}

/// A note on a file that was moved unchanged: `[f3] src/a.rs is now src/b.rs`, or over another one:
/// `[f3] src/a.rs is now src/b.rs, in place of f5`
pub fn moved_line(file: Handle, before: &str, now: &str, over: Option<Handle>) -> String {
    let over = over.map_or_else(String::new, |gone| format!(", in place of {gone}"));
    format!("[{file}] {} is now {}{over}", quote::name(before), quote::name(now))
}

/// First line of a note on a file that was moved and changed, as [`changed_line`]: `[f3] src/a.rs is
/// now src/b.rs, and changed after t12 (+4 -1)`
pub fn moved_changed_line(
    file: Handle,
    (before, now, over): (&str, &str, Option<Handle>),
    after: Option<Handle>,
    (added, removed): (u64, u64),
) -> String {
    let moved = moved_line(file, before, now, over);
    let after = after.map_or_else(String::new, |handle| format!(" after {handle}"));
    format!("{moved}, and changed{after} (+{added} -{removed})")
}

/// Lines between those shown, where no name has them: `… 1,240 lines …`
pub fn gap_line(lines: u64) -> String {
    format!("… {} …", count(lines, "line"))
}

/// The rest of a diff too long for a note: `… 31 more changed lines in f3 …`
pub fn more_changes_line(file: Handle, lines: u64) -> String {
    format!("… {} in {file} …", count(lines, "more changed line"))
}

/// Heading of the lines that a failed `edit` may have meant:
/// `[f3] src/main.rs · lines 35-49, nearest to oldText:`
pub fn nearest_line(file: Handle, path: &str, range: LineRange, text: &str) -> String {
    format!("[{file}] {} · {}, nearest to {text}:", quote::name(path), lines_phrase(&[range]))
}

/// For a failed `edit`, the places of a text that occurs several times:
/// `[f3] src/main.rs · oldText stands 12 times: lines 12-14, 40-42, …`
pub fn places_line(
    file: Handle,
    path: &str,
    text: &str,
    first: &[LineRange],
    total: u64,
) -> String {
    let rest = if (first.len() as u64) < total { ", …" } else { "" };
    let path = quote::name(path);
    format!("[{file}] {path} · {text} stands {total} times: {}{rest}", lines_phrase(first))
}

/// Folded steps, with their first and last call and the segment that holds their words: `[t31-t44]
/// s2 · 6 steps: read f3 f9, edit f3 (+12 -4), cargo test ok`.
/// The deeds are in our words.
pub fn fold_line(
    (first, last): (Handle, Handle),
    segment: Handle,
    steps: u64,
    deeds: &[String],
) -> String {
    let calls = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("[{calls}] {segment} · {}: {}", count(steps, "step"), deeds.join(", "))
}

/// Heading of a list of steps, by their first and last call: `[t31-t44] 6 steps:`.
pub fn run_line(first: Handle, last: Handle, steps: u64) -> String {
    let calls = if first == last { first.to_string() } else { format!("{first}-{last}") };
    match steps {
        0 => format!("[{calls}] names no calls of this conversation."),
        _ => format!("[{calls}] {}:", count(steps, "step")),
    }
}

/// Whether a text consists of nothing but lines of [`fold_line`].
pub fn is_folded(text: &str) -> bool {
    let is_line = |line: &str| {
        let rest = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        let Some((handles, rest)) = rest else { return false };
        let is_handles = handles.split('-').all(|handle| Handle::parse(handle).is_some());
        let named = rest.split_once(" · ").filter(|(segment, _)| Handle::parse(segment).is_some());
        let steps = named.and_then(|(_, rest)| Some(rest.split_once(": ")?.0));
        let number = steps
            .and_then(|steps| steps.strip_suffix(" steps").or_else(|| steps.strip_suffix(" step")));
        is_handles
            && number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit() || c == ','))
    };
    let mut lines = text.lines().peekable();
    lines.peek().is_some() && lines.all(is_line)
}

/// What an object is called: a file's path as shown, a tool's name, the turns of a chat segment.
pub fn name_of<'a>(session: &Session, subject: &'a Subject) -> Cow<'a, str> {
    match subject {
        Subject::File { .. } => session.shown_path(subject.agent_path()).into(),
        Subject::Toolcall { tool, .. } => tool.into(),
        Subject::Segment { turns, .. } => turns_phrase(*turns).into(),
    }
}

/// The turns of a segment of the chat: `turn 3`, `turns 3-5`.
pub fn turns_phrase((first, last): (u32, u32)) -> String {
    let first = first.max(1);
    if first >= last { format!("turn {first}") } else { format!("turns {first}-{last}") }
}

/// Some steps of the chat: `step 3`, `steps 3-5`.
pub fn steps_phrase((first, last): (u32, u32)) -> String {
    if first == last { format!("step {first}") } else { format!("steps {first}-{last}") }
}

/// A note on what the host compacted away: `[s2] turns 1-4 in full · 212 messages`.
pub fn compacted_line(segment: Handle, turns: (u32, u32), messages: u64) -> String {
    format!("[{segment}] {} in full · {}", turns_phrase(turns), count(messages, "message"))
}

/// A collapsed showing of a segment: `[s2] turns 1-4 · lines 40-80`.
pub fn segment_line(segment: Handle, turns: (u32, u32), ranges: &[LineRange]) -> String {
    format!("[{segment}] {} · {}", turns_phrase(turns), lines_phrase(ranges))
}

/// In a segment, the line above somebody's words: `user, turn 3:`, `assistant:`, `thinking:`.
pub fn speaker_line(speaker: &str, turn: Option<u32>) -> String {
    let speaker = quote::name(speaker);
    turn.map_or_else(|| format!("{speaker}:"), |turn| format!("{speaker}, turn {turn}:"))
}

/// In a segment, the line above the arguments of a call: `[t31] bash`.
pub fn call_line(call: Option<Handle>, tool: &str) -> String {
    let tool = quote::name(tool);
    call.map_or_else(|| tool.to_string(), |call| format!("[{call}] {tool}"))
}

/// First line of a long segment's outline: `[s2] turns 1-4 · 9,412 lines:`
pub fn outline_line(segment: Handle, turns: (u32, u32), lines: u64) -> String {
    format!("[{segment}] {} · {}:", turns_phrase(turns), count(lines, "line"))
}

/// A part of a long segment: `lines 40-312 · turn 3: "Please rename the config"`
pub fn outline_part(range: LineRange, what: &str, begins: &str) -> String {
    let begins = match begins {
        "" => String::new(),
        begins => format!(": \"{}\"", quote::line(begins)),
    };
    format!("{} · {what}{begins}", lines_phrase(&[range]))
}

/// First line of an activated object: `[t17] bash · lines 1-40 of 412`. `name`: our own words, with
/// quotes already [`quote`]d.
pub fn activated_line(handle: Handle, name: &str, ranges: &[LineRange], lines: u64) -> String {
    format!("[{handle}] {name} · {} of {}", lines_phrase(ranges), grouped(lines))
}

/// What a heading adds to the name of a deleted file, whose last text it shows.
pub const LAST_VERSION: &str = " (no longer on disk; last version)";
/// Behind the name of a call that showed an image of a file, where the file is another one now.
pub const IMAGE_AS_READ: &str = " (as it was read; the file changed since)";

/// What a heading adds to the name if another store wrote the object's latest version.
pub fn from_elsewhere(store: &str) -> String {
    let store: String = store.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!(" · from another store, {store}")
}

/// What a heading adds to the name if another file was moved over the one with this handle. `last`:
/// the transaction with its last text.
pub fn overwritten(handle: Handle, shown: Handle, last: Option<TxId>) -> String {
    let kept =
        last.map_or_else(String::new, |tx_id| format!("; {handle}@{tx_id} is what {handle} was"));
    format!(" (now {shown}, which was moved over {handle}{kept})")
}

/// What a heading adds to the name if the output came longer, and the host or an extension of it
/// shortened it later.
pub fn shortened_since(handle: Handle, fuller: TxId) -> String {
    format!(" (shortened since; {handle}@{fuller} is fuller)")
}

/// What a heading adds to the name if it shows a version other than the latest.
pub fn earlier_version(version: VersionSelector) -> String {
    if version == VersionSelector::Latest {
        return String::new();
    }
    format!(" (version {version}, not the latest)")
}

/// `lines 1-40, 60-70`, `line 5`.
pub fn lines_phrase(ranges: &[LineRange]) -> String {
    match ranges {
        [one] if one.len() == 1 => format!("line {}", one.first),
        many => format!("lines {}", range_list(many, ", ")),
    }
}

/// `1-210, 300`, with this between the ranges.
pub fn range_list(ranges: &[LineRange], between: &str) -> String {
    let text = |range: &LineRange| {
        if range.len() == 1 { range.first.to_string() } else { range.to_string() }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(between)
}

/// `1 line`, `1,240 lines`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
