//! The setting `mounts`: maps folders as a sandboxed agent sees them to where they really are. Must
//! not access a folder.

use std::path::Path;

use base::path::AbsolutePath;
use serde::{Deserialize, Serialize};

/// One entry of the setting `mounts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MountMapping {
    /// Folder as the agent sees it, absolute.
    pub agent_prefix: String,
    /// The same folder in its own filesystem, absolute. For a host folder, the path that an agent
    /// on the host sees.
    pub canonical_prefix: String,
    /// The filesystem that holds the folder. Default: the host's, which is this process's unless
    /// configured otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem_id: Option<String>,
    /// Where this process opens the folder. Default: `canonical_prefix`. Differs only if this
    /// process runs in the container itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_prefix: Option<String>,
}

impl MountMapping {
    /// What is wrong with a list of mappings, phrased to follow the setting's name: a prefix that
    /// is not an absolute path, a folder that this machine cannot open by such a path, an empty ID,
    /// or an agent folder mapped twice.
    pub fn problem(mappings: &[Self]) -> Option<String> {
        if let Some(problem) = mappings.iter().find_map(Self::own_problem) {
            return Some(problem);
        }
        let agents: Vec<AbsolutePath> =
            mappings.iter().filter_map(|one| AbsolutePath::parse(&one.agent_prefix)).collect();
        let repeated = (1..agents.len())
            .find(|at| agents[..*at].iter().any(|other| other.is_at(&agents[*at])))?;
        // A file in there would be two files at once.
        Some(format!("map `{}` twice", agents[repeated]))
    }

    fn own_problem(&self) -> Option<String> {
        let prefixes = [
            ("agentPrefix", Some(&self.agent_prefix)),
            ("canonicalPrefix", Some(&self.canonical_prefix)),
            ("clientPrefix", self.client_prefix.as_ref()),
        ];
        for (key, prefix) in prefixes {
            let Some(prefix) = prefix else { continue };
            if AbsolutePath::parse(prefix).is_none() {
                return Some(format!("have the {key} `{prefix}`, which is not an absolute path"));
            }
        }
        let client = self.client_prefix.as_ref().unwrap_or(&self.canonical_prefix);
        if !Path::new(client).is_absolute() {
            return Some(format!(
                "have `{client}` opened here, where that is not an absolute path"
            ));
        }
        let is_blank = self.filesystem_id.as_ref().is_some_and(|id| id.trim().is_empty());
        is_blank.then(|| "have an empty filesystemId".to_owned())
    }
}
