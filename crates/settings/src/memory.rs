//! Reads the memory settings from the memory folders. Must not decide which folder is trusted.

use std::path::Path;

use base::error::Error;
use config::{MEMORY_CONFIG_FILE, MEMORY_SETTINGS, MemorySettings, Rules};
use serde_json::{Map, Value};

use super::load::{read_values, refuse_links};

/// Reads the settings of both folders; a project's override the user's. A missing file sets
/// nothing. A wrong value also sets nothing and is reported; the correct values count.
///
/// `global`, `project`: the memory folders; the project's only if the user trusts it. Returns an
/// `INVALID_SETTINGS` error for each file with a wrong value.
pub fn load_memory(global: Option<&Path>, project: Option<&Path>) -> (MemorySettings, Vec<Error>) {
    let mut wrong = Vec::new();
    let mut values = Map::new();
    for (folder, is_project) in [(global, false), (project, true)] {
        let Some(folder) = folder else { continue };
        let rules = Rules { table: MEMORY_SETTINGS, is_project };
        let file = folder.join(MEMORY_CONFIG_FILE);
        let refused = if is_project { refuse_links(&file, 3) } else { Ok(()) };
        match refused.and_then(|()| read_values(&file, rules, &|_| false)) {
            Ok((given, problems)) => {
                wrong.extend(problems);
                values.extend(given);
            }
            Err(error) => wrong.push(error),
        }
    }
    match serde_json::from_value(Value::Object(values)) {
        Ok(settings) => (settings, wrong),
        Err(error) => {
            wrong.push(Error::internal(format!("settings passed validation: {error}")));
            (MemorySettings::default(), wrong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(user: Option<&str>, project: Option<&str>) -> (MemorySettings, Vec<String>) {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, text) in folders.iter().zip([user, project]) {
            if let Some(text) = text {
                std::fs::write(folder.path().join(MEMORY_CONFIG_FILE), text).unwrap();
            }
        }
        let (settings, wrong) = load_memory(Some(folders[0].path()), Some(folders[1].path()));
        let words = |error: &Error| {
            assert_eq!(error.code(), "INVALID_SETTINGS");
            let text = error.to_string();
            text.split_once("`: ").unwrap().1.to_owned()
        };
        (settings, wrong.iter().map(words).collect())
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
    fn a_file_may_begin_with_a_byte_order_mark() {
        let (settings, wrong) = load(Some("\u{feff}{\"maxInjectLines\": 5}"), None);
        assert_eq!((settings.max_inject_lines, wrong), (5, vec![]));
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
