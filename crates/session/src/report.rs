//! What a provider reports about a request, as stored. Plain data.

use super::is_default;
use serde::{Deserialize, Serialize};

/// The usage of one request as a provider reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Number of the call; `None` if the request is not one of our calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// What the request was for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: ReportKind,
    /// The host's ID of the report. A report with a known ID is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When the request was made, in ms since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// Tokens of input neither read from the cache nor written to it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input: u64,
    /// Tokens read from the cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_read: u64,
    /// Tokens written to the cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write: u64,
    /// Tokens of output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output: u64,
}

/// What a request was for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// A call of the model.
    #[default]
    Call,
    /// Keeping the cache of the newest call alive.
    CacheWarm,
}

impl Reported {
    /// Tokens of the whole input.
    pub fn total(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}
