//! Sources of objects: which filesystem this is, canonical paths, file contents, and files met in tool outputs.
//!
//! Reads files and folders, writes nothing but the filesystem ID of a machine that has none. Knows no store and no
//! session. Sources: DESIGN.md section 5, SSOT 2.3 and 5.3 to 5.6.

mod discovery;
mod file;
mod filesystem;
mod path;
mod vault;

pub use discovery::discovered_paths;
pub use file::{
    DEFAULT_MAX_TEXT_BYTES, FileReading, FileStamp, FileState, discovered_object, file_object,
    read_file, stamp,
};
pub use filesystem::{data_folder, filesystem_id};
pub use path::{absolute_path, canonical_path, comparison_key, read_path, resolve_path};
pub use vault::exists_on;
