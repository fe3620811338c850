//! What the user sees of a session at a glance, and what lists keep of it.

use serde::Serialize;

use super::LiveSession;
use crate::recorded::keep_bill;
use base::object::ObjectId;
use config::{Layout, Settings, scaled};
use context::statement::{BillInShort, StatementFaults};
use session::{IndexEntry, Session, Subject};

/// Figures for a status line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveStatus {
    /// Calls so far.
    pub calls: u64,
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// Tokens of the messages last sent.
    pub window_tokens: u64,
    /// Tokens of the host's own list, our tools' calls and their results included.
    pub plain_tokens: u64,
    /// Tokens of the whole request last sent: system prompt, tools and messages, in the provider's
    /// count.
    pub request_tokens: u64,
    /// The same of the plain host's request, as the ledger has it: without our tools, and after the
    /// compactions that it would have made.
    pub plain_request_tokens: u64,
    /// The same of a request with the host's own list, without our tools and guidance: what it would
    /// send if we were turned off.
    pub host_request_tokens: u64,
    /// What that costs in US dollars if no cache holds any of it; `None` if no price is known.
    pub host_request_dollars: Option<f64>,
    /// Our bill so far in US dollars, each call at the prices of its own model; `None` if no price
    /// is known.
    pub bill_dollars: Option<f64>,
    /// The plain host's.
    pub plain_bill_dollars: Option<f64>,
    /// Our bill by the plain host's; `None` before the first call.
    pub bill_ratio: Option<f64>,
    /// Faults so far.
    pub faults: StatementFaults,
    /// Content objects whose content stands in the window.
    pub active_objects: u64,
    /// Files and outputs met.
    pub indexed_objects: u64,
    /// Those of them that are files of which only the name is known, as of a listing.
    pub named_files: u64,
    /// Pinned objects whose content stands in the window.
    pub pinned_objects: u64,
}

/// The pinned objects, by how they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins<'a> {
    /// Their content stands in the window.
    pub standing: Vec<&'a ObjectId>,
    /// Their content comes with the next message.
    pub waiting: Vec<&'a ObjectId>,
    /// The last request had no room for their content.
    pub left_out: Vec<&'a ObjectId>,
}

impl<'a> Pins<'a> {
    /// Those of a state. `stands`: whether all that is pinned of an object stands.
    pub fn of(state: &'a Session, stands: impl Fn(&ObjectId) -> bool) -> Self {
        let mut pins = Self::default();
        for object in state.sets().pinned() {
            let is_left_out = state.left_out().contains(object);
            let list = match is_left_out {
                true => &mut pins.left_out,
                false if stands(object) => &mut pins.standing,
                false => &mut pins.waiting,
            };
            list.push(object);
        }
        pins
    }
}

impl LiveSession {
    /// Keeps the bill beside the session, so that lists need not read all of it.
    pub(super) fn keep_bill(&self) {
        let Some(tx) = self.journal.stored_at().filter(|_| self.state().calls() > 0) else {
            return;
        };
        let bill = BillInShort::of(self.state());
        // Without it a list makes it anew.
        let _ = keep_bill(self.store(), self.id(), tx, &bill);
    }

    /// Figures for a status line.
    pub fn status(&self) -> LiveStatus {
        let state = self.state();
        let sent = state.sent();
        let bill = state.bill();
        let last = bill.last.as_ref().map(|last| &last.bill);
        let dollars = bill.dollars();
        let model = bill.last.as_ref().and_then(|last| last.model.as_deref());
        // Segments are messages of the chat.
        let is_met = |entry: &&IndexEntry| !matches!(entry.subject, Subject::Segment { .. });
        let host_request_tokens = last.map_or(0, |last| {
            let fixed = last.fixed.saturating_sub(last.overhead);
            if state.measured().knows(model) {
                let whole = state.weighed(usize::MAX, last.factor);
                return scaled(fixed, state.measured().front(last.factor)) + whole.all();
            }
            scaled(fixed + sent.map_or(0, |sent| sent.plain_tokens), last.factor)
        });
        LiveStatus {
            calls: state.calls(),
            epoch: state.epoch(),
            window_tokens: sent.map_or(0, |sent| sent.sent_tokens),
            plain_tokens: sent.map_or(0, |sent| sent.plain_tokens),
            request_tokens: last.map_or(0, |last| last.ours.total()),
            plain_request_tokens: last.map_or(0, |last| last.plain.total()),
            host_request_tokens,
            host_request_dollars: bill.dollars_uncached(host_request_tokens),
            bill_dollars: dollars.map(|dollars| dollars.bill),
            plain_bill_dollars: dollars.map(|dollars| dollars.plain_bill),
            bill_ratio: bill.ratio(),
            faults: StatementFaults::so_far(state),
            active_objects: self.active_objects().len() as u64,
            indexed_objects: state.index().entries.iter().filter(is_met).count() as u64,
            named_files: named_files(state),
            pinned_objects: self.pins().standing.len() as u64,
        }
    }

    /// How the pinned objects stand.
    pub fn pins(&self) -> Pins<'_> {
        let state = self.state();
        // In `pools` the next request shows whatever is pinned.
        let is_shown = |object: &ObjectId| match self.options.settings.layout {
            Layout::Pools => state.sets().is_active(object),
            Layout::Log => state.pin_stands(object),
        };
        Pins::of(state, is_shown)
    }

    /// Objects whose content stands in the window, in the order in which they stand.
    pub fn active_objects(&self) -> Vec<&ObjectId> {
        let state = self.state();
        let Settings { layout, active_per_turn, active_turns, .. } = self.options.settings;
        if layout == Layout::Pools {
            let active = state.active_by_window(active_per_turn, active_turns);
            return active.into_iter().map(|active| &active.id).collect();
        }
        state.shown_objects()
    }
}

/// Number of files of which only the name is known: nothing of them was shown, and no text is
/// stored.
fn named_files(state: &Session) -> u64 {
    let is_named_only = |entry: &&IndexEntry| {
        matches!(entry.subject, Subject::File { lines: None, .. })
            && state.showings(&entry.id).next().is_none()
    };
    state.index().entries.iter().filter(is_named_only).count() as u64
}
