//! The settings in effect on this machine: settings files of the user and of a project, environment
//! variables, the place of the store, and whether a project's files count.
//!
//! `<agentDir>/palimpsest.json` holds the user's settings; in a trusted project,
//! `<project>/.pi/palimpsest.json` overrides them. The crate `config` defines the settings
//! themselves. Must not open a store. Read [`load()`] first, then [`TrustBook`].

mod load;
mod memory;
mod sources;
mod store_place;
mod trust;

pub use load::{SettingSource, load, load_needed, wrong_values};
pub use memory::load_memory;
pub use sources::{SettingValue, setting_values};
use store_place::own_folder;
pub use store_place::{StorePlace, store_place};
pub use trust::{
    Brought, FACTS_FILE, Identity, Main, Trust, TrustAnswer, TrustBook, checked_out, held_by_git,
    is_written_here, look_at_opened, look_at_project, main_of, project_of,
};
