//! Where other programs keep what they remember about a project. Read-only. Claude Code does not
//! document its rules: these come from its users' findings and from recorded folders.

use files::looks;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::scope::Scope;
use base::path::absolute_path;
use settings::{Main, held_by_git};
use source::{canonical_path, read_text};

/// Longest name that Claude Code makes from a project's path; a longer one is cut and a hash
/// appended.
const MAX_NAME: usize = 200;

/// Largest settings file that is read.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Files of notes that people write for Claude Code, in a project, each with whose memory it is for.
pub(super) const NOTES: [(&str, Scope); 3] = [
    ("CLAUDE.md", Scope::Project),
    (".claude/CLAUDE.md", Scope::Project),
    ("CLAUDE.local.md", Scope::Local),
];

/// Claude Code's own folder: `CLAUDE_CONFIG_DIR`, or `.claude` in the home folder.
pub(super) fn claude_folder(home: Option<&Path>, config_dir: Option<&str>) -> Option<PathBuf> {
    let given = config_dir.map(PathBuf::from).filter(|folder| folder.is_absolute());
    given.or_else(|| Some(home?.join(".claude")))
}

/// The folder in which Claude Code keeps its memory of a project, if there is one: where its
/// settings say, otherwise in its own folder, under the path of the repository, which all worktrees
/// share, or of the project.
pub(super) fn claude_memory(claude: &Path, project: &Path) -> Option<PathBuf> {
    let local = project.join(".claude/settings.local.json");
    // If git has the file, or could have brought it, it may only name a folder inside the project.
    let is_theirs = held_by_git(&local) == Some(false);
    let is_allowed =
        |folder: &PathBuf| is_theirs || canonical_path(folder).starts_with(canonical_path(project));
    let of_project = memory_setting(&local).filter(is_allowed);
    let set = of_project.or_else(|| memory_setting(&claude.join("settings.json")));
    if let Some(folder) = set.filter(|folder| folder.is_dir()) {
        return Some(folder);
    }
    let canonical = canonical_path(project);
    let roots = [repository(&canonical), Some(canonical), Some(project.to_owned())];
    let projects = claude.join("projects");
    let folders = roots.into_iter().flatten().filter_map(|root| folder_of(&projects, &root));
    folders.map(|folder| folder.join("memory")).find(|folder| folder.is_dir())
}

/// A project's folder among Claude Code's: each character of the path other than an ASCII letter or
/// digit becomes a dash.
fn folder_of(projects: &Path, root: &Path) -> Option<PathBuf> {
    let name = name_of(&root.to_string_lossy());
    if name.len() <= MAX_NAME {
        return Some(projects.join(name));
    }
    // The hash behind it depends on the runtime of Claude Code.
    let beginning = format!("{}-", &name[..MAX_NAME]);
    let entries = looks::entries(projects, 100_000).ok()?;
    let mut found = entries
        .into_iter()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&beginning));
    found.next().filter(|_| found.next().is_none()).map(|entry| entry.path())
}

fn name_of(path: &str) -> String {
    // JavaScript counts a character outside the basic plane as two.
    let plain = |unit: u16| {
        let letter = u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric);
        letter.map_or('-', char::from)
    };
    path.encode_utf16().map(plain).collect()
}

/// The root of the repository that contains a folder; for a worktree, that of the main one.
fn repository(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|one| one.join(".git").exists())?;
    match settings::main_of(root) {
        Some(Main::Checkout(main)) => Some(main),
        _ => Some(root.to_owned()),
    }
}

fn memory_setting(file: &Path) -> Option<PathBuf> {
    let settings: Value = serde_json::from_str(&read_text(file, MAX_SETTINGS_BYTES)?).ok()?;
    let folder = settings.get("autoMemoryDirectory")?.as_str()?;
    Some(absolute_path(folder, file.parent()?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_becomes_a_name_as_claude_code_makes_it() {
        for (path, expected) in [
            ("/home/ann/my.proj_x", "-home-ann-my-proj-x"),
            ("C:\\Users\\ann\\a b", "C--Users-ann-a-b"),
            ("/文档/é", "-----"),
            ("/🦀", "---"),
        ] {
            assert_eq!(name_of(path), expected, "{path}");
        }
    }

    #[test]
    fn memory_is_found_by_repository_project_and_settings() {
        let folder = tempfile::tempdir().unwrap();
        let root = canonical_path(folder.path());
        let (claude, main) = (root.join("claude"), root.join("main"));
        let memory = |of: &Path| {
            let folder =
                claude.join("projects").join(name_of(&of.to_string_lossy())).join("memory");
            fs::create_dir_all(&folder).unwrap();
            folder
        };
        fs::create_dir_all(main.join("sub")).unwrap();
        assert_eq!(claude_memory(&claude, &main.join("sub")), None);
        let of_folder = memory(&main.join("sub"));
        assert_eq!(claude_memory(&claude, &main.join("sub")), Some(of_folder));
        fs::create_dir_all(main.join(".git/worktrees/w")).unwrap();
        let of_repository = memory(&main);
        assert_eq!(claude_memory(&claude, &main.join("sub")), Some(of_repository.clone()));
        let worktree = root.join("worktree");
        fs::create_dir_all(&worktree).unwrap();
        let git = main.join(".git/worktrees/w");
        fs::write(worktree.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
        fs::write(git.join("commondir"), "../..\n").unwrap();
        fs::write(git.join("gitdir"), worktree.join(".git").to_string_lossy().as_ref()).unwrap();
        assert_eq!(claude_memory(&claude, &worktree), Some(of_repository.clone()));
        let other = root.join("other");
        fs::create_dir_all(&other).unwrap();
        let setting = "{\"autoMemoryDirectory\": \"../../other\"}";
        fs::create_dir(worktree.join(".claude")).unwrap();
        fs::write(worktree.join(".claude/settings.local.json"), setting).unwrap();
        fs::write(git.join("index"), b"DIRC\0\0\0\x02.claude/settings.local.json").unwrap();
        assert_eq!(claude_memory(&claude, &worktree), Some(of_repository), "it came with a clone");
        fs::remove_file(git.join("index")).unwrap();
        assert_eq!(claude_memory(&claude, &worktree), Some(other.clone()));
        fs::remove_file(worktree.join(".claude/settings.local.json")).unwrap();
        fs::write(claude.join("settings.json"), "{\"autoMemoryDirectory\": \"../other\"}").unwrap();
        assert_eq!(claude_memory(&claude, &worktree), Some(other));
    }

    #[test]
    fn a_long_path_is_found_by_its_unique_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let root = PathBuf::from(format!("/{}", "long/".repeat(60)));
        let name = name_of(&root.to_string_lossy());
        let one = folder.path().join(format!("{}-x1y2", &name[..MAX_NAME]));
        fs::create_dir(&one).unwrap();
        assert_eq!(folder_of(folder.path(), &root), Some(one));
        fs::create_dir(folder.path().join(format!("{}-other", &name[..MAX_NAME]))).unwrap();
        assert_eq!(folder_of(folder.path(), &root), None);
    }
}
