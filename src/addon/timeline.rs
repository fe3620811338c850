//! A session over time: `Store.timeline`.

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::store::Store;
use super::version::count;

/// A session over time.
#[napi(object)]
pub struct Timeline {
    /// ID of the session's document.
    pub session_id: String,
    /// Every call in order, those that failed open included.
    pub calls: Vec<TimelineCall>,
    /// What happened, in order.
    pub marks: Vec<TimelineMark>,
    /// The objects that the session met, in the order in which it met them.
    pub objects: Vec<TimelineObject>,
}

/// A call. Of one that failed open, only number and reason are known.
#[napi(object, use_nullable = true)]
pub struct TimelineCall {
    /// Its number, from 1.
    pub number: i64,
    /// Number of the call that this one repeats.
    pub retry_of: Option<i64>,
    /// Why it went out with the host's own messages; null if it went out with ours.
    pub failed_open: Option<String>,
    /// Time, in RFC 3339, UTC.
    pub time: Option<String>,
    /// Provider and model: `provider/id`.
    pub model: Option<String>,
    /// Layout.
    pub layout: Option<String>,
    /// Number of the epoch, from 0.
    pub epoch: Option<u32>,
    /// Tokens of the model's window.
    pub context_window: Option<i64>,
    /// Tokens of the messages as sent.
    pub sent_tokens: Option<i64>,
    /// Tokens of the host's own list, our tools' calls and their results included.
    pub plain_tokens: Option<i64>,
    /// Tokens of the request by kind of content.
    pub kinds: Option<TokensByKind>,
    /// Number of messages of the request.
    pub messages: Option<i64>,
}

/// Tokens of a request by kind of content, by our count.
#[napi(object)]
pub struct TokensByKind {
    /// System prompt and tools.
    pub prompt: i64,
    /// What a person wrote, and the host: summaries, roles that are not known.
    pub person: i64,
    /// What the model wrote, its calls included.
    pub model: i64,
    /// Results of tools, whole or in part.
    pub outputs: i64,
    /// Text of files.
    pub files: i64,
    /// Notes of ours.
    pub notes: i64,
    /// Lines that stand for content, and for folded steps.
    pub references: i64,
}

/// Something that happened in a session.
#[napi(object, use_nullable = true)]
pub struct TimelineMark {
    /// `epoch`: content left the window. `model`: another model than at the call before. `fault`: the model needed what had left.
    /// `plain_compaction`: the plain host would have compacted. `file_changed`: on disk, by the model, or out of reach. `branch`: the host
    /// went back to an earlier message or rearranged its list.
    #[napi(
        ts_type = "\"epoch\" | \"model\" | \"activated\" | \"deactivated\" | \"pinned\" | \"unpinned\" | \"file_changed\" | \"fault\" | \"compaction\" | \"plain_compaction\" | \"branch\" | \"failed_open\" | \"note\""
    )]
    pub kind: String,
    /// Number of the first call after it, whether or not that was made.
    pub call: i64,
    /// ID of the object that it is about; null if it is about none.
    pub object: Option<String>,
    /// In words: why an epoch began, the model, what happened to a file, a note; null if there is nothing to add.
    pub text: Option<String>,
}

/// An object that a session met.
#[napi(object)]
pub struct TimelineObject {
    /// Its ID.
    pub id: String,
    /// Its handle.
    pub handle: String,
    /// Its type.
    #[napi(js_name = "type", ts_type = "ObjectType")]
    pub kind: String,
    /// Path of a file as the agent sees it; tool of a call and what it asked for; the turns of a segment.
    pub name: String,
    /// Whether it is pinned now, and the last request had room for it.
    pub pinned: bool,
    /// Runs of calls in which it was shown in the same way, in order. In other calls it was not shown.
    pub shown: Vec<ShownRun>,
}

/// Calls that showed an object in the same way.
#[napi(object)]
pub struct ShownRun {
    /// Number of the first.
    pub from: i64,
    /// Number of the last.
    pub to: i64,
    /// As `shown.as` of `MessageAbout`.
    #[napi(
        js_name = "as",
        ts_type = "\"given\" | \"current\" | \"excerpt\" | \"reread\" | \"reference\""
    )]
    pub way: String,
}

#[napi]
impl Store {
    /// A session over time: its calls, what happened between them, and how each object was shown.
    ///
    /// `session`: as in `findSession`. Rejects as that.
    #[napi(ts_args_type = "session: string", ts_return_type = "Promise<Timeline>")]
    pub fn timeline(&self, session: Given<String>) -> AsyncTask<Blocking<Timeline>> {
        let store = self.core.clone();
        blocking(move || {
            let session = live::find_session(&store, &session.named("session")?)?;
            let timeline = live::timeline(&store, &session)?;
            Ok(Timeline {
                session_id: session.to_string(),
                calls: timeline.calls.into_iter().map(call).collect(),
                marks: timeline.marks.into_iter().map(mark).collect(),
                objects: timeline.objects.into_iter().map(object).collect(),
            })
        })
    }
}

fn call(call: live::CallPoint) -> TimelineCall {
    let record = call.record.as_ref();
    TimelineCall {
        number: count(call.number),
        retry_of: record.and_then(|record| record.retry_of).map(count),
        failed_open: call.failed_open,
        time: record.map(|record| record.time.to_string()),
        model: record.and_then(|record| record.model.clone()),
        layout: record.map(|record| record.layout.clone()),
        epoch: record.map(|record| record.epoch),
        context_window: record.and_then(|record| record.context_window).map(count),
        sent_tokens: record.map(|record| count(record.sent_tokens)),
        plain_tokens: record.map(|record| count(record.plain_tokens)),
        kinds: record.map(|_| by_kind(&call.kinds)),
        messages: record.map(|_| count(call.messages)),
    }
}

fn by_kind(kinds: &live::TimelineKinds) -> TokensByKind {
    TokensByKind {
        prompt: count(kinds.prompt),
        person: count(kinds.person),
        model: count(kinds.model),
        outputs: count(kinds.outputs),
        files: count(kinds.files),
        notes: count(kinds.notes),
        references: count(kinds.references),
    }
}

fn mark(mark: live::Mark) -> TimelineMark {
    TimelineMark {
        kind: mark.kind.as_str().to_owned(),
        call: count(mark.call),
        object: mark.object.map(|object| object.to_string()),
        text: mark.text,
    }
}

fn object(object: live::ObjectLine) -> TimelineObject {
    let shown = object.shown.iter().map(|run| ShownRun {
        from: count(run.from),
        to: count(run.to),
        way: run.way.as_str().to_owned(),
    });
    TimelineObject {
        id: object.id.to_string(),
        handle: object.handle.to_string(),
        kind: object.kind.as_str().to_owned(),
        name: object.name,
        pinned: object.is_pinned,
        shown: shown.collect(),
    }
}
