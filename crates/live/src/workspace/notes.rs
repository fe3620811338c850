//! Notes for the model about changed files: one line, then the diff within limits.
//!
//! Only describes. Must not look at files, nor record anything.

use std::sync::Arc;

use serde_json::{Value, json};

use super::sharing::{MAX_EVENTS, is_by_another_session};
use crate::Notice;
use crate::journal::{Journal, if_found};
use base::error::Result;
use base::object::{Handle, Hash, ObjectId, quote, unified_diff};
use config::Layout;
use context::log_layout::Texts;
use context::long_line::difference;
use context::{forms, tokens};
use session::{LineMap, Subject};

/// Maximum number of diff lines that a note shows for one file.
const NOTE_LINES: usize = 40;
/// Maximum number of diff tokens that the notes of one call show.
const NOTE_TOKENS: u64 = 1_000;
/// A difference of fewer tokens than these is not begun.
const LEAST_TOKENS: u64 = 30;

/// What to say about a file that changed.
#[derive(Debug, Default)]
pub(crate) struct FileChange {
    /// For the model.
    pub(crate) note: Option<String>,
    /// Whether the note shows a part of a line that the file has now.
    pub(super) cuts_lines: bool,
    /// For a person.
    pub(crate) notices: Vec<Notice>,
}

impl FileChange {
    /// The notice that the model is told about it: in `log` by the note, while `pools` shows the
    /// file as it is.
    pub(crate) fn told(&self, layout: Layout) -> Option<Notice> {
        let line = self.note.as_ref()?.lines().next()?.trim_end_matches(':');
        // Nothing else tells the person of a file that has no text.
        (layout == Layout::Log || self.notices.is_empty())
            .then(|| Notice::Told { line: line.to_owned() })
    }

    /// Whether the note does not show all that changed. Lines of a difference begin in another way
    /// than the line that counts the rest.
    pub(crate) fn is_in_part(&self) -> bool {
        let Some(note) = &self.note else { return false };
        let last = note.lines().skip(1).last();
        self.cuts_lines || last.is_none_or(|line| line.starts_with("… "))
    }

    /// Whether there is anything in it.
    pub(super) fn says_something(&self) -> bool {
        self.note.is_some() || !self.notices.is_empty()
    }
}

/// The remaining limits for the notes of one call.
#[derive(Debug)]
pub(crate) struct NoteBudget {
    /// Tokens of diff to show.
    pub(super) tokens: u64,
    /// Events of other sessions to read.
    events: u64,
}

impl NoteBudget {
    /// The limits of one call. `room`: tokens of text that may be added.
    pub(crate) fn of_one_call(room: u64) -> Self {
        Self { tokens: NOTE_TOKENS.min(room), events: MAX_EVENTS }
    }
}

/// What the model was last told about a file.
#[derive(Debug)]
pub(crate) struct Announced {
    /// Version.
    pub(crate) version: Hash,
    /// Path, if the file has another one now.
    pub(crate) path: Option<String>,
}

impl Announced {
    /// `None` if the session does not know the file.
    pub(super) fn of(journal: &Journal, file: &ObjectId) -> Option<Self> {
        let state = journal.state();
        let path = state.announced_path(file).map(str::to_owned);
        Some(Self { version: state.files().announced(file)?.clone(), path })
    }
}

/// Whether the model was told about a file in its present state: this version, at its path, within
/// reach.
pub(super) fn is_announced(journal: &Journal, file: &ObjectId, version: &Hash) -> bool {
    let state = journal.state();
    let is_where_told =
        state.announced_path(file).is_none() && state.files().orphaned(file).is_none();
    is_where_told && is_known(journal, file, version)
}

/// Whether the model knows this version of a file, which is its present one, and its bytes.
pub(crate) fn is_known(journal: &Journal, file: &ObjectId, version: &Hash) -> bool {
    let state = journal.state();
    state.files().announced(file) == Some(version) && state.knows_bytes(file)
}

/// How much a note says of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Its lines, as far as there is room.
    Lines,
    /// That there is one.
    Line,
    /// That there is one, and that it is the last of which a note tells for now.
    LastLine,
}

