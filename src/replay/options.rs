//! How transcripts are replayed. Plain data.

use std::path::PathBuf;

use super::measure::FIXED_TOKENS;
use super::play::Playing;
use crate::context::prices::Prices;
use crate::context::tokens::Counter;
use crate::settings::{Layout, PriceSetting, PriceTable, Settings};

/// How transcripts are replayed.
#[derive(Debug, Clone)]
pub struct Replaying {
    /// The layout; `None`: the messages as they are, without anything of ours.
    pub layout: Option<Layout>,
    /// Prices.
    pub prices: Prices,
    /// Tokens of the model's window; `None`: no limit, and the plain host never compacts.
    pub window_tokens: Option<u64>,
    /// How tokens are counted, for the session's decisions too.
    pub counter: Counter,
    /// Tokens of system prompt and tools that are ours.
    pub overhead_tokens: u64,
    /// The session's settings, but for layout and prices.
    pub settings: Settings,
    /// Folder that the requests are written to.
    pub dump: Option<PathBuf>,
}

impl Replaying {
    /// How a session of this layout is played, with so much of ours in system prompt and tools.
    pub fn playing(&self, layout: Layout, overhead_tokens: u64) -> Playing {
        let prices = PriceTable::Own(self.prices.clone());
        let prices = PriceSetting::ByModel([("*".to_owned(), prices)].into());
        Playing {
            settings: Settings { layout, prices, ..self.settings.clone() },
            counter: self.counter,
            window_tokens: self.window_tokens,
            fixed_tokens: FIXED_TOKENS + overhead_tokens,
            overhead_tokens,
        }
    }
}
