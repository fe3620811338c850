//! Sessions of OpenClaw: a database per agent, and the file that remains of a deleted session. Both
//! hold entries in Pi's form and some of OpenClaw's own: a `leaf` moves to another entry, a side
//! entry is on the branch only if a `leaf` moves there, and a `reset` (`/new`, `/reset`, daily)
//! starts the model's context anew. Each such stretch of a session is a conversation of its own.
//! Sessions before 2026.8 are files in exactly Pi's form.
//!
//! Must not apply compactions: replay decides itself what later calls see.

mod branch;
pub(super) mod database;

use std::ops::Range;

use serde_json::Value;

use super::lines::Line;
use super::notes::Notes;
use super::{Counts, Parts, pi};

/// The format version in an OpenClaw header.
const VERSION: u64 = 4;

/// Whether a line is the header of a session.
pub(super) fn knows(line: &Line<'_>) -> bool {
    pi::is_header(line) && line.object.get("version").and_then(Value::as_u64) == Some(VERSION)
}

/// Reads the lines of a file. Its conversations follow one another, because a file is one
/// transcript.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let session = OpenClawSession::of(lines);
    for _ in session.conversations().iter().skip(1) {
        notes.count("resets passed over: what comes before was not in the context of the model");
    }
    let all = session.all();
    session.into_parts(all, notes)
}

/// A session's entries.
struct OpenClawSession<'a> {
    id: Option<String>,
    cwd: Option<String>,
    entries: Vec<Line<'a>>,
    branch: branch::Branch,
}

impl<'a> OpenClawSession<'a> {
    fn of(lines: Vec<Line<'a>>) -> Self {
        let (headers, entries): (Vec<_>, Vec<_>) = lines.into_iter().partition(pi::is_header);
        let of_header = |key: &str| headers.first()?.text_at(key).map(str::to_owned);
        let (id, cwd) = (of_header("id"), of_header("cwd"));
        let branch = branch::of(&entries);
        Self { id, cwd, entries, branch }
    }

    fn all(&self) -> Range<usize> {
        0..self.entries.len()
    }

    /// The stretches between resets in which the model said something.
    fn conversations(&self) -> Vec<Range<usize>> {
        let on = &self.branch.on;
        let is_reset = |at: &usize| on[*at] && kind(&self.entries[*at]) == "reset";
        let resets: Vec<usize> = self.all().filter(is_reset).collect();
        let starts = std::iter::once(0).chain(resets.iter().copied());
        let ends = resets.iter().copied().chain(std::iter::once(self.entries.len()));
        let is_answer = |at: usize| on[at] && pi::is_answer(&self.entries[at]);
        let stretches = starts.zip(ends).map(|(start, end)| start..end);
        stretches.filter(|stretch| stretch.clone().any(is_answer)).collect()
    }

    /// The messages of a stretch.
    fn into_parts(self, stretch: Range<usize>, notes: &mut Notes) -> Parts {
        let Self { id: session_id, cwd, entries, branch } = self;
        let (mut messages, mut left) = (Vec::new(), Counts::default());
        for (at, entry) in entries.into_iter().enumerate().take(stretch.end).skip(stretch.start) {
            if branch.on[at] {
                if branch.is_mended[at] {
                    notes.count(pi::PARENT_IS_MISSING);
                }
                if kind(&entry) == "reset" && entry.object.contains_key("firstKeptEntryId") {
                    notes
                        .count("resets that kept messages, which stand in the conversation before");
                }
                messages.extend(pi::message_of(entry, notes));
            } else if entry.object.contains_key("message") {
                notes.count(pi::LEFT);
                left = left + pi::counts_in(&entry);
            }
        }
        Parts { session_id, cwd, messages, left, ..Parts::default() }
    }
}

fn kind<'a>(entry: &'a Line<'_>) -> &'a str {
    entry.text_at("type").unwrap_or_default()
}
