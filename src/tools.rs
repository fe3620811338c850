//! The tools a model gets, independent of any harness: what executing them does and says.
//!
//! Must not know a host or its messages. Source: DESIGN.md section 9.

pub mod read;
