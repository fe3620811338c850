//! The table of settings: type and description of each, for validation and for
//! docs/settings.md. Holds no rules.

use super::kind::SettingType;

/// One row of the settings table.
#[derive(Debug, Clone, Copy)]
pub struct SettingDoc {
    /// Key in the files.
    pub key: &'static str,
    /// Type of its value.
    pub kind: SettingType,
    /// What it does, in the documentation's words.
    pub description: &'static str,
    /// Whether a project file may set it. A cloned repository, trusted or not, must neither
    /// redirect the user's store nor pass its files off as those of another filesystem.
    pub project: bool,
}

pub(crate) const fn setting(
    key: &'static str,
    kind: SettingType,
    description: &'static str,
) -> SettingDoc {
    SettingDoc { key, kind, description, project: true }
}

pub(crate) const fn user_only(
    key: &'static str,
    kind: SettingType,
    description: &'static str,
) -> SettingDoc {
    SettingDoc { key, kind, description, project: false }
}

/// Upper limit for settings that count tokens or results; far above any window.
const MAX_COUNT: u64 = 100_000_000;

const COUNT: SettingType = SettingType::Count { min: 0, max: MAX_COUNT };
const POSITIVE: SettingType = SettingType::Count { min: 1, max: MAX_COUNT };

/// Every setting, in the order of the documentation.
pub const SETTINGS: &[SettingDoc] = &[
    setting(
        "enabled",
        SettingType::Boolean,
        "`false` turns Palimpsest off: the host works as if it were not installed",
    ),
    setting(
        "layout",
        SettingType::Choice(&["log", "pools"]),
        "`log` keeps content where it first appeared; `pools` puts all active content at the end of the request",
    ),
    user_only(
        "store",
        SettingType::OptionalText,
        "Path of the store's file, or `:memory:`; relative to the settings file; `null`: `palimpsest/store.sqlite` beside it, for OpenClaw in the platform's data folder",
    ),
    user_only(
        "filesystemId",
        SettingType::OptionalText,
        "ID of the filesystem that files belong to; `null`: derived from the machine's ID",
    ),
    user_only(
        "mounts",
        SettingType::Mounts,
        "Folders that an agent in a sandbox sees under other paths, see [Sandboxes](sandboxes.md)",
    ),
    user_only(
        "sandbox",
        SettingType::OptionalText,
        "ID or name of the container to which all unmapped files belong, see [Sandboxes](sandboxes.md)",
    ),
    setting(
        "keepResults",
        COUNT,
        "Layout `log`: how many of the newest results always stay in the window",
    ),
    setting(
        "collapseTokens",
        COUNT,
        "Layout `log`: a new epoch starts only if it frees at least this many tokens",
    ),
    setting(
        "extraShare",
        SettingType::Share,
        "Layout `log`: how far our bill may exceed the plain bill, as a share of it, see [The bound](#the-bound-on-the-bill)",
    ),
    setting(
        "extraTokens",
        COUNT,
        "Layout `log`: how far our bill may exceed the plain bill in any case, in uncached input tokens",
    ),
    setting(
        "thrift",
        SettingType::Choice(&["careful", "balanced", "thrifty"]),
        "Layout `log`: how much a fault weighs against the saving, see [Thrift](#thrift)",
    ),
    setting(
        "faultTokens",
        COUNT,
        "Layout `log`: what a fault weighs, in tokens that stay in the window for one call; 0: as `thrift` says",
    ),
    user_only(
        "hazards",
        SettingType::OptionalText,
        "File with weights written by `palimpsest learn`; relative to the settings file; `null`: the built-in weights",
    ),
    setting(
        "previewTokens",
        COUNT,
        "Outputs with more tokens than this are shown in part when first sent; 0: never",
    ),
    setting(
        "previewReads",
        SettingType::Boolean,
        "Whether a long file that a read tool shows is shown in part as well; `false`: a model that asks for a file gets it",
    ),
    setting(
        "instructionFiles",
        SettingType::Globs,
        "Further files whose text is instructions, as globs in the style of `.gitignore`, see [Instructions](#instructions)",
    ),
    user_only(
        "instructionTokens",
        COUNT,
        "How many tokens of the instructions that the model read stay in the window, at most 5 % of it; 0: none",
    ),
    setting(
        "activePerTurn",
        COUNT,
        "Layout `pools`: how many of each turn's newest tool calls are active",
    ),
    setting(
        "activeTurns",
        POSITIVE,
        "Layout `pools`: in how many of the newest turns, the current one included, tool calls are active",
    ),
    setting("poolTokens", COUNT, "Layout `pools`: token budget of the metadata pool"),
    setting(
        "linkedTokens",
        COUNT,
        "Token budget per session for metadata of linked files; 0: links are not followed",
    ),
    setting(
        "track",
        SettingType::Boolean,
        "Watch the files whose text the model saw, and store new versions as they change",
    ),
    setting(
        "maxTextBytes",
        SettingType::Count { min: 0, max: 1 << 30 },
        "Files with more bytes than this are stored as metadata only",
    ),
    setting(
        "maxOutputBytes",
        SettingType::Count { min: 0, max: 1 << 30 },
        "Outputs that the host cut are stored whole up to this many bytes; 0: never",
    ),
    setting(
        "highWater",
        SettingType::Share,
        "Share of the model's window that a request may fill before a new epoch starts; half of it is for what is pinned",
    ),
    setting(
        "firstTokenSeconds",
        COUNT,
        "Layout `log`, local models: longest time to the first token for which content leaves before the window is full, see [Local models](#local-models); 0: none does",
    ),
    setting(
        "promptTokensPerSecond",
        POSITIVE,
        "Local models: how many tokens of a prompt the model reads in a second",
    ),
    user_only(
        "deadlineSeconds",
        SettingType::Count { min: 1, max: 3_600 },
        "How long a call waits for files, the store and earlier work before the host's own messages go out, see [Deadlines](#deadlines)",
    ),
    user_only(
        "prices",
        SettingType::Prices,
        "What input tokens cost, see [Prices](#prices); `auto`: from the host's model data",
    ),
    setting(
        "exclude",
        SettingType::Globs,
        "Files whose text is never stored, as globs in the style of `.gitignore`; `null`: key files and `.env*`; a project's list is added to `excludeAlso`",
    ),
    user_only(
        "excludeAlso",
        SettingType::Globs,
        "Further files whose text is never stored, whatever `exclude` says: to add to the default",
    ),
    user_only(
        "xtdbUrl",
        SettingType::Url,
        "Address of a store in XTDB that several machines share, see [A shared store](xtdb.md); `null`: nothing leaves this machine",
    ),
    user_only(
        "xtdbTokenFile",
        SettingType::OptionalText,
        "File with the token that the server asks for, readable for you only; relative to the settings file",
    ),
    user_only(
        "xtdbCaFile",
        SettingType::OptionalText,
        "File with certificate authorities in PEM form that count besides the system's; relative to the settings file",
    ),
    user_only(
        "shareSessions",
        SettingType::Boolean,
        "Whether sessions go to the shared store too, without what looks like a secret; `false`: files alone",
    ),
    user_only(
        "shareAs",
        SettingType::OptionalText,
        "Name that others read beside what this machine shared; `null`: the `user.name` of git",
    ),
];
