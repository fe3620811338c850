//! The indexing protocol: from the present state of a file to the version that the store should
//! have.
//!
//! Every version of a file is made here, for every caller: tools, trackers, a resumed session, the
//! `index` command. Reads the file and writes nothing; the caller stores the payload unless the
//! outcome is [`IndexOutcome::Unchanged`].

use serde_json::{Map, Value, json};

use super::file::{FileReading, FileState, look_at_excluded, read_file};
use super::location::Location;
use base::error::Result;
use base::object::{Envelope, FileStamp, Hash, ObjectId, Payload, Source, file_fields};
use files::looks;
use store::{MOVED_FROM, Version};

/// Fields that come from reading the file. All others stay: they were set by a person, such as
/// `view`, or say where the file was before (`moved_from`).
const READ_FIELDS: [&str; 6] =
    ["file_type", "char_count", "no_content", "size_bytes", "partial", "shown_lines"];

/// Name of the additional content of a partly known file: the lines that were shown.
const SHOWN: &str = "shown_lines";

/// What indexing did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum IndexOutcome {
    /// The store had no version of it.
    Created,
    /// The store had another version of it.
    Updated,
    /// The store has this version; there is nothing to write.
    Unchanged,
    /// The file is gone; its new version has no content.
    Deleted,
}

impl IndexOutcome {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The latest version of a file, in the store or in a transaction that is not written yet.
#[derive(Debug, Clone)]
pub struct LatestFile {
    /// Hash of the payload.
    pub version: Hash,
    /// Hash of the file's bytes.
    pub source_hash: Option<Hash>,
    /// Whether it has content.
    pub has_content: bool,
    /// Fields.
    pub fields: Map<String, Value>,
}

impl From<Version> for LatestFile {
    fn from(version: Version) -> Self {
        Self {
            version: version.content_hash,
            source_hash: version.source_hash,
            has_content: version.content.is_some(),
            fields: version.fields,
        }
    }
}

impl LatestFile {
    /// Describes a payload that is not written yet. `version`: its `content_hash`.
    pub fn staged(payload: &Payload, version: Hash) -> Self {
        Self {
            version,
            source_hash: payload.source_hash.clone(),
            has_content: payload.content.is_some(),
            fields: payload.fields.clone(),
        }
    }

    fn is(&self, payload: &Payload) -> bool {
        self.source_hash == payload.source_hash
            && self.has_content == payload.content.is_some()
            && self.fields == payload.fields
    }

