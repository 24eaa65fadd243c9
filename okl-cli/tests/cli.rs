//! The binary as its users run it.

#[path = "cli/advice.rs"]
mod advice;
#[path = "cli/agree.rs"]
mod agree;
#[path = "cli/auto.rs"]
mod auto;
#[path = "cli/certificates.rs"]
mod certificates;
#[path = "cli/clipped.rs"]
mod clipped;
#[path = "cli/columns.rs"]
mod columns;
#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/detectors.rs"]
mod detectors;
#[path = "cli/drawn.rs"]
mod drawn;
#[path = "cli/errors.rs"]
mod errors;
#[path = "cli/evaluate.rs"]
mod evaluate;
#[path = "cli/exports.rs"]
mod exports;
#[path = "cli/flags.rs"]
mod flags;
#[path = "cli/full_disk.rs"]
mod full_disk;
#[path = "cli/headers.rs"]
mod headers;
#[path = "cli/held_out.rs"]
mod held_out;
#[path = "cli/inherited.rs"]
mod inherited;
#[path = "cli/keep.rs"]
mod keep;
#[path = "cli/kept.rs"]
mod kept;
#[path = "cli/labels.rs"]
mod labels;
#[path = "cli/learned_rows.rs"]
mod learned_rows;
#[path = "cli/measured.rs"]
mod measured;
#[path = "cli/members.rs"]
mod members;
#[cfg(target_os = "linux")]
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/missing.rs"]
mod missing;
#[path = "cli/models.rs"]
mod models;
#[path = "cli/names.rs"]
mod names;
#[path = "cli/odd_files.rs"]
mod odd_files;
#[path = "cli/output.rs"]
mod output;
#[path = "cli/passes.rs"]
mod passes;
#[cfg(unix)]
#[path = "cli/pipes.rs"]
mod pipes;
#[path = "cli/predictions.rs"]
mod predictions;
#[path = "cli/quantiles.rs"]
mod quantiles;
#[path = "cli/report_words.rs"]
mod report_words;
#[path = "cli/reproduced.rs"]
mod reproduced;
#[path = "cli/resume.rs"]
mod resume;
#[path = "cli/said.rs"]
mod said;
#[path = "cli/shuffled.rs"]
mod shuffled;
#[path = "cli/sorted_targets.rs"]
mod sorted_targets;
#[path = "cli/sparse.rs"]
mod sparse;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/table.rs"]
mod table;
#[path = "cli/truth.rs"]
mod truth;
#[path = "cli/weightless.rs"]
mod weightless;
#[path = "cli/whitened.rs"]
mod whitened;
#[path = "cli/wording.rs"]
mod wording;
