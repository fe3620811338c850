//! The plain host: it sends the transcript's messages as they are and, where there is a window, compacts as Pi does. Pure.

use std::sync::Arc;

use super::message::{Kind, Message, Piece, Speaker};
use super::request::{Kinds, Part, PartChange};
use crate::context::tokens::Counter;

/// Tokens of the window that stay free.
const RESERVE_TOKENS: u64 = 16_384;
/// Tokens at the end that a compaction keeps.
const KEEP_TOKENS: u64 = 20_000;
/// Tokens of the summary.
const SUMMARY_TOKENS: u64 = 2_000;
/// What the compaction's own request costs besides the messages that it reads, in prices of a plain input token.
const SUMMARY_COST: u64 = 7_500;

/// A plain host.
#[derive(Debug)]
pub struct PlainHost {
    counter: Counter,
    fixed_units: u64,
    window_tokens: Option<u64>,
    /// Index of the first message that is sent.
    start: usize,
    /// Messages of the transcript that were sent or dropped.
    known: usize,
    compactions: u64,
    units: u64,
}

/// What a call of the plain host sends.
#[derive(Debug)]
pub struct PlainCall {
    /// How the request differs from the one before.
    pub changes: Vec<PartChange>,
    /// What a compaction before it cost.
    pub compaction_cost: f64,
}

impl PlainHost {
    /// A host; `fixed_units`: system prompt and tools.
    pub fn new(counter: Counter, fixed_units: u64, window_tokens: Option<u64>) -> Self {
        let (start, known, compactions, units) = (0, 0, 0, 0);
        Self { counter, fixed_units, window_tokens, start, known, compactions, units }
    }

    /// Compactions so far.
    pub fn compactions(&self) -> u64 {
        self.compactions
    }

    /// The next call: the messages before `before` stand before its answer.
    pub fn call(&mut self, given: &[Arc<Part>], before: usize) -> PlainCall {
        let sent = usize::from(self.compactions > 0) + self.known - self.start;
        let fresh = given[self.known..before].to_vec();
        self.units += fresh.iter().map(|part| part.message.units).sum::<u64>();
        self.known = before;
        let Some(start) = self.cut(given, before) else {
            let changes = vec![PartChange { at: sent, remove: 0, insert: fresh }];
            return PlainCall { changes, compaction_cost: 0.0 };
        };
        let kept: u64 = given[start..before].iter().map(|part| part.message.units).sum();
        let dropped = self.counter.tokens(self.units - kept);
        self.start = start;
        self.compactions += 1;
        let summary = self.summary();
        self.units = summary.message.units + kept;
        let mut insert = vec![Arc::new(summary)];
        insert.extend_from_slice(&given[start..before]);
        let changes = vec![PartChange { at: 0, remove: sent, insert }];
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
        let compaction_cost = (dropped + SUMMARY_COST) as f64;
        PlainCall { changes, compaction_cost }
    }

    /// The first message that a compaction keeps, if one is due and drops anything: the first from where the last tokens
    /// begin that is no tool result; where there is none, the last before.
    fn cut(&self, given: &[Arc<Part>], before: usize) -> Option<usize> {
        let limit = self.window_tokens?.saturating_sub(RESERVE_TOKENS);
        let per_token = self.counter.units_per_token();
        if self.fixed_units + self.units <= limit * per_token {
            return None;
        }
        let mut kept = 0;
        let begins = (self.start..before).rev().find(|index| {
            kept += given[*index].message.units;
            kept >= KEEP_TOKENS * per_token
        })?;
        let may = |index: &usize| given[*index].message.speaker() != Speaker::Tool;
        let start = (begins..before).find(may);
        start.or_else(|| (self.start..begins).rev().find(may)).filter(|start| *start > self.start)
    }

    /// The summary, of which only the size is known.
    fn summary(&self) -> Part {
        let units = SUMMARY_TOKENS * self.counter.units_per_token();
        let text = format!("summary {}", self.compactions);
        let piece = Piece { kind: Kind::Text, text, units, strings: Vec::new() };
        let message = Message {
            role: "user".into(),
            pieces: vec![piece],
            units,
            timestamp: None,
            calls: Vec::new(),
            answers: None,
        };
        Part { message, kinds: Kinds { user: units, ..Kinds::default() }, lines: Vec::new() }
    }
}
