//! Recorded sessions through the same code as live use, and what they would have cost: the bill beside the plain host's, the
//! window, and what was missing when it was needed.
//!
//! Nothing of this machine but the transcript is read, and nothing is stored. Must not decide how a request looks: that is the
//! session's. Source of all rules of counting: DESIGN.md section 13, *Measuring in replay*.

pub mod compaction;
pub mod dump;
pub mod html;
pub mod learn;
pub mod measure;
pub mod options;
pub mod play;
pub mod report;
pub mod run;
pub mod transcript;