/// What to say about a file that has the version `now` to a model that was last told about `told`.
///
/// # Errors
/// Errors of the store.
pub(crate) fn describe_change(
    journal: &Journal,
    file: &ObjectId,
    told: &Announced,
    now: &Hash,
    (detail, budget): (Detail, &mut NoteBudget),
) -> Result<FileChange> {
    let mut change = FileChange::default();
    let Some(shown) = Shown::of(journal, file, told) else { return Ok(change) };
    let Shown { handle, path, before, .. } = &shown;
    let known = journal.state().subject(file);
    let has_text = matches!(known, Some(Subject::File { lines: Some(_), .. }));
    let old = text_told(journal, file, &told.version)?;
    if !has_text || old.is_none() {
        let was = (&told.version, old.is_some());
        change.note = bytes_note(journal, file, &shown, was, (now, detail))?;
        return Ok(change);
    }
    if let Some(before) = before {
        change.note = Some(forms::moved_line(*handle, before, path, shown.over));
        let (from, path) = (before.clone(), path.clone());
        change.notices.push(Notice::FileMoved { handle: handle.to_string(), from, path });
    }
    let Some(old) = old else { return Ok(change) };
    let new = journal.text(file, now)?;
    if old == new && (before.is_some() || journal.text(file, &told.version).is_ok()) {
        // Apart from a move, only fields that people set differ.
        return Ok(change);
    }
    let is_by_other = old != new
        && before.is_none()
        && is_by_another_session(journal, file, &told.version, now, &mut budget.events)
            .unwrap_or(false);
    let differing = Difference::between(&old, &new);
    let (note, cuts_lines) = shown.text_note(&differing, is_by_other, (detail, budget));
    (change.note, change.cuts_lines) = (Some(note), cuts_lines);
    let ((added, removed), handle) = (differing.added_removed, handle.to_string());
    change.notices.push(Notice::FileChanged { handle, path: path.clone(), added, removed });
    Ok(change)
}

/// The note about a file that has no text now, or of which the model knows no text that is stored.
fn bytes_note(
    journal: &Journal,
    file: &ObjectId,
    shown: &Shown,
    (told, had_text): (&Hash, bool),
    (now, detail): (&Hash, Detail),
) -> Result<Option<String>> {
    let Shown { handle, path, before, seen, over } = shown;
    let (handle, seen) = (*handle, *seen);
    let fields = journal.known_version(file, now)?.map(|known| known.fields).unwrap_or_default();
    let is = |reason: &str| fields.get("no_content") == Some(&json!(reason));
    let stamp = match journal.state().subject(file) {
        Some(Subject::File { stamp, .. }) => stamp.map(|stamp| stamp.size),
        _ => None,
    };
    let bytes = || journal.text(file, now).map_or(0, |text| text.len() as u64);
    let size = fields.get("size_bytes").and_then(Value::as_u64).or(stamp).unwrap_or_else(bytes);
    if let Some(before) = before {
        return Ok(Some(forms::moved_line(handle, before, path, *over)));
    }
    Ok(Some(match (is("deleted"), had_text) {
        (true, true) => forms::kept_line(handle, path, forms::GONE, seen),
        (true, false) => forms::bytes_gone_line(handle, path),
        (false, true) => forms::kept_line(handle, path, forms::NO_TEXT, seen),
        (false, false) if journal.is_deleted(file, told) => {
            forms::bytes_back_line(handle, path, size)
        }
        // Its path alone is known: nothing was seen of it that could have changed.
        (false, false) if is("not_read") && stamp.is_none() => return Ok(None),
        (false, false) => {
            let line = forms::bytes_changed_line(handle, path, seen, size);
            if detail == Detail::LastLine { line + forms::KEEPS_CHANGING } else { line }
        }
    }))
}

/// How the text of a file changed.
struct Difference {
    /// The unified diff, without line ends; `None` if too many lines differ.
    unified: Option<String>,
    /// How its lines ended and end now, if in another way.
    ends: Option<(&'static str, &'static str)>,
    /// Lines that the diff adds and removes.
    added_removed: (u64, u64),
}

impl Difference {
    fn between(old: &str, new: &str) -> Self {
        let ends = line_ends(old).zip(line_ends(new));
        let (was, is) = (old, new);
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        let ends = ends.filter(|(from, to)| from != to || (old == new && was != is));
        let moved = LineMap::between(&old, &new);
        if moved.is_coarse() {
            return Self { unified: None, ends, added_removed: moved.added_removed() };
        }
        let unified = unified_diff(&old, &new, 2);
        let of = |sign: char| unified.lines().filter(|line| line.starts_with(sign)).count() as u64;
        Self { ends, added_removed: (of('+'), of('-')), unified: Some(unified) }
    }
}

/// How the lines of a text end; `None` if it has one alone, without an end.
fn line_ends(text: &str) -> Option<&'static str> {
    match (text.matches("\r\n").count(), text.matches('\n').count()) {
        (_, 0) => None,
        (0, _) => Some("LF"),
        (crlf, all) if crlf == all => Some("CRLF"),
        _ => Some("CRLF and LF"),
    }
}

/// How the model knows a file.
struct Shown {
    handle: Handle,
    path: String,
    /// Where the file was moved over another one, that one's handle.
    over: Option<Handle>,
    /// The path that the model knows, if it differs.
    before: Option<String>,
    /// The result in which the model last saw its text.
    seen: Option<Handle>,
}

impl Shown {
    fn of(journal: &Journal, file: &ObjectId, told: &Announced) -> Option<Self> {
        let (handle, path) = shown_name(journal, file)?;
        let before = told.path.as_ref();
        let before = before.map(|before| journal.state().shown_path(before).to_owned());
        let (over, seen) = (overwritten_by_move(journal, file), seen_in(journal, file));
        Some(Self { handle, path, over, before, seen })
    }

