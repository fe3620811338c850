//! What a store remembers about a shared one, in its notes. Must not ask the server.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::SharingError;
use super::lost::{Again, Restored};
use crate::server::{Machine, Tx};
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Timestamp, TxId};
use config::Settings;
use store::Store;

/// A store's progress with a shared one. Every part may lag, since repeating work changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The last transaction of the local store that is in the shared one.
    pub(super) pushed: TxId,
    /// The last transaction of the shared store that was taken.
    pub(super) pulled: TxId,
    /// Its time, by which it is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pulled_at: Option<Timestamp>,
    /// A transaction of the shared store by which all that was sent was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<Tx>,
    /// Sessions that are in the shared store from their start.
    pub(super) sessions: BTreeSet<ObjectId>,
    /// Sessions that were sent or taken one by one, with the last local transaction of those own
    /// versions of them that were sent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) named: BTreeMap<ObjectId, TxId>,
    /// Versions of the shared store that wait until this machine's clock is near their time.
    pub(super) ahead: Vec<Ahead>,
    /// What this machine said of itself there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) said: Option<Said>,
    /// The number of the last removal that was carried over to the shared store.
    pub(super) replaced: i64,
    /// What is to be sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<Again>,
    /// That the shared store lost something, the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) restored: Option<Restored>,
}

/// A version of the shared store whose time is far ahead of this machine's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ahead {
    pub(super) id: ObjectId,
    /// The transaction of the shared store.
    pub(super) tx_id: TxId,
    /// When it was first written.
    pub(super) time: Timestamp,
    /// `None` in the notes of an earlier release.
    #[serde(default)]
    pub(super) content_hash: Option<Hash>,
}

impl Ahead {
    /// Whether both are the same version, which may have been put again there.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.id, self.time, &self.content_hash) == (&other.id, other.time, &other.content_hash)
    }
}

/// What this machine said of itself, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) machine: Machine,
    pub(super) at: Timestamp,
}

/// The outcome of the last attempt at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Last {
    /// The shared store found there.
    pub(super) store_id: Option<String>,
    /// When everything was in sync.
    pub(super) alike: Option<Timestamp>,
    /// Why sharing has stopped.
    pub(super) error: Option<SharingError>,
}

impl State {
    pub(super) fn read(store: &Store, shared: &str) -> Result<Self> {
        read(store, &Self::name(shared))
    }

    pub(super) fn write(&self, store: &Store, shared: &str) -> Result<()> {
        write(store, &Self::name(shared), self)
    }

    /// The transactions that the log of the shared store has, if it is still the one that is known.
    pub(super) fn marks(&self) -> Vec<Tx> {
        let pulled = self.pulled_at.map(|time| Tx { id: self.pulled.0, time });
        self.seen.into_iter().chain(pulled).collect()
    }

    fn name(shared: &str) -> String {
        format!("shared store {shared}")
    }
}

impl Last {
    pub(super) fn read(store: &Store, url: &str) -> Result<Self> {
        read(store, &Self::name(url))
    }

    /// Writes it, if it changed.
    pub(super) fn write(&self, store: &Store, url: &str) -> Result<()> {
        if Self::read(store, url)? == *self {
            return Ok(());
        }
        write(store, &Self::name(url), self)
    }

    fn name(url: &str) -> String {
        format!("server {url}")
    }
}

/// The last transaction of a store that was sent to the shared one of the settings, as far as known
/// here; `None` if sessions are not shared.
pub fn sent_until(store: &Store, settings: &Settings) -> Option<TxId> {
    let url = settings.xtdb_url.as_ref().filter(|_| settings.share_sessions)?;
    let shared = Last::read(store, url).ok()?.store_id;
    let state = shared.map(|shared| State::read(store, &shared).unwrap_or_default());
    Some(state.unwrap_or_default().pushed)
}

pub(super) fn read<T: DeserializeOwned + Default>(store: &Store, name: &str) -> Result<T> {
    let Some(text) = store.upkeep("sharing")?.note(name)? else { return Ok(T::default()) };
    // A note of a later release: everything is examined again.
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

pub(super) fn write(store: &Store, name: &str, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|error| Error::internal(error.to_string()))?;
    store.upkeep("sharing")?.set_note(name, Some(&text))
}
