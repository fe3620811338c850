//! Every setting with its default and what it does, for the checks and for the documentation. Must not hold a rule.

use super::SettingType;

/// One row of the settings table.
#[derive(Debug, Clone, Copy)]
pub struct SettingDoc {
    /// Key in the files.
    pub key: &'static str,
    /// What its value must be.
    pub kind: SettingType,
    /// The default, as JSON.
    pub default: &'static str,
    /// What it does, for users.
    pub description: &'static str,
    /// Whether a project file may set it. A repository that was cloned must neither redirect the user's store nor make
    /// its files pass for those of another filesystem, trusted or not.
    pub project: bool,
}

const fn setting(
    key: &'static str,
    kind: SettingType,
    default: &'static str,
    description: &'static str,
) -> SettingDoc {
    SettingDoc { key, kind, default, description, project: true }
}

const fn user_only(doc: SettingDoc) -> SettingDoc {
    SettingDoc { project: false, ..doc }
}

/// Largest value of settings that count tokens or results; far above any window.
const MAX_COUNT: u64 = 100_000_000;

const COUNT: SettingType = SettingType::Count { min: 0, max: MAX_COUNT };
const POSITIVE: SettingType = SettingType::Count { min: 1, max: MAX_COUNT };

/// Every setting, in the order of the documentation.
pub const SETTINGS: &[SettingDoc] = &[
    setting(
        "enabled",
        SettingType::Boolean,
        "true",
        "Whether Palimpsest does anything; `false` leaves the plain host",
    ),
    setting(
        "layout",
        SettingType::Choice(&["log", "pools"]),
        "\"log\"",
        "How the context is laid out: `log` keeps content where it appeared, `pools` puts it last",
    ),
    user_only(setting(
        "store",
        SettingType::OptionalText,
        "null",
        "The store's file, or `:memory:`; relative to the settings file; `null` is `palimpsest/store.sqlite` beside it",
    )),
    user_only(setting(
        "filesystemId",
        SettingType::OptionalText,
        "null",
        "ID of the filesystem that files belong to; `null` makes it from the machine's ID",
    )),
    user_only(setting(
        "mounts",
        SettingType::Mounts,
        "[]",
        "Folders that an agent in a sandbox sees elsewhere than they are, see [Sandboxes](#sandboxes)",
    )),
    user_only(setting(
        "sandbox",
        SettingType::OptionalText,
        "null",
        "ID or name of the container that holds what is not mapped, see [Sandboxes](#sandboxes)",
    )),
    setting(
        "keepResults",
        COUNT,
        "10",
        "Layout `log`: how many of the last results always stay in the window",
    ),
    setting(
        "collapseTokens",
        COUNT,
        "1000",
        "Layout `log`: how many tokens an epoch frees at least",
    ),
    setting(
        "extraShare",
        SettingType::Share,
        "0.01",
        "Layout `log`: share of the plain bill by which ours may exceed it, see [Limits](#limits)",
    ),
    setting(
        "extraTokens",
        COUNT,
        "3000",
        "Layout `log`: tokens by which our bill may exceed the plain one in any case",
    ),
    user_only(setting(
        "hazards",
        SettingType::OptionalText,
        "null",
        "File with weights made by `palimpsest learn`; relative to the settings file; `null` takes those that are shipped",
    )),
    setting(
        "previewTokens",
        COUNT,
        "1000",
        "Outputs with more tokens are shown in part when first sent; 0 never",
    ),
    setting(
        "activePerTurn",
        COUNT,
        "5",
        "Layout `pools`: how many of a turn's last toolcalls are active",
    ),
    setting(
        "activeTurns",
        POSITIVE,
        "3",
        "Layout `pools`: how many turns, the current included, have active toolcalls",
    ),
    setting("poolTokens", COUNT, "8000", "Layout `pools`: token budget of the metadata pool"),
    setting(
        "linkedTokens",
        COUNT,
        "0",
        "Tokens that a session may spend on metadata lines of files that its active Markdown files link to; 0 never",
    ),
    setting(
        "track",
        SettingType::Boolean,
        "true",
        "Whether files whose text the model saw get their versions as they change, not only when they are looked at next",
    ),
    setting(
        "maxTextBytes",
        SettingType::Count { min: 0, max: 1 << 30 },
        "4194304",
        "Files with more bytes are kept as metadata only",
    ),
    setting(
        "maxOutputBytes",
        SettingType::Count { min: 0, max: 1 << 30 },
        "16777216",
        "Outputs that Pi cut are stored whole up to this many bytes; 0 never",
    ),
    setting(
        "highWater",
        SettingType::Share,
        "0.7",
        "Share of the model's window above which `activate` and `pin` refuse",
    ),
    user_only(setting(
        "prices",
        SettingType::Prices,
        "\"auto\"",
        "What input tokens cost; `auto` goes by what Pi knows of the model",
    )),
    setting(
        "exclude",
        SettingType::Globs,
        "null",
        "Files whose text is never stored, by globs as in a `.gitignore`; `null` is key files and `.env*`; a project's list is added to yours",
    ),
];
