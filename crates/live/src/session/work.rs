//! Work on a session that ends with a commit: redone if another process interferes, discarded
//! entirely after an error.

use super::LiveSession;
use crate::Notice;
use crate::journal::Activity;
use crate::workspace::Due;
use base::error::{Error, Result};
use session::Event;

/// How many times work is tried while other processes write versions of what it looks at.
const MAX_TRIES: u32 = 10;

impl LiveSession {
    /// Does work that ends with a commit. If another process has written to this session since,
    /// this one continues as a session of its own and the work is redone there; it is also redone
    /// if one wrote to an object that it looked at. After a failed commit the state is as before
    /// the work.
    pub(crate) fn durably<T>(&mut self, work: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        let result = self.attempt(work);
        self.reload_after_error(&result);
        result
    }

    /// As [`Self::durably`], of work that ends with the commit of what it staged, if anything.
    pub(crate) fn stored<T>(&mut self, work: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        self.durably(|live| {
            let done = work(live)?;
            live.commit_staged()?;
            Ok(done)
        })
    }

    /// As [`Self::durably`], but leaves the state in doubt after a failed commit.
    pub(super) fn attempt<T>(&mut self, work: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        let _bounded = self.bounded();
        self.reload_if_in_doubt()?;
        let reports = self.journal.staged_reports();
        let mut parted = false;
        let mut tries = 1;
        loop {
            self.journal.begin_work()?;
            match work(self) {
                Err(Error::Conflict { id, .. }) if self.journal.owns(&id) && !parted => {
                    self.start_anew(Self::part, &reports)?;
                    parted = true;
                }
                // Another process has written a version of it meanwhile, so the object, or its
                // source, must be looked at again.
                Err(Error::Conflict { id, .. }) if !self.journal.owns(&id) && tries < MAX_TRIES => {
                    tries += 1;
                    self.start_anew(Self::reload, &reports)?;
                }
                // It was forgotten after this process looked: the work is redone without it.
                Err(Error::Forgotten { id })
                    if !self.journal.owns(&id) && !self.journal.was_refused(&id) =>
                {
                    self.journal.refuse(id);
                    self.start_anew(Self::reload, &reports)?;
                }
                result => return result,
            }
        }
    }

    /// Discards everything staged, except providers' reports from before the work.
    pub(super) fn start_anew(
        &mut self,
        start: impl FnOnce(&mut Self) -> Result<()>,
        reports: &[Event],
    ) -> Result<()> {
        start(self)?;
        for report in reports {
            self.journal.record(report.clone());
        }
        Ok(())
    }

    /// Continues as a session of its own, because another process writes to this one.
    fn part(&mut self) -> Result<()> {
        let waiting = self.request.waiting_events();
        self.journal.part(&self.disk.canonical_cwd(), &waiting)?;
        self.request.waiting_events_stored();
        self.waiting.push(Notice::SessionSplit { id: self.id().to_string(), own: true });
        self.reload()
    }

    /// Reads the state again if work left it in doubt. If that fails too, it is tried again before
    /// the next work.
    pub(super) fn reload_after_error<T>(&mut self, result: &Result<T>) {
        if result.is_err() {
            drop(self.reload_if_in_doubt());
        }
    }

    /// Reads the state again if an error left it in doubt.
    pub(super) fn reload_if_in_doubt(&mut self) -> Result<()> {
        if self.journal.is_in_doubt { self.reload() } else { Ok(()) }
    }

    /// Reads the state again from the store, and resets everything derived from it.
    pub(super) fn reload(&mut self) -> Result<()> {
        let result = self.reload_parts();
        if result.is_err() {
            self.journal.doubt();
        }
        result
    }

    fn reload_parts(&mut self) -> Result<()> {
        self.workspace.reconcile.staged_becomes(Due::Yes);
        let events = self.journal.reload()?;
        self.request.restart(self.journal.state(), &events);
        self.intake.restart(&self.journal)
    }

    /// Commits if anything is staged.
    pub(crate) fn commit_staged(&mut self) -> Result<()> {
        if self.journal.staged_events() > 0 { self.commit(Activity::Active) } else { Ok(()) }
    }

    /// Commits everything staged, and the waiting events about sent requests.
    pub(crate) fn commit(&mut self, activity: Activity) -> Result<()> {
        self.journal.commit(activity, &self.request.waiting_events())?;
        self.request.committed();
        self.workspace.reconcile.staged_becomes(Due::No);
        self.track_seen_files();
        Ok(())
    }

    /// Stores the failed calls before anything else changes.
    pub(super) fn commit_failed_calls(&mut self) -> Result<()> {
        let any = self.request.stage_failed_calls(&mut self.journal);
        if any { self.commit(Activity::Active) } else { Ok(()) }
    }
}
