//! Memory settings: `config.json` in each memory folder, where a project's overrides the user's.
//! They are rows of a table like all other settings. Must not decide anything else.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kind::SettingType;
use super::table::{SettingDoc, setting, user_only};
use super::validation::{Rules, refusal};
use super::values::settings_in;
use base::error::Result;

/// Name of the settings file in a memory folder.
pub const MEMORY_CONFIG_FILE: &str = "config.json";

/// What a user can set about memory. Keys in the files are the camelCase forms of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct MemorySettings {
    /// Whether the model sees memory. Default `true`.
    pub enabled: bool,
    /// Most lines of a scope in the system prompt. Default 200.
    pub max_inject_lines: u64,
    /// Most bytes of a scope in the system prompt. Default 8,192.
    pub max_inject_bytes: u64,
    /// Whether pages are chosen and shortened to fit `max_memory_tokens`. `false`: the first lines
    /// of each index, unchanged. Default `true`.
    pub page_table_injection: bool,
    /// Most tokens of all pages in the system prompt. Default 4,096.
    pub max_memory_tokens: u64,
    /// Whether decisions and memory faults are traced. Default `true`.
    pub trace_enabled: bool,
    /// Whether an entry with a finding is refused instead of written with a warning. Default
    /// `true`.
    pub strict_writeback: bool,
    /// Model that proposes entries at compactions and at the end of a session, as `provider/id`.
    /// Default `None`: nothing is proposed. Not in project files.
    pub capture_model: Option<String>,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_inject_lines: 200,
            max_inject_bytes: 8_192,
            page_table_injection: true,
            max_memory_tokens: 4_096,
            trace_enabled: true,
            strict_writeback: true,
            capture_model: None,
        }
    }
}

/// Every memory setting, in the order of the documentation. The upper limits keep a cloned project
/// from filling the window.
pub const MEMORY_SETTINGS: &[SettingDoc] = &[
    setting(
        "enabled",
        SettingType::Boolean,
        "`false` keeps memory out of the system prompt; `/memory` still works",
    ),
    setting(
        "maxInjectLines",
        SettingType::Count { min: 0, max: 10_000 },
        "Most lines of a scope in the system prompt",
    ),
    setting(
        "maxInjectBytes",
        SettingType::Count { min: 0, max: 1 << 20 },
        "Most bytes of a scope in the system prompt",
    ),
    setting(
        "pageTableInjection",
        SettingType::Boolean,
        "Choose pages, and shorten them, within `maxMemoryTokens`; `false`: the first lines of each `MEMORY.md` as they are",
    ),
    setting(
        "maxMemoryTokens",
        SettingType::Count { min: 0, max: 32_768 },
        "Most tokens of all pages in the system prompt",
    ),
    setting(
        "traceEnabled",
        SettingType::Boolean,
        "Keep traces of what was chosen, of writes and of memory faults",
    ),
    setting(
        "strictWriteback",
        SettingType::Boolean,
        "Refuse a staged entry that doubles another one, is too long or has conflict markers; `false`: write it, with a warning. Secrets are always refused, contradictions never",
    ),
    user_only(
        "captureModel",
        SettingType::OptionalText,
        "Model that proposes entries at a compaction and at the end of a session, as `provider/id`; `null`: nothing is proposed",
    ),
];

impl MemorySettings {
    /// Checks the text of a settings file before it is written.
    ///
    /// # Errors
    /// `INVALID_SETTINGS`, which names each wrong key and what was expected.
    pub fn check(path: &Path, text: &str, is_project: bool) -> Result<()> {
        let values = settings_in(path, text)?;
        let rules = Rules { table: MEMORY_SETTINGS, is_project };
        refusal(path, &rules.problems(&values)).map_or(Ok(()), Err)
    }
}
