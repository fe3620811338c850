//! Settings: `loadSettings`, and settings that a caller passes.

use std::path::{Path, PathBuf};

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Json};
use super::blocking::{Answer, Promised, answering, blocking, present};
use super::trust::counted;
use base::error::{Error, Result};
use base::object::{FieldPath, ObjectType};
use config::{ANY_SETTING, Settings};
use settings::SettingSource;
use source::{OwnFilesystem, data_folder};
use store::{Condition, Query, Store};

/// Where to read settings from.
#[napi(object)]
pub struct SettingsPlaces {
    /// The agent's folder; its `palimpsest.json` holds the user's settings.
    pub agent_dir: Option<String>,
    /// The project's folder. Its `.pi/palimpsest.json` overrides the user's settings where the person trusts the project, see `trusted`.
    pub project_dir: Option<String>,
    /// Whether the project's settings count. Default: what the person said of the project, see `projectTrust`. Give `true` only where a
    /// person said so to the caller.
    pub trusted: Option<bool>,
    /// Keys of the settings that the caller needs: a wrong value of another is passed over, and its default counts. Default: all.
    pub needed: Option<Vec<String>>,
}

impl SettingsPlaces {
    /// The agent's folder, and the project's where its settings count.
    fn counted(&self) -> Result<(Option<&Path>, Option<&Path>)> {
        let agent_dir = self.agent_dir.as_deref().map(Path::new);
        let project_dir = self.project_dir.as_deref().map(Path::new);
        Ok((agent_dir, counted(agent_dir, project_dir, self.trusted)?))
    }
}

/// Reads and checks the settings. Keys that no file sets have their defaults.
///
/// Rejects with `INVALID_ARGUMENT`, and with `INVALID_SETTINGS`, which names the file, each wrong key and what was expected.
#[napi(ts_args_type = "places: SettingsPlaces", ts_return_type = "Promise<Settings>")]
pub fn load_settings(places: Given<SettingsPlaces>) -> Promised<Answer> {
    answering(move || {
        let places = places.named("places")?;
        let (agent_dir, project_dir) = places.counted()?;
        let is_needed =
            |key: &str| places.needed.as_ref().is_none_or(|keys| keys.iter().any(|one| one == key));
        settings::load_needed(agent_dir, project_dir, &is_needed)
    })
}

/// Lists what is wrong with the values in the settings files, in a sentence for each file. It does not count where `loadSettings` does not
/// need it: a wrong value must not turn off what does not depend on it. Of a wrong list the right entries count, and a wrong `sandbox`, or
/// wrong `mounts`, make the agent's files those of a sandbox that nobody knows.
///
/// Rejects as `loadSettings`, but not for wrong values. `places.needed` is ignored.
#[napi(ts_args_type = "places: SettingsPlaces", ts_return_type = "Promise<string[]>")]
pub fn setting_problems(places: Given<SettingsPlaces>) -> Promised<Vec<String>> {
    blocking(move || {
        let places = places.named("places")?;
        let (agent_dir, project_dir) = places.counted()?;
        let wrong = settings::wrong_values(agent_dir, project_dir)?;
        Ok(wrong.iter().map(Error::to_string).collect())
    })
}

/// Checks settings that a host keeps in its own configuration, where a wrong value must not turn off what does not depend on it. What counts
/// of a wrong one is as with `settingProblems`.
#[napi(catch_unwind, ts_args_type = "given: unknown", ts_return_type = "CheckedSettings")]
pub fn check_settings(given: Given<Json>) -> Answer {
    match given.named("given").map(|given| given.0) {
        Ok(Value::Object(mut values)) => {
            let problems = ANY_SETTING.keep_right(&mut values);
            json!({ "settings": values, "problems": problems }).into()
        }
        Ok(_) => nothing_right("the settings must be an object with their names as keys"),
        Err(error) => nothing_right(&error.to_string()),
    }
}

fn nothing_right(problem: &str) -> Answer {
    json!({ "settings": {}, "problems": [problem] }).into()
}

/// Lists every setting with the value that counts and where it comes from, in the order of docs/settings.md.
///
/// Rejects as `settingProblems`, and for wrong environment variables. `places.needed` is ignored.
#[napi(ts_args_type = "places: SettingsPlaces", ts_return_type = "Promise<SettingValue[]>")]
pub fn setting_values(places: Given<SettingsPlaces>) -> Promised<Answer> {
    answering(move || {
        let places = places.named("places")?;
        let (agent_dir, project_dir) = places.counted()?;
        let variable = |name: &str| std::env::var(name).ok();
        let values = settings::setting_values(agent_dir, project_dir, &variable)?;
        Ok(values.into_iter().map(setting_value).collect::<Vec<_>>())
    })
}

fn setting_value(found: settings::SettingValue) -> Value {
    let path = |path: PathBuf| Some(path.to_string_lossy().into_owned());
    let (source, place) = match found.source {
        SettingSource::Default => ("default", None),
        SettingSource::User(file) => ("user", path(file)),
        SettingSource::Project(file) => ("project", path(file)),
        SettingSource::Environment(name) => ("environment", Some(name.to_owned())),
    };
    let mut answer = present(json!({ "key": found.doc.key, "source": source, "place": place }));
    answer["value"] = found.value;
    answer
}

/// Settings that a caller passes, complete or in part, combined with those that the environment
/// sets for one session.
pub(super) fn settings_from(value: Option<Json>) -> Result<Settings> {
    let settings =
        value.map_or_else(|| Ok(Settings::default()), |Json(value)| Settings::from_json(value))?;
    settings.in_environment(&|name| std::env::var(name).ok())
}

/// The filesystem of files, from the environment or the settings, see [`source::own_filesystem`]. A
/// machine without an ID of its own keeps one in the platform's data folder or, if there is none,
/// beside the store.
pub(super) fn own_filesystem(settings: &Settings, store: &Store) -> Result<OwnFilesystem> {
    let env = std::env::var("PALIMPSEST_FILESYSTEM_ID").ok();
    let beside = || Path::new(store.path()).parent().map(PathBuf::from).unwrap_or_default();
    let kept_in = data_folder().unwrap_or_else(|_| beside());
    let holds_files = |id: &str| {
        let filesystem = FieldPath::key("source").member("filesystemId");
        let files = Query::matching(Condition::is_text(filesystem, id));
        Ok(!store.query(&files.within(Some(ObjectType::File), Some(1)))?.is_empty())
    };
    source::own_filesystem(env.as_deref(), settings.filesystem_id.as_deref(), &kept_in, holds_files)
}
