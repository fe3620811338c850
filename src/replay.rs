//! Transcripts of other sessions through the same code as live use: what a session would have cost.
//!
//! Must not write what it reads, nor decide anything that live use decides.

pub mod html;
pub mod transcript;
