//! Sources of objects: which filesystem this is, canonical paths, file contents, files met in tool outputs, and
//! which files are excluded.
//!
//! Reads files and folders, writes nothing there but the filesystem ID of a machine that has none. `indexing` compares a file
//! with what a store has of it, `index` puts files into a store, `tracking` keeps them there up to date, `names` finds them
//! there; nothing else here knows a store, and nothing a session. Sources: DESIGN.md section 5, SSOT 2.3 and 5.3 to 5.6.

mod absolute;
mod batch;
mod container;
mod discovery;
mod exclude;
mod file;
mod filesystem;
mod index;
mod indexing;
mod location;
mod mounts;
mod names;
mod namespace;
mod path;
mod renames;
mod spelling;
mod stamp;
mod tracker;
mod tracking;
mod volumes;
mod walk;

pub use batch::IndexedFile;
pub use discovery::{DiscoveryLimits, Naming, discovered_files, named_in_output};
pub use exclude::Exclude;
pub use file::{DEFAULT_MAX_TEXT_BYTES, FileReading, FileState, obstacle, open_file, read_file};
pub use filesystem::{OwnFilesystem, data_folder, own_filesystem};
pub use index::{IndexOptions, IndexReport, index_paths};
pub use indexing::{IndexOutcome, Indexed, Latest, Told, index, index_source, index_told, look};
pub use location::Location;
pub use mounts::MountMapping;
pub use names::Place;
pub use namespace::Namespace;
pub use path::{absolute_path, canonical_path, comparison_key, read_path, resolve_path};
pub use renames::renames;
pub use stamp::{FileStamp, appeared_since, stamp};
pub use tracker::{
    PollReason, Signal, Tracker, TrackerEvent, TrackerOptions, TrackerReply, TrackerStatus,
    Watching,
};
pub use tracking::{Locate, Tracking, TrackingEvent, TrackingOptions};
pub use walk::Problem;
