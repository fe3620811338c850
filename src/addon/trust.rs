//! Whether a person trusts a project's files: `projectTrust`, `trustProject`, `trustedProjects`.
//! Must not decide it, nor ask anybody.

use std::path::Path;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, Promised, answering};
use base::clock::system_time;
use base::error::{Error, Result};
use settings::{Brought, Trust, TrustBook};

/// A project, and where a person's answers are.
#[napi(object)]
pub struct TrustPlaces {
    /// The harness's own folder, whose `palimpsest/trust.json` has the answers. Default: the platform's data folder.
    pub agent_dir: Option<String>,
    /// The project's folder.
    pub project: String,
}

/// Tells whether a project's memory and settings count. Asks nobody and changes nothing.
///
/// Rejects with `INVALID_ARGUMENT`; with `FILE` if there is no such folder or the answers cannot be read, and with `NOT_PRIVATE` if others
/// could have written them: then nothing counts.
#[napi(ts_args_type = "places: TrustPlaces", ts_return_type = "Promise<ProjectTrust>")]
pub fn project_trust(places: Given<TrustPlaces>) -> Promised<Answer> {
    answering(move || {
        let places = places.named("places")?;
        tell(&book(places.agent_dir.as_deref())?, Path::new(&places.project))
    })
}

/// Remembers what a person said of a project: `true` or `false`; null forgets it. Call it for nothing but a person's own word.
///
/// Rejects as `projectTrust`.
#[napi(
    ts_args_type = "places: TrustPlaces, trusted: boolean | null",
    ts_return_type = "Promise<ProjectTrust>"
)]
pub fn trust_project(places: Given<TrustPlaces>, trusted: Maybe<bool>) -> Promised<Answer> {
    answering(move || {
        let (places, trusted) = (places.named("places")?, trusted.named("trusted")?);
        let book = book(places.agent_dir.as_deref())?;
        let real = book.answer_opened(Path::new(&places.project), trusted, system_time())?;
        match tell(&book, &real) {
            // The answer for a project that is gone can still be removed.
            Err(Error::File { .. }) if trusted.is_none() => {
                Ok(told(&real, Trust::Unknown, &Brought::default()))
            }
            told => told,
        }
    })
}

/// All answers of a person, by path. `agentDir`: as in `TrustPlaces`.
///
/// Rejects as `projectTrust`.
#[napi(
    ts_args_type = "agentDir?: string | undefined | null",
    ts_return_type = "Promise<Array<TrustedProject>>"
)]
pub fn trusted_projects(agent_dir: Maybe<String>) -> Promised<Answer> {
    answering(move || {
        let all = book(agent_dir.named("agentDir")?.as_deref())?.all()?.into_iter();
        let answers = all.map(|(path, answer)| {
            json!({
                "path": path.to_string_lossy(),
                "trusted": answer.trusted,
                "at": answer.at,
            })
        });
        Ok(answers.collect::<Vec<_>>())
    })
}

fn book(agent_dir: Option<&str>) -> Result<TrustBook> {
    TrustBook::of(agent_dir.map(Path::new))
}

fn tell(book: &TrustBook, project: &Path) -> Result<Value> {
    let (real, standing, brought) = settings::look_at_opened(book, project)?;
    Ok(told(&real, standing, &brought))
}

fn told(real: &Path, standing: Trust, brought: &Brought) -> Value {
    json!({
        "path": real.to_string_lossy(),
        "standing": standing,
        "counts": standing.counts(),
        "files": brought.files().map(|(file, _)| file).collect::<Vec<_>>(),
    })
}

/// The project whose settings count: `trusted` is the caller's word; without it, the user's answer
/// counts.
pub(super) fn counted<'a>(
    agent_dir: Option<&Path>,
    project: Option<&'a Path>,
    trusted: Option<bool>,
) -> Result<Option<&'a Path>> {
    let Some(project) = project else { return Ok(None) };
    let counts = match trusted {
        Some(trusted) => trusted,
        None => match settings::look_at_project(&TrustBook::of(agent_dir)?, project) {
            Ok((_, standing, _)) => standing.counts(),
            // Unreadable answers trust nothing; memory reports the error.
            Err(Error::File { .. } | Error::NotPrivate { .. }) => false,
            Err(error) => return Err(error),
        },
    };
    Ok(counts.then_some(project))
}
