//! Resolves the targets of relations at one point in the store's history. Caches what it reads, so
//! it must not outlive the question that it was made for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash as Hashable;
use std::rc::Rc;

use super::{Candidate, Exists, LinkTarget, Meant, TargetState};
use base::error::{Error, Result};
use base::markdown::{Link, LinkKind, Resolution, VaultIndex, link_key};
use base::object::{
    AsOf, Name, Nickname, ObjectId, ObjectType, RedactionReason, Source, StaticReference, TxId,
    VersionSelector,
};
use store::{
    IndexedFolder, MAX_CANDIDATES, Pin, Relation, RelationKind, SqliteBackend, Store, Version,
    Written, provided_id, slashed,
};

type Memory<K, V> = RefCell<HashMap<K, V>>;

/// A filesystem ID and a path.
type VaultPlace = (String, String);

pub(super) struct Resolver<'a> {
    store: &'a Store,
    index: &'a SqliteBackend,
    pub(super) at: AsOf,
    exists: Exists<'a>,
    pub(super) meant: Option<Meant<'a>>,
    versions: Memory<ObjectId, Option<Rc<Version>>>,
    histories: Memory<ObjectId, Rc<Vec<Version>>>,
    calls: Memory<ObjectId, Rc<Vec<Call>>>,
    roots: Memory<VaultPlace, String>,
    marked: Memory<(VaultPlace, &'static str), bool>,
    vaults: Memory<(VaultPlace, String), Rc<Vault>>,
    folders: Memory<(), Rc<Vec<IndexedFolder>>>,
}

/// A tool call of a chat.
struct Call {
    provider_id: String,
    /// Position of its result in the chat.
    position: u64,
    version: Rc<Version>,
}

