//! Reads settings from their files and checks them.

use files::looks;
use std::path::{Path, PathBuf};

use base::error::{Error, Result};
use base::path::absolute_path;
use config::{ANY_SETTING, PROJECT_SETTING, Rules, SETTINGS_FILE, Settings, refusal, settings_in};
use serde_json::{Map, Value};
use source::{FileState, canonical_path, read_file};

/// Largest settings file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads the settings. The user's file overrides the defaults, and the project's file overrides
/// both. A missing file sets nothing.
///
/// `agent_dir`: the harness's folder, if it has one. `trusted_project`: the project's folder, only
/// if the user trusts it. The paths in `hazards`, `xtdbTokenFile` and `xtdbCaFile` become absolute:
/// `~` is expanded, and a relative path is resolved from `agent_dir`.
///
/// # Errors
/// `INVALID_SETTINGS`, which names the file, each wrong key and what was expected.
pub fn load(agent_dir: Option<&Path>, trusted_project: Option<&Path>) -> Result<Settings> {
    load_needed(agent_dir, trusted_project, &|_| true)
}

/// As [`load`], for callers that need only some settings: a wrong value of any other does not count.
///
/// # Errors
/// As [`load`], for the keys that `is_needed` names, and for a file that cannot be read as an
/// object.
pub fn load_needed(
    agent_dir: Option<&Path>,
    trusted_project: Option<&Path>,
    is_needed: &dyn Fn(&str) -> bool,
) -> Result<Settings> {
    Files::read(agent_dir, trusted_project, is_needed)?.settings(agent_dir)
}

/// Everything that is wrong with the values in the two files: `INVALID_SETTINGS` for each file.
/// [`load_needed`] passes it over where it is not needed.
///
/// # Errors
/// `INVALID_SETTINGS` for a file that cannot be read as an object.
pub fn wrong_values(
    agent_dir: Option<&Path>,
    trusted_project: Option<&Path>,
) -> Result<Vec<Error>> {
    Ok(Files::read(agent_dir, trusted_project, &|_| false)?.wrong)
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// The default: nobody set it.
    Default,
    /// The user's file, at this path.
    User(PathBuf),
    /// The project's file, at this path.
    Project(PathBuf),
    /// The environment variable of this name.
    Environment(&'static str),
}

/// The values that the two files set and that count.
pub(crate) struct Files {
    user: Map<String, Value>,
    project: Map<String, Value>,
    /// What is wrong with the others.
    wrong: Vec<Error>,
    user_file: PathBuf,
    project_file: PathBuf,
}

impl Files {
    /// Reads them, see [`load_needed`].
    pub(crate) fn read(
        agent_dir: Option<&Path>,
        trusted_project: Option<&Path>,
        is_needed: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let user_file = agent_dir.map(|folder| folder.join(SETTINGS_FILE));
        let project_file = trusted_project.map(|folder| folder.join(".pi").join(SETTINGS_FILE));
        let mut wrong = Vec::new();
        let mut read = |path: Option<&PathBuf>, rules: Rules| {
            let Some(path) = path else { return Ok(Map::new()) };
            let (values, problem) = read_values(path, rules, is_needed)?;
            wrong.extend(problem);
            Ok(values)
        };
        project_file.as_deref().map_or(Ok(()), |path| refuse_links(path, 2))?;
        let user = read(user_file.as_ref(), ANY_SETTING)?;
        let project = read(project_file.as_ref(), PROJECT_SETTING)?;
        Ok(Self {
            user,
            project,
            wrong,
            user_file: user_file.unwrap_or_default(),
            project_file: project_file.unwrap_or_default(),
        })
    }

    /// Which file sets a key. The globs that a project excludes count as its `excludeAlso`.
    pub(crate) fn source_of(&self, key: &str) -> SettingSource {
        let in_project = match key {
            "exclude" => false,
            "excludeAlso" => self.project.contains_key("exclude"),
            _ => self.project.contains_key(key),
        };
        if in_project {
            SettingSource::Project(self.project_file.clone())
        } else if self.user.contains_key(key) {
            SettingSource::User(self.user_file.clone())
        } else {
            SettingSource::Default
        }
    }

    /// The resulting settings.
    pub(crate) fn settings(self, agent_dir: Option<&Path>) -> Result<Settings> {
        let Self { user: mut values, mut project, .. } = self;
        for key in ["hazards", "xtdbTokenFile", "xtdbCaFile"] {
            if let (Some(folder), Some(Value::String(path))) = (agent_dir, values.get_mut(key)) {
                *path = absolute_path(path, folder).to_string_lossy().into_owned();
            }
        }
        if let Some(Value::Array(mut globs)) = project.remove("exclude") {
            // A separate list, so that no `!` in one takes back what the other excludes: a cloned
            // repository must not get stored what its user excludes, and its own exclusions must
            // count besides the default. The user's globs come last, and the last match decides.
            if let Some(Value::Array(also)) = values.remove("excludeAlso") {
                globs.extend(also);
            }
            values.insert("excludeAlso".to_owned(), Value::Array(globs));
        }
        values.extend(project);
        Settings::from_checked(values)
    }
}

/// Reads and checks one file: the values that count, and what is wrong with the others. Returns no
/// values if it does not exist; fails for a wrong value that is needed.
pub(crate) fn read_values(
    path: &Path,
    rules: Rules,
    is_needed: &dyn Fn(&str) -> bool,
) -> Result<(Map<String, Value>, Option<Error>)> {
    let mut values = read_object(path)?;
    let needed = values.iter().filter(|(key, _)| is_needed(key));
    let problems: Vec<String> =
        needed.filter_map(|(key, value)| rules.problem(key, value)).collect();
    refusal(path, &problems).map_or(Ok(()), Err)?;
    let problems = rules.keep_right(&mut values);
    Ok((values, refusal(path, &problems)))
}

/// Refuses a project's file if it, or one of the folders above it, is a link: a clone could have
/// brought the link to have another file read. `count`: how many parts of the path are the
/// project's.
pub(crate) fn refuse_links(path: &Path, count: usize) -> Result<()> {
    let is_link = |part: &Path| looks::symlink_metadata(part).is_ok_and(|found| found.is_symlink());
    if path.ancestors().take(count).any(is_link) {
        let problem = "it is a link, or lies behind one".to_owned();
        return Err(Error::InvalidSettings { path: path.to_owned(), problem });
    }
    Ok(())
}

/// Reads one file; returns no values if it does not exist.
fn read_object(path: &Path) -> Result<Map<String, Value>> {
    let wrong = |problem: String| Error::InvalidSettings { path: path.to_owned(), problem };
    // Read like a source file, so that a link to a device or a huge file cannot hang the host.
    let text = match read_file(&canonical_path(path), MAX_FILE_BYTES).state {
        FileState::Text { text, .. } => text,
        FileState::Missing => return Ok(Map::new()),
        FileState::Binary { .. } => return Err(wrong("it is not UTF-8".to_owned())),
        FileState::TooLarge { size } => return Err(wrong(format!("{size} bytes are too many"))),
        FileState::NotAFile | FileState::Excluded { .. } | FileState::NotRead => {
            return Err(wrong("it is not a regular file".to_owned()));
        }
        FileState::Unreadable { reason } => return Err(wrong(reason)),
    };
    settings_in(path, &text)
}

#[cfg(test)]
mod tests;
