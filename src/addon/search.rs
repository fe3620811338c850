//! Full-text search: `Store.search`.

use std::ops::Range;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::objects::object_type;
use super::store::Store;
use super::version::count;
use base::error::Result;
use store::{FoundIn, SearchQuery};

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
}

/// The result of a search.
#[napi(object)]
pub struct SearchResults {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// Number of all ranked hits.
    pub total: i64,
    /// Whether `total` counts all matches. False if the search has only words that occur in very many texts.
    pub complete: bool,
    /// Versions that could not be searched because the index could not be written; usually 0.
    pub unindexed: i64,
}

/// A version, item or nickname that matches.
#[napi(object, use_nullable = true)]
pub struct SearchHit {
    /// ID of the object.
    pub id: String,
    /// Its type.
    #[napi(js_name = "type", ts_type = "ObjectType")]
    pub kind: String,
    /// Path of a file, tool of a toolcall; null for others.
    pub name: Option<String>,
    /// Transaction of the newest version with this text; for an item, the one that added it; for a nickname, that of the latest version.
    pub tx_id: i64,
    /// What part of the object matches.
    #[napi(ts_type = "\"version\" | \"nickname\" | \"item\"")]
    pub part: String,
    /// Position of the item, from 0; null for other parts.
    pub item: Option<i64>,
    /// Whether the object still has this text.
    pub latest: bool,
    /// Above 0; higher is better. Only comparable within a search.
    pub score: f64,
    /// Place of the quoted text: `content`, `path`, `fields.args.command`, `message.content[0].text`.
    pub place: String,
    /// At most three lines, those that match best; empty if the text cannot be read any more.
    pub lines: Vec<SnippetLine>,
    /// Of a message of a chat, ID of the shortest chat segment that holds it; null for others, and where there is none.
    pub segment: Option<String>,
}

/// A line of a text, or the part of it around a match.
#[napi(object)]
pub struct SnippetLine {
    /// Number of the line, from 1.
    pub line: i64,
    /// The line without its ending; of a long line, a part.
    pub text: String,
    /// The matches in `text`, as arguments for `text.slice` (UTF-16 code units); in order, not overlapping.
    #[napi(ts_type = "[start: number, end: number][]")]
    pub matches: Vec<Vec<u32>>,
}

#[napi]
impl Store {
    /// Searches contents, paths, tool arguments, messages, notes and nicknames; by default, only the latest versions. Hits are ranked by
    /// BM25. A chat segment has no text of its own: the type finds the messages of chats that stand in one. Finds identifiers by their parts (`transformContext`, `tool_call_id`, `src/store/sqlite.rs`), and CJK text.
    ///
    /// `text` holds words, `"phrases"`, `-excluded` words and `prefix*`. A text that has more of them ranks higher. Finds everything that
    /// was committed before the call; what is not indexed yet is indexed first.
    ///
    /// Rejects with `INVALID_ARGUMENT` if `text` holds no word to search for, and with `UNSUPPORTED` if the store has no index.
    #[napi(
        ts_args_type = "text: string, options?: SearchOptions",
        ts_return_type = "Promise<SearchResults>"
    )]
    pub fn search(
        &self,
        text: Given<String>,
        options: Given<Option<SearchOptions>>,
    ) -> AsyncTask<Blocking<SearchResults>> {
        let store = self.core.clone();
        blocking(move || {
            let options = options.named("options")?.unwrap_or_default();
            let query = search_query(text.named("text")?, options)?;
            store.search(&query).map(SearchResults::from)
        })
    }
}

fn search_query(text: String, options: SearchOptions) -> Result<SearchQuery> {
    let mut query = SearchQuery::new(text);
    let kinds = options.types.unwrap_or_default();
    query.filter.kinds = kinds.iter().map(|kind| object_type(kind)).collect::<Result<_>>()?;
    query.filter.session =
        options.session.map(|id| id.strip_prefix("session:").map(str::to_owned).unwrap_or(id));
    query.filter.path_prefix = options.path_prefix;
    query.filter.all_versions = options.all_versions.unwrap_or(false);
    query.limit = options.limit.map_or(query.limit, |limit| limit as usize);
    Ok(query)
}

impl From<store::SearchResults> for SearchResults {
    fn from(results: store::SearchResults) -> Self {
        Self {
            hits: results.hits.into_iter().map(SearchHit::from).collect(),
            total: count(results.total),
            complete: results.is_complete,
            unindexed: count(results.unindexed),
        }
    }
}

impl From<store::SearchHit> for SearchHit {
    fn from(hit: store::SearchHit) -> Self {
        let (part, item) = match hit.part {
            FoundIn::Version => ("version", None),
            FoundIn::Nickname => ("nickname", None),
            FoundIn::Item(position) => ("item", Some(count(position))),
        };
        Self {
            id: hit.id.to_string(),
            kind: hit.kind.as_str().to_owned(),
            name: hit.name,
            tx_id: hit.tx_id.0,
            part: part.to_owned(),
            item,
            latest: hit.is_latest,
            score: hit.score,
            place: hit.place,
            lines: hit.lines.into_iter().map(SnippetLine::from).collect(),
            segment: hit.segment.map(|id| id.to_string()),
        }
    }
}

impl From<store::SnippetLine> for SnippetLine {
    fn from(line: store::SnippetLine) -> Self {
        let units = |at: usize| {
            let before = line.text.get(..at).unwrap_or(&line.text).encode_utf16().count();
            u32::try_from(before).unwrap_or(u32::MAX)
        };
        let found = |range: &Range<usize>| vec![units(range.start), units(range.end)];
        let matches = line.matches.iter().map(found).collect();
        Self { line: count(line.line), text: line.text, matches }
    }
}
