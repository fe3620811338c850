//! Everything about files outside the store: which filesystem this is, canonical paths, contents,
//! files named in tool output, excluded files, watching.
//!
//! Reads files and folders. Must not write any file but the filesystem ID of a machine that has
//! none, nor know a session. Only `indexing` (compares a file with its version in a store), `index`
//! (stores the files of folders), `tracking` (keeps them up to date) and `names` (finds objects by
//! path) know a store. Read [`Namespace`] first, which says whose files they are; then
//! [`read_file`] and [`index_source`].

mod batch;
mod commands;
mod container;
mod discovery;
mod exclude;
mod file;
mod filesystem;
mod ignored;
mod index;
mod indexing;
mod location;
mod mounts;
mod names;
mod namespace;
mod path;
mod renames;
mod shown;
mod spelling;
mod stamp;
mod tracker;
mod tracking;
mod volumes;
mod walk;

pub use batch::IndexedFile;
pub use commands::{NamesInCommand, names_in, names_in_program, shown_by};
pub use discovery::{DiscoveryLimits, Naming, discovered_files, named_in_output};
pub use exclude::{excludes, excludes_some, excludes_within};
pub use file::{
    FileReading, FileState, is_absence, obstacle, read_bytes, read_file, read_text, unanswered,
};
pub use filesystem::{OwnFilesystem, data_folder, own_filesystem};
pub use ignored::is_ignored;
pub use index::{IndexOptions, IndexReport, index_files, index_paths};
pub use indexing::{
    IndexOutcome, Indexed, LatestFile, ToldText, index, index_source, index_told, look,
};
pub use location::Location;
pub use names::PathPlace;
pub use namespace::Namespace;
pub use path::{canonical_path, read_path, resolve_path};
pub use renames::renames;
pub use shown::{ShownFile, shown_file};
pub use stamp::{appeared_since, is_mounted, stamp, was_written_over};
pub use tracker::{PollReason, Signal, Tracker, TrackerOptions, TrackerStatus, Watching};
pub use tracking::{TrackingEvent, TrackingOptions};
pub use walk::{WalkProblem, files_under};
