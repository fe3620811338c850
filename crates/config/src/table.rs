//! The table of settings: type, default and description of each, for validation and for
//! docs/settings.md. Holds no rules.

use super::kind::SettingType;

/// One row of the settings table.
#[derive(Debug, Clone, Copy)]
pub struct SettingDoc {
    /// Key in the files.
    pub key: &'static str,
    /// Type of its value.
    pub kind: SettingType,
    /// The default, as JSON.
    pub default: &'static str,
    /// What it does, in the documentation's words.
    pub description: &'static str,
    /// Whether a project file may set it. A cloned repository, trusted or not, must neither
    /// redirect the user's store nor pass its files off as those of another filesystem.
    pub project: bool,
}

pub(crate) const fn setting(
    key: &'static str,
    kind: SettingType,
    default: &'static str,
    description: &'static str,
) -> SettingDoc {
    SettingDoc { key, kind, default, description, project: true }
}

pub(crate) const fn user_only(doc: SettingDoc) -> SettingDoc {
    SettingDoc { project: false, ..doc }
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
        "true",
        "`false` turns Palimpsest off: the host works as if it were not installed",
    ),
    setting(
        "layout",
        SettingType::Choice(&["log", "pools"]),
        "\"log\"",
        "`log` keeps content where it first appeared; `pools` puts all active content at the end of the request",
    ),
    user_only(setting(
        "store",
        SettingType::OptionalText,
        "null",
        "Path of the store's file, or `:memory:`; relative to the settings file; `null`: `palimpsest/store.sqlite` beside it, for OpenClaw in the platform's data folder",
    )),
    user_only(setting(
        "filesystemId",
        SettingType::OptionalText,
        "null",
        "ID of the filesystem that files belong to; `null`: derived from the machine's ID",
    )),
    user_only(setting(
        "mounts",
        SettingType::Mounts,
        "[]",
        "Folders that an agent in a sandbox sees under other paths, see [Sandboxes](sandboxes.md)",
    )),
    user_only(setting(
        "sandbox",
        SettingType::OptionalText,
        "null",
        "ID or name of the container to which all unmapped files belong, see [Sandboxes](sandboxes.md)",
    )),
    setting(
        "keepResults",
        COUNT,
        "4",
        "Layout `log`: how many of the newest results always stay in the window",
    ),
    setting(
        "collapseTokens",
        COUNT,
        "1000",
        "Layout `log`: a new epoch starts only if it frees at least this many tokens",
    ),
    setting(
        "extraShare",
        SettingType::Share,
        "0.03",
        "Layout `log`: how far our bill may exceed the plain bill, as a share of it, see [The bound](#the-bound-on-the-bill)",
    ),
    setting(
        "extraTokens",
        COUNT,
        "3000",
        "Layout `log`: how far our bill may exceed the plain bill in any case, in uncached input tokens",
    ),
    setting(
        "thrift",
        SettingType::Choice(&["careful", "balanced", "thrifty"]),
        "\"balanced\"",
        "Layout `log`: how much a fault weighs against the saving, see [Thrift](#thrift)",
    ),
    setting(
        "faultTokens",
        COUNT,
        "0",
        "Layout `log`: what a fault weighs, in tokens that stay in the window for one call; 0: as `thrift` says",
    ),
    user_only(setting(
        "hazards",
        SettingType::OptionalText,
        "null",
        "File with weights written by `palimpsest learn`; relative to the settings file; `null`: the built-in weights",
    )),
    setting(
        "previewTokens",
        COUNT,
        "1000",
        "Outputs with more tokens than this are shown in part when first sent; 0: never",
    ),
    setting(
        "previewReads",
        SettingType::Boolean,
        "false",
        "Whether a long file that a read tool shows is shown in part as well; `false`: a model that asks for a file gets it",
    ),
    setting(
        "instructionFiles",
        SettingType::Globs,
        "null",
        "Further files whose text is instructions, as globs in the style of `.gitignore`, see [Instructions](#instructions)",
    ),
    user_only(setting(
        "instructionTokens",
        COUNT,
        "16000",
        "How many tokens of the instructions that the model read stay in the window, at most 5 % of it; 0: none",
    )),
    setting(
        "activePerTurn",
        COUNT,
        "5",
        "Layout `pools`: how many of each turn's newest tool calls are active",
    ),
    setting(
        "activeTurns",
        POSITIVE,
        "3",
        "Layout `pools`: in how many of the newest turns, the current one included, tool calls are active",
    ),
    setting("poolTokens", COUNT, "8000", "Layout `pools`: token budget of the metadata pool"),
    setting(
        "linkedTokens",
        COUNT,
        "0",
        "Token budget per session for metadata of linked files; 0: links are not followed",
    ),
    setting(
        "track",
        SettingType::Boolean,
        "true",
        "Watch the files whose text the model saw, and store new versions as they change",
    ),
    setting(
        "maxTextBytes",
        SettingType::Count { min: 0, max: 1 << 30 },
        "4194304",
        "Files with more bytes than this are stored as metadata only",
    ),
    setting(
        "maxOutputBytes",
        SettingType::Count { min: 0, max: 1 << 30 },
        "16777216",
        "Outputs that the host cut are stored whole up to this many bytes; 0: never",
    ),
    setting(
        "highWater",
        SettingType::Share,
        "0.7",
        "Share of the model's window that a request may fill before a new epoch starts; half of it is for what is pinned",
    ),
    setting(
        "firstTokenSeconds",
        COUNT,
        "10",
        "Layout `log`, local models: longest time to the first token for which content leaves before the window is full, see [Local models](#local-models); 0: none does",
    ),
    setting(
        "promptTokensPerSecond",
        POSITIVE,
        "500",
        "Local models: how many tokens of a prompt the model reads in a second",
    ),
    user_only(setting(
        "deadlineSeconds",
        SettingType::Count { min: 1, max: 3_600 },
        "2",
        "How long a call waits for files, the store and earlier work before the host's own messages go out, see [Deadlines](#deadlines)",
    )),
    user_only(setting(
        "prices",
        SettingType::Prices,
        "\"auto\"",
        "What input tokens cost, see [Prices](#prices); `auto`: from the host's model data",
    )),
    setting(
        "exclude",
        SettingType::Globs,
        "null",
        "Files whose text is never stored, as globs in the style of `.gitignore`; `null`: key files and `.env*`; a project's list is added to `excludeAlso`",
    ),
    user_only(setting(
        "excludeAlso",
        SettingType::Globs,
        "null",
        "Further files whose text is never stored, whatever `exclude` says: to add to the default",
    )),
    user_only(setting(
        "xtdbUrl",
        SettingType::Url,
        "null",
        "Address of a store in XTDB that several machines share, see [A shared store](xtdb.md); `null`: nothing leaves this machine",
    )),
    user_only(setting(
        "xtdbTokenFile",
        SettingType::OptionalText,
        "null",
        "File with the token that the server asks for, readable for you only; relative to the settings file",
    )),
    user_only(setting(
        "xtdbCaFile",
        SettingType::OptionalText,
        "null",
        "File with certificate authorities in PEM form that count besides the system's; relative to the settings file",
    )),
    user_only(setting(
        "shareSessions",
        SettingType::Boolean,
        "false",
        "Whether sessions go to the shared store too, without what looks like a secret; `false`: files alone",
    )),
    user_only(setting(
        "shareAs",
        SettingType::OptionalText,
        "null",
        "Name that others read beside what this machine shared; `null`: the `user.name` of git",
    )),
];
