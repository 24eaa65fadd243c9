//! `okl predict`: scores for the rows of a file.

use std::borrow::Cow;

use okl::{Step, Workspace};

use crate::args::{BadRow, Predict};
use crate::input::{Chunk, Format, Options, Reader, read_ahead};
use crate::learn::task_of;
use crate::metrics::Task;
use crate::predictions::Predictions;
use crate::run::Seen;
use crate::store;

/// A chunk's rows with as many features as the model has: features it has never seen mean nothing to it.
pub fn fitted(chunk: &Chunk, features: usize) -> Cow<'_, [f32]> {
    match chunk.features == features || features == 0 {
        true => Cow::Borrowed(&chunk.x),
        false => Cow::Owned(
            chunk
                .x
                .chunks_exact(chunk.features.max(1))
                .flat_map(|row| (0..features).map(|i| row.get(i).copied().unwrap_or(0.0)))
                .collect(),
        ),
    }
}

/// Runs the command.
pub fn predict(args: &Predict) -> anyhow::Result<()> {
    let (mut learner, position) = store::load(&args.model)?;
    learner.set_threads(args.threads)?;
    let task = task_of(learner.config());
    let options = Options {
        format: args.format.map(Format::from),
        schema: position.schema,
        want_target: false,
        skip_bad_rows: args.on_bad_row == BadRow::Skip,
        ..Options::default()
    };
    let mut out = Predictions::create(&args.output, task)?;
    let mut workspace = Workspace::default();
    for chunk in read_ahead(Reader::open(&args.data, options)?, 4)? {
        let chunk = chunk?;
        let features = if learner.features() == 0 { chunk.features } else { learner.features() };
        let scores = learner.predict(&mut workspace, &fitted(&chunk, features), features)?;
        for (row, &line) in chunk.lines.iter().enumerate() {
            let z = scores.row(row);
            let threshold = learner.threshold();
            let step = Step { scores: z, outside: threshold.map(|th| z[0] < th), threshold, ..Step::default() };
            let class = match z {
                _ if task != Task::Classes => None,
                [z] => learner.classes().get(usize::from(*z > 0.0)),
                z => learner.classes().get((0..z.len()).fold(0, |best, i| if z[i] > z[best] { i } else { best })),
            };
            out.write(&Seen { line, step: &step, class })?;
        }
    }
    out.finish()
}
