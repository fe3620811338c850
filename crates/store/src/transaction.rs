//! Builds a transaction: takes payloads and items, makes operations with their hashes. Writes
//! nothing before `commit`.

use super::{Expected, Item, Op, Put, Receipt, Splice, Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, Nickname, ObjectId, Payload, RunningHash};

impl Store {
    /// Starts a transaction. Nothing is written before [`Transaction::commit`].
    pub fn begin(&self) -> Transaction<'_> {
        Transaction { store: self, ops: Vec::new() }
    }
}

/// Operations that are applied together or not at all. Dropping it without `commit` has no effect.
#[derive(Debug)]
#[must_use = "nothing is written before `commit`"]
pub struct Transaction<'a> {
    store: &'a Store,
    ops: Vec<Op>,
}

impl Transaction<'_> {
    /// Adds a put. Nothing is written if `content_hash` and `source_hash` equal those of the latest
    /// version. A document keeps its items.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the object has items and `expected` does not name its latest version;
    /// `CONFLICT` if `expected` names none of its versions.
    pub fn put(
        &mut self,
        envelope: Envelope,
        payload: Payload,
        expected: Expected,
    ) -> Result<&mut Self> {
        // The hash of a document with items covers the items, so it must be certain which version
        // they come from.
        if !envelope.kind.is_content() && expected != Expected::Absent {
            let present = match expected {
                Expected::Latest(_) => self.base(&envelope.id, expected)?,
                _ => self.store.get(&envelope.id, AsOf::Latest)?,
            };
            if let Some(version) = present.filter(|version| version.items_hash.is_some()) {
                let keep = version.item_count;
                return self.splice(envelope, payload, keep, Vec::new(), expected);
            }
        }
        let version = payload.content_hash(None)?;
        Ok(self.put_hashed(envelope, payload, version, expected))
    }

    /// As [`Self::put`], of an object without items whose `content_hash` is known: to make it takes
    /// as long as the text is.
    pub fn put_hashed(
        &mut self,
        envelope: Envelope,
        payload: Payload,
        content_hash: Hash,
        expected: Expected,
    ) -> &mut Self {
        debug_assert_eq!(payload.content_hash(None).ok().as_ref(), Some(&content_hash));
        self.push(envelope, payload, content_hash, None, expected)
    }

    /// Adds a put that keeps the first `keep` items and appends `add`. Its cost depends on the
    /// added items, not on the length of the list.
    ///
    /// `expected`: the version that `keep` refers to, or absence; the running hashes of the added
    /// items continue its list.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if `expected` is [`Expected::Any`], the object is a content object, or
    /// `keep` exceeds the number of items in the expected version; `CONFLICT` if there is no such
    /// version.
    pub fn splice(
        &mut self,
        envelope: Envelope,
        payload: Payload,
        keep: u64,
        add: Vec<String>,
        expected: Expected,
    ) -> Result<&mut Self> {
        let id = &envelope.id;
        if envelope.kind.is_content() {
            let problem =
                format!("go to chats and sessions; `{id}` is a {}", envelope.kind.as_str());
            return Err(Error::argument("items", problem));
        }
        let count = self.base(id, expected)?.map_or(0, |version| version.item_count);
        if keep > count {
            return Err(Error::argument("keep", format!("is {keep}, `{id}` has {count} items")));
        }
        let mut running = self.running_hash(id, keep, expected)?;
        let add = add
            .into_iter()
            .map(|text| Item { running_hash: running.push(&text), text, redacted: None })
            .collect();
        let content_hash = payload.content_hash(Some(running.hash()))?;
        Ok(self.push(envelope, payload, content_hash, Some(Splice { keep, add }), expected))
    }

    /// Gives a nickname to an object, or removes it (`None`).
    pub fn name(&mut self, nickname: Nickname, id: Option<ObjectId>) -> &mut Self {
        self.ops.push(Op::Name { nickname, id });
        self
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Applies the operations. They are on disk on return.
    ///
    /// # Errors
    /// Those of [`super::Backend::commit`]; nothing is then written.
    pub fn commit(self) -> Result<Receipt> {
        self.store.backend().commit(&self.ops, self.store.now())
    }

    fn push(
        &mut self,
        envelope: Envelope,
        payload: Payload,
        content_hash: Hash,
        items: Option<Splice>,
        expected: Expected,
    ) -> &mut Self {
        let Payload { content, source_hash, fields, additional } = payload;
        let hashed = |text: String| (Hash::of(&text), text);
        self.ops.push(Op::Put(Box::new(Put {
            envelope,
            source_hash,
            content_hash,
            fields,
            content: content.map(hashed),
            items,
            additional: additional.into_iter().map(|(name, text)| (name, hashed(text))).collect(),
            origin: None,
            redacted: None,
            expected,
        })));
        self
    }

    /// The version on which a change of items is based; `None` if no version is expected.
    fn base(&self, id: &ObjectId, expected: Expected) -> Result<Option<Version>> {
        let tx_id = match expected {
            Expected::Latest(tx_id) => tx_id,
            Expected::Absent => return Ok(None),
            Expected::Any => {
                let problem = "must name the latest version, or absence, where there are items";
                return Err(Error::argument("expected", problem));
            }
        };
        let version = self.store.get(id, AsOf::Tx(tx_id))?;
        if version.as_ref().is_some_and(|version| version.tx_id == tx_id) {
            return Ok(version);
        }
        let winner = self.store.get(id, AsOf::Latest)?.map(|version| version.tx_id);
        Err(Error::Conflict { id: id.clone(), winner })
    }

    /// Running hash of the first `count` items of the expected version, which has at least that
    /// many.
    fn running_hash(&self, id: &ObjectId, count: u64, expected: Expected) -> Result<RunningHash> {
        let (Some(last), Expected::Latest(tx_id)) = (count.checked_sub(1), expected) else {
            return Ok(RunningHash::default());
        };
        let items = self.store.backend().items(id, AsOf::Tx(tx_id), last..count)?;
        let item = items.into_iter().next();
        let item =
            item.ok_or_else(|| Error::internal(format!("item {last} of `{id}` is missing")))?;
        Ok(RunningHash::from_stored(item.running_hash))
    }
}
