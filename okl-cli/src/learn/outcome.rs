//! After the last row: the model, the figures, the report.

use std::path::Path;

use okl::config::{Choice, ClassWeight, Scale, Threshold};
use okl::loss::AnyLoss;
use okl::{Config, Label, Learner};
use serde_json::json;

use super::first_rows::{estimated, not_whitened};
use super::{Kept, Session, Which, held_out, kept, task_of};
use crate::args::{SaveModel, Stream};
use crate::certificates;
use crate::clash;
use crate::command::arguments;
use crate::device;
use crate::input::{Chunk, Format, Schema, encoded_dates, is_stream};
use crate::inspect;
use crate::metrics::{OutputSummary, Summary, Task, Trivial, count, figure, percent};
use crate::past_rows::{Order, Past, much_larger};
use crate::predict::classes_of;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::run::{Run, interrupted};
use crate::store::{self, Position};
use crate::table::{note, say, wrapped};
use crate::trial::Trial;
use crate::units::{self, Numbers};

/// The results of a run: figures and sentences.
struct Outcome {
    /// Every row the first time it was seen, before it was learned.
    summary: Summary,
    /// The last pass and its figures, over rows that had been learned before.
    training: Option<(u64, Summary)>,
    /// The current model on a sample of the rows that it has learned.
    past: Option<Past>,
    held_out: Option<Summary>,
    /// Why the held-out file could not be scored.
    not_scored: Option<anyhow::Error>,
    certificates: Vec<String>,
    /// Warnings about the figures.
    warnings: Vec<String>,
    /// The comparison with a model that learned a sample of the rows once more, if there was one.
    kept: Option<Kept>,
    /// Notes about clipped values and skipped steps, one sentence each.
    health: Vec<String>,
}

/// The model that is saved, and how well it did while it learned.
#[derive(Clone, Copy)]
struct Saved<'a> {
    learner: &'a Learner,
    progress: &'a Progress,
}

/// Said if a signal came before the end of the second learning. `chosen`: see [`Session::chosen`].
fn not_replayed(chosen: &str) -> String {
    format!(
        "The run was interrupted before the rows were learned once more (--save-model), so the final model is {chosen}. Learn the file \
         again to have the other one."
    )
}

/// Whether the findings of the model name the classes that no row had.
fn names_absent_classes(learner: &Learner) -> bool {
    let health = learner.health();
    !health.absent_classes.is_empty()
        && health.findings(|_| String::new()).iter().any(|said| said.starts_with("class_weight names"))
}

/// A warning if --class-weight names classes that no row had.
fn absent_classes(run: &Run) -> Option<String> {
    let ClassWeight::Table(table) = &run.learner.config().class_weight else { return None };
    let (classes, _) = classes_of(&run.learner);
    let absent: Vec<&str> = table
        .keys()
        .map(String::as_str)
        .filter(|name| !classes.iter().any(|class| ClassWeight::is_name_of(name, class)))
        .collect();
    if absent.is_empty() || classes.is_empty() {
        return None;
    }
    let found: Vec<String> = classes.iter().take(20).map(Label::to_string).collect();
    let (names, they) = (absent.join(", "), if absent.len() == 1 { "this class" } else { "these classes" });
    Some(format!(
        "--class-weight {names}: no row had {they}; the classes are {}. Weights are divided by the largest one, so the weight of a class that \
         does not occur makes those of the others smaller. Correct the name, or remove it.",
        found.join(", ")
    ))
}

