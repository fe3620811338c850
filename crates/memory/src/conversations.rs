//! The memory of conversations with others. Each has its own folder that names the conversation, so
//! the user can find it by name. Must not read what they remember.

use files::looks;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use serde::Serialize;

use super::Memory;
use super::scope::Scope;
use base::error::{Error, Result};
use files::private;

/// The file in a conversation's folder that holds its name.
const NAME_FILE: &str = "conversation";
/// Most bytes read of a name.
const MAX_NAME: u64 = 1_024;
/// Most conversations listed.
const MAX_CONVERSATIONS: usize = 1_000;

/// A conversation that has memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conversation {
    /// Name of its folder: 16 hexadecimal digits.
    pub id: String,
    /// The host's name for it; empty if its folder does not say.
    pub name: String,
    /// Its folder.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Memory {
    /// Makes this conversation's folder, accessible to its user alone, with its name in it. Does
    /// nothing for other memory.
    ///
    /// # Errors
    /// `FILE`, `NOT_PRIVATE`.
    pub(super) fn make_conversation(&self) -> Result<()> {
        let folders = &self.folders;
        let (Some(folder), Some(name)) =
            (folders.folder(Scope::Conversation), folders.conversation())
        else {
            return Ok(());
        };
        let failed = |source| Error::File { act: "create", path: folder.to_owned(), source };
        private::create_folder(folder).map_err(failed)?;
        private::check_folder(folder)?;
        // It exists already if another process was faster.
        if let Ok(mut file) = private::create_new(&folder.join(NAME_FILE)) {
            file.write_all(name.as_bytes()).map_err(failed)?;
        }
        Ok(())
    }

    /// The conversations that have memory, by name. Only the user's own memory lists them.
    pub fn conversations(&self) -> Vec<Conversation> {
        let Some(folder) = self.folders.conversations() else { return Vec::new() };
        let entries = looks::entries(&folder, MAX_CONVERSATIONS).unwrap_or_default();
        let found = entries.into_iter().filter_map(|entry| {
            let id = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let name = name_in(&entry.path()).unwrap_or_default();
            (is_folder && is_id).then(|| Conversation { id, name, folder: entry.path() })
        });
        let mut found: Vec<Conversation> = found.collect();
        found.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
        found
    }

    /// Finds a conversation by its whole name, the end of its name after a `:`, or its ID.
    ///
    /// # Errors
    /// `UNKNOWN_NAME`; `AMBIGUOUS_NAME` with the candidates.
    pub fn conversation(&self, name: &str) -> Result<Conversation> {
        let mut found = self.conversations();
        let is_exact = |one: &Conversation| one.name == name || one.id == name;
        if found.iter().any(is_exact) {
            found.retain(is_exact);
        } else {
            let end = format!(":{name}");
            found.retain(|one| !name.is_empty() && one.name.ends_with(&end));
        }
        match found.len() {
            0 => Err(Error::unknown_name(name)),
            1 => Ok(found.remove(0)),
            _ => {
                let candidates = found.into_iter().map(|one| one.name).collect();
                Err(Error::AmbiguousName { name: name.to_owned(), candidates })
            }
        }
    }
}

fn name_in(folder: &std::path::Path) -> Option<String> {
    let path = folder.join(NAME_FILE);
    let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    let mut text = String::new();
    let file = is_file.then(|| private::open_to_read(&path).ok()).flatten()?;
    file.take(MAX_NAME).read_to_string(&mut text).ok()?;
    Some(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folders;

    #[test]
    fn a_conversations_memory_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["agent:main:telegram:group:-1", "agent:main:discord:group:-1"];
        for name in names {
            let memory = Memory::new(Folders::of_conversation(folder.path(), name));
            memory.make_conversation().unwrap();
            memory.make_conversation().unwrap();
            assert_eq!(memory.conversations(), []);
        }
        let memory = Memory::new(Folders::new(Some(folder.path()), None, false));
        let found: Vec<String> = memory.conversations().into_iter().map(|one| one.name).collect();
        assert_eq!(found, [names[1], names[0]]);
        let one = memory.conversation("telegram:group:-1").unwrap();
        assert_eq!(one.name, names[0]);
        assert_eq!(memory.conversation(&one.id).unwrap(), one);
        assert_eq!(memory.conversation("-1").unwrap_err().code(), "AMBIGUOUS_NAME");
        for name in ["", "1", "group"] {
            assert_eq!(memory.conversation(name).unwrap_err().code(), "UNKNOWN_NAME", "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_of_a_conversation_is_its_users_alone() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::new(Folders::of_conversation(folder.path(), "group"));
        memory.make_conversation().unwrap();
        let made = memory.folders().folder(Scope::Conversation).unwrap();
        let permissions = fs::metadata(made).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o700);
    }
}
