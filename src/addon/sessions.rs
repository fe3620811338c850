//! Listing and finding the sessions of a store.

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::store::Store;
use super::version::count;
use store::Version;

/// Which sessions to list.
#[napi(object)]
#[derive(Default)]
pub struct SessionsOptions {
    /// Largest number of sessions. Default: all.
    pub limit: Option<u32>,
}

/// A session in a store.
#[napi(object, use_nullable = true)]
pub struct SessionInfo {
    /// ID of its document, `session:...`.
    pub id: String,
    /// Name of the harness.
    pub harness: String,
    /// The harness's own session ID. Several sessions can have the same ID: in different folders, or parted from each other.
    pub host_session_id: String,
    /// Working folder.
    pub cwd: String,
    /// The first words of the first message that is a person's; null if the store does not hold them.
    pub title: Option<String>,
    /// `active` while it is open or if its process was killed; `paused` after `close`.
    #[napi(ts_type = "\"active\" | \"paused\"")]
    pub state: String,
    /// When it was first opened, in RFC 3339, UTC.
    pub started: String,
    /// When it was last written, closing not counted; of an imported session, in the store that it comes from.
    pub updated: String,
    /// Calls to the model, including those of the parent before a fork.
    pub calls: i64,
    /// ID of the session whose chat it began with; null if it began empty.
    pub parent_id: Option<String>,
    /// How it came from `parentId`: `forked` by the host, or `parted` because another process wrote to the parent.
    #[napi(ts_type = "\"forked\" | \"parted\"")]
    pub origin: Option<String>,
    /// ID of its chat.
    pub chat_id: String,
    /// ID of its system prompt.
    pub system_prompt_id: String,
    /// Transaction of its latest version.
    pub tx_id: i64,
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
    pub fn sessions(
        &self,
        options: Given<Option<SessionsOptions>>,
    ) -> AsyncTask<Blocking<Vec<SessionInfo>>> {
        let store = self.core.clone();
        blocking(move || {
            let limit = options.named("options")?.unwrap_or_default().limit;
            let limit = limit.map_or(usize::MAX, |limit| limit as usize);
            Ok(live::sessions(&store, limit)?.iter().map(info).collect())
        })
    }

    /// Resolves the name of a session to the ID of its document. A name is that ID with or without `session:`, the host's session
    /// ID, a prefix of either, or `latest`: the session with a call that was last written in this store, closing not counted. Of sessions that
    /// parted from each other, host ID and prefix mean the one written last, and not a copy that an import made.
    ///
    /// Rejects with `UNKNOWN_NAME`, with `AMBIGUOUS_NAME`, whose `candidates` are the first 8 matches, and with `FORGOTTEN`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<string>")]
    pub fn find_session(&self, name: Given<String>) -> AsyncTask<Blocking<String>> {
        let store = self.core.clone();
        blocking(move || Ok(live::find_session(&store, &name.named("name")?)?.to_string()))
    }
}

/// A session in a shared store.
#[napi(object)]
pub struct SharedSession {
    /// ID of its document, `session:...`, by which `SharedStore.pullSession` fetches it.
    pub id: String,
    /// Name of the harness.
    pub harness: String,
    /// The harness's own session ID.
    pub host_session_id: String,
    /// Working folder, on the machine where it was.
    pub cwd: String,
    /// `active` while it is open or if its process was killed; `paused` after it was closed.
    #[napi(ts_type = "\"active\" | \"paused\"")]
    pub state: String,
    /// When its latest version was first written, in RFC 3339, UTC.
    pub updated: String,
    /// ID of the store that wrote it.
    pub store_id: String,
}

pub(super) fn shared_session(version: &Version) -> SharedSession {
    SharedSession {
        id: version.envelope.id.to_string(),
        harness: text_field(version, "harness"),
        host_session_id: text_field(version, "host_session"),
        cwd: text_field(version, "cwd"),
        state: text_field(version, "state"),
        updated: version.origin.time.to_string(),
        store_id: version.origin.store_id.clone(),
    }
}

fn text_field(version: &Version, name: &str) -> String {
    let value = version.fields.get(name).and_then(|value| value.as_str());
    value.unwrap_or_default().to_owned()
}

fn info(session: &live::SessionSummary) -> SessionInfo {
    let version = &session.version;
    let field = |name: &str| text_field(version, name);
    let origin = if session.parted { "parted" } else { "forked" };
    SessionInfo {
        id: version.envelope.id.to_string(),
        harness: field("harness"),
        host_session_id: field("host_session"),
        cwd: field("cwd"),
        title: session.title.clone(),
        state: field("state"),
        started: session.started.to_string(),
        updated: session.updated.to_string(),
        calls: count(session.calls),
        parent_id: session.parent.as_ref().map(ToString::to_string),
        origin: session.parent.as_ref().map(|_| origin.to_owned()),
        chat_id: field("chat_ref"),
        system_prompt_id: field("system_prompt_ref"),
        tx_id: version.tx_id.0,
    }
}