impl Session<'_> {
    /// Writes model, report and summary.
    pub(super) fn finish(&mut self, run: &mut Run) -> anyhow::Result<()> {
        run.record();
        if run.rows() > 0 && !run.rows().is_power_of_two() {
            self.bar.suspend(|| self.table.line(run));
        }
        self.bar.finish_and_clear();
        self.save(run)?;
        let past = run.past_filled(&self.passes.schema().targets, |chunk| self.fill(chunk))?.map(|past| Past {
            all_rows: self.all_rows,
            continued: self.args.stream.r#continue,
            resumed: self.learned_before > 0,
            can_save_all: self.args.output.is_some() && self.args.stream.resume.is_none() && self.passes.way().id.is_none(),
            // They are halves in the order of the lines.
            halves: past.halves.filter(|_| self.passes.way().shuffle.is_none()),
            ..past
        });
        let (other, kept) = self.keep(run, past.as_ref())?;
        let last = other.as_ref().unwrap_or(run);
        let saved = &last.learner;
        let outcome = self.outcome(run, Saved { learner: saved, progress: &last.progress }, past, kept)?;
        self.write_report(run, saved, &outcome)?;
        if self.args.show.json {
            self.print_json(run, saved, &outcome)?;
        } else if !self.args.show.quiet {
            self.print(run, saved, &outcome);
        }
        if interrupted() && !self.args.show.quiet {
            let model = if self.args.output.is_some() { "the model is written" } else { "no model was asked for (-o)" };
            note(format_args!("interrupted: the block was finished, {model}"));
        }
        // Rows of the held-out file may be wrong: the figures of the data are shown all the same.
        outcome.not_scored.map_or(Ok(()), Err)
    }

    /// Fills the cells of learned rows as `okl predict` does. In formats in which an absent feature is 0, there are none to fill.
    fn fill(&self, chunk: &mut Chunk) {
        if !matches!(self.passes.format(), Format::Vw | Format::Libsvm) {
            self.passes.filled().fill_learned(chunk, self.passes.schema());
        }
    }

    /// Learns a sample of the rows once more in a random order, if that was asked for or the final model, which has learned the past rows, is
    /// hardly better there than the models before it were when the rows were new. If this model is the one to save, it replaces the final
    /// model in the file and is returned. No comparison is returned where there is nothing to say about it.
    fn keep(&self, run: &Run, past: Option<&Past>) -> anyhow::Result<(Option<Run>, Option<Kept>)> {
        let wanted = self.args.save_model.unwrap_or_default();
        let worse = past.is_some_and(|past| past.much_worse);
        let hardly_better = past.is_some_and(Past::is_hardly_better);
        if interrupted() || !(worse || hardly_better || wanted == SaveModel::All) {
            return Ok((None, None));
        }
        let Some((mut other, mut kept)) =
            kept::replay(run, &self.asked, (wanted, self.args.stream.shuffle.is_none()), self.args.stream.threads, |chunk| {
                self.fill(chunk)
            })?
        else {
            return Ok((None, None));
        };
        kept.written = self.args.output.is_some();
        if kept.model == Which::Recent {
            return Ok((None, Some(kept).filter(|kept| worse || kept.clearly_better)));
        }
        if let Some(path) = &self.args.output {
            let (replayed, progress) = (Some(kept.replayed_rows), other.progress.clone());
            store::save(path, &mut other.learner, &Position { replayed, progress, ..self.passes.position() })?;
        }
        Ok((Some(other), Some(kept)))
    }

    /// `saved` is the model that is saved: the final model, or the one that learned a sample once more.
    fn outcome(&self, run: &Run, saved: Saved<'_>, past: Option<Past>, kept: Option<Kept>) -> anyhow::Result<Outcome> {
        let Saved { learner: saved, progress } = saved;
        let (schema, way) = (self.passes.schema(), self.passes.way());
        let test = self.args.stream.test.as_deref();
        let summary = run.summary(&schema.targets);
        let replayed = kept.as_ref().is_some_and(|kept| kept.model == Which::All);
        let order = match way.shuffle {
            _ if replayed && self.args.save_model == Some(SaveModel::All) => Order::ReplayedAsAsked,
            _ if replayed => Order::Replayed,
            Some(_) => Order::Shuffled,
            None if self.args.data.iter().any(|file| is_stream(file)) => Order::Stream,
            None => Order::File,
        };
        let worse = past.as_ref().and_then(|past| past.warning(order));
        let squared = matches!(*run.learner.config().loss, AnyLoss::Squared { .. });
        let explains_less = past.as_ref().and_then(|past| past.explains_less(&summary, squared, order));
        let held_out = test.map(|path| held_out::score(saved, path, &self.passes));
        let (held_out, left_out, not_scored) = match held_out {
            None => (None, Vec::new(), None),
            Some(Ok((summary, said))) => (Some(summary), said, None),
            Some(Err(why)) => (None, Vec::new(), Some(why.context(format!("--test {}", test.unwrap_or_default())))),
        };
        // The rows of the file were compared with those that were learned.
        let known = left_out.iter().any(|said| said.contains("the model has learned"));
        // With the line in the file; the learner knows the number of the example.
        let counted = if self.passes.format() == Format::Parquet { "row" } else { "line" };
        let large_targets = run.large_targets.finding(&run.learner.config().loss, counted);
        Ok(Outcome {
            // Where no row could be learned, a later pass has no figures either.
            training: run.training_summary(&schema.targets).filter(|(_, training)| training.examples > 0),
            held_out,
            not_scored,
            certificates: certificates::in_words(saved, progress.measured(saved)),
            warnings: worse
                .into_iter()
                .chain(explains_less)
                .chain(kept.as_ref().map(Kept::sentence))
                .chain(self.not_replayed(past.as_ref(), kept.as_ref()))
                .chain(nothing_learned(&summary))
                .chain(self.learned_again())
                .chain(self.passes.not_learned_after().map(|line| not_learned(counted, line)))
                .chain(self.passes.repeats().sentence(summary.examples, task_of(&self.asked)))
                .chain(self.worse_than_trivial(run, &summary))
                .chain(summary.warnings())
                .chain(self.about_numbers(run, &summary))
                .chain(not_whitened(&self.asked, saved.config()))
                .chain(missed_rate(&run.learner, &summary, way.shuffle.is_some()))
                .chain(self.test_was_learned().filter(|_| !known))
                .chain(large_targets.clone())
                .chain(absent_classes(run).filter(|_| !names_absent_classes(saved)))
                .chain(self.never_predicted(&summary))
                .chain(self.passes.filled().finding(schema, |column| schema.source(column)))
                .chain(dates(schema))
                .chain(left_out)
                .chain(device::warning(&run.learner))
                .collect(),
            health: inspect::health(saved, |column| schema.source(column))
                .into_iter()
                .filter(|line| large_targets.is_none() || saved.health().large_targets.as_ref() != Some(line))
                .chain(self.announced.and_then(|announced| announced.exceeded(saved)))
                .collect(),
            summary,
            past,
            kept,
        })
    }

    /// One sentence about a class that is rare, so that its rows are predicted to be of other classes.
    fn never_predicted(&self, summary: &Summary) -> Option<String> {
        let (class, rows) = summary.classes.as_ref()?.never_predicted()?;
        let advice = match self.args.stream.resume.is_none() && self.asked.class_weight.is_none() {
            true => {
                " --class-weight balanced gives rare classes more weight: more of their rows are found, and more rows of the others are wrong."
            }
            false => "",
        };
        Some(format!("No row was predicted to be of class {class}, which {} rows have.{advice}", count(rows as f64)))
    }

    /// What is said about targets that are numbers: facts, and advice that was tried on a sample of the rows.
    fn about_numbers(&self, run: &Run, summary: &Summary) -> Vec<String> {
        let asked = &self.asked;
        // A resumed model keeps its settings.
        let can_change = self.args.stream.resume.is_none();
        let in_order = self.passes.way().shuffle.is_none();
        let trial = || Trial::begin(run, asked, in_order, self.args.stream.threads).filter(|_| can_change);
        let sample = run.reservoir.chunk();
        let targets = |output: usize| {
            (0..sample.rows).filter_map(|row| sample.targets.row(row).and_then(|y| y.get(output)).copied()).collect()
        };
        let numbers = Numbers { asked, examples: summary.examples, outputs: &summary.outputs, targets: &targets, trial: &trial };
        let mut said = units::quantiles(numbers);
        said.extend(units::advice(numbers));
        said
    }

    /// What happens to the model that `--save-model` chooses: without `-o` it is measured on the held-out file, and not saved.
    fn chosen(&self) -> &'static str {
        if self.args.output.is_some() { "saved" } else { "chosen" }
    }

    /// Why the rows were not learned once more although the final model is much worse on past rows.
    fn not_replayed(&self, past: Option<&Past>, kept: Option<&Kept>) -> Option<String> {
        let wanted = self.args.save_model.unwrap_or_default();
        if interrupted() && kept.is_none() && wanted == SaveModel::All && self.args.chooses_model() {
            return Some(not_replayed(self.chosen()));
        }
        let automatic = wanted == SaveModel::Auto && self.args.chooses_model();
        if kept.is_some() || !automatic || !past.is_some_and(|past| past.much_worse) || past.is_some_and(|past| past.is_novelty())
        {
            return None;
        }
        if self.args.stream.resume.is_some() {
            let chosen = self.chosen();
            return Some(format!(
                "This run continues an earlier one, whose rows are not kept in memory, so the final model is {chosen}. A run over the whole \
                 file without an interruption may find a better one (--save-model)."
            ));
        }
        interrupted().then(|| not_replayed(self.chosen()))
    }

    /// One sentence if the file of --test is one of the files that were learned.
    fn test_was_learned(&self) -> Option<String> {
        let test = self.args.stream.test.as_deref()?;
        self.args.data.iter().any(|file| clash::is_same(Path::new(file), Path::new(test))).then(|| {
            let what = if task_of(&self.asked) == Task::Novelty { "another alert rate" } else { "a larger error" };
            format!("--test {test}: the model has learned these rows, so new rows can have {what} than the one that is shown as held out.")
        })
    }

    /// One sentence if rows of this run are equal to rows that the resumed model had learned: figures over them are in-sample.
    fn learned_again(&self) -> Option<String> {
        let said = self.passes.learned_before().sentence(task_of(&self.asked))?;
        let said = said.replace("the model has learned", "the model had learned before these data");
        let advice = match self.args.stream.r#continue {
            true => "",
            false => " If these data begin with the rows that were learned, --continue goes on after them.",
        };
        Some(format!("--resume: {said}.{advice}"))
    }

    /// One sentence if a predictor that needs no features is much better than the model, and what to do.
    fn worse_than_trivial(&self, run: &Run, summary: &Summary) -> Option<String> {
        let (trivial, worse) = summary.worse_than_trivial(self.passes.way().shuffle.is_some())?;
        let equal = summary.windowed_no_change_error == Some(0.0);
        let advice = match run.earlier_target.column().filter(|_| trivial == Trivial::NoChange) {
            Some(column) => format!(" The column {} has that target already.", self.passes.schema().source(column)),
            None if equal && trivial == Trivial::NoChange => " These targets are all equal. If the rows are sorted by their target, the order says more than new rows will: learn the file with \
                              --shuffle 1."
                .into(),
            None if self.few_values => " If the target is a class, learn with --task classes.".into(),
            None if trivial == Trivial::NoChange => {
                " If that target is known when a row is predicted, try it as one more feature (not tried here).".into()
            }
            None => String::new(),
        };
        let set = if self.args.stream.resume.is_none() { tuning_set(&self.asked) } else { Vec::new() };
        let set = match set.split_last() {
            None => String::new(),
            Some((one, [])) => format!(" This run sets {one}: if it is left out, okl finds it."),
            Some((last, others)) => {
                format!(" This run sets {} and {last}: if they are left out, okl finds them.", others.join(", "))
            }
        };
        Some(format!("{worse}{advice}{set}"))
    }

    /// For a resumed model: which rows the figures are about.
    fn part(&self, run: &Run) -> Option<String> {
        let (examples, before, rows) = (self.learned_before, self.rows_before, run.rows());
        let (number, were) = (count(before as f64), if before == 1 { "row was" } else { "rows were" });
        let said = match examples == before {
            true => format!("{number} {were} learned before"),
            false => {
                format!("{number} {were} learned before ({} examples, a row being counted in every pass)", count(examples as f64))
            }
        };
        (examples > 0).then(|| match rows {
            1.. if self.passes.way().passes > 1 => format!("Figures of this run; {said}."),
            0 => format!("No new rows; {said}."),
            _ => format!("Figures of {}; {said}.", run.rows_in_words(self.passes.way().shuffle.is_some())),
        })
    }

    fn print_json(&self, run: &Run, saved: &Learner, outcome: &Outcome) -> anyhow::Result<()> {
        let lookup = self.passes.learned_before();
        let mut all = json!({
            "summary": outcome.summary,
            "model_on_past_rows": outcome.past,
            "warnings": outcome.warnings,
            "certificates": outcome.certificates,
            "health": outcome.health,
            "config": inspect::in_effect(saved.config()),
            "given": self.passes.given(),
            "rows_before": self.rows_before,
            "examples_before": self.learned_before,
            // Not known for a model without fingerprints: of an older version, of Python or of a server.
            "rows_learned_again": (self.learned_before == 0 || !lookup.is_empty()).then(|| lookup.equal()),
            "rows_repeated": self.passes.repeats().count(outcome.summary.examples),
            "part": self.part(run),
            "skipped_rows": self.skipped,
            "wall_seconds": self.started.elapsed().as_secs_f64(),
            "learn_seconds": run.learn_seconds(),
        });
        if let Some(used) = &self.used {
            all["hashing"] =
                json!({ "columns_used": used.columns(), "features_estimated": used.features(), "words": used.words() });
        }
        if self.args.chooses_model() {
            let recent = || match self.args.output {
                Some(_) => json!({ "model": Which::Recent }),
                None => json!({ "model": Which::Recent, "written": false }),
            };
            all["saved_model"] = outcome.kept.as_ref().map_or_else(recent, |kept| json!(kept));
        }
        if let Some(held_out) = &outcome.held_out {
            all["held_out"] = json!(held_out);
        }
        if let Some(why) = &outcome.not_scored {
            all["held_out_error"] = json!(format!("{why:#}"));
        }
        if let Some((pass, summary)) = &outcome.training {
            all["training"] = json!({ "pass": pass, "summary": summary });
        }
        Ok(say(&(serde_json::to_string_pretty(&all)? + "\n"))?)
    }

    fn print(&self, run: &Run, saved: &Learner, outcome: &Outcome) {
        match run.rows() {
            0 => note(format_args!("{}: no rows after those that the model has consumed", self.args.data.join(", "))),
            _ => {
                self.part(run).iter().for_each(|part| note(wrapped(&format!("\n{part}"), "  ")));
                print_figures(outcome, &self.args.stream);
            }
        }
        if outcome.summary.classes.as_ref().is_some_and(|c| c.known == 1) {
            let (settings, stream) = (&self.args.settings, &self.args.stream);
            let guessed =
                settings.task.is_none() && settings.loss.is_none() && settings.config.is_none() && stream.resume.is_none();
            let is_number = matches!(run.learner.classes(), [Label::Int(_)]);
            let advice = if guessed && is_number { " (say --task numbers if it is a number)" } else { "" };
            note(format_args!("the target has only one value: there is nothing to tell apart yet{advice}"));
        }
        let constant = |o: &&OutputSummary| o.r2.is_none() && o.mae.is_some();
        if let Some(output) = outcome.summary.outputs.iter().find(constant).filter(|_| outcome.summary.examples > 1) {
            note(format_args!("the target has only one value so far: there is nothing to learn about {}", output.name));
        }
        // With fewer rows than these, examples of later passes are among the first ones.
        let first = format!("first {} examples", count(self.asked.warmup as f64));
        let one_pass = outcome.training.is_none() || outcome.kept.as_ref().is_some_and(|kept| kept.model == Which::All);
        let again = !one_pass && outcome.summary.examples < self.asked.warmup as u64;
        let counted =
            |line: String| if again { line.replace(&first, &format!("{first} (a row is counted in every pass)")) } else { line };
        estimated(&self.asked, saved).map(counted).iter().for_each(|line| note(wrapped(line, "  ")));
        self.used.iter().for_each(|used| note(wrapped(&used.words(), "  ")));
        outcome.certificates.iter().for_each(|line| note(wrapped(line, "  ")));
        outcome.health.iter().for_each(|line| note(wrapped(&format!("warning: {line}"), "  ")));
        if self.skipped > 0 {
            let rows = if self.skipped == 1 { "row" } else { "rows" };
            note(format_args!("{} {rows} could not be read: skipped", count(self.skipped as f64)));
        }
    }

    fn write_report(&self, run: &Run, saved: &Learner, outcome: &Outcome) -> anyhow::Result<()> {
        let Some(path) = &self.args.show.report else { return Ok(()) };
        let schema = self.passes.schema();
        let command = self.command();
        let lead = self.part(run).unwrap_or_default();
        let config = inspect::in_effect(saved.config()).to_json();
        let given = self.passes.given().map(ToString::to_string);
        let facts = self.facts(run);
        let title = name(&self.args.data);
        let decision = run.decision(&schema.names(), schema.targets.first().map_or("target", String::as_str))?;
        let training = outcome.training.as_ref().map(|(pass, summary)| (*pass, summary));
        let held_out = self.args.stream.test.as_deref().zip(outcome.held_out.as_ref());
        let not_scored = outcome.not_scored.iter().map(|why| format!("The held-out file was not scored: {why:#}"));
        let warnings: Vec<String> = not_scored.chain([outcome.warnings.as_slice(), &outcome.health].concat()).collect();
        let report = Report {
            certificates: &outcome.certificates,
            warnings: &warnings,
            past: outcome.past.as_ref(),
            kept: outcome.kept.as_ref().filter(|kept| kept.model == Which::All),
            training,
            held_out,
            members: saved.members().len(),
            decision: decision.as_ref(),
            alerts: (run.metrics.task() == Task::Novelty).then_some(&run.alerts),
            facts: &facts,
            lead: &lead,
            learned_again: self.passes.learned_before().equal(),
            given_json: given.as_deref(),
            resumed: self.args.stream.resume.is_some(),
            ..Report::new(&title, &command, &outcome.summary, &run.history, &config)
        };
        let mut bytes = Vec::new();
        report::write(&mut bytes, &report)?;
        store::write(path, &bytes)
    }

    /// The command line. If the run replaced the model that it resumed, it cannot be repeated: a text that says why.
    fn command(&self) -> String {
        match (&self.args.stream.resume, &self.args.output) {
            (Some(model), Some(output)) if clash::is_same(model, output) => format!(
                "The command of this run cannot be repeated:\nit began with the model {}\nand wrote its own model there.\n\
                 To repeat it, begin with a copy of the model as it was before.",
                model.display()
            ),
            _ => std::iter::once("okl".into()).chain(arguments().into_iter().map(typed)).collect::<Vec<_>>().join(" "),
        }
    }

    fn facts(&self, run: &Run) -> Vec<(String, String)> {
        let way = self.passes.way();
        let mut facts = vec![("rows", count(run.rows() as f64))];
        if self.skipped > 0 {
            facts.push(("rows skipped", count(self.skipped as f64)));
        }
        if way.passes > 1 {
            facts.push(("passes", way.passes.to_string()));
        }
        facts.extend(way.shuffle.map(|seed| ("shuffled with seed", seed.to_string())));
        facts.push(("seconds", format!("{:.2}", self.started.elapsed().as_secs_f64())));
        facts.push(("okl", env!("CARGO_PKG_VERSION").into()));
        facts.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }
}

