//! `learnHazards`.

use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde::Serialize;

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking};
use crate::error::{Error, Result};
use crate::replay::learn::{Learned, Samples};
use crate::replay::transcript::Transcript;

/// How hazards are learned.
#[napi(object)]
#[derive(Default)]
pub struct LearnOptions {
    /// How many times its price a fault weighs. Default: as in the weights that are shipped.
    pub caution: Option<f64>,
    /// Paths of transcripts that the models are tested on. Default: those that they are learned from.
    pub tested: Option<Vec<String>>,
}

/// Learns from transcripts how likely a call needs an output or a step, by playing them through a session. Nothing is stored,
/// and no file but the transcripts is read. The same transcripts give the same weights, in whatever order.
///
/// Rejects with `TOO_FEW_NEEDS` where they show too little; `INVALID_ARGUMENT`; `FILE` where one cannot be read. What is no
/// session file is skipped, and said so.
#[napi(
    ts_args_type = "paths: string[], options?: LearnOptions",
    ts_return_type = "Promise<LearnedHazards>"
)]
pub fn learn_hazards(
    paths: Given<Vec<String>>,
    options: Given<Option<LearnOptions>>,
) -> AsyncTask<Blocking<Json>> {
    blocking(move || {
        let options = options.named("options")?.unwrap_or_default();
        let mut skipped = Vec::new();
        let samples = collected(&paths.named("paths")?, &mut skipped)?;
        let tested = options.tested.map(|paths| collected(&paths, &mut skipped)).transpose()?;
        let learned = Learned::from_samples(&samples, options.caution, tested.as_ref())?;
        let answer = Answer { learned, skipped };
        serde_json::to_value(answer).map(Json).map_err(|error| Error::internal(error.to_string()))
    })
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    learned: Learned,
    skipped: Vec<Skipped>,
}

/// A file that is no session.
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
            Err(error @ Error::MalformedTranscript { .. }) => {
                skipped.push(Skipped { file: path.clone(), problem: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(samples)
}