/// The files of a vault that share a link key.
struct Vault {
    index: VaultIndex,
    /// By path relative to the root.
    files: HashMap<String, Candidate>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        store: &'a Store,
        index: &'a SqliteBackend,
        at: AsOf,
        exists: Exists<'a>,
    ) -> Self {
        Self {
            store,
            index,
            at,
            exists,
            meant: None,
            versions: Memory::default(),
            histories: Memory::default(),
            calls: Memory::default(),
            roots: Memory::default(),
            marked: Memory::default(),
            vaults: Memory::default(),
            folders: Memory::default(),
        }
    }

    /// The visible version of an object.
    pub(super) fn version(&self, id: &ObjectId) -> Result<Option<Rc<Version>>> {
        remember(&self.versions, id, || Ok(self.store.get(id, self.at)?.map(Rc::new)))
    }

    /// `since`: the transaction from which on the relation stands there.
    pub(super) fn target(
        &self,
        from: &ObjectId,
        relation: &Relation,
        since: TxId,
    ) -> Result<LinkTarget> {
        match &relation.written {
            Written::Object { id, pin: None, .. } => Ok(object(id, self.version(id)?.as_deref())),
            Written::Object { id, pin: Some(pin), .. } => self.pinned(id, pin),
            Written::Call { id, position } => self.call(from, id, *position),
            Written::Link { .. } if relation.kind != RelationKind::External => {
                self.link(from, relation, since)
            }
            Written::Link { .. } | Written::Name { .. } | Written::Properties(_) => {
                Ok(LinkTarget::nothing(TargetState::None))
            }
        }
    }

    /// The version that a pin names: the one with its portable identity, else the newest with its
    /// hash.
    fn pinned_version(&self, id: &ObjectId, pin: &Pin) -> Result<Option<Version>> {
        let content_hash = pin.content_hash.clone();
        if let Some(origin) = pin.origin.clone() {
            return self.store.locate(&StaticReference { id: id.clone(), content_hash, origin });
        }
        let read = || Ok(Rc::new(self.store.history(id)?));
        let history = remember(&self.histories, id, read)?;
        Ok(history.iter().find(|version| version.content_hash == content_hash).cloned())
    }

    pub(super) fn pinned(&self, id: &ObjectId, pin: &Pin) -> Result<LinkTarget> {
        match self.pinned_version(id, pin) {
            Err(Error::HashMismatch { .. }) => {
                let nothing = LinkTarget::nothing(TargetState::Mismatch);
                Ok(LinkTarget { id: Some(id.clone()), ..nothing })
            }
            version => Ok(object(id, version?.as_ref())),
        }
    }

    /// The object of a call. Local servers repeat IDs such as `call_0`, so of this chat's toolcalls
    /// with the provider's ID it is the first whose result stands at or after the message; if
    /// several do, the newest.
    fn call(&self, chat: &ObjectId, provider_id: &str, position: u64) -> Result<LinkTarget> {
        let calls = remember(&self.calls, chat, || Ok(Rc::new(self.calls_of(chat)?)))?;
        let fitting = calls
            .iter()
            .filter(|call| call.provider_id == provider_id && call.position >= position);
        let nearest =
            fitting.min_by_key(|call| (call.position, std::cmp::Reverse(call.version.tx_id)));
        if let Some(call) = nearest {
            return Ok(object(&call.version.envelope.id, Some(&call.version)));
        }
        // A forgotten toolcall no longer names its chat.
        let id = ObjectId::new(provider_id);
        let known = self.version(&id)?.filter(|version| is_forgotten(version));
        let target = known.map(|version| object(&id, Some(&version)));
        Ok(target.unwrap_or_else(|| LinkTarget::nothing(TargetState::Missing)))
    }

    fn calls_of(&self, chat: &ObjectId) -> Result<Vec<Call>> {
        let mut calls = Vec::new();
        for placed in self.index.relations_to(&[RelationKind::Dynamic], chat.as_str(), self.at)? {
            if placed.relation.place.path != "chat_ref" {
                continue;
            }
            let Some(version) = self.version(&placed.from)? else { continue };
            if version.envelope.kind != ObjectType::Toolcall {
                continue;
            }
            let provider_id = provided_id(&version).to_owned();
            let position = version.fields.get("position").and_then(serde_json::Value::as_u64);
            calls.push(Call { provider_id, position: position.unwrap_or_default(), version });
        }
        Ok(calls)
    }

    fn link(&self, from: &ObjectId, relation: &Relation, since: TxId) -> Result<LinkTarget> {
        let unresolved = || LinkTarget::nothing(TargetState::Unresolved);
        let Some(link) = relation.link() else { return Ok(unresolved()) };
        let by_path = self.by_path(from, &link)?;
        if by_path.state != TargetState::Unresolved || link.kind != LinkKind::Wikilink {
            return Ok(by_path);
        }
        let Some((name, _)) = store::named(&link.target) else { return Ok(by_path) };
        let file = if name.text == link.target {
            None
        } else {
            self.by_path(from, &Link { target: name.text.clone(), ..link.clone() })?.id
        };
        let found = match file {
            Some(file) => vec![file],
            None => self.named(from, &link.target, &name, since)?,
        };
        match found.as_slice() {
            [] => Ok(by_path),
            [id] => match self.selected(id, name.version)? {
                None => Ok(LinkTarget {
                    id: Some(id.clone()),
                    ..LinkTarget::nothing(TargetState::Missing)
                }),
                Some(version) => Ok(object(id, Some(&version))),
            },
            several => {
                let candidate = |id: &ObjectId| {
                    let path = object(id, self.version(id)?.as_deref()).path.unwrap_or_default();
                    Ok(Candidate { id: id.clone(), path })
                };
                let candidates = several.iter().map(candidate).collect::<Result<_>>()?;
                Ok(LinkTarget { candidates, ..LinkTarget::nothing(TargetState::Ambiguous) })
            }
        }
    }

    /// The version that a name selects of an object; `None` if there is none.
    fn selected(&self, id: &ObjectId, version: VersionSelector) -> Result<Option<Rc<Version>>> {
        if version == VersionSelector::Latest {
            return self.version(id);
        }
        match self.store.select(id, version) {
            Err(Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(Rc::new(found?))),
        }
    }

    /// The objects that a link may name, other than by a path of its vault. `target`: as written.
    fn named(
        &self,
        from: &ObjectId,
        target: &str,
        name: &Name,
        since: TxId,
    ) -> Result<Vec<ObjectId>> {
        let writers = self.writers(from, target, since)?;
        if name.handle().is_some() {
            return self.meant(&writers, name);
        }
        let mut called = Vec::new();
        for (chat, _) in &writers {
            let calls = remember(&self.calls, chat, || Ok(Rc::new(self.calls_of(chat)?)))?;
            let named = calls.iter().filter(|call| call.provider_id == name.text);
            called.extend(named.map(|call| call.version.envelope.id.clone()));
        }
        called.sort();
        called.dedup();
        let id = ObjectId::new(&*name.text);
        if !called.is_empty() {
            return Ok(called);
        } else if self.version(&id)?.is_some() {
            return Ok(vec![id]);
        }
        let nickname = Nickname::parse(&name.text).ok();
        let nicknamed = nickname.map(|name| self.store.find_nickname(&name)).transpose()?;
        if let Some(id) = nicknamed.flatten() {
            return Ok(vec![id]);
        }
        let meant = self.meant(&writers, name)?;
        let Some(prefix) = name.id_prefix().filter(|_| meant.is_empty()) else { return Ok(meant) };
        let mut found = Vec::new();
        for id in self.store.find_prefix(prefix, MAX_CANDIDATES)? {
            if self.version(&id)?.is_some() {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// What a name means in the sessions of the chats that wrote it: a handle as it was written, a
    /// path whenever the session met the file.
    fn meant(&self, writers: &[(ObjectId, TxId)], name: &Name) -> Result<Vec<ObjectId>> {
        let is_handle = name.handle().is_some();
        let mut found = Vec::new();
        for (chat, at) in writers {
            let session = self.version(chat)?.as_deref().and_then(session_of);
            if let (Some(session), Some(meant)) = (session, self.meant) {
                let at = if is_handle { AsOf::Tx(*at) } else { self.at };
                found.extend(meant(&session, &name.text, at)?);
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// The chats in which a link was written, and when: of a file those whose calls wrote it there.
    fn writers(&self, from: &ObjectId, target: &str, since: TxId) -> Result<Vec<(ObjectId, TxId)>> {
        if self.version(from)?.is_some_and(|version| version.envelope.kind == ObjectType::Chat) {
            return Ok(vec![(from.clone(), since)]);
        }
        let written = format!("[[{target}");
        let references = [RelationKind::Dynamic, RelationKind::Static];
        let mut found = Vec::new();
        for placed in self.index.relations_to(&references, from.as_str(), self.at)? {
            let is_of_call = placed.relation.place.field == "file_refs";
            let Some(call) = self.version(&placed.from)?.filter(|_| is_of_call) else { continue };
            let is_writer = call.fields.get("args").is_some_and(|args| says(args, &written));
            let chat = call.fields.get("chat_ref").and_then(serde_json::Value::as_str);
            let chat = chat.filter(|_| is_writer).map(ObjectId::new);
            found.extend(chat.map(|chat| (chat, call.tx_id)));
        }
        Ok(found)
    }

    /// The file of the vault to which a link leads.
    fn by_path(&self, from: &ObjectId, link: &Link) -> Result<LinkTarget> {
        let unresolved = || Ok(LinkTarget::nothing(TargetState::Unresolved));
        let Some(version) = self.version_with_source(from)? else { return unresolved() };
        let Some(Source::Filesystem { filesystem_id, path }) = &version.envelope.source else {
            return unresolved();
        };
        if link.target.is_empty() {
            return Ok(object(from, Some(&version)));
        }
        let path = slashed(path);
        let root = self.root(filesystem_id, folder_of(&path))?;
        let Some(own) = inside(&path, &root) else { return unresolved() };
        let vault = self.vault(filesystem_id, &root, &link_key(&link.target))?;
        let candidate = |path: &String| vault.files.get(path).cloned();
        match vault.index.resolve(link, own) {
            Resolution::Resolved { path, others } => {
                let Some(file) = candidate(&path) else { return unresolved() };
                let target = object(&file.id, self.version(&file.id)?.as_deref());
                let candidates = others.iter().filter_map(candidate).collect();
                Ok(LinkTarget { candidates, ..target })
            }
            Resolution::Unresolved { alias_of } => {
                let candidates = alias_of.iter().filter_map(candidate).collect();
                Ok(LinkTarget { candidates, ..LinkTarget::nothing(TargetState::Unresolved) })
            }
            Resolution::External => Ok(LinkTarget::nothing(TargetState::None)),
        }
    }

    /// A version of an object, for its envelope, even if none is visible: a pinned version may be
    /// later.
    fn version_with_source(&self, id: &ObjectId) -> Result<Option<Rc<Version>>> {
        if let Some(version) = self.version(id)? {
            return Ok(Some(version));
        }
        Ok(self.store.get(id, AsOf::Latest)?.map(Rc::new))
    }

    /// The existing files under a root that share a key, and those that have an alias with that
    /// key.
    fn vault(&self, filesystem_id: &str, root: &str, key: &str) -> Result<Rc<Vault>> {
        let place = (filesystem_id.to_owned(), root.to_owned());
        remember(&self.vaults, &(place, key.to_owned()), || {
            let mut files = HashMap::new();
            let mut aliases = Vec::new();
            let kinds = [RelationKind::Path, RelationKind::Alias];
            for placed in self.index.relations_to(&kinds, key, self.at)? {
                let Some(version) = self.version(&placed.from)? else { continue };
                let Some(Source::Filesystem { filesystem_id: own, path }) =
                    &version.envelope.source
                else {
                    continue;
                };
                let slashed = slashed(path);
                let Some(inner) = inside(&slashed, root).filter(|_| own == filesystem_id) else {
                    continue;
                };
                let candidate = Candidate { id: placed.from, path: path.clone() };
                files.insert(inner.to_owned(), candidate);
                if let (RelationKind::Alias, Written::Name { name }) =
                    (placed.relation.kind, &placed.relation.written)
                {
                    aliases.push((inner.to_owned(), name.clone()));
                }
            }
            let mut index = VaultIndex::new(files.keys().cloned());
            for (path, alias) in aliases {
                index.add_aliases(&path, [alias]);
            }
            Ok(Rc::new(Vault { index, files }))
        })
    }

    /// The root of the vault that contains a folder.
    fn root(&self, filesystem_id: &str, folder: &str) -> Result<String> {
        remember(&self.roots, &(filesystem_id.to_owned(), folder.to_owned()), || {
            for marker in [".obsidian", ".git"] {
                let mut above = Some(folder);
                while let Some(place) = above {
                    if self.is_marked(filesystem_id, place, marker)? {
                        return Ok(place.to_owned());
                    }
                    above = place.rsplit_once('/').map(|(above, _)| above);
                }
            }
            let given = remember(&self.folders, &(), || Ok(Rc::new(self.store.folders()?)))?;
            let given = given.iter().filter(|given| given.holds(filesystem_id, folder));
            let nearest = given.max_by_key(|given| given.path.len());
            Ok(nearest.map_or(folder, |given| given.path.as_str()).to_owned())
        })
    }

    /// Whether a folder contains `.obsidian` or `.git`, on the real filesystem or in the store.
    fn is_marked(&self, filesystem_id: &str, folder: &str, marker: &'static str) -> Result<bool> {
        let place = (filesystem_id.to_owned(), folder.to_owned());
        remember(&self.marked, &(place, marker), || {
            if (self.exists)(filesystem_id, &format!("{folder}/{marker}")) {
                return Ok(true);
            }
            if marker != ".obsidian" {
                return Ok(false);
            }
            for placed in self.index.relations_to(&[RelationKind::Vault], folder, self.at)? {
                let version = self.version(&placed.from)?;
                let source = version.as_ref().and_then(|version| version.envelope.source.as_ref());
                if matches!(source, Some(Source::Filesystem { filesystem_id: own, .. }) if own == filesystem_id)
                {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}

/// The target for a version of an object; `None` if the store holds none.
pub(super) fn object(id: &ObjectId, version: Option<&Version>) -> LinkTarget {
    let state = match version {
        None => TargetState::Missing,
        Some(version) if is_forgotten(version) => TargetState::Forgotten,
        Some(_) => TargetState::Found,
    };
    let source = version.and_then(|version| version.envelope.source.as_ref());
    LinkTarget {
        state,
        id: Some(id.clone()),
        tx_id: version.map(|version| version.tx_id),
        path: source.and_then(|source| source.path().map(str::to_owned)),
        candidates: Vec::new(),
    }
}

fn is_forgotten(version: &Version) -> bool {
    let reason = version.redacted.as_ref().map(|redaction| redaction.reason);
    reason == Some(RedactionReason::Forgotten)
}

/// The session of a chat.
fn session_of(chat: &Version) -> Option<ObjectId> {
    Some(ObjectId::new(chat.fields.get("session_ref")?.as_str()?))
}

/// Whether a string in a value holds a text.
fn says(value: &serde_json::Value, text: &str) -> bool {
    match value {
        serde_json::Value::String(said) => said.contains(text),
        serde_json::Value::Array(values) => values.iter().any(|value| says(value, text)),
        serde_json::Value::Object(members) => members.values().any(|value| says(value, text)),
        _ => false,
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path relative to a folder that contains it.
fn inside<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

fn remember<K: Clone + Eq + Hashable, V: Clone>(
    memory: &Memory<K, V>,
    key: &K,
    find: impl FnOnce() -> Result<V>,
) -> Result<V> {
    if let Some(known) = memory.borrow().get(key) {
        return Ok(known.clone());
    }
    let found = find()?;
    memory.borrow_mut().insert(key.clone(), found.clone());
    Ok(found)
}
