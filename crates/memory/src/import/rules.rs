//! Rules as other programs keep them: a folder of files with a front matter, as Cursor's
//! `.cursor/rules`, and `AGENTS.md`. They are imported as what they are: instructions.

use std::path::Path;

use super::{entries, files_of};
use crate::journal::Draft;
use base::markdown;

/// The heading below which rules stand that have none.
pub(super) const HEADING: &str = "Rules";

/// Files that are to be obeyed as a whole.
const OF_AGENTS: [&str; 4] = ["agents.md", "agents.override.md", ".cursorrules", ".windsurfrules"];

/// Ending of a file of rules.
const ENDING: &str = ".mdc";

/// Whether a file's content is to be obeyed, by its name.
pub(super) fn is_of_agents(name: &str) -> bool {
    OF_AGENTS.contains(&name.to_lowercase().as_str())
}

/// Whether a file is a rule with a front matter, by its name.
pub(super) fn is_rule(name: &str) -> bool {
    name.to_lowercase().ends_with(ENDING)
}

/// Whether a folder has such rules.
pub(super) fn are_in(folder: &Path) -> bool {
    let is_cursors = folder.ends_with(".cursor/rules");
    is_cursors || !files_of(folder, is_rule).0.is_empty()
}

/// Whether a file of a folder of rules is one, by its name.
pub(super) fn is_kept(name: &str) -> bool {
    is_rule(name) || name.to_lowercase().ends_with(".md")
}

/// The entries of a file of rules, below a heading that says what they are about and which files
/// they are for.
pub(super) fn rules_of(name: &str, text: &str, origin: &str) -> Vec<Draft> {
    let document = markdown::parse(text);
    let field = |key: &str| {
        let field = document.front_matter.as_ref()?.fields.get(key)?;
        let listed = field
            .as_array()
            .map(|all| all.iter().filter_map(|one| one.as_str()).collect::<Vec<_>>().join(", "));
        listed.or_else(|| field.as_str().map(str::to_owned)).filter(|said| !said.trim().is_empty())
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let about = field("description").unwrap_or_else(|| stem.to_owned());
    let files = field("globs").map(|globs| format!(" ({})", globs.trim())).unwrap_or_default();
    let heading = format!("{HEADING}: {}{files}", about.trim());
    let mut drafts = entries(text, origin);
    for draft in &mut drafts {
        draft.heading = Some(heading.clone());
    }
    drafts
}
