//! Listing and finding the sessions of a store.

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::store::Store;
use super::version::machine_of;
use base::object::TxId;
use store::Version;

/// Which sessions to list.
#[napi(object)]
#[derive(Default)]
pub struct SessionsOptions {
    /// Largest number of sessions. Default: all.
    pub limit: Option<u32>,
}

#[napi]
impl Store {
    /// Lists the sessions, last written first, without those that made no call or were forgotten.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "options?: SessionsOptions | undefined | null",
        ts_return_type = "Promise<SessionInfo[]>"
    )]
    pub fn sessions(&self, options: Maybe<SessionsOptions>) -> Promised<Answer> {
        self.answer(move |Self { core: store, settings, .. }| {
            let limit = options.or_default("options")?.limit;
            let limit = limit.map_or(usize::MAX, |limit| limit as usize);
            let sent = xtdb::sent_until(store, settings);
            let info = |session| info(store, session, sent);
            Ok(live::sessions(store, limit)?.iter().map(info).collect::<Vec<_>>())
        })
    }

    /// Resolves the name of a session to the ID of its document. A name is that ID with or without `session:`, the host's session
    /// ID, a prefix of either, or `latest`: the session with a call that was last written in this store, closing not counted. Of sessions that
    /// parted from each other, host ID and prefix mean the one written last, and not a copy that an import made.
    ///
    /// Rejects with `UNKNOWN_NAME`, with `AMBIGUOUS_NAME`, whose `candidates` are the first 8 matches, and with `FORGOTTEN`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<string>")]
    pub fn find_session(&self, name: Given<String>) -> Promised<String> {
        self.with(move |Self { core: store, .. }| {
            Ok(live::find_session(store, &name.named("name")?)?.to_string())
        })
    }
}

/// A session in the shape of `SharedSession` in `types`.
pub(super) fn shared_session(store: &store::Store, version: &Version) -> Value {
    let machine = machine_of(store, &version.origin.store_id);
    json!({
        "id": version.envelope.id,
        "harness": text_field(version, "harness"),
        "hostSessionId": text_field(version, "host_session"),
        "cwd": text_field(version, "cwd"),
        "state": text_field(version, "state"),
        "updated": version.origin.time.to_string(),
        "storeId": version.origin.store_id,
        "machine": machine.as_ref().map(|one| &one.machine),
        "author": machine.as_ref().and_then(|one| one.author.as_ref()),
    })
}

fn text_field<'a>(version: &'a Version, name: &str) -> &'a str {
    version.fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// `sent`: the last transaction that was sent to the shared store, if sessions are shared.
fn info(store: &store::Store, session: &live::SessionSummary, sent: Option<TxId>) -> Value {
    let version = &session.version;
    let is_own = version.origin.store_id == store.id();
    let machine = machine_of(store, &version.origin.store_id);
    let origin = if session.parted { "parted" } else { "forked" };
    json!({
        "id": version.envelope.id,
        "harness": text_field(version, "harness"),
        "hostSessionId": text_field(version, "host_session"),
        "cwd": text_field(version, "cwd"),
        "title": session.title,
        "state": text_field(version, "state"),
        "started": session.started.to_string(),
        "updated": session.updated.to_string(),
        "calls": session.calls,
        "parentId": session.parent,
        "origin": session.parent.as_ref().map(|_| origin),
        "chatId": text_field(version, "chat_ref"),
        "systemPromptId": text_field(version, "system_prompt_ref"),
        "txId": version.tx_id,
        "waits": is_own && sent.is_some_and(|sent| version.tx_id > sent),
        "machine": machine.as_ref().map(|one| &one.machine),
        "author": machine.as_ref().and_then(|one| one.author.as_ref()),
    })
}
