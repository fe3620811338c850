//! What an object is: envelope, payload, types, canonical JSON, hashes, names and references.
//!
//! Plain data. Must not do I/O, read the clock or know a backend.

mod canonical;
mod diff;
mod envelope;
mod field;
mod hash;
mod id;
pub mod item;
mod name;
mod part;
mod payload;
pub mod quote;
mod reading;
mod reference;
mod room;
mod slice;
mod source;
mod stamp;
mod time;
mod view;

pub use canonical::canonical_json;
pub use diff::{DiffOp, DiffTag, FieldChange, changed_fields, likeness, list_diff, unified_diff};
pub use envelope::{Envelope, ObjectType};
pub use field::{FieldPath, FieldStep, is_reserved, values_at};
pub use hash::{Hash, RunningHash};
pub use id::{ObjectId, session_name};
pub use name::{Handle, HandleKind, Name, Nickname, VersionSelector};
pub use part::Part;
pub use payload::{
    Payload, RESERVED_FIELDS, Redaction, RedactionReason, file_fields, file_type, payload_hash,
};
pub use reading::Reading;
pub use reference::{DynamicReference, Origin, Reference, StaticReference};
pub use room::Room;
pub use slice::{Slice, line_count, locate_slice, newlines, render_slice, slice_of_lines};
pub use source::Source;
pub use stamp::FileStamp;
pub use time::{AsOf, Timestamp, TxId};
pub use view::{metadata_line, metadata_view};