    /// The note about a file whose text changed, and whether it shows a part of a line. Tokens of
    /// diff that are shown are taken from the budget.
    fn text_note(
        &self,
        differing: &Difference,
        is_by_other: bool,
        (detail, budget): (Detail, &mut NoteBudget),
    ) -> (String, bool) {
        let Self { handle, path, over, before, seen } = self;
        let (handle, (added, removed)) = (*handle, differing.added_removed);
        if (added, removed) == (0, 0) && differing.ends.is_none() {
            return (forms::back_line(handle, path, forms::ON_DISK, *seen), false);
        }
        let head = if let Some(before) = before {
            forms::moved_changed_line(handle, (before, path, *over), *seen, (added, removed))
        } else {
            forms::changed_line(handle, path, *seen, is_by_other, (added, removed))
        };
        let ends = differing.ends.map(|(from, to)| format!("\nline ends: {from} before, {to} now"));
        let ends = ends.unwrap_or_default();
        let line = if (added, removed) == (0, 0) { format!("{head}:{ends}") } else { head.clone() };
        let note = match (detail, &differing.unified) {
            (Detail::LastLine, _) => format!("{line}{}", forms::KEEPS_CHANGING),
            (Detail::Line, _) => line,
            (Detail::Lines, _) if budget.tokens < LEAST_TOKENS => line,
            (Detail::Lines, None) => {
                format!("{head}:{ends}\n{}", forms::more_changes_line(handle, added + removed))
            }
            (Detail::Lines, Some(unified)) => {
                return with_difference(
                    format!("{head}:{ends}"),
                    handle,
                    unified,
                    &mut budget.tokens,
                );
            }
        };
        (note, false)
    }
}

/// The text of a file that the model knows from a version and, if it was last told about that one,
/// from its own edits since.
pub(super) fn with_edits(
    journal: &Journal,
    file: &ObjectId,
    (told, text): (&Hash, Arc<str>),
) -> Arc<str> {
    let files = journal.state().files();
    let beside = files.changed_beside(file).filter(|_| files.announced(file) == Some(told));
    let Some((made, others)) = beside else { return text };
    // What was forgotten since is not known.
    let Ok(made) = journal.text(file, made) else { return text };
    others.undone(&text, &made).into()
}

/// The text of a file that the model knows: that of the version about which it was last told, with
/// its own edits since, or, if that has none, the text that stands in the window.
fn text_told(journal: &Journal, file: &ObjectId, told: &Hash) -> Result<Option<Arc<str>>> {
    if let Some(text) = if_found(journal.text(file, told))? {
        return Ok(Some(with_edits(journal, file, (told, text))));
    }
    let showing = journal.state().showings(file).next_back();
    showing.map(|showing| journal.text(file, &showing.version)).transpose()
}

/// Handle and path of a file, as shown to the model.
pub(super) fn shown_name(journal: &Journal, file: &ObjectId) -> Option<(Handle, String)> {
    journal.state().shown_file(file).map(|(handle, path)| (handle, path.to_owned()))
}

/// The handle of the file with text that was at a file's path before this one was moved there, if
/// any.
fn overwritten_by_move(journal: &Journal, file: &ObjectId) -> Option<Handle> {
    let index = journal.state().index();
    let path = index.get(file)?.subject.agent_path();
    let is_gone = |subject: &Subject| {
        matches!(subject, Subject::File { lines: Some(_), .. }) && subject.agent_path() == path
    };
    let mut entries = index.entries.iter().rev();
    let gone = entries
        .find(|entry| entry.id == *file && !index.is_shown(entry) && is_gone(&entry.subject));
    gone.map(|entry| entry.handle)
}

/// The result in which the model last saw text of a file that is not its present text, else any.
pub(super) fn seen_in(journal: &Journal, object: &ObjectId) -> Option<Handle> {
    let state = journal.state();
    let last = state.outdated(object).or_else(|| state.showings(object).next_back());
    let at = last.map(|showing| showing.at).or_else(|| state.glimpse_of(object))?;
    state.handle(state.result(at)?.object.as_ref()?)
}

/// The first line of a note, then a unified diff within the limits of a note, and whether it shows
/// a part of a new line.
fn with_difference(
    head: String,
    handle: Handle,
    unified: &str,
    budget: &mut u64,
) -> (String, bool) {
    let lines = difference(unified, handle);
    let mut pairs = unified.lines().zip(&lines);
    let cuts_lines = pairs.any(|(line, shown)| line.starts_with('+') && line != shown);
    let mut shown = vec![head];
    let mut rest = 0;
    for (index, line) in lines.iter().enumerate() {
        let cost = tokens::count(line) + 1;
        if rest > 0 || index >= NOTE_LINES || cost > *budget {
            rest += u64::from(line.starts_with('+') || line.starts_with('-'));
        } else {
            *budget -= cost;
            shown.push(quote::file_line(line).into_owned());
        }
    }
    if rest > 0 {
        shown.push(forms::more_changes_line(handle, rest));
    }
    (shown.join("\n"), cuts_lines)
}
