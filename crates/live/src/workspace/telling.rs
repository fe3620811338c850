//! Which changes of files the next message tells the model of, and how much it says of each.
//!
//! A file that changes call after call is told of with its lines at first, then in one line, then
//! not until the model uses it or the file rests. All notes together keep within
//! [`Additions`]; what does not fit waits. Must not look at files.

use std::collections::HashSet;

use super::notes::{
    Announced, Detail, FileChange, NoteBudget, describe_change, is_announced, shown_name,
};
use super::refresh::shown_files;
use crate::OpenSession;
use crate::journal::Journal;
use base::error::Result;
use base::object::{Handle, Hash, ObjectId};
use context::additions::Additions;
use context::forms;
use context::log_layout::Texts;
use context::tokens::Counter;
use session::{Event, LineRange, Note, Session, Subject};

/// How often a file is told of with its lines before only a line says that it keeps changing.
const TIMES_WITH_LINES: u32 = 3;
/// If more files are to be told of in one message, none is with its lines.
const MOST_WITH_LINES: usize = 8;
/// How many notes of one message have no lines before the rest share one.
const MOST_LINES: usize = 4;
/// How many files share one.
const MOST_SHARED: usize = 16;

/// A file of which something is to be told, and what the model knows of it.
type Due = (ObjectId, Announced);

/// What was found besides changes of files that stand.
#[derive(Debug, Default)]
pub(super) struct OtherChanges {
    /// What became of files that cannot be read.
    pub(super) reach: Vec<(ObjectId, FileChange)>,
    /// Files at the old places of moved ones, each with the one that moved.
    pub(super) again: Vec<(ObjectId, ObjectId)>,
}

/// The notes of one message.
struct Message<'a> {
    journal: &'a mut Journal,
    /// Its position in the chat.
    at: u64,
    counter: Counter,
    room: Additions,
    budget: NoteBudget,
    /// Notes so far that have no lines.
    lines: usize,
    /// Whether what is added now tells again of changes whose notes left.
    is_again: bool,
    /// Files that are to share a note.
    rest: Vec<(ObjectId, Handle, String)>,
}

/// Notes in the message at a position what the model must be told of files.
pub(super) fn tell(
    journal: &mut Journal,
    options: &OpenSession,
    at: u64,
    found: OtherChanges,
) -> Result<Vec<FileChange>> {
    let mut message = Message::at(journal, options, at);
    let mut changes = Vec::new();
    for (file, mut change) in found.reach {
        let is_in_reach = message.journal.state().files().orphaned(&file).is_none();
        let says_more = is_in_reach && is_due(message.journal, &file);
        let is_said = !says_more && detail(message.journal, &file).is_some();
        change.note = change.note.filter(|_| is_said);
        message.note(&file, &change);
        changes.push(change);
    }
    for (file, moved) in found.again {
        let note = again_note(message.journal, &file, &moved);
        let change = FileChange { note, ..FileChange::default() };
        message.note(&moved, &change);
        changes.push(change);
    }
    let mut due = message.due();
    due.extend(message.returned());
    let left = message.left();
    changes.extend(message.tell(due)?);
    changes.extend(message.tell_again(left)?);
    message.share();
    changes.retain(FileChange::says_something);
    Ok(changes)
}

/// Notes in the message at a position the changes whose notes left with an epoch that starts.
pub(crate) fn tell_left(
    journal: &mut Journal,
    options: &OpenSession,
    at: u64,
) -> Result<Vec<FileChange>> {
    let mut message = Message::at(journal, options, at);
    let mut left = message.left();
    // Where a file that keeps changing is due, only the note that left said so.
    let mut due = message.due();
    due.retain(|(file, _)| message.journal.state().has_left_note(file));
    left.extend(due);
    let mut changes = message.tell_again(left)?;
    message.share();
    changes.retain(FileChange::says_something);
    Ok(changes)
}

impl<'a> Message<'a> {
    fn at(journal: &'a mut Journal, options: &OpenSession, at: u64) -> Self {
        let room = Additions::of(journal.state());
        let budget = NoteBudget::of_one_call(room.texts);
        let (counter, rest) = (options.counter, Vec::new());
        Self { journal, at, counter, room, budget, lines: 0, is_again: false, rest }
    }

