//! Caches the value last derived from a store's data, while the store is open for reading, until
//! anything in the store changes. Must not know what the value is.

use std::any::Any;
use std::sync::{Arc, Mutex};

use base::error::Result;
use base::lock;
use base::object::ObjectId;

/// Number of values kept: the one viewed, and the one compared with it.
const MOST: usize = 2;

type Value = Arc<dyn Any + Send + Sync>;

/// Derived values, newest last; each with the store's stamp from before it was made.
#[derive(Debug, Default)]
pub(super) struct Derived(Mutex<Vec<(u64, ObjectId, Value)>>);

impl Derived {
    /// The value that `make` derives from an object, or the cached one if the store's stamp is
    /// unchanged.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn find_or_make<T: Any + Send + Sync>(
        &self,
        stamp: u64,
        of: &ObjectId,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut kept = lock(&self.0);
        kept.retain(|(other, ..)| *other == stamp);
        let known = kept.iter().find(|(_, id, _)| id == of).map(|(.., value)| Arc::clone(value));
        drop(kept);
        let value = match known.and_then(|value| value.downcast().ok()) {
            Some(value) => value,
            None => Arc::new(make()?),
        };
        let mut kept = lock(&self.0);
        kept.retain(|(_, id, _)| id != of);
        kept.push((stamp, of.clone(), Arc::clone(&value) as Value));
        let surplus = kept.len().saturating_sub(MOST);
        kept.drain(..surplus);
        Ok(value)
    }

    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;

    use super::*;
    use crate::{Expected, Store};
    use base::error::Error;
    use base::object::{Envelope, ObjectType, Payload};

    /// A store, and another view of it that is open for reading.
    fn both(folder: &Path) -> (Store, Store) {
        let path = folder.join("store.sqlite");
        let path = path.to_str().unwrap();
        let store = Store::open(path).unwrap();
        write(&store, "a");
        (store, Store::open_read_only(path).unwrap())
    }

    fn write(store: &Store, id: &str) {
        let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap();
        let payload = Payload { content: Some("text".to_owned()), ..Payload::default() };
        let mut transaction = store.begin();
        transaction.put(envelope, payload, Expected::Any).unwrap();
        transaction.commit().unwrap();
    }

    /// What is made of an object: how often anything was before.
    fn count(store: &Store, times: &Cell<usize>, id: &str) -> usize {
        let make = || Ok(times.replace(times.get() + 1));
        *store.derived(&ObjectId::new(id), make).unwrap()
    }

    #[test]
    fn is_kept_until_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (store, viewer) = both(folder.path());
        let times = Cell::new(0);
        assert_eq!([0, 0], [(); 2].map(|()| count(&viewer, &times, "a")));
        write(&store, "b");
        assert_eq!([1, 1], [(); 2].map(|()| count(&viewer, &times, "a")));
        assert_eq!(count(&viewer.clone(), &times, "a"), 1, "clones share it");
    }

    #[test]
    fn is_not_kept_by_a_store_that_is_open_for_writing() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _viewer) = both(folder.path());
        let in_memory = Store::open(":memory:").unwrap();
        let times = Cell::new(0);
        assert_eq!([0, 1], [(); 2].map(|()| count(&store, &times, "a")));
        assert_eq!([2, 3], [(); 2].map(|()| count(&in_memory, &times, "a")));
    }

    #[test]
    fn is_kept_of_the_two_objects_that_were_asked_for_last() {
        let folder = tempfile::tempdir().unwrap();
        let (_store, viewer) = both(folder.path());
        let times = Cell::new(0);
        let counted = ["a", "b", "a", "c", "a", "b"].map(|id| count(&viewer, &times, id));
        assert_eq!(counted, [0, 1, 0, 2, 0, 3]);
    }

    #[test]
    fn failed_values_are_computed_again_and_closing_frees_all() {
        let folder = tempfile::tempdir().unwrap();
        let (_store, viewer) = both(folder.path());
        let id = ObjectId::new("a");
        let failed = viewer.derived::<usize>(&id, || Err(Error::internal("no")));
        assert_eq!(failed.unwrap_err().code(), "INTERNAL");
        let value = viewer.derived(&id, || Ok(7)).unwrap();
        assert_eq!((*value, Arc::strong_count(&value)), (7, 2));
        viewer.close().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        assert_eq!(viewer.derived(&id, || Ok(8)).unwrap_err().code(), "CLOSED");
    }
}
