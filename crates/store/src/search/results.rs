//! Searches a store: updates the index, queries it, and quotes the matching lines.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use super::snippet::snippet;
use super::texts::Searched;
use super::{Expression, FoundIn, FoundRows, FoundText, SearchFilter, SnippetLine};
use crate::{SearchedOutputs, SqliteBackend, Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, ObjectType, TxId};

/// Default limit of hits.
const DEFAULT_LIMIT: usize = 10;

/// How long a question waits for an index that a thread brings up to date.
const PATIENCE: Duration = Duration::from_secs(1);

/// Most segments of a chat that are examined.
const MAX_SEGMENTS: usize = 4_096;

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// The user's query: words, `"phrases"`, `-excluded`, `prefix*`.
    pub text: String,
    /// What to search.
    pub filter: SearchFilter,
    /// Most hits; default 10.
    pub limit: usize,
    /// How long to bring the index up to date; default: until it is.
    pub patience: Option<Duration>,
}

impl SearchQuery {
    /// A search for a text in the latest versions of everything.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            filter: SearchFilter::default(),
            limit: DEFAULT_LIMIT,
            patience: None,
        }
    }
}

/// The results of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResults {
    /// Best first.
    pub hits: Vec<SearchHit>,
    /// Total number of hits, as far as ranked.
    pub total: u64,
    /// Whether `total` counts every match; false for a search with only very common words.
    pub is_complete: bool,
    /// Versions that were not searched, because the index could not be written or was not up to
    /// date in time; usually 0.
    pub unindexed: u64,
    /// Code of the error for which the index could not be written.
    pub unwritten: Option<&'static str>,
    /// Which outputs of tool calls were searched by their text.
    pub outputs: SearchedOutputs,
}

/// A version, item or nickname in which something was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The object.
    pub id: ObjectId,
    /// Its type.
    pub kind: ObjectType,
    /// Path of a file, tool of a toolcall.
    pub name: Option<String>,
    /// Newest version with this text; for an item, the transaction that added it; for a nickname,
    /// the latest version.
    pub tx_id: TxId,
    /// Where in the object.
    pub part: FoundIn,
    /// Whether the object has it now.
    pub is_latest: bool,
    /// Above 0; higher is better. Comparable within one search only.
    pub score: f64,
    /// Place of the quoted text: `content`, `path`, `fields.args.command`,
    /// `message.content[0].text`.
    pub place: String,
    /// The lines with most units of the search, at most three; empty if the text can no longer be
    /// read.
    pub lines: Vec<SnippetLine>,
    /// For a chat's item, the shortest segment that holds it.
    pub segment: Option<ObjectId>,
}