    /// The standing files that are not as the model was told. Where no note tells of earlier changes
    /// any more, it is told of these too.
    fn due(&self) -> Vec<Due> {
        let state = self.journal.state();
        let standing = shown_files(state).into_iter();
        let due = standing.filter(|file| is_due(self.journal, file));
        let due = due.filter_map(|file| {
            let told = Announced::of(self.journal, &file)?;
            let is_left = state.has_left_note(&file);
            let stands = if is_left { as_it_stands(state, &file) } else { None };
            let version = stands.map_or(told.version, |stands| stands.version);
            Some((file, Announced { version, path: told.path }))
        });
        due.collect()
    }

    /// The files that do not stand, that the model was told are deleted, and that are on disk again.
    fn returned(&self) -> Vec<Due> {
        let state = self.journal.state();
        let files = state.files();
        let returned = files.all_seen().iter().filter_map(|file| {
            let (told, now) = (files.seen(file)?, state.version(file)?);
            let is_back = told != now
                && self.journal.is_deleted(file, told)
                && !self.journal.is_deleted(file, now);
            let is_untold = is_back && !state.stands(file) && files.orphaned(file).is_none();
            let path = state.announced_path(file).map(str::to_owned);
            is_untold.then(|| (file.clone(), Announced { version: told.clone(), path }))
        });
        returned.collect()
    }

    /// The standing files that are as the model was told, but of whose change no note tells any
    /// more.
    fn left(&self) -> Vec<Due> {
        let state = self.journal.state();
        let standing: HashSet<ObjectId> = shown_files(state).into_iter().collect();
        let left = state.left_notes().filter(|file| standing.contains(*file));
        let left = left.filter(|file| !is_due(self.journal, file));
        left.filter_map(|file| Some((file.clone(), as_it_stands(state, file)?))).collect()
    }

    /// Tells of changes of files, as far as there is room.
    fn tell(&mut self, mut due: Vec<Due>) -> Result<Vec<FileChange>> {
        let mut changes = Vec::new();
        due.retain(|(file, _)| detail(self.journal, file).is_some());
        let are_many = due.len() > MOST_WITH_LINES;
        for (file, told) in due {
            let Some(detail) = detail(self.journal, &file) else { continue };
            let detail = if are_many { Detail::Line } else { detail };
            let Some(now) = self.journal.state().version(&file).cloned() else { continue };
            let was_there = told.path.is_none() && !self.journal.is_deleted(&file, &told.version);
            if was_there && saw_since(self.journal.state(), &file) {
                self.journal.record(Event::Told { object: file, version: now });
                continue;
            }
            let left = self.budget.tokens;
            let detail = (detail, &mut self.budget);
            let change = describe_change(self.journal, &file, &told, &now, detail)?;
            if self.note(&file, &change) {
                let is_in_part = told.version != now && change.is_in_part();
                record_told(self.journal, file, now, is_in_part);
                changes.push(change);
            } else {
                self.budget.tokens = left;
            }
        }
        Ok(changes)
    }

    /// Tells again of changes whose notes left.
    fn tell_again(&mut self, left: Vec<Due>) -> Result<Vec<FileChange>> {
        self.is_again = true;
        let changes = self.tell(left);
        self.is_again = false;
        changes
    }

    /// Adds a note about a file. Returns whether the model then knows of the change: if there is no
    /// room, it does not yet.
    fn note(&mut self, file: &ObjectId, change: &FileChange) -> bool {
        let Some(text) = &change.note else { return true };
        let has_lines = text.contains('\n');
        if !has_lines && self.lines == MOST_LINES {
            self.rest.extend(
                shown_name(self.journal, file).map(|(name, path)| (file.clone(), name, path)),
            );
            return false;
        }
        self.lines += usize::from(!has_lines);
        self.record(text.clone(), vec![file.clone()])
    }

    /// Adds one note about all files that are to share one.
    fn share(mut self) {
        let rest = std::mem::take(&mut self.rest);
        let mut most = rest.len().min(MOST_SHARED);
        let line = |named: usize| {
            let names = rest[..named].iter().map(|(_, file, path)| (*file, path.clone()));
            forms::all_changed_line(&names.collect::<Vec<_>>(), (rest.len() - named) as u64)
        };
        while most > 1 && !self.room.holds(self.counter.count(&line(most))) {
            most -= 1;
        }
        let files: Vec<ObjectId> = rest[..most].iter().map(|(id, _, _)| id.clone()).collect();
        if files.is_empty() || !self.record(line(most), files.clone()) {
            return;
        }
        for object in files {
            let Some(version) = self.journal.state().version(&object).cloned() else { continue };
            record_told(self.journal, object, version, true);
        }
    }

