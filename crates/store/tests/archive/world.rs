//! Stores with histories, and short ways to write, export, import and compare them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Payload, Reference, Source, Timestamp,
    TxId, file_fields,
};
use base::{Error, Result};
use serde_json::json;
use store::{
    ArchiveScope, Expected, ExportOptions, Exported, ImportOptions, Imported, SqliteBackend, Store,
    Version,
};
use tempfile::TempDir;

/// A store, its folder if it has one, and its clock.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Arc<AtomicI64>,
    _folder: Option<TempDir>,
}

impl World {
    pub(crate) fn in_memory() -> Self {
        Self::with(Store::open(":memory:").unwrap(), None)
    }

    pub(crate) fn in_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend = SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap();
        Self::with(Store::with_backend(Arc::new(backend)), Some(folder))
    }

    pub(crate) fn on(backend: SqliteBackend) -> Self {
        Self::with(Store::with_backend(Arc::new(backend)), None)
    }

    /// One of each backend.
    pub(crate) fn each() -> [Self; 2] {
        [Self::in_memory(), Self::in_sqlite()]
    }

    fn with(store: Store, folder: Option<TempDir>) -> Self {
        let clock = Arc::new(AtomicI64::new(1_000));
        let ticking = Arc::clone(&clock);
        let store =
            store.with_clock(Arc::new(move || Timestamp(ticking.fetch_add(1, Ordering::Relaxed))));
        Self { store, clock, _folder: folder }
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> ObjectId {
        let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
        let payload = Payload {
            content: Some(text.to_owned()),
            source_hash: Some(Hash::of(text)),
            fields: file_fields(path, Some(text)),
            ..Payload::default()
        };
        self.put(Envelope::sourced(ObjectType::File, source).unwrap(), &payload)
    }

    pub(crate) fn toolcall(&self, id: &str, output: &str, summary: Option<&str>) -> ObjectId {
        let mut payload = Payload { content: Some(output.to_owned()), ..Payload::default() };
        payload.fields.insert("tool".into(), json!("bash"));
        payload.fields.insert("args".into(), json!({ "command": "ls", "n": 1.5e300, "é": [null] }));
        if let Some(summary) = summary {
            payload.additional.insert("short_summary".into(), summary.to_owned());
        }
        self.put(Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap(), &payload)
    }

    pub(crate) fn put(&self, envelope: Envelope, payload: &Payload) -> ObjectId {
        let id = envelope.id.clone();
        let mut transaction = self.store.begin();
        transaction.put(envelope, payload.clone(), Expected::Any).unwrap();
        transaction.commit().unwrap();
        id
    }

    pub(crate) fn name(&self, nickname: &str, id: &ObjectId) {
        let mut transaction = self.store.begin();
        transaction.name(Nickname::parse(nickname).unwrap(), Some(id.clone()));
        transaction.commit().unwrap();
    }

    /// A session and, if that is given, its chat change together: this many items stay, these
    /// follow. A session that has no chat gets one.
    pub(crate) fn session(&self, key: &str, events: &[String], chat: Option<(u64, Vec<String>)>) {
        let mut transaction = self.store.begin();
        let (session, chat_id) = (ObjectId::session(key), ObjectId::chat(key));
        let latest = |id: &ObjectId| self.store.get(id, AsOf::Latest).unwrap();
        let present = latest(&chat_id);
        if let Some((keep, add)) = chat.or_else(|| present.is_none().then(|| (0, Vec::new()))) {
            let keep = keep.min(present.as_ref().map_or(0, |version| version.item_count));
            let fields = json!({ "session_ref": session });
            let payload =
                Payload { fields: fields.as_object().unwrap().clone(), ..Payload::default() };
            let envelope = Envelope::unsourced(chat_id.clone(), ObjectType::Chat).unwrap();
            transaction.splice(envelope, payload, keep, add, expected(present.as_ref())).unwrap();
        }
        let present = latest(&session);
        let keep = present.as_ref().map_or(0, |version| version.item_count);
        let fields = json!({ "chat_ref": chat_id, "harness": "test" });
        let payload = Payload { fields: fields.as_object().unwrap().clone(), ..Payload::default() };
        let envelope = Envelope::unsourced(session, ObjectType::Session).unwrap();
        let expected = expected(present.as_ref());
        transaction.splice(envelope, payload, keep, events.to_vec(), expected).unwrap();
        transaction.commit().unwrap();
    }

    /// Files, a toolcall, a session with a branch, nicknames; some versions, some written together.
    pub(crate) fn with_history(self) -> Self {
        let file = self.file("/a.rs", "fn a() {}\n");
        self.file("/é \u{1F600}.md", "# Title\n");
        self.file("/a.rs", "fn a() { b() }\n");
        self.toolcall("call_0", "output\n\u{0}\u{7f}", Some("a listing"));
        self.toolcall("odd \"id\"\n\\ \u{2028}", "", None);
        let item = |text: &str| json!({ "text": text }).to_string();
        self.session("s", &[item("opened")], Some((0, vec![item("one"), item("two")])));
        self.session("s", &[item("called"), item("1e2")], Some((2, vec![item("three")])));
        self.session("s", &[item("branch")], Some((1, vec![item("other")])));
        self.session("s", &[item("closed")], None);
        self.file("/a.rs", "fn a() {}\n");
        self.name("main", &file);
        self
    }

    pub(crate) fn export(&self, scope: ArchiveScope) -> Vec<u8> {
        self.export_with(&ExportOptions { scope, redact: false, compress: false }).0
    }

    pub(crate) fn export_with(&self, options: &ExportOptions) -> (Vec<u8>, Exported) {
        let mut archive = Vec::new();
        let exported =
            self.store.export_archive(&mut archive, Path::new("-"), options, &mut |_| Ok(()));
        (archive, exported.unwrap())
    }

    pub(crate) fn import(&self, archive: &[u8]) -> Imported {
        self.try_import(archive).unwrap()
    }

    pub(crate) fn try_import(&self, archive: &[u8]) -> Result<Imported> {
        let input = Box::new(archive);
        let options = ImportOptions::default();
        self.store.import_archive(input, Path::new("-"), &options, &mut |_| Ok(()))
    }

    /// All versions, in order.
    pub(crate) fn versions(&self) -> Vec<Version> {
        self.store.changes(TxId(0), usize::MAX).unwrap()
    }

    /// The versions by portable identity, with everything that is the same in every store.
    pub(crate) fn portable(&self) -> BTreeMap<String, String> {
        let versions = self.versions();
        versions.iter().map(|version| (key(version), self.show(version))).collect()
    }

    /// The portable identity of each object's latest version.
    pub(crate) fn latest(&self) -> BTreeMap<ObjectId, String> {
        let ids: BTreeSet<ObjectId> =
            self.versions().into_iter().map(|version| version.envelope.id).collect();
        let latest = |id: ObjectId| {
            let version = self.store.get(&id, AsOf::Latest).unwrap().unwrap();
            (id, key(&version))
        };
        ids.into_iter().map(latest).collect()
    }

    /// What stood beside each session's versions in its chat, at the first transaction of each.
    pub(crate) fn beside(&self) -> BTreeMap<String, Option<String>> {
        let mut beside = BTreeMap::new();
        for version in self.versions() {
            if version.envelope.kind == ObjectType::Session {
                let chat = ObjectId::new(version.fields["chat_ref"].as_str().unwrap());
                let chat = self.store.get(&chat, AsOf::Tx(version.tx_id)).unwrap();
                let chat = chat.as_ref().map(key);
                let known = beside.entry(key(&version)).or_insert_with(|| chat.clone());
                assert_eq!(*known, chat, "wherever a session's version stands, so does its chat's");
            }
        }
        beside
    }

    /// Every version verifies, with its items, and is found by its reference.
    pub(crate) fn verify(&self) {
        for version in self.versions() {
            self.store.verify(&version).unwrap();
            let at = AsOf::Tx(version.tx_id);
            let items = self.store.items(&version.envelope.id, at, 0..u64::MAX).unwrap();
            assert_eq!(items.len() as u64, version.item_count);
            let reference = Reference::Static(Store::static_reference(&version));
            let found = self.store.resolve(&reference).unwrap();
            assert_eq!(key(&found), key(&version));
        }
    }

    fn show(&self, version: &Version) -> String {
        let at = AsOf::Tx(version.tx_id);
        let items = self.store.items(&version.envelope.id, at, 0..u64::MAX).unwrap();
        let payload = self.store.payload(version).unwrap();
        let list = (&version.items_hash, version.item_count);
        format!(
            "{:?} {:?} {:?} {items:?} {list:?} {:?}",
            version.envelope, payload, version.origin, version.redacted
        )
    }
}

pub(crate) fn key(version: &Version) -> String {
    let origin = &version.origin;
    format!("{} {} {} {}", version.envelope.id, version.content_hash, origin.store_id, origin.tx_id)
}

/// The lines of an archive that is not compressed.
pub(crate) fn lines(archive: &[u8]) -> Vec<String> {
    std::str::from_utf8(archive).unwrap().lines().map(str::to_owned).collect()
}

/// An archive of these lines, the last being written anew so that it fits them.
pub(crate) fn sealed(lines: &[String]) -> Vec<u8> {
    let kept = &lines[..lines.len().saturating_sub(1)];
    let text = kept.iter().flat_map(|line| [line, "\n"]).collect::<String>();
    let end = json!({ "kind": "end", "lines": kept.len(), "sha256": Hash::of(&text) });
    format!("{text}{end}\n").into_bytes()
}

/// The line and the text of an error about an archive.
pub(crate) fn malformed(result: Result<Imported>) -> (u64, String) {
    match result {
        Err(Error::MalformedArchive { line, problem }) => (line, problem),
        other => panic!("{other:?}"),
    }
}

fn expected(present: Option<&Version>) -> Expected {
    present.map_or(Expected::Absent, |version| Expected::Latest(version.tx_id))
}
