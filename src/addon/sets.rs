//! The sets of a session as data: index, pool, active and pinned; of an open session, or of a
//! stored one as its document holds it.

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised, present};
use super::names::ReadOptions;
use super::query::as_of;
use super::session::Session;
use super::store::Store;
use base::object::ObjectId;
use live::Pins;
use session::{IndexEntry, Session as State, Subject};
use store::Version;

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
        options: Maybe<ReadOptions>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let at = as_of(options.or_default("options")?.at)?;
            let id = live::find_session(store, &session.named("session")?)?;
            let (version, state) = live::session_at(store, &id, at)?;
            Ok(document(&version, &state))
        })
    }
}

#[napi]
impl Session {
    /// See `Session.sets` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<SessionSets>")]
    pub fn sets(&self) -> Promised<Answer> {
        self.answer(|session| {
            Ok(sets_of(session.state(), &session.active_objects(), &session.pins()))
        })
    }
}

/// Empty lists of pins that wait or have no room are absent.
fn sets_of(state: &State, active: &[&ObjectId], pins: &Pins<'_>) -> Value {
    let (index, sets) = (state.index(), state.sets());
    let handle = |id: &ObjectId| index.get(id).map(|entry| entry.handle);
    let handles = |ids: &[&ObjectId]| ids.iter().filter_map(|id| handle(id)).collect::<Vec<_>>();
    let some = |ids: &[&ObjectId]| Some(handles(ids)).filter(|handles| !handles.is_empty());
    let pool: Vec<&ObjectId> = sets.pool.iter().map(|known| &known.id).collect();
    let is_pinned = |id: &&ObjectId| !pins.left_out.contains(id);
    let pinned: Vec<&ObjectId> = sets.pinned().into_iter().filter(is_pinned).collect();
    present(json!({
        "index": index.entries.iter().map(indexed).collect::<Vec<_>>(),
        "pool": handles(&pool),
        "active": handles(active),
        "pinned": handles(&pinned),
        "pinnedNext": some(&pins.waiting),
        "pinnedWithoutRoom": some(&pins.left_out),
    }))
}

fn document(version: &Version, state: &State) -> Value {
    let (results, chat) = (state.window().filter_map(|(at, _)| state.result(at)), state.chat());
    let toolcalls = results.filter_map(|fact| fact.object.as_ref());
    let chat_id = version.fields.get("chat_ref").and_then(Value::as_str).unwrap_or_default();
    let active: Vec<&ObjectId> = if state.sent().is_some_and(|sent| sent.in_pools) {
        state.sets().active().map(|active| &active.id).collect()
    } else {
        state.shown_objects()
    };
    let mut sets = sets_of(state, &active, &Pins::of(state, |_| true));
    json!({
        "id": version.envelope.id,
        "txId": version.tx_id,
        "calls": state.calls(),
        "epoch": state.epoch(),
        "chatId": chat_id,
        "branchLeaf": chat.len().checked_sub(1),
        "toolcallRefs": toolcalls.collect::<Vec<_>>(),
        "index": sets["index"].take(),
        "pool": sets["pool"].take(),
        "active": sets["active"].take(),
        "pinned": sets["pinned"].take(),
        "pinnedWithoutRoom": sets.get("pinnedWithoutRoom").cloned().unwrap_or(json!([])),
    })
}

fn indexed(entry: &IndexEntry) -> Value {
    let (kind, path, tool) = match &entry.subject {
        Subject::File { .. } => ("file", Some(entry.subject.agent_path()), None),
        Subject::Toolcall { tool, .. } => ("toolcall", None, Some(tool)),
        Subject::Segment { .. } => ("chat_segment", None, None),
    };
    json!({ "handle": entry.handle, "id": entry.id, "type": kind, "path": path, "tool": tool })
}
