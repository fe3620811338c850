//! How transcripts are replayed. Plain data.

use std::path::PathBuf;

use super::hosts::HostRule;
use super::play::Playing;
use config::{Layout, PriceSetting, PriceTable, Prices, Settings};
use context::tokens::Counter;

/// Who makes the requests of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Palimpsest, in this layout.
    Ours(Layout),
    /// The host without it.
    Host(HostRule),
}

impl Sender {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ours(layout) => layout.as_str(),
            Self::Host(rule) => rule.into(),
        }
    }
}

/// How transcripts are replayed.
#[derive(Debug, Clone)]
pub struct Replaying {
    /// Who makes the requests.
    pub sender: Sender,
    /// Prices.
    pub prices: Prices,
    /// Tokens of the model's window; `None`: no limit, and the plain host never compacts.
    pub window_tokens: Option<u64>,
    /// How tokens are counted, also for the session's decisions.
    pub counter: Counter,
    /// Tokens of the plain host's system prompt and tools.
    pub host_tokens: u64,
    /// Tokens of our own system prompt and tools.
    pub overhead_tokens: u64,
    /// The session's settings, except layout and prices.
    pub settings: Settings,
    /// Folder for the requests; `None`: they are not written.
    pub dump: Option<PathBuf>,
    /// Folder with a folder of snapshots for each transcript; see [`super::facts`].
    pub snapshots: Option<PathBuf>,
}

impl Replaying {
    /// Tokens of system prompt and tools that the sender has beyond the plain host's.
    pub(super) fn sent_overhead(&self) -> u64 {
        match self.sender {
            Sender::Ours(_) => self.overhead_tokens,
            Sender::Host(_) => 0,
        }
    }

    /// The options for playing a session.
    pub fn playing(&self) -> Playing {
        let layout = match self.sender {
            Sender::Ours(layout) => layout,
            Sender::Host(_) => Layout::Log,
        };
        let overhead_tokens = self.sent_overhead();
        let prices = PriceTable::Own(self.prices.clone());
        let prices = PriceSetting::ByModel([("*".to_owned(), prices)].into());
        Playing {
            settings: Settings { layout, prices, ..self.settings.clone() },
            counter: self.counter,
            window_tokens: self.window_tokens,
            fixed_tokens: self.host_tokens + overhead_tokens,
            overhead_tokens,
            snapshots: self.snapshots.clone(),
            foresees: false,
        }
    }
}