impl Store {
    /// Searches everything that was committed before the call. What is not indexed yet is indexed
    /// first, for as long as the query says. What is not indexed then, or because the store cannot
    /// be written, is not searched, and `unindexed` counts it.
    ///
    /// A chat segment has no text of its own: a search for segments finds chat items inside them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the text holds no word to search for or the limit is 0; `UNSUPPORTED`
    /// if the backend has no index.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResults> {
        if query.limit == 0 {
            return Err(Error::argument("limit", "must be at least 1"));
        }
        let expression = Expression::parse(&query.text)?;
        let index = self.upkeep("full-text search")?;
        let lacking = lacking(index, query.patience)?;
        let unindexed = match &lacking {
            None => 0,
            Some(Error::NotIndexed { versions }) => *versions,
            Some(_) => index.unindexed_texts()?,
        };
        let unwritten = lacking.filter(is_about_writing).map(|error| error.code());
        let (found, segments) = self.find_rows(index, &expression, query)?;
        let mut hits = Vec::with_capacity(found.best.len());
        for (row, segment) in found.best.into_iter().zip(segments) {
            hits.push(SearchHit { segment, ..self.hit(row, &expression)? });
        }
        let (total, is_complete) = (found.total, found.is_complete);
        let outputs = index.searched_outputs()?;
        Ok(SearchResults { hits, total, is_complete, unindexed, unwritten, outputs })
    }

    /// The index rows that match a search, for callers with their own ranking, and the reason if
    /// not all stored data was searched. Indexes new data first, like [`Self::search`].
    pub fn find_text(
        &self,
        expression: &Expression,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<(FoundRows, Option<Error>)> {
        let index = self.upkeep("full-text search")?;
        let patience = self.keeps_indexes().then_some(PATIENCE);
        let lacking = lacking(index, patience)?;
        Ok((index.find_rows(expression, filter, limit)?, lacking))
    }

    /// The searchable messages of a chat at the given positions: position, text.
    pub fn searched_messages(
        &self,
        chat: &ObjectId,
        positions: Range<u64>,
    ) -> Result<Vec<(u64, String)>> {
        let items = self.items(chat, AsOf::Latest, positions.clone())?;
        let messages = positions.zip(items).filter_map(|(position, item)| {
            let searched = Searched::item(ObjectType::Chat, &item);
            let texts: Vec<String> = searched.texts.into_iter().map(|text| text.text).collect();
            (!texts.is_empty()).then(|| (position, texts.join("\n")))
        });
        Ok(messages.collect())
    }

    /// The shortest segment that contains a chat item that was found.
    pub fn segment_of(&self, found: &FoundText) -> Result<Option<ObjectId>> {
        Segments::default().of(self, found)
    }

    /// The matching rows, each with its segment. If segments are searched and chats are not, items
    /// outside segments are left out, and more rows are examined until there are enough.
    fn find_rows(
        &self,
        index: &SqliteBackend,
        expression: &Expression,
        query: &SearchQuery,
    ) -> Result<(FoundRows, Vec<Option<ObjectId>>)> {
        let mut filter = query.filter.clone();
        let only_segments = filter.kinds.contains(&ObjectType::ChatSegment)
            && !filter.kinds.contains(&ObjectType::Chat);
        if only_segments {
            filter.kinds.push(ObjectType::Chat);
        }
        let mut known = Segments::default();
        let mut limit = query.limit;
        loop {
            let mut found = index.find_rows(expression, &filter, limit)?;
            let is_all = found.best.len() < limit;
            let mut segments = Vec::new();
            let mut rows = Vec::new();
            for row in found.best {
                let segment = known.of(self, &row)?;
                if !only_segments || row.kind != ObjectType::Chat || segment.is_some() {
                    rows.push(row);
                    segments.push(segment);
                }
            }
            if rows.len() >= query.limit || is_all {
                if only_segments && is_all {
                    found.total = rows.len() as u64;
                }
                rows.truncate(query.limit);
                found.best = rows;
                return Ok((found, segments));
            }
            limit = limit.saturating_mul(4);
        }
    }

    fn hit(&self, found: FoundText, expression: &Expression) -> Result<SearchHit> {
        let (name, searched) = match self.searched(&found) {
            // The hit is useful even if its text is damaged; `get` and `doctor` report the damage.
            Err(Error::HashMismatch { .. } | Error::StoreCorrupt { .. }) => Default::default(),
            read => read?,
        };
        let quotes = searched.all().map(|text| (&text.place, snippet(&text.text, expression)));
        let quotes = quotes.filter(|(_, lines)| !lines.is_empty());
        // The text that matches most of the search; the first of equals.
        let best = quotes.min_by_key(|(_, lines)| {
            let units = lines.iter().fold(0_u64, |all, line| all | line.units);
            Reverse(units.count_ones())
        });
        let (place, lines) = best.map(|(place, lines)| (place.clone(), lines)).unwrap_or_default();
        let FoundText { id, kind, tx_id, part, is_latest, score } = found;
        let segment = None;
        Ok(SearchHit { id, kind, name, tx_id, part, is_latest, score, place, lines, segment })
    }

    /// The name of an object and the texts of an index row, read and verified anew.
    fn searched(&self, found: &FoundText) -> Result<(Option<String>, Searched)> {
        let at = AsOf::Tx(found.tx_id);
        let Some(version) = self.get(&found.id, at)? else {
            return Ok((None, Searched::default()));
        };
        let source = version.envelope.source.as_ref();
        let path = source.and_then(|source| source.path().map(str::to_owned));
        let name = path.or_else(|| {
            version.fields.get("tool").and_then(|tool| tool.as_str()).map(str::to_owned)
        });
        let searched = match found.part {
            FoundIn::Version => self.searched_version(&version)?,
            FoundIn::Item(position) => {
                let items = self.items(&found.id, at, position..position + 1)?;
                let searched = items.first().map(|item| Searched::item(found.kind, item));
                searched.unwrap_or_default()
            }
            FoundIn::Nickname => {
                let names = self.nicknames(&found.id)?;
                let names = names.iter().map(|name| Searched::nickname(name.as_str()));
                Searched {
                    name: names.flat_map(|searched| searched.name).collect(),
                    texts: Vec::new(),
                }
            }
        };
        Ok((name, searched))
    }

    fn searched_version(&self, version: &Version) -> Result<Searched> {
        let payload = self.payload(version)?;
        let content = payload.content.map(|text| ("content".to_owned(), text));
        let contents = content.into_iter().chain(payload.additional);
        Ok(Searched::version(&version.envelope, &version.fields, contents))
    }
}

/// The segments of chats, read once per chat.
#[derive(Default)]
struct Segments(HashMap<ObjectId, Vec<(u64, u64, ObjectId)>>);

impl Segments {
    /// The shortest segment that contains a chat's item.
    fn of(&mut self, store: &Store, found: &FoundText) -> Result<Option<ObjectId>> {
        let (FoundIn::Item(at), ObjectType::Chat) = (found.part, found.kind) else {
            return Ok(None);
        };
        let key = found.id.as_str().strip_prefix("chat:").unwrap_or_default();
        if !self.0.contains_key(&found.id) {
            let prefix = ObjectId::chat_segment(key, 0, 0);
            let prefix = prefix.as_str().trim_end_matches("0-0");
            let ids = store.find_prefix(prefix, MAX_SEGMENTS)?;
            let segments = ids.into_iter().filter_map(|id| {
                let (first, last) = id.as_str().strip_prefix(prefix)?.split_once('-')?;
                Some((first.parse().ok()?, last.parse().ok()?, id))
            });
            self.0.insert(found.id.clone(), segments.collect());
        }
        let holds =
            self.0[&found.id].iter().filter(|(first, last, _)| (first..=last).contains(&&at));
        let mut holds: Vec<_> = holds.collect();
        holds.sort_by_key(|(first, last, _)| last - first);
        for (_, _, id) in holds {
            // A segment version older than the item would hold what was in the item's place before.
            let latest = store.get(id, AsOf::Latest)?;
            if latest.is_some_and(|v| v.tx_id >= found.tx_id && v.redacted.is_none()) {
                return Ok(Some(id.clone()));
            }
        }
        Ok(None)
    }
}

/// Brings the index up to date for as long as the caller has patience; returns why it lacks something.
fn lacking(index: &SqliteBackend, patience: Option<Duration>) -> Result<Option<Error>> {
    match index.index_texts(patience) {
        Ok(true) => Ok(None),
        Ok(false) => Ok(Some(Error::NotIndexed { versions: index.unindexed_texts()? })),
        Err(error) if is_about_writing(&error) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// Whether an error leaves the store readable.
fn is_about_writing(error: &Error) -> bool {
    matches!(error, Error::NoSpace { .. } | Error::ReadOnly { .. } | Error::StoreUnavailable { .. })
}
