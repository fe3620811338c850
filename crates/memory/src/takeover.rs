//! Takes over files that earlier versions kept elsewhere: those in a project's memory folder beside the
//! Markdown that now live in the user's own folder, and the local memory of a linked worktree. Once, if
//! they are this person's own; otherwise they are not read. Must not read anything else of the project.

use files::looks;
use std::collections::BTreeSet;
use std::path::Path;

use super::facts::LOCAL_FACTS_FILE;
use super::journal::{JOURNAL_FILE, own_lines};
use super::keeping::StoreAccess;
use super::scope::{Folders, LOCAL_INDEX_FILE, Scope};
use super::sidecar::{LOCK_FILE, MAX_FILE_BYTES, MemoryFolder, OWN_FILES};
use super::warning::Warning;
use files::private::{FolderAccess, Held, HeldFolder};
use settings::held_by_git;
use store::slashed;

/// Takes over a trusted project's journal and page facts, if they are this person's: their store
/// knows the memory folder, and git does not have the journal. Returns a warning for the person.
pub(super) fn take_over(folders: &Folders, access: Option<&StoreAccess>) -> Option<Warning> {
    let folder = folders.memory_folder(Scope::Project)?;
    take_local(folders, &folder);
    let journal = folder.path().join(JOURNAL_FILE);
    if looks::symlink_metadata(&journal).is_err() {
        return None;
    }
    let real = folders.real_project()?;
    let is_own = held_by_git(&real.join(".pi/memory").join(JOURNAL_FILE)) != Some(true)
        && access.is_some_and(|access| is_known(access, real));
    let is_new = looks::symlink_metadata(&folder.path_of(JOURNAL_FILE)).is_err();
    if is_own && is_new && taken(&folder, real).is_some() {
        return None;
    }
    let problem = "is not read: a journal counts in your own folder alone, and a project could bring this one";
    Some(Warning::new("NOT_READ", &journal, problem))
}

/// Moves the local memory that a linked worktree has of its own to where all of them have it: it would
/// go with the worktree.
fn take_local(folders: &Folders, folder: &MemoryFolder) -> Option<()> {
    folders.local_elsewhere()?;
    let own = folder.path().join(LOCAL_INDEX_FILE);
    looks::symlink_metadata(&own).ok()?;
    if held_by_git(&own) != Some(false) {
        return None;
    }
    let _lock = folder.try_lock().ok()??;
    let said = folder.text(LOCAL_INDEX_FILE).ok()??;
    let shared = folder.holding(LOCAL_INDEX_FILE);
    let there = shared.text(LOCAL_INDEX_FILE).ok()?;
    let there = there.map(|there| format!("{}\n\n", there.trim_end())).unwrap_or_default();
    shared.write(LOCAL_INDEX_FILE, format!("{there}{said}").as_bytes()).ok()?;
    folders.note_written(std::iter::once(LOCAL_INDEX_FILE), &BTreeSet::new());
    folder.made(LOCAL_INDEX_FILE).ok()?.folder.remove(LOCAL_INDEX_FILE).ok()
}

/// Whether the store has the project's memory folder.
fn is_known(access: &StoreAccess, real: &Path) -> bool {
    let known = access.options().and_then(|options| {
        let located = options.files.locate(&real.join(".pi/memory"));
        let path = slashed(&located.path.to_string_lossy());
        let folders = access.store().folders().ok()?;
        Some(
            folders
                .iter()
                .any(|one| one.filesystem_id == located.filesystem_id && one.path == path),
        )
    });
    known.unwrap_or_default()
}

fn taken(folder: &MemoryFolder, real: &Path) -> Option<()> {
    let old = HeldFolder::open(real, FolderAccess::Shared)
        .ok()?
        .within(".pi")
        .ok()?
        .within("memory")
        .ok()?;
    let bytes = |name: &str| match old.read(name, MAX_FILE_BYTES) {
        Ok(Held::Bytes(bytes)) => Some(bytes),
        _ => None,
    };
    let lines = own_lines(&bytes(JOURNAL_FILE)?);
    if let Some(facts) = bytes(LOCAL_FACTS_FILE) {
        folder.write(LOCAL_FACTS_FILE, &facts).ok()?;
    }
    folder.append(JOURNAL_FILE, &lines).ok()?;
    for name in OWN_FILES.into_iter().chain([LOCK_FILE]) {
        // If removal fails, the leftover file is not read.
        drop(old.remove(name));
    }
    Some(())
}
