//! What a person activated by command, until a message carries it (`log`).

use crate::event::Event;
use crate::line_ranges::LineRange;
use base::object::{Hash, ObjectId};

/// Content that a person activated and the next message must carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The line above it.
    pub heading: String,
    /// The object.
    pub object: ObjectId,
    /// `content_hash` of its version.
    pub version: Hash,
    /// The lines.
    pub ranges: Vec<LineRange>,
}

impl Asked {
    /// `None` unless a person asked, in this event, for content that a message must carry.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Event::Activated { heading: Some(heading), object, version, ranges, .. } = event else {
            return None;
        };
        let (object, version) = (object.clone(), version.clone());
        Some(Self { heading: heading.clone(), object, version, ranges: ranges.clone() })
    }
}
