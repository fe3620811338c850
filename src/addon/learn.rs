//! `learnHazards`.

use std::path::Path;

use napi_derive::napi;
use serde::Serialize;

use super::argument::{Given, Maybe};
use super::blocking::{Answer, Promised, answering};
use base::error::{Error, Result};
use context::hazard::Hazards;
use replay::learn::{Samples, learned};
use replay::transcript::Transcript;

/// How to learn hazards.
#[napi(object)]
#[derive(Default)]
pub struct LearnOptions {
    /// Paths of transcripts to test the weights on. Default: those that they are learned from.
    pub tested: Option<Vec<String>>,
}

/// Learns from transcripts how likely a call needs an output or a step, by playing them through a session. Stores nothing and reads
/// no files but the transcripts. The same transcripts give the same weights, in any order. Files that are no transcripts are skipped
/// and listed.
///
/// Rejects with `INVALID_ARGUMENT`, with `FILE` if a transcript cannot be read, and with `TOO_FEW_NEEDS` if they show too little.
#[napi(
    ts_args_type = "paths: string[], options?: LearnOptions",
    ts_return_type = "Promise<LearnedHazards>"
)]
pub fn learn_hazards(paths: Given<Vec<String>>, options: Maybe<LearnOptions>) -> Promised<Answer> {
    answering(move || {
        let options = options.or_default("options")?;
        let mut skipped = Vec::new();
        let samples = collected(&paths.named("paths")?, &mut skipped)?;
        let tested = options.tested.map(|paths| collected(&paths, &mut skipped)).transpose()?;
        let hazards = learned(&samples, tested.as_ref())?;
        Ok(WithSkipped { hazards, skipped })
    })
}

#[derive(Serialize)]
struct WithSkipped {
    hazards: Hazards,
    skipped: Vec<Skipped>,
}

/// A file that is not a transcript.
#[derive(Serialize)]
struct Skipped {
    file: String,
    problem: String,
}

fn collected(paths: &[String], skipped: &mut Vec<Skipped>) -> Result<Samples> {
    let mut samples = Samples::default();
    for path in paths {
        match Transcript::read(Path::new(path)) {
            Ok(transcript) => samples.take(&transcript)?,
            Err(error @ (Error::MalformedTranscript { .. } | Error::ArchiveExpands { .. })) => {
                skipped.push(Skipped { file: path.clone(), problem: error.message() });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(samples)
}
