//! Tests of trackers.

mod editors;
