//! Calls that went out with the host's own messages: as events tell of them, and in the ledger.
//! Plain data.

use serde::{Deserialize, Serialize};

use super::call_bill::Side;
use super::call_note::PriceNote;
use super::is_default;
use base::object::Hash;

/// Calls that went out with the host's own messages, and what is assumed of them: what is known of
/// the next call. Tokens are in our own count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostCalls {
    /// The calls, in order.
    pub calls: Vec<HostCall>,
    /// Provider and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `content_hash` of the version of `system_prompt:{session}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Hash>,
    /// Prices, if not those of the newest call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceNote>,
    /// Tokens of system prompt and tools, ours included.
    pub fixed: u64,
    /// The part of `fixed` that is ours.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overhead: u64,
    /// The provider's token count divided by ours, if that is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

/// A call that went out with the host's own messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCall {
    /// Number of messages at the front of the window that it sent.
    pub messages: u64,
    /// Whether it failed open, so that our tools and guidance went out with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Calls that went out with the host's own messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSums {
    /// Number of calls.
    pub calls: u64,
    /// How many of them failed open; the others were made while we were off.
    pub failed: u64,
    /// Tokens sent.
    pub sent: u64,
    /// Cost, which is part of our bill.
    pub cost: f64,
    /// What the plain host's requests would have cost; part of its bill.
    pub plain_cost: f64,
    /// `cost` in US dollars, as far as prices are known.
    pub dollars: f64,
}

impl HostSums {
    /// What came since an earlier state of the sums.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            calls: self.calls - before.calls,
            failed: self.failed - before.failed,
            sent: self.sent - before.sent,
            cost: self.cost - before.cost,
            plain_cost: self.plain_cost - before.plain_cost,
            dollars: self.dollars - before.dollars,
        }
    }
}

/// Both sides of a call that went out with the host's own messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostSides {
    pub(super) ours: Side,
    pub(super) plain: Side,
    pub(super) failed: bool,
}
