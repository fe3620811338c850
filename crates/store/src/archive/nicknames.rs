//! Assigns an archive's nicknames, many per transaction.

use super::LeftOut;
use super::import::Import;
use crate::Op;
use base::error::{Error, Result};
use base::object::{AsOf, Nickname, ObjectId};

/// Nicknames assigned in one transaction.
const AT_ONCE: usize = 1_000;

impl Import<'_> {
    /// Gives the free nicknames to objects that the store has.
    pub(super) fn give_nicknames(&mut self) -> Result<()> {
        let mut all = self.merge.arrivals.nicknames.clone();
        for (_, id) in &mut all {
            if let Some(here) = self.report.calls.get(id) {
                *id = here.clone();
            }
        }
        for some in all.chunks(AT_ONCE) {
            let mut free = Vec::new();
            for (nickname, id) in some {
                if self.is_free(nickname, id)? {
                    free.push((nickname, id));
                }
            }
            self.give_all(&free)?;
        }
        Ok(())
    }

    /// Whether a nickname must be assigned; one that cannot be, or could be mistaken for something
    /// else, is left out.
    fn is_free(&mut self, nickname: &Nickname, id: &ObjectId) -> Result<bool> {
        let is_there = self.is_new(id) || self.store.get(id, AsOf::Latest)?.is_some();
        let (reason, problem) = match self.store.find_nickname(nickname)? {
            _ if !is_there => ("nickname_without_object", "the object was not taken".to_owned()),
            Some(owner) if owner == *id => return Ok(false),
            Some(owner) => ("nickname_taken", format!("the object `{owner}` has it")),
            None => match nickname.mistakable().filter(|_| !self.options.is_own) {
                Some(problem) => ("nickname_mistakable", problem.to_string()),
                None => return Ok(true),
            },
        };
        self.leave_out(reason, nickname, id, &problem);
        Ok(false)
    }

    fn give_all(&mut self, free: &[(&Nickname, &ObjectId)]) -> Result<()> {
        if !self.options.dry_run && !free.is_empty() {
            let give = |(nickname, id): &(&Nickname, &ObjectId)| Op::Name {
                nickname: (*nickname).clone(),
                id: Some((*id).clone()),
            };
            let ops: Vec<Op> = free.iter().map(give).collect();
            match self.store.backend().commit(&ops, self.store.now()) {
                Ok(_) => {}
                // Another process gave one of them meanwhile, or had an object forgotten.
                Err(Error::InvalidNickname { .. } | Error::Forgotten { .. }) if free.len() > 1 => {
                    return free
                        .iter()
                        .try_for_each(|one| self.give_all(std::slice::from_ref(one)));
                }
                Err(Error::InvalidNickname { reason, .. }) => {
                    let (nickname, id) = free[0];
                    self.leave_out("nickname_taken", nickname, id, &reason);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.report.nicknames += free.len() as u64;
        Ok(())
    }

    fn leave_out(
        &mut self,
        reason: &'static str,
        nickname: &Nickname,
        id: &ObjectId,
        problem: &str,
    ) {
        let detail = format!("`{}`: {problem}", nickname.as_str());
        let left = LeftOut { id: id.clone(), path: None, reason, detail, versions: 0 };
        self.report.left_out.push(left);
    }
}