    fn is_deleted(&self) -> bool {
        self.fields.get("no_content").is_some_and(|reason| reason == "deleted")
    }
}

/// A file with the version that should be its latest.
#[derive(Debug, Clone)]
pub struct Indexed {
    /// The object.
    pub envelope: Envelope,
    /// The version. The caller stores it unless the outcome is [`IndexOutcome::Unchanged`].
    pub payload: Payload,
    /// `content_hash` of the version.
    pub version: Hash,
    /// What indexing did with it.
    pub outcome: IndexOutcome,
    /// The stamp of what was read, see [`FileReading`].
    pub stamp: Option<FileStamp>,
}

impl Indexed {
    /// Records which object the file was before it moved here. If the store has this version
    /// without that field, the outcome becomes an update.
    ///
    /// # Errors
    /// Errors of canonical JSON.
    pub fn set_moved_from(&mut self, id: &ObjectId) -> Result<()> {
        let old = self.payload.fields.insert(MOVED_FROM.into(), json!(id.to_string()));
        if old.as_ref() != self.payload.fields.get(MOVED_FROM) {
            self.version = self.payload.content_hash(None)?;
            if self.outcome == IndexOutcome::Unchanged {
                self.outcome = IndexOutcome::Updated;
            }
        }
        Ok(())
    }
}

/// Looks at a file and reads it if it is within reach and not excluded. Every failure is a state,
/// not an error.
pub fn look(location: &Location, is_excluded: bool, max_text_bytes: u64) -> FileReading {
    let reading = match &location.open {
        None => FileReading { state: FileState::NotRead, stamp: None },
        Some(path) if is_excluded => look_at_excluded(path),
        Some(path) => read_file(path, max_text_bytes),
    };
    let is_mounted = || location.root.as_deref().is_none_or(looks::is_dir);
    if reading.state == FileState::Missing && !is_mounted() {
        let reason = "the folder of its mount is not there".to_owned();
        return FileReading { state: FileState::Unreadable { reason }, stamp: None };
    }
    reading
}

/// As [`index_source`], for a file.
///
/// # Errors
/// `INVALID_ARGUMENT` if the path is not UTF-8.
pub fn index(
    location: &Location,
    reading: FileReading,
    latest: Option<LatestFile>,
) -> Result<Option<Indexed>> {
    index_source(location.envelope()?, reading, latest)
}

/// Decides which version an object should have, given what was found at its source and its latest
/// version. `None` where nothing is known about it (no regular file, or not readable): the latest
/// version stands.
///
/// Text becomes content. Other files are metadata with the reason in `no_content`: `binary`,
/// `too_large`, `excluded` (these have `size_bytes`), `not_read` or `deleted`. A version known by
/// path alone never replaces another one, but that of a deletion: the file is there again.
///
/// # Errors
/// Errors of canonical JSON.
pub fn index_source(
    envelope: Envelope,
    reading: FileReading,
    latest: Option<LatestFile>,
) -> Result<Option<Indexed>> {
    let FileReading { state, stamp } = reading;
    let is_gone = state == FileState::Missing;
    let is_by_path = state == FileState::NotRead;
    let path = envelope.source.as_ref().and_then(Source::path).unwrap_or_default();
    let Some(mut payload) = payload_of(path, state) else { return Ok(None) };
    let Some(latest) = latest else {
        let version = payload.content_hash(None)?;
        let outcome = IndexOutcome::Created;
        return Ok(Some(Indexed { envelope, payload, version, outcome, stamp }));
    };
    keep_fields_of_people(&mut payload, &latest, is_gone);
    if (is_by_path && !latest.is_deleted()) || latest.is(&payload) {
        let (version, outcome) = (latest.version, IndexOutcome::Unchanged);
        return Ok(Some(Indexed { envelope, payload, version, outcome, stamp }));
    }
    let version = payload.content_hash(None)?;
    let outcome =
        if is_gone && !latest.is_deleted() { IndexOutcome::Deleted } else { IndexOutcome::Updated };
    Ok(Some(Indexed { envelope, payload, version, outcome, stamp }))
}

/// What a tool reported about a file that this process cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldText<'a> {
    /// The whole text.
    Whole(&'a str),
    /// Some lines: the number of the first, and their text.
    Part(u64, &'a str),
    /// Only that it changed.
    Changed,
}

/// Decides which version a file out of reach should have, given what a tool reported about it. A
/// part never becomes the content: the content stays null, `no_content` is `partial`, `partial` is
/// true, and the lines are an additional content, `shown_lines`, whose line numbers are in the
/// field of that name.
///
/// # Errors
/// As [`index`].
pub fn index_told(
    location: &Location,
    told: ToldText<'_>,
    latest: Option<LatestFile>,
) -> Result<Indexed> {
    let path = location.path.to_string_lossy();
    let whole = if let ToldText::Whole(text) = told { Some(text) } else { None };
    let mut payload = Payload {
        content: whole.map(str::to_owned),
        source_hash: whole.map(Hash::of),
        fields: file_fields(&path, whole),
        ..Payload::default()
    };
    match told {
        ToldText::Whole(_) => {}
        ToldText::Changed => drop(payload.fields.insert("no_content".into(), json!("not_read"))),
        ToldText::Part(first, text) => {
            let last = first + text.split('\n').count() as u64 - 1;
            payload.fields.insert("no_content".into(), json!("partial"));
            payload.fields.insert("partial".into(), json!(true));
            payload.fields.insert(SHOWN.into(), json!(format!("{first}-{last}")));
            payload.additional.insert(SHOWN.into(), text.to_owned());
        }
    }
    let envelope = location.envelope()?;
    if let Some(latest) = &latest {
        keep_fields_of_people(&mut payload, latest, false);
    }
    let version = payload.content_hash(None)?;
    let outcome = match latest {
        None => IndexOutcome::Created,
        Some(latest) if latest.version == version => IndexOutcome::Unchanged,
        Some(_) => IndexOutcome::Updated,
    };
    Ok(Indexed { envelope, payload, version, outcome, stamp: None })
}

fn keep_fields_of_people(payload: &mut Payload, latest: &LatestFile, is_gone: bool) {
    for (name, value) in &latest.fields {
        // A file that appears after a deletion is new and has not moved.
        let is_past = is_gone && name == MOVED_FROM;
        if !is_past && !READ_FIELDS.contains(&name.as_str()) {
            payload.fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// The payload for a state; `None` for states that make no version.
fn payload_of(path: &str, state: FileState) -> Option<Payload> {
    let (text, source_hash, no_content, size) = match state {
        FileState::Text { source_hash, text } => (Some(text), Some(source_hash), None, None),
        FileState::Binary { source_hash, size } => {
            (None, Some(source_hash), Some("binary"), Some(size))
        }
        FileState::TooLarge { size } => (None, None, Some("too_large"), Some(size)),
        FileState::Excluded { size } => (None, None, Some("excluded"), Some(size)),
        FileState::NotRead => (None, None, Some("not_read"), None),
        FileState::Missing => (None, None, Some("deleted"), None),
        FileState::NotAFile | FileState::Unreadable { .. } => return None,
    };
    let mut fields = file_fields(path, text.as_deref());
    if let Some(reason) = no_content {
        fields.insert("no_content".into(), json!(reason));
    }
    if let Some(size) = size {
        fields.insert("size_bytes".into(), json!(size));
    }
    Some(Payload { content: text, source_hash, fields, ..Payload::default() })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn location() -> Location {
        Location::here("fs1", PathBuf::from("/a/b.rs"))
    }

    fn text(text: &str) -> FileState {
        FileState::Text { source_hash: Hash::of(text), text: text.into() }
    }

    fn indexed(state: FileState, latest: Option<&Indexed>) -> Option<Indexed> {
        let latest =
            latest.map(|latest| LatestFile::staged(&latest.payload, latest.version.clone()));
        index(&location(), FileReading { state, stamp: None }, latest).unwrap()
    }

    #[test]
    fn versions_hold_text_or_say_why_not() {
        let states = [
            text("é\n"),
            FileState::Binary { source_hash: Hash::of("x"), size: 7 },
            FileState::TooLarge { size: 8 },
            FileState::Excluded { size: 9 },
            FileState::NotRead,
            FileState::Missing,
        ];
        let lines = states.into_iter().map(|state| {
            let Indexed { envelope, payload, .. } = indexed(state, None).unwrap();
            assert_eq!(envelope.id, location().id().unwrap());
            let fields = serde_json::to_string(&payload.fields).unwrap();
            format!("{:?} {} {fields}", payload.content, payload.source_hash.is_some())
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
        Some("é\n") true {"file_type":"rs","char_count":2}
        None true {"file_type":"rs","char_count":0,"no_content":"binary","size_bytes":7}
        None false {"file_type":"rs","char_count":0,"no_content":"too_large","size_bytes":8}
        None false {"file_type":"rs","char_count":0,"no_content":"excluded","size_bytes":9}
        None false {"file_type":"rs","char_count":0,"no_content":"not_read"}
        None false {"file_type":"rs","char_count":0,"no_content":"deleted"}
        "#);
    }

    #[test]
    fn states_without_a_version_make_no_object() {
        let unreadable = FileState::Unreadable { reason: "permission denied".into() };
        for state in [FileState::NotAFile, unreadable] {
            assert!(indexed(state, None).is_none());
        }
    }

    #[test]
    fn outcomes_follow_from_the_latest_version() {
        let first = indexed(text("one"), None).unwrap();
        let gone = indexed(FileState::Missing, Some(&first)).unwrap();
        let path = indexed(FileState::NotRead, None).unwrap();
        for (state, latest, outcome) in [
            (text("one"), None, IndexOutcome::Created),
            (text("one"), Some(&first), IndexOutcome::Unchanged),
            (text("two"), Some(&first), IndexOutcome::Updated),
            (FileState::NotRead, Some(&first), IndexOutcome::Unchanged),
            (FileState::Missing, Some(&first), IndexOutcome::Deleted),
            (FileState::Missing, Some(&gone), IndexOutcome::Unchanged),
            (text("one"), Some(&gone), IndexOutcome::Updated),
            (text("one"), Some(&path), IndexOutcome::Updated),
        ] {
            let found = indexed(state.clone(), latest).unwrap();
            assert_eq!(found.outcome, outcome, "{state:?}");
            if outcome == IndexOutcome::Unchanged {
                assert_eq!(found.version, latest.unwrap().version);
            } else {
                assert_eq!(found.version, found.payload.content_hash(None).unwrap());
            }
        }
    }

    #[test]
    fn tool_text_of_an_unreachable_file_counts_only_if_whole() {
        let told = |told: ToldText<'_>, latest: Option<&Indexed>| {
            let latest =
                latest.map(|latest| LatestFile::staged(&latest.payload, latest.version.clone()));
            index_told(&location(), told, latest).unwrap()
        };
        let part = told(ToldText::Part(40, "a\nb"), None);
        assert_eq!((&part.payload.content, &part.payload.source_hash), (&None, &None));
        assert_eq!(part.payload.additional["shown_lines"], "a\nb");
        insta::assert_snapshot!(
            serde_json::to_string(&part.payload.fields).unwrap(),
            @r#"{"file_type":"rs","char_count":0,"no_content":"partial","partial":true,"shown_lines":"40-41"}"#
        );
        assert_eq!(told(ToldText::Part(40, "a\nb"), Some(&part)).outcome, IndexOutcome::Unchanged);
        assert_eq!(told(ToldText::Part(40, "a\nc"), Some(&part)).outcome, IndexOutcome::Updated);
        let whole = told(ToldText::Whole("one"), Some(&part));
        assert_eq!(whole.payload.content.as_deref(), Some("one"));
        assert!(!whole.payload.fields.contains_key("partial"));
        // The same bytes, read from disk, are the same version.
        assert_eq!(indexed(text("one"), Some(&whole)).unwrap().outcome, IndexOutcome::Unchanged);
        assert_eq!(told(ToldText::Changed, Some(&whole)).payload.content, None);
    }

    #[test]
    fn fields_that_people_set_stay() {
        let mut first = indexed(text("one"), None).unwrap();
        first.payload.fields.insert("view".into(), json!(["path"]));
        for state in [text("one"), text("two"), FileState::Missing] {
            let found = indexed(state, Some(&first)).unwrap();
            assert_eq!(found.payload.fields.get("view"), Some(&json!(["path"])));
        }
        assert_eq!(indexed(text("one"), Some(&first)).unwrap().outcome, IndexOutcome::Unchanged);
    }
}
