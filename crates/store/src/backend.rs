//! The contract that every backend fulfils. No policy, nothing about a particular backend.

use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::Range;

use super::{Glance, Item, Op, PlacedItem, Query, Receipt, SqliteBackend, Version};
use base::error::{Error, Result};
use base::object::{
    AsOf, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, Timestamp, TxId,
};

/// Stores versions of objects and keeps every one: the common ground of a local file and a server
/// that many share. The contract tests run on every implementation.
///
/// It addresses whole documents and list elements by ID, without joins or cursors. Calls block;
/// callers run on worker threads. Operations that only a local store supports are those of
/// [`SqliteBackend`].
pub trait Backend: Debug + Send + Sync {
    /// Short name for messages: `sqlite`, `memory`.
    fn name(&self) -> &'static str;

    /// ID of this store, generated when the store is created; part of a version's portable
    /// identity.
    fn store_id(&self) -> &str;

    /// Applies all operations or none, as one transaction; see [`Self::commit_all`].
    fn commit(&self, ops: &[Op], now: Timestamp) -> Result<Receipt> {
        let receipts = self.commit_all(&[ops], now)?;
        receipts.into_iter().next().ok_or_else(|| Error::internal("a transaction has no receipt"))
    }

    /// Applies several transactions in order. Each has one `tx_id`, one `system_time` and one
    /// receipt. A store with [`Self::upkeep`] applies all of them or none, and no reader sees a
    /// state between them. A shared store applies each as a whole, and stops at the first that is
    /// refused.
    ///
    /// `now`: the wall clock. If it is earlier than the newest transaction's time, that time is
    /// used instead; a shared store goes by the clock of its server. Each `tx_id` is greater than
    /// the one before, the first at least 1; gaps are allowed. The data is durable on return.
    ///
    /// # Errors
    /// `FORGOTTEN` if a put goes to a forgotten object or has a forgotten content; `CONFLICT` with
    /// the winner if the latest version is not the expected one; `INVALID_ARGUMENT` if one object
    /// is put twice, a text has more than 256 MiB, a field has more than 100 levels or a name of
    /// [`base::object::RESERVED_FIELDS`], an envelope differs from that of earlier versions, a hash
    /// is malformed, a splice keeps more items than there are, or a nickname goes to an unknown
    /// object; `INVALID_NICKNAME` if another object has it. The form of all transactions is checked
    /// first. Puts apply before names, in order; the first failure is reported.
    fn commit_all(&self, transactions: &[&[Op]], now: Timestamp) -> Result<Vec<Receipt>>;

    /// Number and time of the newest transaction; zeros on an empty store.
    fn newest(&self) -> Result<(TxId, Timestamp)>;

    /// A number that changes whenever anybody changes the store. `None` if it is not known at once.
    fn stamp(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Reads the version of `id` visible at `at`. `None` if there is none.
    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>>;

    /// Lists versions of `id`, newest first.
    fn history(&self, id: &ObjectId) -> Result<Vec<Version>>;

    /// The newest version of `id` with this `content_hash`. `None` if there is none.
    fn find_version(&self, id: &ObjectId, content_hash: &Hash) -> Result<Option<Version>> {
        let mut versions = self.history(id)?.into_iter();
        Ok(versions.find(|version| version.content_hash == *content_hash))
    }

    /// A short identification of the latest version of `id`, cheaper than [`Self::get`]. `None` if
    /// there is no such object.
    fn glance(&self, id: &ObjectId) -> Result<Option<Glance>> {
        let latest = self.get(id, AsOf::Latest)?;
        Ok(latest.map(|version| Glance { tx_id: version.tx_id, redacted: version.redacted }))
    }

    /// Reads a content by its hash. `None` if the store does not hold it.
    fn content(&self, hash: &Hash) -> Result<Option<String>>;

    /// Reads the items of `id` at positions `range` (clipped) as visible at `at`, in order.
    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>>;

    /// Reads all items that were ever at positions `range` of `id`, by position, then transaction.
    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>>;

    /// Lists the versions of all objects written after transaction `after`, in the order of
    /// writing. Returns whole transactions, at least one, and stops after the one that reaches
    /// `limit` versions.
    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>>;

    /// Lists the versions of `id` with this origin, newest first; a version that was put again is
    /// listed each time. Compares store and transaction, not time.
    fn find_origin(&self, id: &ObjectId, origin: &Origin) -> Result<Vec<Version>>;

    /// The histories of several objects, for those that exist, each like [`Self::history`]. `None`
    /// if reading them one by one is as quick.
    fn histories(&self, _ids: &[ObjectId]) -> Result<Option<HashMap<ObjectId, Vec<Version>>>> {
        Ok(None)
    }

    /// For each of several versions, whether it is certainly missing here, so that
    /// [`Self::find_origin`] need not be asked. `false` if asking one by one is as quick.
    fn lacks(&self, versions: &[(&ObjectId, &Origin)]) -> Result<Vec<bool>> {
        Ok(vec![false; versions.len()])
    }

    /// Of several objects, the content hash and the origin of the latest version, and the number of
    /// versions, each once. An object may be missing from the result; it must then be read
    /// individually.
    fn latest(&self, _ids: &[ObjectId]) -> Result<HashMap<ObjectId, (Hash, Origin, usize)>> {
        Ok(HashMap::new())
    }

    /// Lists the latest versions of objects of one type by ID, after `after`; at most `limit`.
    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>>;

    /// When the objects of one type were last written: of each one's latest version the transaction
    /// and the time in its original store. In no order.
    fn last_written(&self, kind: ObjectType) -> Result<Vec<(ObjectId, TxId, Timestamp)>> {
        let latest = self.list(kind, None, usize::MAX)?.into_iter();
        Ok(latest.map(|it| (it.envelope.id, it.tx_id, it.origin.time)).collect())
    }

    /// Finds versions by their metadata, see [`Query`]. Reads neither contents nor items. Fields
    /// that no version has are not an error here; [`super::Store::query`] reports them.
    ///
    /// # Errors
    /// Those of [`Query::check`].
    fn query(&self, query: &Query) -> Result<Vec<Version>>;

    /// Whether a version of any object, the latest or not, has a value at a path.
    ///
    /// # Errors
    /// `UNKNOWN_FIELD` as [`Query::check`].
    fn has_field(&self, path: &FieldPath) -> Result<bool>;

    /// Lists existing payload fields, and the members of object fields, in order. Meant for hints:
    /// it reads at most 10,000 versions and stops after about 1,000 fields.
    fn field_paths(&self) -> Result<Vec<FieldPath>>;

    /// Lists IDs that start with `prefix`, in order; at most `limit`.
    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>>;

    /// The object that has a nickname.
    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>>;

    /// The nicknames of an object, in order.
    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>>;

    /// The upkeep of a local store; `None` for a shared one.
    fn upkeep(&self) -> Option<&SqliteBackend> {
        None
    }

    /// Releases files and connections. Later calls fail with `CLOSED`. Idempotent.
    fn close(&self) -> Result<()>;
}