/// Prints the figures: progressive, of the final model and, if there are any, of later passes and of the held-out file.
fn print_figures(outcome: &Outcome, stream: &Stream) {
    let mut text = String::from("\n");
    match (&outcome.training, &outcome.held_out) {
        (Some(_), _) if outcome.summary.examples == 0 => text += "All rows of this run had been learned before.\n",
        (None, None) => text += &outcome.summary.to_string(),
        // The model may have learned equal rows in an earlier run.
        _ if stream.resume.is_some() => {
            text += &format!("progressive, every row before this run learned it:\n{}", outcome.summary)
        }
        _ => text += &format!("progressive, every row before it was learned:\n{}", outcome.summary),
    }
    if let Some((pass, training)) = &outcome.training {
        let show = if training.task == Task::Numbers { figure } else { percent };
        let value = training.error.map_or("-".into(), show);
        let (name, of) = match training.task {
            Task::Novelty => ("alert rate", "on"),
            _ => ("training error", "of"),
        };
        text += &format!("{name:<16}{value:<12}in pass {pass}, {of} rows that had been learned before\n");
    }
    let models = outcome.past.iter().map(Past::line).chain(outcome.kept.iter().map(Kept::line));
    for line in models.flat_map(|lines| lines.lines().map(str::to_owned).collect::<Vec<_>>()) {
        text += &(wrapped(&line, &" ".repeat(28)) + "\n");
    }
    note(text.trim_end_matches('\n'));
    if let (Some(held_out), Some(file)) = (&outcome.held_out, &stream.test) {
        let chosen = outcome.kept.as_ref().filter(|kept| kept.model == Which::All);
        let whose = chosen.map_or(String::new(), |kept| format!(", the {} model", kept.saved()));
        note(format_args!("\nheld out, {file}{whose}:\n{}", held_out.to_string().trim_end()));
    }
    note("");
    outcome.warnings.iter().for_each(|line| note(wrapped(line, "  ")));
}

