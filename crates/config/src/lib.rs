//! Everything a user can set: settings and memory settings with their defaults, the type of each
//! value, prices, excluded files, and files of instructions.
//!
//! Pure data and text. Must not read files or the environment; the crate `settings` does. To add a
//! setting, add a field with its default to [`Settings`] and a row to [`SETTINGS`] in `table.rs`.
//! Validation and the documentation tests follow from the row.

mod charge;
mod exclude;
mod instructions;
mod kind;
mod memory;
mod mounts;
mod prices;
mod refusal;
mod shared_store;
mod table;
mod validation;
mod values;

use std::time::Duration;

use base::error::Result;
use base::path::absolute_path;
use serde::{Deserialize, Serialize};

pub use charge::{Charge, Input, as_f64, scaled};
pub use exclude::{DEFAULT_EXCLUDE, Exclude, wildcard};
pub use instructions::{INSTRUCTION_FILES, Instructions};
pub use kind::SettingType;
pub use memory::{MEMORY_CONFIG_FILE, MEMORY_SETTINGS, MemorySettings};
pub use mounts::MountMapping;
pub use prices::{AUTO, PriceSetting, PriceTable, Prices, Reuse, Tier};
pub use shared_store::{XtdbOptions, address_without_secret, server_address, xtdb_url_problem};
pub use table::{SETTINGS, SettingDoc};
pub use validation::{ANY_SETTING, PROJECT_SETTING, Rules, refusal};
pub use values::settings_in;

/// Largest file whose text is stored by default: 4 MiB.
pub const DEFAULT_MAX_TEXT_BYTES: u64 = 4 << 20;

/// Name of the settings file, in both places.
pub const SETTINGS_FILE: &str = "palimpsest.json";

/// What a user can set. Keys in the files are the camelCase forms of the fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Settings {
    /// Whether Palimpsest does anything at all. Default `true`.
    pub enabled: bool,
    /// How the session's sets become messages. Default `log`.
    pub layout: Layout,
    /// The store's path, or `:memory:`. Default `None`: `<agentDir>/palimpsest/store.sqlite`. Not
    /// in project files.
    pub store: Option<String>,
    /// ID of the filesystem that files belong to. Default `None`: derived from the machine's ID.
    /// Not in project files.
    pub filesystem_id: Option<String>,
    /// Folders that a sandboxed agent sees under other paths, see [`MountMapping`]. Default: none.
    /// Not in project files.
    pub mounts: Vec<MountMapping>,
    /// ID or name of the agent's sandbox, which owns all files that `mounts` does not map. Default
    /// `None`: no sandbox or, with `mounts`, one that belongs to this session alone. Not in project
    /// files.
    pub sandbox: Option<String>,
    /// Layout `log`: number of newest results that always stay in the window. Default 4.
    pub keep_results: u64,
    /// Layout `log`: least number of tokens that a new epoch must free. Default 1,000.
    pub collapse_tokens: u64,
    /// Layout `log`: how far our bill may exceed the plain host's, as a share of it. Default 0.03.
    pub extra_share: f64,
    /// Layout `log`: how far our bill may exceed the plain host's on top of that, in uncached input
    /// tokens. Default 3,000.
    pub extra_tokens: u64,
    /// Layout `log`: how much a fault weighs against the saving. Default `balanced`.
    pub thrift: Thrift,
    /// The same as a number, see [`Thrift::fault_tokens`]; 0: as `thrift` says. Default 0.
    pub fault_tokens: u64,
    /// File with the weights of the hazards, written by `palimpsest learn`. A relative path is
    /// resolved from the settings file or, if a program gives it, from the session's working
    /// folder. Default `None`: the built-in weights. Not in project files.
    pub hazards: Option<String>,
    /// Outputs with more tokens than this are previewed when first sent; 0: never. Default 1,000.
    pub preview_tokens: u64,
    /// Whether files shown by a read tool are previewed too. Default `false`: a model that asks for
    /// a file gets it.
    pub preview_reads: bool,
    /// Globs of further files whose text is instructions, besides [`INSTRUCTION_FILES`]. Default
    /// `None`.
    pub instruction_files: Option<Vec<String>>,
    /// Most tokens of instructions that the model read which must stand; 0: none must. Default
    /// 16,000. Not in project files.
    pub instruction_tokens: u64,
    /// Layout `pools`: number of newest tool calls per turn that are active. Default 5.
    pub active_per_turn: u64,
    /// Layout `pools`: number of newest turns with active tool calls, including the current one.
    /// Default 3.
    pub active_turns: u64,
    /// Layout `pools`: token budget of the metadata pool. Default 8,000.
    pub pool_tokens: u64,
    /// Token budget per session for metadata of linked files; 0: links are not followed. Default 0.
    pub linked_tokens: u64,
    /// Whether to track files whose text the model saw while a session is open. Default `true`.
    pub track: bool,
    /// Files with more bytes than this are stored as metadata only. Default 4 MiB.
    pub max_text_bytes: u64,
    /// Outputs cut by the host are stored whole up to this many bytes; 0: never. Default 16 MiB.
    pub max_output_bytes: u64,
    /// Share of the model's window that a request may fill before a new epoch starts and `activate`
    /// and `pin` refuse. If a size safely below the host's compaction threshold is smaller, that
    /// counts instead. Default 0.7.
    pub high_water: f64,
    /// Layout `log`, models with free cache reads: longest delay of the first token, in seconds,
    /// that an epoch may cause by making the model read content again; 0: no such epochs. Default
    /// 10.
    pub first_token_seconds: u64,
    /// Prompt tokens that such a model reads per second. Default 500.
    pub prompt_tokens_per_second: u64,
    /// Seconds that a call waits for files, the store and earlier work before it gives up and the
    /// host's own messages go out. Computing time does not count. Access to one file may wait a
    /// quarter of it. Default 2. Not in project files.
    pub deadline_seconds: u64,
    /// What input tokens cost. Default `auto`: from the host's data about the model. Not in project
    /// files.
    pub prices: PriceSetting,
    /// Globs of files whose text is never stored, see [`crate::Exclude`]. Default `None`:
    /// [`DEFAULT_EXCLUDE`]. The user's list replaces it.
    pub exclude: Option<Vec<String>>,
    /// Globs of further files whose text is never stored, whatever `exclude` says. Default `None`.
    /// A project's `exclude` list goes before them. Not in project files.
    pub exclude_also: Option<Vec<String>>,
    /// Address of a shared store in XTDB, see [`crate::XtdbOptions`]. Default `None`: nothing is
    /// shared. Not in project files.
    pub xtdb_url: Option<String>,
    /// File with the server's access token, readable only by its user. A relative path is resolved
    /// from the settings file or, if a program gives it, from the process's working folder. Default
    /// `None`. Not in project files.
    pub xtdb_token_file: Option<String>,
    /// File with certificate authorities in PEM form, in addition to the system's. Its path is
    /// resolved in the same way. Default `None`. Not in project files.
    pub xtdb_ca_file: Option<String>,
    /// Whether to share sessions too, with likely secrets removed. Default `false`: only files. Not
    /// in project files.
    pub share_sessions: bool,
    /// Name that others read beside what this machine shared. Default `None`: the `user.name` of
    /// git. Not in project files.
    pub share_as: Option<String>,
}

