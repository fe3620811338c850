//! `Memory.recall`. Must not decide anything.

use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, Promised};
use super::memory::Memory;
use super::search::snippet;
use super::store::Store;
use base::error::Result;
use base::object::session_name;
use memory::{CitedChange, PageId, RecallAnswer, RecallHit, RecallPlace, RecallProblem, Scope};

/// What to recall.
#[napi(object)]
#[derive(Default)]
pub struct RecallOptions {
    /// Scopes to search. Default: all that may be looked at.
    #[napi(ts_type = "MemoryScope[]")]
    pub scopes: Option<Vec<String>>,
    /// Whether whole files are ranked, and not the passages in them. Default: `false`.
    pub by_file: Option<bool>,
    /// Whether past sessions are searched too, in the store given. Default: `false`.
    pub sessions: Option<bool>,
    /// ID of the session that asks: it is no past one.
    pub current_session: Option<String>,
    /// Most hits in memory, and most in past sessions; at least 1. Default: 10.
    pub limit: Option<u32>,
}

#[napi]
impl Memory {
    /// Finds what memory says about something: entries, topic files, the archive, and where `sessions` is set the chats of past sessions
    /// in `store`. Words, `"phrases"`, `-excluded` words, `prefix*`, and plain questions. Never rejects because something could
    /// not be searched: `reason` says so.
    #[napi(
        ts_args_type = "query: string, options?: RecallOptions | null, store?: Store | null",
        ts_return_type = "Promise<RecallAnswer>"
    )]
    pub fn recall(
        &self,
        query: Given<String>,
        options: Maybe<RecallOptions>,
        store: Maybe<ClassInstance<'_, Store>>,
    ) -> Promised<Answer> {
        let store = store.named("store").map(|store| store.map(|store| store.core.clone()));
        self.answer(move |memory| {
            let asked = query.named("query").and_then(|query| {
                let options = recall_options(options.or_default("options")?)?;
                Ok((query, options, store?))
            });
            let found = match asked {
                Ok((query, options, store)) => memory.recall(&query, &options, store.as_ref()),
                Err(error) => RecallAnswer::malformed(&error),
            };
            Ok(answered(&found))
        })
    }
}

fn recall_options(given: RecallOptions) -> Result<memory::RecallOptions> {
    let mut options = memory::RecallOptions::default();
    let scopes = given.scopes.unwrap_or_default();
    options.scopes = scopes.iter().map(|scope| Scope::named(scope)).collect::<Result<_>>()?;
    options.by_file = given.by_file.unwrap_or_default();
    options.sessions = given.sessions.unwrap_or_default();
    options.current_session = given.current_session.map(|id| session_name(&id).to_owned());
    options.limit = given.limit.map_or(options.limit, |limit| limit as usize);
    Ok(options)
}

fn answered(found: &RecallAnswer) -> Value {
    let problem = |problem: &RecallProblem| json!({ "reason": problem.reason.as_str(), "message": problem.message });
    json!({
        "reason": found.reason.as_str(),
        "problems": found.problems.iter().map(problem).collect::<Vec<_>>(),
        "hits": found.hits.iter().map(hit).collect::<Vec<_>>(),
    })
}

fn hit(hit: &RecallHit) -> Value {
    let mut found = match &hit.place {
        RecallPlace::File { scope, file, path, line, is_archived } => json!({
            "scope": scope.to_string(),
            "file": file,
            "path": path.to_string_lossy(),
            "line": line,
            "archived": is_archived,
            "session": null,
            "item": null,
            "segment": null,
        }),
        RecallPlace::Message { session, position, segment } => json!({
            "scope": null,
            "file": null,
            "path": null,
            "line": null,
            "archived": false,
            "session": session,
            "item": position,
            "segment": segment,
        }),
    };
    found["page"] = json!(hit.page.as_ref().map(PageId::as_str));
    found["stale"] = json!(hit.stale.as_ref().map(CitedChange::as_str));
    found["alike"] = json!(hit.alike.iter().filter_map(alike).collect::<Vec<_>>());
    found["headings"] = json!(hit.headings);
    found["score"] = json!(hit.score);
    found["lines"] = json!(snippet(&hit.lines));
    found
}

fn alike(place: &RecallPlace) -> Option<Value> {
    let RecallPlace::File { scope, file, line, .. } = place else { return None };
    Some(json!({ "scope": scope.to_string(), "file": file, "line": line }))
}
