//! The remark about a handle whose file is gone because another one was moved to its place. The
//! object there has the handle of the file that was moved.
//!
//! Only adds the remark: the content shown is that of the file that is there now.

use crate::LiveSession;
use base::error::Result;
use base::object::{Name, TxId, VersionSelector};
use context::forms;
use session::{IndexEntry, Subject};

impl LiveSession {
    /// What the heading adds if a name is the handle of a file that was overwritten by a move;
    /// empty for any other name.
    pub(super) fn overwritten(&self, name: &Name) -> Result<String> {
        let index = self.state().index();
        let entry = name.handle().and_then(|handle| index.by_handle(handle));
        let gone = entry.filter(|entry| !index.is_shown(entry));
        let Some(gone) = gone.filter(|_| name.version == VersionSelector::Latest) else {
            return Ok(String::new());
        };
        let Some(shown) = index.get(&gone.id) else { return Ok(String::new()) };
        Ok(forms::overwritten(gone.handle, shown.handle, self.last_version_of(gone)?))
    }

    /// The transaction of an entry's last version before its file was overwritten, if that version
    /// has text.
    fn last_version_of(&self, entry: &IndexEntry) -> Result<Option<TxId>> {
        let Subject::File { version, lines: Some(_), .. } = &entry.subject else { return Ok(None) };
        let versions = self.journal.store.history(&entry.id)?;
        let last = versions.into_iter().find(|known| known.content_hash == *version);
        Ok(last.filter(|known| known.content.is_some()).map(|known| known.tx_id))
    }
}
