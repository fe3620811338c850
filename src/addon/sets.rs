//! The sets of a session as data: index, pool, active and pinned.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::blocking::{Blocking, blocking};
use super::session::Session;
use crate::live::LiveSession;
use crate::object::ObjectId;
use crate::session::{IndexEntry, Subject};

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
}

#[napi]
impl Session {
    /// See `Session.sets` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<SessionSets>")]
    pub fn sets(&self) -> AsyncTask<Blocking<SessionSets>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || shared.with(|session| Ok(sets(session))))
    }
}

fn sets(session: &LiveSession) -> SessionSets {
    let index = session.state().index();
    let sets = session.state().sets();
    let handle = |id: &ObjectId| index.get(id).map(|entry| entry.handle.to_string());
    SessionSets {
        index: index.entries().iter().map(indexed).collect(),
        pool: sets.pool().iter().filter_map(|known| handle(&known.id)).collect(),
        active: session.active_objects().into_iter().filter_map(handle).collect(),
        pinned: sets.pinned().iter().filter_map(handle).collect(),
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