    fn record(&mut self, text: String, about: Vec<ObjectId>) -> bool {
        let tokens = self.counter.count(&text);
        let holds = self.room.holds(tokens);
        if holds {
            self.room.take(tokens);
            let note = Note { about, ..Note::of(text, tokens) };
            let event = if self.is_again { Event::carried } else { Event::noted };
            self.journal.record(event(self.at, note));
        }
        holds
    }
}

/// Records that the model knows of a version of a file. `is_in_part`: whether it was shown only a
/// part of what changed.
pub(crate) fn record_told(
    journal: &mut Journal,
    object: ObjectId,
    version: Hash,
    is_in_part: bool,
) {
    journal.record(Event::Told { object: object.clone(), version: version.clone() });
    if is_in_part {
        journal.record(Event::ToldInPart { object, version });
    }
}

/// How much a note says of the next change of a file; `None` if none tells of it for now, since one
/// stands that says that it keeps changing. Where the note on a change left, the next says as much.
fn detail(journal: &Journal, file: &ObjectId) -> Option<Detail> {
    let state = journal.state();
    let times = state.files().times_told(file);
    match times.saturating_sub(u32::from(state.has_left_note(file))) {
        times if times < TIMES_WITH_LINES => Some(Detail::Lines),
        times if times == TIMES_WITH_LINES || !is_said(state, file) => Some(Detail::LastLine),
        _ => None,
    }
}

/// Whether a note on a file stands below all text of it.
fn is_said(state: &Session, file: &ObjectId) -> bool {
    let texts = state.showings(file).chain(state.written(file)).map(|showing| showing.at);
    let newest = texts.chain(state.glimpse_of(file)).max();
    state.newest_note(file).is_some_and(|noted| newest <= Some(noted))
}

/// Whether a file is within reach and not as the model knows it.
fn is_due(journal: &Journal, file: &ObjectId) -> bool {
    let state = journal.state();
    let Some(version) = state.version(file) else { return false };
    state.files().orphaned(file).is_none() && !is_announced(journal, file, version)
}

/// The note on a file at the old place of one that moved.
fn again_note(journal: &Journal, file: &ObjectId, moved: &ObjectId) -> Option<String> {
    detail(journal, moved)?;
    let (handle, path) = shown_name(journal, file)?;
    let (now, place) = shown_name(journal, moved)?;
    Some(forms::again_line((handle, &path), (now, &place)))
}

/// The version of a file that stands though it is not the present one, unless what the model did
/// since stands too.
fn as_it_stands(state: &Session, file: &ObjectId) -> Option<Announced> {
    let now = state.version(file)?;
    let glimpse = || state.glimpse_of(file).map(|_| now.clone());
    let outdated = state.outdated(file).map(|showing| &showing.version);
    let version = outdated.filter(|version| !state.made_since(file, version)).cloned();
    Some(Announced { version: version.or_else(glimpse)?, path: None })
}

/// Whether the model saw or wrote the whole present text of a file after it was last told of it, and
/// after it last changed it: where somebody takes back what it changed, the text is one that it saw
/// before.
pub(super) fn saw_since(state: &Session, file: &ObjectId) -> bool {
    let Some(entry) = state.index().get(file) else { return false };
    let Subject::File { version, lines: Some(lines), .. } = &entry.subject else { return false };
    let whole = LineRange { first: 1, last: *lines };
    let shown = state.showings(file).next_back();
    let shown = shown.filter(|showing| whole.without(&showing.ranges).is_empty());
    let noted = state.newest_note(file);
    // A change counts to the step before its call, which comes in with the result.
    let edited = state.edited_files().find(|(edited, _)| *edited == file).map(|(_, step)| step);
    shown.into_iter().chain(state.written(file).next_back()).any(|showing| {
        let step = state.chat().get(showing.at).map(|message| message.step);
        showing.version == *version && edited < step && noted.is_none_or(|at| at < showing.at)
    })
}
