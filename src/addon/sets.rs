//! The sets of a session as data: index, pool, active and pinned; of an open session, or of a
//! stored one as its document holds it.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use serde_json::Value;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::names::ReadOptions;
use super::query::as_of;
use super::session::Session;
use super::store::Store;
use super::version::count;
use base::object::ObjectId;
use live::Pins;
use session::{IndexEntry, Session as State, Subject};
use store::Version;

/// An object of the session index.
#[napi(object, use_nullable = true)]
pub struct IndexedObject {
    /// Its name in this session, such as `f3`, `t17` or `s2`, which never changes.
    pub handle: String,
    /// Its ID in the store.
    pub id: String,
    /// What it is.
    #[napi(js_name = "type", ts_type = "\"file\" | \"toolcall\" | \"chat_segment\"")]
    pub kind: String,
    /// Path of a file as the agent sees it; null for others.
    pub path: Option<String>,
    /// Name of a call's tool; null for others.
    pub tool: Option<String>,
}

/// The sets of a session. Pool, active and pinned set list handles of the index.
#[napi(object)]
pub struct SessionSets {
    /// Every file, tool call and part of the chat that the session met, in the order in which it met them.
    pub index: Vec<IndexedObject>,
    /// Those that the model knows of.
    pub pool: Vec<String>,
    /// Those whose content stands in the window.
    pub active: Vec<String>,
    /// Those that stay in the window until they are unpinned.
    pub pinned: Vec<String>,
    /// Those of them whose content comes with the next message; absent if there are none.
    pub pinned_next: Option<Vec<String>>,
    /// Pinned ones for which the last request had no room, so that they are not in `pinned`; absent if there are none.
    pub pinned_without_room: Option<Vec<String>>,
}

/// A session as its document stood at some time, folded from its events.
#[napi(object, use_nullable = true)]
pub struct SessionDocument {
    /// ID of the document, `session:...`.
    pub id: String,
    /// Transaction of the version.
    pub tx_id: i64,
    /// Calls to the model so far.
    pub calls: i64,
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// ID of its chat.
    pub chat_id: String,
    /// Where its branch ends: position in the chat of the newest message; null while there is none. Positions behind it, if the chat
    /// has any, are of another branch.
    pub branch_leaf: Option<i64>,
    /// IDs of the tool calls of the branch, in order.
    pub toolcall_refs: Vec<String>,
    /// As in `SessionSets`.
    pub index: Vec<IndexedObject>,
    /// As in `SessionSets`.
    pub pool: Vec<String>,
    /// As in `SessionSets`; of a session in the layout `pools` also what its window had no room for.
    pub active: Vec<String>,
    /// As in `SessionSets`.
    pub pinned: Vec<String>,
    /// As in `SessionSets`.
    pub pinned_without_room: Vec<String>,
}

#[napi]
impl Store {
    /// Reads what a session knew: its sets with handles, its tool calls, and where its branch ends. `options.at`: when; default: now.
    /// Takes time in proportion to its events before that.
    ///
    /// `session`: as in `findSession`. Rejects as that, and with `NOT_FOUND` if there was no such session then.
    #[napi(
        ts_args_type = "session: string, options?: Pick<ReadOptions, \"at\">",
        ts_return_type = "Promise<SessionDocument>"
    )]
    pub fn session_document(
        &self,
        session: Given<String>,
        options: Given<Option<ReadOptions>>,
    ) -> AsyncTask<Blocking<SessionDocument>> {
        let store = self.core.clone();
        blocking(move || {
            let at = as_of(options.named("options")?.unwrap_or_default().at)?;
            let id = live::find_session(&store, &session.named("session")?)?;
            let (version, state) = live::session_at(&store, &id, at)?;
            Ok(document(&version, &state))
        })
    }
}

#[napi]
impl Session {
    /// See `Session.sets` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<SessionSets>")]
    pub fn sets(&self) -> AsyncTask<Blocking<SessionSets>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            shared.with(|session| {
                Ok(sets_of(session.state(), session.active_objects(), &session.pins()))
            })
        })
    }
}

fn sets_of(state: &State, active: Vec<&ObjectId>, pins: &Pins<'_>) -> SessionSets {
    let (index, sets) = (state.index(), state.sets());
    let handle = |id: &ObjectId| index.get(id).map(|entry| entry.handle.to_string());
    let some = |ids: &[&ObjectId]| -> Option<Vec<String>> {
        let handles: Vec<String> = ids.iter().filter_map(|id| handle(id)).collect();
        (!handles.is_empty()).then_some(handles)
    };
    let is_pinned = |id: &&ObjectId| !pins.left_out.contains(id);
    SessionSets {
        index: index.entries().iter().map(indexed).collect(),
        pool: sets.pool().iter().filter_map(|known| handle(&known.id)).collect(),
        active: active.into_iter().filter_map(handle).collect(),
        pinned: sets.pinned().into_iter().filter(is_pinned).filter_map(handle).collect(),
        pinned_next: some(&pins.waiting),
        pinned_without_room: some(&pins.left_out),
    }
}

fn document(version: &Version, state: &State) -> SessionDocument {
    let (results, chat) = (state.window().filter_map(|(at, _)| state.result(at)), state.chat());
    let toolcalls = results.filter_map(|fact| fact.object.as_ref());
    let chat_id = version.fields.get("chat_ref").and_then(Value::as_str).unwrap_or_default();
    let active = if state.sent().is_some_and(|sent| sent.in_pools) {
        state.sets().active().map(|active| &active.id).collect()
    } else {
        state.shown_objects()
    };
    let pins = Pins::of(state, |_| true);
    let SessionSets { index, pool, active, pinned, pinned_without_room, .. } =
        sets_of(state, active, &pins);
    SessionDocument {
        id: version.envelope.id.to_string(),
        tx_id: version.tx_id.0,
        calls: count(state.calls()),
        epoch: state.epoch(),
        chat_id: chat_id.to_owned(),
        branch_leaf: chat.len().checked_sub(1).map(count),
        toolcall_refs: toolcalls.map(ToString::to_string).collect(),
        index,
        pool,
        active,
        pinned,
        pinned_without_room: pinned_without_room.unwrap_or_default(),
    }
}

fn indexed(entry: &IndexEntry) -> IndexedObject {
    let (kind, path, tool) = match &entry.subject {
        Subject::File { .. } => ("file", Some(entry.subject.agent_path().to_owned()), None),
        Subject::Toolcall { tool, .. } => ("toolcall", None, Some(tool.clone())),
        Subject::Segment { .. } => ("chat_segment", None, None),
    };
    IndexedObject {
        handle: entry.handle.to_string(),
        id: entry.id.to_string(),
        kind: kind.to_owned(),
        path,
        tool,
    }
}
