//! Settings of memory: `config.json` in each memory folder, a project's over the user's. They are rows of a table like all others.
//! Must not decide anything else.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::SettingType;
use super::load::{read_object, refuse_links};
use super::table::{SettingDoc, setting, user_only};
use super::validation::Rules;
use crate::error::{Error, Result};

/// Name of the settings file in a memory folder.
pub const MEMORY_CONFIG_FILE: &str = "config.json";

/// What a user can set of memory. Keys in the files are the camelCase forms of the fields.
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
    /// Whether pages are chosen and shortened within `max_memory_tokens`; `false`: the first lines of each index as they are. Default
    /// `true`.
    pub page_table_injection: bool,
    /// Most tokens of all pages in the system prompt. Default 4,096.
    pub max_memory_tokens: u64,
    /// Whether decisions and memory faults are traced. Default `true`.
    pub trace_enabled: bool,
    /// Whether an entry with a finding is refused, instead of written with a warning. Default `true`.
    pub strict_writeback: bool,
    /// Model that proposes entries at a compaction and at the end of a session, as `provider/id`. Default `None`: nothing is proposed.
    /// Not in project files.
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

/// Every setting of memory, in the order of the documentation. The upper limits keep a project that somebody cloned from filling the
/// window.
pub const MEMORY_SETTINGS: &[SettingDoc] = &[
    setting(
        "enabled",
        SettingType::Boolean,
        "true",
        "`false` keeps memory out of the system prompt; `/memory` still works",
    ),
    setting(
        "maxInjectLines",
        SettingType::Count { min: 0, max: 10_000 },
        "200",
        "Most lines of a scope in the system prompt",
    ),
    setting(
        "maxInjectBytes",
        SettingType::Count { min: 0, max: 1 << 20 },
        "8192",
        "Most bytes of a scope in the system prompt",
    ),
    setting(
        "pageTableInjection",
        SettingType::Boolean,
        "true",
        "Choose pages, and shorten them, within `maxMemoryTokens`; `false`: the first lines of each `MEMORY.md` as they are",
    ),
    setting(
        "maxMemoryTokens",
        SettingType::Count { min: 0, max: 32_768 },
        "4096",
        "Most tokens of all pages in the system prompt",
    ),
    setting(
        "traceEnabled",
        SettingType::Boolean,
        "true",
        "Keep traces of what was chosen, of writes and of memory faults",
    ),
    setting(
        "strictWriteback",
        SettingType::Boolean,
        "true",
        "Refuse a staged entry that doubles another one, is too long or has conflict markers; `false`: write it, with a warning. Secrets are always refused, contradictions never",
    ),
    user_only(setting(
        "captureModel",
        SettingType::OptionalText,
        "null",
        "Model that proposes entries at a compaction and at the end of a session, as `provider/id`; `null`: nothing is proposed",
    )),
];

impl MemorySettings {
    /// Reads the settings of both folders, a project's over the user's. A missing file sets nothing, and neither does what is wrong: it is
    /// reported, and what is right counts.
    ///
    /// `global`, `project`: the memory folders; the project's only if the user trusts it. Returns `INVALID_SETTINGS` of each file with
    /// something wrong.
    pub fn load(global: Option<&Path>, project: Option<&Path>) -> (Self, Vec<Error>) {
        let mut wrong = Vec::new();
        let mut values = Map::new();
        for (folder, is_project) in [(global, false), (project, true)] {
            let Some(folder) = folder else { continue };
            let rules = Rules { table: MEMORY_SETTINGS, is_project };
            let file = folder.join(MEMORY_CONFIG_FILE);
            let refused = if is_project { refuse_links(&file, 3) } else { Ok(()) };
            match refused.and_then(|()| read_object(&file)) {
                Ok(given) => {
                    wrong.extend(refusal(&file, &given, rules));
                    let right = given
                        .into_iter()
                        .filter(|(key, value)| rules.problem(key, value).is_none());
                    values.extend(right);
                }
                Err(error) => wrong.push(error),
            }
        }
        match serde_json::from_value(Value::Object(values)) {
            Ok(settings) => (settings, wrong),
            Err(error) => {
                wrong.push(Error::internal(format!("settings passed validation: {error}")));
                (Self::default(), wrong)
            }
        }
    }

    /// Checks the text of a settings file before it is written.
    ///
    /// # Errors
    /// `INVALID_SETTINGS`, which names each wrong key and what was expected.
    pub fn check(path: &Path, text: &str, is_project: bool) -> Result<()> {
        let wrong = |problem: String| Error::InvalidSettings { path: path.to_owned(), problem };
        let value: Value =
            serde_json::from_str(text).map_err(|error| wrong(format!("not JSON: {error}")))?;
        let Value::Object(values) = value else {
            return Err(wrong("must be an object with the settings as keys".to_owned()));
        };
        let rules = Rules { table: MEMORY_SETTINGS, is_project };
        refusal(path, &values, rules).map_or(Ok(()), Err)
    }
}

fn refusal(path: &Path, values: &Map<String, Value>, rules: Rules) -> Option<Error> {
    let problems = rules.problems(values);
    (!problems.is_empty())
        .then(|| Error::InvalidSettings { path: PathBuf::from(path), problem: problems.join("; ") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn load(user: Option<&str>, project: Option<&str>) -> (MemorySettings, Vec<String>) {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, text) in folders.iter().zip([user, project]) {
            if let Some(text) = text {
                std::fs::write(folder.path().join(MEMORY_CONFIG_FILE), text).unwrap();
            }
        }
        let (settings, wrong) =
            MemorySettings::load(Some(folders[0].path()), Some(folders[1].path()));
        let words = |error: &Error| {
            assert_eq!(error.code(), "INVALID_SETTINGS");
            let text = error.to_string();
            text.split_once("`: ").unwrap().1.to_owned()
        };
        (settings, wrong.iter().map(words).collect())
    }

    #[test]
    fn the_table_agrees_with_the_defaults() {
        let Value::Object(defaults) = json!(MemorySettings::default()) else { panic!("an object") };
        let documented: Map<_, _> = MEMORY_SETTINGS
            .iter()
            .map(|doc| (doc.key.to_owned(), serde_json::from_str(doc.default).unwrap()))
            .collect();
        assert_eq!(documented, defaults);
    }

    #[test]
    fn the_project_overrides_the_user_key_by_key() {
        let (settings, wrong) = load(
            Some(r#"{"maxMemoryTokens": 100, "strictWriteback": false}"#),
            Some(r#"{"maxMemoryTokens": 200}"#),
        );
        assert_eq!((settings.max_memory_tokens, settings.strict_writeback), (200, false));
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_is_reported_and_what_is_right_counts() {
        let (settings, wrong) = load(
            Some(r#"{"maxMemoryTokens": "many", "enabeld": true, "maxInjectLines": 5}"#),
            Some(r#"{"captureModel": "a/b", "traceEnabled": false}"#),
        );
        let expected =
            MemorySettings { max_inject_lines: 5, trace_enabled: false, ..Default::default() };
        assert_eq!(settings, expected);
        assert_eq!(
            wrong,
            [
                "`maxMemoryTokens` must be a whole number from 0 to 32768, is `\"many\"`; `enabeld` is not a setting, `enabled` is",
                "`captureModel` may be set in the user's settings only",
            ]
        );
    }

    #[test]
    fn a_file_that_is_no_object_sets_nothing() {
        for text in ["", "[]", "{\"enabled\": false"] {
            let (settings, wrong) = load(Some(text), None);
            assert_eq!((settings, wrong.len()), (MemorySettings::default(), 1), "{text}");
        }
    }
}
