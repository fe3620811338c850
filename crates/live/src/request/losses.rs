//! Notices a host's list that changes near its front at most calls: no cache holds what stands
//! behind, so that little can be saved. Told once by each process.

use serde_json::Value;

use super::{ListTail, Request};
use crate::Notice;
use context::ledger::Coming;
use session::{Rewrite, Session};

/// Number of newest calls that are looked at.
const CALLS: u32 = 8;
/// How many of them must have lost the cache.
const MOST: u32 = 6;

/// The calls for which most of the list was written again though a cache was alive.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// One bit for each of the newest calls, the newest lowest.
    newest: u32,
    is_told: bool,
}

impl Request {
    /// Records whether the coming call loses most of what caches held because the host rewrote its
    /// list; the notice if most calls do. `coming`: also the index in the list of the first message
    /// that no cache holds.
    pub(crate) fn note_loss(
        &mut self,
        state: &Session,
        list: &ListTail<'_>,
        rewrite: Option<(Rewrite, usize)>,
        (coming, cold_from): (&Coming, usize),
    ) -> Option<Notice> {
        let prices = &coming.prices.prices;
        let known = state.bill().last.as_ref().map_or(0, |last| last.host_messages);
        let tokens = |count: usize| -> u64 {
            state.window().take(count).map(|(_, message)| message.tokens).sum()
        };
        let at = rewrite.filter(|_| coming.warm && prices.read < prices.write).map(|(_, at)| at);
        let is_lost = at.is_some()
            && 2 * tokens(cold_from) < tokens(usize::try_from(known).unwrap_or(usize::MAX));
        let losses = &mut self.losses;
        losses.newest = ((losses.newest << 1) | u32::from(is_lost)) & ((1 << CALLS) - 1);
        if losses.is_told || losses.newest.count_ones() < MOST {
            return None;
        }
        let at = at?;
        losses.is_told = true;
        let name = |index: usize| {
            let message: Value = serde_json::from_str(&list.get(index)?.raw).ok()?;
            Some(message.get("customType")?.as_str()?.to_owned())
        };
        let by = state.chat().passing.indexes().chain([at]).find_map(name);
        Some(Notice::ListChanges { at: at as u64, by })
    }
}
