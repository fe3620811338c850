//! Memory that survives sessions: Markdown that people own, in a folder of the user and one of each project. It becomes pages, of which
//! a session's system prompt holds those that are worth their tokens. Must not know a host or its messages.

pub mod identity;
pub mod load;
pub mod page;
pub mod parse;
pub mod scope;
pub mod warning;

mod kind;