/// How the session's sets become messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Content stays where it first appeared until removing it pays.
    Log,
    /// Metadata pool first, then the chat, then all active content.
    Pools,
}

impl Layout {
    /// The name in the settings file.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How much a fault, a call that needs what has left the window, weighs against the saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thrift {
    /// Fewer faults, a higher bill.
    Careful,
    /// In between.
    Balanced,
    /// A lower bill, more faults.
    Thrifty,
}

impl Thrift {
    /// What a fault weighs, in tokens that stay in the window for one call. With 500,000, an output
    /// of 1,000 tokens leaves if less than one call in 500 is likely to need it. The same for every
    /// window and price; half as much again for the model's own words. docs/policy.md has what each
    /// costs.
    pub fn fault_tokens(self) -> u64 {
        match self {
            Self::Careful => 1_000_000,
            Self::Balanced => 500_000,
            Self::Thrifty => 250_000,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            layout: Layout::Log,
            store: None,
            filesystem_id: None,
            mounts: Vec::new(),
            sandbox: None,
            keep_results: 4,
            collapse_tokens: 1_000,
            extra_share: 0.03,
            extra_tokens: 3_000,
            thrift: Thrift::Balanced,
            fault_tokens: 0,
            hazards: None,
            preview_tokens: 1_000,
            preview_reads: false,
            instruction_files: None,
            instruction_tokens: 16_000,
            active_per_turn: 5,
            active_turns: 3,
            pool_tokens: 8_000,
            linked_tokens: 0,
            track: true,
            max_text_bytes: DEFAULT_MAX_TEXT_BYTES,
            max_output_bytes: 16 << 20,
            high_water: 0.7,
            first_token_seconds: 10,
            prompt_tokens_per_second: 500,
            deadline_seconds: 2,
            prices: PriceSetting::default(),
            exclude: None,
            exclude_also: None,
            xtdb_url: None,
            xtdb_token_file: None,
            xtdb_ca_file: None,
            share_sessions: false,
            share_as: None,
        }
    }
}

impl Settings {
    /// Most tokens that an epoch may make a model read again before its first output token, if its
    /// cache reads are free.
    pub fn first_token_tokens(&self) -> u64 {
        self.first_token_seconds.saturating_mul(self.prompt_tokens_per_second)
    }

    /// What a fault weighs, in tokens that stay in the window for one call.
    pub fn fault_weight(&self) -> u64 {
        if self.fault_tokens > 0 { self.fault_tokens } else { self.thrift.fault_tokens() }
    }

    /// How long a call waits for others before it gives up.
    pub fn deadline(&self) -> Duration {
        Duration::from_secs(self.deadline_seconds)
    }

    /// How long access to one file may wait.
    pub fn look_deadline(&self) -> Duration {
        self.deadline() / 4
    }

    /// How to reach the shared store; `None` if there is none.
    pub fn shared_store(&self) -> Option<XtdbOptions> {
        let cwd = std::env::current_dir().unwrap_or_default();
        let file = |path: &Option<String>| Some(absolute_path(path.as_deref()?, &cwd));
        Some(XtdbOptions {
            url: self.xtdb_url.clone()?,
            token_file: file(&self.xtdb_token_file),
            ca_file: file(&self.xtdb_ca_file),
            writer: None,
        })
    }

    /// The files whose text is instructions.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming a glob that cannot be read.
    pub fn instructions(&self) -> Result<Instructions> {
        Instructions::new(self.instruction_files.as_deref().unwrap_or_default())
    }

    /// The files whose text is never stored.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming a glob that cannot be read.
    pub fn excluded(&self) -> Result<Exclude> {
        let default = || DEFAULT_EXCLUDE.map(str::to_owned).to_vec();
        let exclude = Exclude::new(&self.exclude.clone().unwrap_or_else(default))?;
        Ok(exclude.and(Exclude::new(self.exclude_also.as_deref().unwrap_or_default())?))
    }
}
