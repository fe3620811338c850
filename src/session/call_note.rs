//! What the record of a call says about its bill, as it is stored. Plain data.
//!
//! A note holds only what does not follow from the calls before it; `call_bill` works out the rest.

use serde::{Deserialize, Serialize};

use crate::settings::Prices;

/// Prices, and where they are from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceNote {
    /// A preset's name, `own`, or `model`.
    pub name: String,
    /// The figures.
    pub prices: Prices,
    /// US dollars for a million plain input tokens, where the host knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_million: Option<f64>,
}

/// What the record of a call says of its bill. What is left out is as at the call before, or none. Tokens as counted here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallNote {
    /// The prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceNote>,
    /// Tokens of system prompt and tools, ours included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<u64>,
    /// How many of these are ours: tools and guidance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<u64>,
    /// Whether the cache of the request before was gone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cold: bool,
    /// Tokens as the provider counts them for one counted here, where that is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Tokens of our messages at the front that are those of the request before; left out where all of them are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u64>,
    /// The same of the plain host's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_shared: Option<u64>,
    /// How the plain host would have compacted for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<PlainCompaction>,
    /// Where an epoch began: tokens of the messages of the request before as they stand now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// Whether the plain host would not make this call: the model used our own tools alone since the call before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub extra: bool,
    /// Tokens of the host's list that the plain host has not: calls of our own tools and their results.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own: u64,
    /// Faults noticed since the call before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub faults: u64,
    /// What they cost.
    #[serde(default, skip_serializing_if = "is_free")]
    pub fault_cost: f64,
}

/// How the plain host's list would be compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainCompaction {
    /// Position in the chat of the first message that it keeps.
    pub from: u64,
    /// Tokens of all messages of the window before that.
    pub dropped: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_free(cost: &f64) -> bool {
    *cost == 0.0
}
