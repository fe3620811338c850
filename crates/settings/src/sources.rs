//! Where the value of each setting comes from, for display. Must not decide which value counts:
//! `load` does.

use std::path::Path;

use serde_json::{Value, json};

use super::load::{Files, SettingSource};
use base::error::Result;
use config::{SETTINGS, SettingDoc};

/// The environment variables that override settings.
const VARIABLES: [(&str, &str); 5] = [
    ("store", "PALIMPSEST_STORE"),
    ("filesystemId", "PALIMPSEST_FILESYSTEM_ID"),
    ("mounts", "PALIMPSEST_MOUNTS"),
    ("sandbox", "PALIMPSEST_SANDBOX"),
    ("xtdbUrl", "PALIMPSEST_XTDB_URL"),
];

/// The effective value of a setting, and where it comes from.
#[derive(Debug, Clone)]
pub struct SettingValue {
    /// The setting.
    pub doc: &'static SettingDoc,
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub source: SettingSource,
}

/// Every setting with the value that counts and its source, in the order of the documentation:
/// wrong values in the files do not, see [`crate::wrong_values`].
///
/// `variable`: returns the value of an environment variable. The folders are as in [`crate::load()`].
///
/// # Errors
/// As [`crate::wrong_values`] and [`config::Settings::in_environment`].
pub fn setting_values(
    agent_dir: Option<&Path>,
    trusted_project: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<SettingValue>> {
    let files = Files::read(agent_dir, trusted_project, &|_| false)?;
    let of_file = |doc: &SettingDoc| files.source_of(doc.key);
    let given: Vec<SettingSource> = SETTINGS
        .iter()
        .map(|doc| {
            let set = |(_, name): &&(&str, &'static str)| variable(name).is_some();
            let named = VARIABLES.iter().filter(|(key, _)| *key == doc.key).find(set);
            named.map_or_else(|| of_file(doc), |(_, name)| SettingSource::Environment(name))
        })
        .collect();
    let mut settings = files.settings(agent_dir)?.in_environment(variable)?;
    settings.store = variable("PALIMPSEST_STORE").or(settings.store);
    settings.filesystem_id = variable("PALIMPSEST_FILESYSTEM_ID").or(settings.filesystem_id);
    let values = json!(settings);
    let with_value = |(doc, source): (&'static SettingDoc, SettingSource)| SettingValue {
        doc,
        value: values.get(doc.key).cloned().unwrap_or_default(),
        source,
    };
    Ok(SETTINGS.iter().zip(given).map(with_value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::SETTINGS_FILE;

    #[test]
    fn each_value_names_the_last_one_who_set_it() {
        let (agent, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (user, folder) = (agent.path().join(SETTINGS_FILE), project.path().join(".pi"));
        let ours = folder.join(SETTINGS_FILE);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(
            &user,
            r#"{"keepResults": 3, "track": false, "store": "a", "sandbox": "b"}"#,
        )
        .unwrap();
        std::fs::write(&ours, r#"{"keepResults": 7, "exclude": ["*.x"]}"#).unwrap();
        let variable = |name: &str| (name == "PALIMPSEST_STORE").then(|| "/c".to_owned());
        let values = setting_values(Some(agent.path()), Some(project.path()), &variable).unwrap();
        let of = |key: &str| {
            let found = values.iter().find(|found| found.doc.key == key).unwrap();
            (found.value.clone(), found.source.clone())
        };
        assert_eq!(of("keepResults"), (json!(7), SettingSource::Project(ours.clone())));
        assert_eq!(of("track"), (json!(false), SettingSource::User(user.clone())));
        assert_eq!(of("store"), (json!("/c"), SettingSource::Environment("PALIMPSEST_STORE")));
        assert_eq!(of("sandbox"), (json!("b"), SettingSource::User(user)));
        assert_eq!(of("layout"), (json!("log"), SettingSource::Default));
        // A project's globs count beside the user's.
        assert_eq!(of("exclude"), (json!(null), SettingSource::Default));
        assert_eq!(of("excludeAlso"), (json!(["*.x"]), SettingSource::Project(ours)));
        assert_eq!(values.len(), SETTINGS.len());
    }
}
