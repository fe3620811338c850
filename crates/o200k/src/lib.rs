//! Counts the tokens that a text has in `o200k_base`, as OpenAI's tiktoken does.
//!
//! A crate of its own so that it is optimised in development too, as dependencies are. It replaces tables of 32 MB (the crate
//! `bpe-openai`) by a packed vocabulary of 0.8 MB; counts were compared on 80 MB of recorded sessions and 200,000 random texts.

mod pairs;
mod vocabulary;

pub use pairs::count;
