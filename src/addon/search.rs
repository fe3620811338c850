//! Full-text search: `Store.search`.

use std::ops::Range;
use std::time::Duration;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::objects::object_type;
use super::store::Store;
use base::error::{Error, Result};
use base::object::session_name;
use store::{FoundIn, SearchHit, SearchQuery, SearchResults, SnippetLine};

/// What to search.
#[napi(object)]
#[derive(Default)]
pub struct SearchOptions {
    /// Types of objects. Default: all.
    #[napi(ts_type = "ObjectType[]")]
    pub types: Option<Vec<String>>,
    /// ID of a session: search its chat, tool calls and system prompt. Files belong to no session.
    pub session: Option<String>,
    /// Only files whose path starts with this.
    pub path_prefix: Option<String>,
    /// Whether to search earlier versions too. Default: `false`.
    pub all_versions: Option<bool>,
    /// Largest number of hits, at least 1. Default: 10.
    pub limit: Option<u32>,
    /// How many seconds to bring the index up to date at most; `unindexed` counts what is missing then. Default: until it is up to
    /// date.
    pub patience_seconds: Option<f64>,
}

#[napi]
impl Store {
    /// Searches contents, paths, tool arguments, messages, notes and nicknames; by default, only the latest versions. Hits are ranked by
    /// BM25. A chat segment has no text of its own: the type finds the messages of chats that stand in one. Finds identifiers by their parts (`transformContext`, `tool_call_id`, `src/store/sqlite.rs`), and CJK text.
    ///
    /// `text` holds words, `"phrases"`, `-excluded` words and `prefix*`. A text that has more of them ranks higher. Finds everything that
    /// was committed before the call; what is not indexed yet is indexed first, for as long as `patienceSeconds`.
    ///
    /// Rejects with `INVALID_ARGUMENT` if `text` holds no word to search for, and with `UNSUPPORTED` if the store has no index.
    #[napi(
        ts_args_type = "text: string, options?: SearchOptions",
        ts_return_type = "Promise<SearchResults>"
    )]
    pub fn search(&self, text: Given<String>, options: Maybe<SearchOptions>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let options = options.or_default("options")?;
            let query = search_query(text.named("text")?, options)?;
            store.search(&query).map(|results| found(&results))
        })
    }
}

fn search_query(text: String, options: SearchOptions) -> Result<SearchQuery> {
    let mut query = SearchQuery::new(text);
    let kinds = options.types.unwrap_or_default();
    query.filter.kinds = kinds.iter().map(|kind| object_type(kind)).collect::<Result<_>>()?;
    query.filter.session = options.session.map(|id| session_name(&id).to_owned());
    query.filter.path_prefix = options.path_prefix;
    query.filter.all_versions = options.all_versions.unwrap_or(false);
    query.limit = options.limit.map_or(query.limit, |limit| limit as usize);
    let seconds = options.patience_seconds.map(Duration::try_from_secs_f64).transpose();
    query.patience =
        seconds.map_err(|_| Error::argument("patienceSeconds", "must be at least 0"))?;
    Ok(query)
}

fn found(results: &SearchResults) -> Value {
    json!({
        "hits": results.hits.iter().map(hit).collect::<Vec<_>>(),
        "total": results.total,
        "complete": results.is_complete,
        "unindexed": results.unindexed,
        "unwritten": results.unwritten,
        "outputs": <&str>::from(results.outputs),
    })
}

fn hit(hit: &SearchHit) -> Value {
    let (part, item) = match hit.part {
        FoundIn::Version => ("version", None),
        FoundIn::Nickname => ("nickname", None),
        FoundIn::Item(position) => ("item", Some(position)),
    };
    json!({
        "id": hit.id,
        "type": hit.kind,
        "name": hit.name,
        "txId": hit.tx_id,
        "part": part,
        "item": item,
        "latest": hit.is_latest,
        "score": hit.score,
        "place": hit.place,
        "lines": snippet(&hit.lines),
        "segment": hit.segment,
    })
}

/// Lines in the shape of `SnippetLine` in `types`: JavaScript counts UTF-16 units.
pub(super) fn snippet(lines: &[SnippetLine]) -> Vec<Value> {
    let line = |line: &SnippetLine| {
        let units = |at: usize| line.text.get(..at).unwrap_or(&line.text).encode_utf16().count();
        let found = |range: &Range<usize>| [units(range.start), units(range.end)];
        let matches: Vec<_> = line.matches.iter().map(found).collect();
        json!({ "line": line.line, "text": line.text, "matches": matches })
    };
    lines.iter().map(line).collect()
}