/// A warning if the file has more rows than the first pass had.
fn not_learned(counted: &str, line: u64) -> String {
    format!(
        "The data have rows after {counted} {}, where the first pass ended. They are new, and are not learned yet: --resume with the saved model and --continue \
         learns them.",
        count(line as f64)
    )
}

/// A warning if no row of the file was learned.
fn nothing_learned(summary: &Summary) -> Option<String> {
    let why = summary.not_learned.words();
    (summary.examples == 0 && summary.rows > 0 && !why.is_empty() && summary.task != Task::Novelty).then(|| {
        format!("No row was learned ({why}), so the model knows no more than before. Look at the columns of the target and of the weight.")
    })
}

/// The settings that the command gives and that okl would otherwise find.
fn tuning_set(asked: &Config) -> Vec<&'static str> {
    let kernel = serde_json::to_value(asked).unwrap_or_default()["kernel"].to_string();
    let width = kernel.contains("gamma") && !kernel.contains("auto") && asked.members().iter().all(|member| member.width == 0);
    let settings = [
        ("step", asked.step != Choice::Auto),
        ("lambda", asked.lambda != Choice::Auto),
        ("gamma", width),
        ("scale", asked.scale != Scale::Auto),
    ];
    settings.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
}

/// One sentence if the last rows gave more than twice as many alerts as were asked for, and chance does not explain it.
fn missed_rate(learner: &Learner, summary: &Summary, shuffled: bool) -> Option<String> {
    let nu = learner.alert_rate().map(|rate| rate.nu).filter(|_| summary.task == Task::Novelty)?;
    let (rate, rows) = (summary.windowed_error?, summary.windowed_rows);
    let chance = |rate: f64| (rate * (1.0 - rate) / rows.max(1) as f64).sqrt();
    if rows < ENOUGH || rate <= 2.0 * nu || !much_larger(rate, chance(nu), nu) {
        return None;
    }
    // The weight of the last rows is not known apart, so no share of the rows before them can be computed.
    let earlier = rate_before_the_last(summary).filter(|_| !summary.is_weighted());
    let unlike = !summary.is_weighted() && earlier.is_none_or(|earlier| much_larger(rate, chance(earlier), earlier));
    let before = earlier.map_or(String::new(), |earlier| format!(" Of the judged rows before them {} did.", percent(earlier)));
    let advice = match learner.config().threshold {
        Threshold::Norma => {
            " The threshold norma does not hold the rate that is asked for: learn with --threshold tracker, which does."
        }
        _ if unlike && !shuffled => {
            " These rows are unlike the rows before them. If the rows are sorted and a fixed set, learn with --shuffle 1."
        }
        _ => "",
    };
    let (rows, rate, nu) = (count(rows as f64), percent(rate), percent(nu));
    let by_weight = if summary.is_weighted() { ", by weight," } else { "" };
    let order = if shuffled { " of the shuffled order" } else { "" };
    Some(format!("Of the last {rows} rows{order}{by_weight} {rate} gave an alert, and {nu} was asked for.{before}{advice}"))
}

