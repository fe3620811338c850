//! The request of one side from call to call: its size, what of it is as in the request before, which lines stand in it.
//!
//! A change costs what it touches; only a rewrite looks at all behind it.

use std::sync::Arc;

use memchr::memmem::Finder;

use super::message::Message;
use super::needs::Needs;
use crate::context::tokens::Counter;

/// Kinds of content of a request, besides system prompt and tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    /// What people and the host wrote.
    pub user: u64,
    /// What the model wrote.
    pub assistant: u64,
    /// Outputs of tools.
    pub output: u64,
    /// What stands for content: reference lines, folds, notes, the pool.
    pub reference: u64,
}

/// A message of a request.
#[derive(Debug)]
pub struct Part {
    /// The message.
    pub message: Message,
    /// Its size by kind of content, in units.
    pub kinds: Kinds,
    /// Lines of it that are ever needed, by index; one as often as it stands there.
    pub lines: Vec<usize>,
}

/// What a request shares with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Units at the front.
    pub units: u64,
    /// Whether all of the request before is a prefix of this one.
    pub grown: bool,
}

/// A change of the list of parts.
#[derive(Debug)]
pub struct PartChange {
    /// Index in the list before this change and after those before it.
    pub at: usize,
    /// So many parts go.
    pub remove: usize,
    /// These come in their place.
    pub insert: Vec<Arc<Part>>,
}

/// A request.
#[derive(Debug)]
pub struct Request {
    counter: Counter,
    parts: Vec<Arc<Part>>,
    /// Units of the parts up to and with each.
    ends: Vec<u64>,
    kinds: Kinds,
    /// How often each needed line stands as a line of its own.
    standing: Vec<u32>,
}

impl Request {
    /// An empty request.
    pub fn new(counter: Counter, needs: &Needs) -> Self {
        let standing = vec![0; needs.lines.len()];
        Self { counter, parts: Vec::new(), ends: Vec::new(), kinds: Kinds::default(), standing }
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether it has no message.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Units of all messages.
    pub fn units(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Units by kind of content.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Makes changes, in order, and says what stayed.
    pub fn apply(&mut self, changes: Vec<PartChange>) -> Shared {
        let first = changes.iter().map(|change| change.at).min().unwrap_or(self.parts.len());
        let first = first.min(self.parts.len());
        let before: Vec<Arc<Part>> = self.parts[first..].to_vec();
        for change in changes {
            let start = change.at.min(self.parts.len());
            let end = (start + change.remove).min(self.parts.len());
            for part in &change.insert {
                self.count(part, true);
            }
            let gone: Vec<_> = self.parts.splice(start..end, change.insert).collect();
            for part in &gone {
                self.count(part, false);
            }
        }
        self.ends.truncate(first);
        let mut end = self.units();
        self.ends.extend(self.parts[first..].iter().map(|part| {
            end += part.message.units;
            end
        }));
        self.shared(first, &before)
    }

    /// Whether a needed line stands anywhere in the messages: as it is or as JSON has it, in a longer line too.
    pub fn holds(&self, line: usize, text: &str) -> bool {
        self.standing[line] > 0 || self.mentions(text)
    }

    fn mentions(&self, text: &str) -> bool {
        let escaped = serde_json::Value::from(text).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        let plain = Finder::new(text);
        let escaped = (escaped != text).then(|| Finder::new(escaped));
        let pieces = self.parts.iter().flat_map(|part| &part.message.pieces);
        let mut texts = pieces.map(|piece| piece.text.as_bytes());
        texts.any(|text| {
            let is_escaped = escaped.as_ref().is_some_and(|line| line.find(text).is_some());
            is_escaped || plain.find(text).is_some()
        })
    }

    /// What stayed at the front, `before` being the parts from `first` on as they were.
    fn shared(&self, first: usize, before: &[Arc<Part>]) -> Shared {
        let same = |a: &Arc<Part>, b: &Arc<Part>| Arc::ptr_eq(a, b) || a.message.equals(&b.message);
        let now = &self.parts[first..];
        let kept = before.iter().zip(now).take_while(|(a, b)| same(a, b)).count();
        let whole = (first + kept).checked_sub(1).map_or(0, |last| self.ends[last]);
        let part = match (before.get(kept), now.get(kept)) {
            (Some(a), Some(b)) => a.message.shared_units(&b.message, self.counter),
            _ => 0,
        };
        Shared { units: whole + part, grown: kept == before.len() }
    }

    fn count(&mut self, part: &Part, comes: bool) {
        let Kinds { user, assistant, output, reference } = &mut self.kinds;
        let sums = [
            (user, part.kinds.user),
            (assistant, part.kinds.assistant),
            (output, part.kinds.output),
            (reference, part.kinds.reference),
        ];
        for (sum, units) in sums {
            *sum = if comes { *sum + units } else { *sum - units };
        }
        for line in &part.lines {
            let count = &mut self.standing[*line];
            *count = if comes { *count + 1 } else { *count - 1 };
        }
    }
}
