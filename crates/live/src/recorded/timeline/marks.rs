//! What happened in a session between its calls, for people who view it over time.

use serde::Serialize;

use base::object::ObjectId;
use session::{CallRecord, Cause, Event, FaultKind, Faults, Rewrite};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// What happened.
    pub kind: MarkKind,
    /// The first call after it, even if that call was never made.
    pub call: u64,
    /// The object that it concerns.
    pub object: Option<ObjectId>,
    /// In words: why an epoch began, the model, what happened to a file, a note.
    pub text: Option<String>,
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// An epoch began.
    Epoch,
    /// Another model than at the previous call.
    Model,
    /// An object was activated.
    Activated,
    /// It was deactivated.
    Deactivated,
    /// It was pinned, which activates it.
    Pinned,
    /// It was unpinned.
    Unpinned,
    /// A file changed, moved, or is out of reach.
    FileChanged,
    /// The model needed something that had left the window.
    Fault,
    /// The host compacted its list.
    Compaction,
    /// The plain host would have compacted its list.
    PlainCompaction,
    /// The host went back to an earlier message.
    Branch,
    /// A call went out with the host's own messages.
    FailedOpen,
    /// The model was told something.
    Note,
}

/// The marks that an event makes. `calls`: number of earlier calls; `model`: that of the newest of
/// them; `faults`: those since.
pub(super) fn marks_of(
    event: &Event,
    calls: u64,
    model: Option<&str>,
    faults: &Faults,
) -> Vec<Mark> {
    let call = calls + 1;
    let about = |kind, object: &ObjectId, text: Option<&str>| {
        let (object, text) = (Some(object.clone()), text.map(str::to_owned));
        vec![Mark { kind, call, object, text }]
    };
    let says =
        |kind, text: &str| vec![Mark { kind, call, object: None, text: Some(text.to_owned()) }];
    match event {
        Event::Epoch { reason, .. } => says(MarkKind::Epoch, reason),
        Event::Activated { object, pin: true, .. } => about(MarkKind::Pinned, object, None),
        Event::Activated { object, .. } => about(MarkKind::Activated, object, None),
        Event::Deactivated { object } => about(MarkKind::Deactivated, object, None),
        Event::Unpinned { object } => about(MarkKind::Unpinned, object, None),
        Event::File(file) => match change(file.cause) {
            Some(words) => about(MarkKind::FileChanged, &file.object, Some(words)),
            None => Vec::new(),
        },
        Event::Moved { to, .. } => about(MarkKind::FileChanged, to, Some("moved")),
        Event::Orphaned { object, reason } => about(MarkKind::FileChanged, object, Some(reason)),
        Event::Rewritten { how: Rewrite::Compaction, .. } => {
            vec![Mark { kind: MarkKind::Compaction, call, object: None, text: None }]
        }
        Event::Rewritten { how: Rewrite::Passing, .. } | Event::Noted { carried: true, .. } => {
            Vec::new()
        }
        Event::Rewritten { how, .. } => says(MarkKind::Branch, how.as_str()),
        Event::Noted { text, .. } => says(MarkKind::Note, text),
        Event::FailedOpen { calls } => {
            let failed = (call..).zip(calls).map(|(call, failed)| Mark {
                kind: MarkKind::FailedOpen,
                call,
                object: None,
                text: Some(failed.reason.clone()),
            });
            failed.collect()
        }
        Event::Called(record) => of_call(record, model, faults),
        _ => Vec::new(),
    }
}

/// What happened to a file, if it changed.
fn change(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Edited => Some("edited by the model"),
        Cause::Written => Some("written by the model"),
        Cause::Changed | Cause::Checked => Some("changed on disk"),
        Cause::Read | Cause::Found | Cause::Linked => None,
    }
}

fn of_call(record: &CallRecord, model: Option<&str>, faults: &Faults) -> Vec<Mark> {
    let mark = |kind, text| Mark { kind, call: record.number, object: None, text };
    let mut marks = Vec::new();
    if model.is_some() && model != record.model.as_deref() {
        marks.push(mark(MarkKind::Model, record.model.clone()));
    }
    let found = faults.all().into_iter().filter(|(_, sum)| sum.count > 0);
    marks.extend(found.map(|(kind, sum)| {
        let times = if sum.count == 1 { String::new() } else { format!(", {} times", sum.count) };
        mark(MarkKind::Fault, Some(format!("{}{times}", fault_words(kind))))
    }));
    if record.bill.compacted.is_some() {
        marks.push(mark(MarkKind::PlainCompaction, None));
    }
    marks
}

/// A need of what had left, in the words of `lib/faults.js`.
fn fault_words(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Asked => "the model asked for what had left",
        FaultKind::Reread => "it read again what had left",
        FaultKind::Repeated => "it ran a command again whose output had left",
        FaultKind::FailedEdit => "its edit of lines that had left failed",
        FaultKind::Quoted => "it quoted what had left",
    }
}
