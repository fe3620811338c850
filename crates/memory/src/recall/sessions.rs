//! Searches past sessions: finds chat messages in the store's index and ranks them together with
//! their neighbours. Must not write to the store except its index, or know memory files.

use std::collections::BTreeMap;
use std::ops::Range;

use super::corpus::Corpus;
use super::passages::Passage;
use super::question::Question;
use super::ranking::rank;
use super::{
    RankedHits, RecallHit, RecallOptions, RecallPlace, RecallProblem, RecallReason, confidence,
    dates,
};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, ObjectType};
use store::{Expression, FoundIn, FoundText, SearchFilter, SnippetLine, Store, snippet};

/// Messages taken from the index; their neighbours are ranked too.
const CANDIDATES: usize = 200;
/// Neighbours on each side of a message.
const BESIDE: u64 = 2;

/// Searches the chats of past sessions, and reports what was not searched.
pub(super) fn recall(
    store: Option<&Store>,
    expression: &Expression,
    options: &RecallOptions,
) -> (RankedHits, Option<RecallProblem>) {
    let Some(store) = store else {
        let message = "past sessions are not searched: there is no store".to_owned();
        let reason = RecallReason::Unavailable;
        return (RankedHits::default(), Some(RecallProblem { reason, message }));
    };
    match find(store, expression, options) {
        Ok((found, lacking)) => {
            (found, lacking.map(|error| problem("past sessions are searched in part", &error)))
        }
        Err(error) => {
            (RankedHits::default(), Some(problem("past sessions are not searched", &error)))
        }
    }
}

fn problem(what: &str, error: &Error) -> RecallProblem {
    let reason = match error {
        Error::StoreUnavailable { .. }
        | Error::NoSpace { .. }
        | Error::ReadOnly { .. }
        | Error::Closed { .. }
        | Error::Unsupported { .. } => RecallReason::Unavailable,
        _ => RecallReason::BackendError,
    };
    RecallProblem { reason, message: format!("{what}: {error}") }
}

/// A message of a past session.
struct Message {
    chat: ObjectId,
    position: u64,
    /// What the index knows about it; `None` if it is only a neighbour of a hit.
    found: Option<FoundText>,
}

/// Messages that may match.
struct Candidates {
    messages: Vec<Message>,
    /// The messages as passages; each chat is a document.
    passages: Vec<Passage>,
    /// Why the index is incomplete.
    lacking: Option<Error>,
}

fn find(
    store: &Store,
    expression: &Expression,
    options: &RecallOptions,
) -> Result<(RankedHits, Option<Error>)> {
    let Candidates { messages, passages, lacking } = candidates(store, expression, options)?;
    let corpus = Corpus::new(&passages);
    let question = Question::new(&corpus, expression);
    let found = rank(&corpus, &question);
    let best = found.passages.iter().map(|(at, _)| *at);
    let is_answered = confidence::is_answered(&corpus, &question, best);
    let chosen: Vec<(usize, f64)> = if options.by_file {
        let best = |document: usize| {
            found.passages.iter().find(|(at, _)| passages[*at].document == document)
        };
        let documents = found.documents(&corpus, &question).into_iter();
        let best = documents.filter_map(|(document, score)| Some((best(document)?.0, score)));
        best.take(options.limit).collect()
    } else {
        found.passages.iter().copied().take(options.limit).collect()
    };
    let mut hits = Vec::new();
    for (at, score) in chosen {
        let Message { chat, position, found } = &messages[at];
        let key = chat.as_str().strip_prefix("chat:").unwrap_or_default();
        let mut lines = snippet(&passages[at].text, expression);
        if lines.is_empty() {
            lines.push(SnippetLine::plain(&passages[at].text));
        }
        hits.push(RecallHit {
            stale: None,
            alike: Vec::new(),
            place: RecallPlace::Message {
                session: ObjectId::session(key),
                position: *position,
                segment: found.as_ref().map(|found| store.segment_of(found)).transpose()?.flatten(),
            },
            page: None,
            headings: Vec::new(),
            score,
            lines,
        });
    }
    Ok((RankedHits { hits, is_answered }, lacking))
}

/// The messages from the index, with their neighbours.
fn candidates(
    store: &Store,
    expression: &Expression,
    options: &RecallOptions,
) -> Result<Candidates> {
    let filter = SearchFilter { kinds: vec![ObjectType::Chat], ..SearchFilter::default() };
    let mut around: BTreeMap<ObjectId, BTreeMap<u64, FoundText>> = BTreeMap::new();
    let current = options.current_session.as_ref().map(|key| format!("chat:{key}"));
    let (found, lacking) = store.find_text(expression, &filter, CANDIDATES)?;
    for found in found.best {
        let FoundIn::Item(position) = found.part else { continue };
        if current.as_deref() != Some(found.id.as_str()) {
            around.entry(found.id.clone()).or_default().insert(position, found);
        }
    }
    let mut candidates = Candidates { messages: Vec::new(), passages: Vec::new(), lacking };
    for (document, (chat, found)) in around.into_iter().enumerate() {
        // A damaged chat must not hide the others.
        if let Err(error) = candidates.add(store, document, &chat, found) {
            candidates.lacking = Some(error);
        }
    }
    Ok(candidates)
}

impl Candidates {
    fn add(
        &mut self,
        store: &Store,
        document: usize,
        chat: &ObjectId,
        mut found: BTreeMap<u64, FoundText>,
    ) -> Result<()> {
        let date = store.require(chat, AsOf::Latest)?.system_time.to_string();
        let context = format!("{date}\n{}", dates::other_spellings(&date));
        for (section, range) in ranges(found.keys().copied()).into_iter().enumerate() {
            for (position, text) in store.searched_messages(chat, range)? {
                let found = found.remove(&position);
                self.messages.push(Message { chat: chat.clone(), position, found });
                self.passages.push(Passage {
                    document,
                    section,
                    context: context.clone(),
                    text,
                    lead_in: None,
                    key: None,
                    is_talk: true,
                    headings: Vec::new(),
                    line: position,
                });
            }
        }
        Ok(())
    }
}

/// The positions of messages and their neighbours, as ranges that do not touch. `positions` ascend.
fn ranges(positions: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for position in positions {
        let (start, end) = (position.saturating_sub(BESIDE), position.saturating_add(BESIDE + 1));
        match ranges.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_stand_beside_each_other_are_read_together() {
        assert_eq!(ranges([0, 4, 10, 11].into_iter()), [0..7, 8..14]);
    }
}