/// The share of alerts among the rows before the last ones; none if these are fewer than [`ENOUGH`].
fn rate_before_the_last(summary: &Summary) -> Option<f64> {
    let (last, rows) = (summary.windowed_rows as f64, summary.judged.checked_sub(summary.windowed_rows)?);
    let alerts = summary.alert_rate? * summary.judged as f64 - summary.windowed_error? * last;
    (rows >= ENOUGH).then(|| (alerts / rows as f64).clamp(0.0, 1.0))
}

/// A sentence about every column of dates of which --one-hot has made many columns.
fn dates(schema: &Schema) -> impl Iterator<Item = String> {
    encoded_dates(schema).into_iter().filter(|(_, texts, _)| *texts >= FEW_DATES).map(|(name, texts, advice)| {
        format!(
            "The column '{name}' has {} different dates or times, and --one-hot made each a column of its own: {advice}.",
            count(texts as f64)
        )
    })
}

/// So many dates in one column are reported.
const FEW_DATES: usize = 10;

/// The smallest number of rows for a warning about the alert rate.
const ENOUGH: u64 = 100;

/// The name of the data: the file names without their folders.
fn name(data: &[String]) -> String {
    let one = |data: &String| match (data.as_str(), Path::new(data).file_name()) {
        ("-", _) => "Standard input".into(),
        (_, Some(name)) => name.to_string_lossy().into_owned(),
        (data, None) => data.into(),
    };
    data.iter().map(one).collect::<Vec<String>>().join(", ")
}

/// A word of a command, quoted for a shell if needed.
fn typed(word: String) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
