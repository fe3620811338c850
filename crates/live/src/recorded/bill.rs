//! The bill of a session as a list shows it. Kept in the store with the version of the session that
//! it was made of, since making it takes all events. Must not be needed: where none is kept, or one
//! of another version, it is made again.

use serde::{Deserialize, Serialize};

use crate::journal::Recording;
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, TxId};
use context::statement::BillInShort;
use session::Session;
use store::Store;

/// Changes with what a bill is made of, and how: those kept before are made again.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    /// The session's version.
    tx: TxId,
    bill: BillInShort,
}

/// The bill of a stored session. One that had to be made is kept where the store can be written.
///
/// # Errors
/// `NOT_FOUND` if there is no such session.
pub fn bill_of(store: &Store, session: &ObjectId) -> Result<BillInShort> {
    let latest = store.require(session, AsOf::Latest)?.tx_id;
    if let Some(kept) = kept(store, session).filter(|kept| kept.tx == latest) {
        return Ok(kept.bill);
    }
    let recording = Recording::of(store, session, &"as a session")?;
    let bill = BillInShort::of(&Session::replay(&recording.events));
    // A store that cannot be written, or is shared, has it made each time.
    let _ = keep_bill(store, session, recording.session.tx_id, &bill);
    Ok(bill)
}

/// Keeps the bill of a session as of one of its versions.
///
/// # Errors
/// `UNSUPPORTED` in a shared store; `READ_ONLY`; those of writing.
pub(crate) fn keep_bill(
    store: &Store,
    session: &ObjectId,
    tx: TxId,
    bill: &BillInShort,
) -> Result<()> {
    let kept = Kept { format: FORMAT, tx, bill: bill.clone() };
    let text = serde_json::to_string(&kept).map_err(|error| Error::internal(error.to_string()))?;
    store.upkeep("bills")?.set_summary(session, &text)
}

fn kept(store: &Store, session: &ObjectId) -> Option<Kept> {
    let text = store.upkeep("bills").ok()?.summary(session).ok()??;
    serde_json::from_str::<Kept>(&text).ok().filter(|kept| kept.format == FORMAT)
}
