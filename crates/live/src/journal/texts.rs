//! Texts of versions, kept in memory so that one that stands in the window is read from the store
//! once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::Journal;
use super::versions::{if_found, image_name, is_forgotten, no_text};
use base::error::{Error, Result};
use base::object::{Hash, ObjectId};
use context::log_layout::Texts;

/// Maximum number of cached bytes; beyond it the cache starts anew.
const MAX_BYTES: usize = 64 << 20;

/// Texts by object and `content_hash`.
#[derive(Debug, Default)]
pub(super) struct TextCache(RefCell<HashMap<(ObjectId, Hash), Arc<str>>>);

impl TextCache {
    /// Empties the cache if it is too large.
    pub(super) fn trim(&self) {
        let mut texts = self.0.borrow_mut();
        if texts.values().map(|text| text.len()).sum::<usize>() > MAX_BYTES {
            texts.clear();
        }
    }
}

impl Journal {
    /// The images of a toolcall's version, each as the JSON of its block.
    pub(crate) fn images(&self, object: &ObjectId, version: &Hash) -> Result<Vec<String>> {
        let mut images = Vec::new();
        while let Some(image) = if_found(self.image(object, version, images.len() + 1))? {
            images.push(image);
        }
        Ok(images)
    }

    /// Caches the text of a version; a staged one exists nowhere else.
    pub(crate) fn remember_text(&self, object: &ObjectId, version: &Hash, text: Arc<str>) {
        self.texts.0.borrow_mut().insert((object.clone(), version.clone()), text);
    }
}

impl Texts for Journal {
    fn text(&self, object: &ObjectId, version: &Hash) -> Result<Arc<str>> {
        if let Some(words) = self.words_of(object, version)? {
            return Ok(words.text.into());
        }
        if let Some(text) = self.texts.0.borrow().get(&(object.clone(), version.clone())) {
            return Ok(Arc::clone(text));
        }
        let text = match self.owned_version(object, version) {
            Ok(found) => match self.store.content(&found)? {
                Some(text) => text,
                None if is_forgotten(&found) => {
                    return Err(Error::Forgotten { id: object.clone() });
                }
                None => return Err(no_text(object, version)),
            },
            Err(error @ Error::NotFound { .. }) => {
                self.full_output(object, version)?.ok_or(error)?
            }
            Err(error) => return Err(error),
        };
        let text: Arc<str> = text.into();
        self.remember_text(object, version, Arc::clone(&text));
        Ok(text)
    }

    fn is_deleted(&self, file: &ObjectId, version: &Hash) -> bool {
        self.no_content(file, version).as_deref() == Some("deleted")
    }

    fn image(&self, object: &ObjectId, version: &Hash, number: usize) -> Result<String> {
        if let Some(words) = self.words_of(object, version)? {
            let image = words.images.into_iter().nth(number.saturating_sub(1));
            return image.ok_or_else(|| no_text(object, version));
        }
        let name = image_name(number);
        let staged = self.staged(object).filter(|staged| staged.version == *version);
        if let Some(image) = staged.and_then(|staged| staged.payload.additional.get(&name)) {
            return Ok(image.clone());
        }
        let found = self.owned_version(object, version)?;
        match self.store.additional(&found, &name)? {
            Some(image) => Ok(image),
            None if is_forgotten(&found) => Err(Error::Forgotten { id: object.clone() }),
            None => Err(no_text(object, version)),
        }
    }
}
