//! What the record of a call stores about its bill. Plain data.
//!
//! A note holds only what does not follow from earlier calls; `call_bill` computes the rest.

use serde::{Deserialize, Serialize};

use super::is_default;
use super::measured::MeasuredSizes;
use config::Prices;

/// Prices and where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceNote {
    /// A preset's name, `own`, or `model`.
    pub name: String,
    /// The figures.
    pub prices: Prices,
    /// US dollars per million uncached input tokens, if the host knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_million: Option<f64>,
}

/// What the record of a call says about its bill. A missing field means "as in the previous call",
/// or none. Tokens are in our own count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallNote {
    /// The prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceNote>,
    /// Tokens of system prompt and tools, ours included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<u64>,
    /// The part of `fixed` that is ours: tools and guidance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u64>,
    /// Whether no cache was alive for this model, system prompt and tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// The same for the plain host, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_cold: Option<bool>,
    /// The provider's token count divided by ours, if that is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Both requests as the reports on earlier calls measure them; missing if none was believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredSizes>,
    /// Tokens at the front of our messages that equal the previous request's; missing if all its
    /// messages are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u64>,
    /// The same for the plain host's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_shared: Option<u64>,
    /// Tokens at the front of our messages that a cache held; missing if `cold` and `shared` imply
    /// it, as they do if the previous request was the one reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The same for the plain host's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_cached: Option<u64>,
    /// The compaction that the plain host would have made for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<PlainCompaction>,
    /// If an epoch began: the present tokens of the previous request's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// If an epoch began and no cache held all of the previous request: the present tokens of those
    /// messages that a cache held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_cached: Option<u64>,
    /// Whether the plain host would not have made this call: since the previous one, the model used
    /// only our own tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extra: bool,
    /// Tokens in the host's list that the plain host would not have: calls of our own tools and
    /// their results.
    #[serde(default, skip_serializing_if = "is_default")]
    pub own: u64,
    /// Tokens in our messages that we added: notes, and help for failed edits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub added: u64,
    /// Messages that the model quoted since the previous call although they had left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub faults: u64,
    /// What is charged for that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fault_cost: f64,
}

/// A compaction of the plain host's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainCompaction {
    /// Position in the chat of the first message that it keeps.
    pub from: u64,
    /// Tokens of all messages in the window before that position.
    pub dropped: u64,
}
