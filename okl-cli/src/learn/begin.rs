//! Before the first row is learned: opens the data, chooses the settings and makes the learner.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use okl::config::Config;
use okl::loss::{Loss, Reads};
use okl::{Label, Learner};
use serde_json::{Map, Value, json};

use super::held_out;
use super::passes::{COUNTING, Passes, WAITING};
use crate::args::{Columns, Learn, SaveModel, Task as TaskName, all_names};
use crate::clash::{self, Named};
use crate::input::{Chunk, DECIMAL_COMMA, Format, has_decimal_comma};
use crate::inspect::shorthand;
use crate::memory::{Announced, of_a_term};
use crate::metrics::{Task, count};
use crate::predict::check_width;
use crate::settings::{self, Entries, Look};
use crate::store::{self, Position};
use crate::table::{note, wrapped};
use crate::usage::usage;

/// Rows that are looked at before a loss is chosen.
const LOOK: usize = 1024;
/// Up to this many different integers may be classes.
const FEW: usize = 100;

/// The task of a configured loss.
pub fn task_of(config: &Config) -> Task {
    match config.loss.reads() {
        Reads::Sign | Reads::Class => Task::Classes,
        Reads::Number | Reads::Vector => Task::Numbers,
        Reads::Nothing => Task::Novelty,
    }
}

/// What learning begins with.
pub struct Begun {
    /// The learner, new or of --resume.
    pub learner: Learner,
    /// The rows.
    pub passes: Passes,
    /// Whether the task was not given and the target, taken as a number, has few whole-number values: it may be a class.
    pub few_values: bool,
    /// What was said of the memory; none for a resumed model, and where nothing was said.
    pub announced: Option<Announced>,
}

/// Opens the data, and loads the model of --resume or builds a learner. Settings that are not given are chosen from the first
/// rows and reported. None if a signal came before the first row.
///
/// # Errors
/// If data or model cannot be read, or options contradict each other, the data or the model.
pub fn begin(args: &Learn) -> anyhow::Result<Option<Begun>> {
    check_flags(args)?;
    held_out::check(args.stream.test.as_deref(), &args.data)?;
    let mut table = settings::given(&args.settings)?;
    let columns = settings::columns(&args.columns, &mut table)?;
    settings::only_settings(args.settings.config.as_deref(), &table)?;
    if let Some(path) = &args.stream.resume {
        let (learner, position) = store::load_for_rows(path)?;
        refuse_settings(args, &table)?;
        return resume(args, &columns, learner, position);
    }
    let known = match args.settings.task {
        _ if table.contains_key("loss") => Some(task_of(&Config::from_value(Value::Object(table.clone()))?)),
        Some(TaskName::Novelty) => Some(Task::Novelty),
        Some(TaskName::Numbers) => Some(Task::Numbers),
        // With --memory, the number of classes must be found from the first rows, because the memory of a term depends on it.
        Some(TaskName::Classes) if args.settings.memory.is_none() || table.contains_key("classes") => Some(Task::Classes),
        _ => None,
    };
    agree(args.settings.task, known, ["the given loss", "give another loss"])?;
    no_target(&columns, known == Some(Task::Novelty))?;
    let passes = Passes::open(&args.data, &columns, &args.stream, None, known, &all_names(&args.show.keep))?;
    build(args, table, known, passes)
}

/// Refuses settings of flags and of the file of --config, because a resumed model has its settings.
fn refuse_settings(args: &Learn, table: &Map<String, Value>) -> anyhow::Result<()> {
    const KEEPS: &str = "a resumed model keeps its settings; remove this";
    let flags = settings::of_flags(&args.settings);
    let memory = args.settings.memory.is_some().then_some("memory");
    if let Some(name) = flags.keys().map(String::as_str).next().or(memory) {
        return Err(usage(format!("--{}: {KEEPS} flag", name.replace('_', "-"))));
    }
    match (table.keys().next(), &args.settings.config) {
        (Some(name), Some(file)) => Err(usage(format!("{}: {name}: {KEEPS} setting from the file", file.display()))),
        _ => Ok(()),
    }
}

/// Refuses another task than that of --task. `whose`: the loss or the model that has the known task, and what to do.
fn agree(named: Option<TaskName>, known: Option<Task>, whose: [&str; 2]) -> anyhow::Result<()> {
    let named = named.map(|task| match task {
        TaskName::Classes => (Task::Classes, "classes"),
        TaskName::Numbers => (Task::Numbers, "numbers"),
        TaskName::Novelty => (Task::Novelty, "novelty"),
    });
    let of_loss = |known: Task| match known {
        Task::Classes => "classes",
        Task::Numbers => "numbers",
        Task::Novelty => "novelty",
    };
    match (named, known) {
        (Some((task, name)), Some(known)) if task != known => {
            let [whose, advice] = whose;
            Err(usage(format!("--task {name}: {whose} is one for {}; remove --task or {advice}", of_loss(known))))
        }
        _ => Ok(()),
    }
}

/// Refuses a target for a detector, which learns no target.
fn no_target(columns: &Columns, novelty: bool) -> anyhow::Result<()> {
    let names = all_names(&columns.target).join(",");
    if novelty && !names.is_empty() {
        return Err(usage(format!(
            "--target {names}: a novelty detector learns no target; --ignore {names} leaves the column out of the features"
        )));
    }
    Ok(())
}

/// Continues with a model: on the same data where it stopped, or on new data.
fn resume(args: &Learn, columns: &Columns, learner: Learner, position: Option<Position>) -> anyhow::Result<Option<Begun>> {
    // The Python package writes the names of the features and no position.
    let without = position.as_ref().is_none_or(|position| position.lines == 0 && learner.examples() > 0);
    if args.stream.r#continue && without {
        return Err(usage(
            "--continue: the model was not trained by `okl learn`, so it has no position in the data; remove this flag",
        ));
    }
    let position = position.unwrap_or_default();
    if args.stream.r#continue && position.rows > 0 && position.print.is_none() && !args.show.quiet {
        let text = "the model comes from an older version of okl and has no fingerprint of the data it has learned: \
                    that the data are the same is not checked";
        note(wrapped(text, "  "));
    }
    if let Some(rows) = position.replayed.filter(|_| !args.show.quiet) {
        let text = format!(
            "the model learned a sample of {} rows in a random order (--save-model); learning continues from there",
            count(rows as f64)
        );
        note(wrapped(&text, "  "));
    }
    let (named, task) = (position.schema.is_some(), task_of(learner.config()));
    agree(args.settings.task, Some(task), ["the model", "learn a new model without --resume"])?;
    no_target(columns, task == Task::Novelty)?;
    if let Some(bits) = columns.hash_bits.filter(|_| !named && learner.features() > 0) {
        return Err(usage(format!("--hash-bits {bits}: the model was trained without --hash-bits; remove this flag")));
    }
    let mut passes = Passes::open(&args.data, columns, &args.stream, Some(position), Some(task), &all_names(&args.show.keep))?;
    if !named
        && let Some(features) =
            passes.look(|first| first.iter().any(|chunk| chunk.rows > 0), waiting(args))?.first().map(|chunk| chunk.features)
    {
        check_width(&learner, &args.data[0], passes.schema(), features, true)?;
    }
    Ok(Some(Begun { learner, passes, few_values: false, announced: None }))
}

fn check_flags(args: &Learn) -> anyhow::Result<()> {
    if args.show.json && args.show.predictions.as_deref() == Some("-") {
        return Err(usage("--json and --predictions - both write to standard output; give the predictions a file"));
    }
    check_files(args)?;
    if args.save_model == Some(SaveModel::All) && (args.stream.resume.is_some() || args.columns.id.is_some()) {
        return Err(usage(
            "--save-model all learns rows of this run once more, each as a row of its own: that is not possible with --resume or --id; \
             remove one of these flags",
        ));
    }
    if args.save_model.is_some() && !args.chooses_model() {
        return Err(usage("--save-model chooses the model that is saved (-o) or measured (--test): add one of these flags"));
    }
    let dash = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    let flags = [("--output", &args.output, "a model"), ("--report", &args.show.report, "a report")];
    if let Some((flag, _, what)) = flags.into_iter().find(|(_, path, _)| dash(path)) {
        return Err(usage(format!("{flag} -: {what} cannot be written to standard output; name a file")));
    }
    args.output.iter().chain(&args.show.report).try_for_each(|path| store::check_writable(path))
}

/// Checks the files of the command before hours of learning: no output may overwrite an input.
fn check_files(args: &Learn) -> anyhow::Result<()> {
    let (stream, show) = (&args.stream, &args.show);
    let mut inputs: Vec<Named<'_>> = args.data.iter().map(|path| Named::new("the data", path)).collect();
    inputs.extend(stream.test.iter().map(|path| Named::new("the file of --test", path)));
    inputs.extend(args.settings.config.iter().map(|path| Named::new("the file of --config", path)));
    let model = stream.resume.iter().map(|path| Named::new("the model of --resume", path));
    let shown = || {
        let report = show.report.iter().map(|path| Named::new("--report", path));
        report.chain(show.predictions.iter().map(|path| Named::new("--predictions", path)))
    };
    let output = args.output.iter().map(|path| Named::new("--output", path));
    clash::refuse(&inputs, &output.chain(shown()).collect::<Vec<_>>())?;
    // --output may replace the model of --resume; other outputs may not.
    clash::refuse(&model.collect::<Vec<_>>(), &shown().collect::<Vec<_>>())
}

/// Properties of the targets of the first rows.
#[derive(Default)]
struct Targets {
    values: HashSet<Label>,
    text: bool,
    /// Whether a number is written with a decimal point.
    point: bool,
    several: bool,
    rows: usize,
}

impl Targets {
    /// Properties of the first [`LOOK`] rows, or of fewer if more would change nothing. Independent of how chunks are cut. With `counted`,
    /// the number of classes is needed and not only the task. Rows of weight 0 are only predicted, so their targets decide nothing.
    fn of<'a>(chunks: impl IntoIterator<Item = &'a Chunk>, counted: bool) -> Self {
        let mut seen = Targets::default();
        for chunk in chunks {
            seen.several |= chunk.targets.width > 1;
            for (row, label) in chunk.targets.labels().into_iter().enumerate() {
                if seen.is_enough(counted) {
                    return seen;
                }
                seen.rows += 1;
                if chunk.is_example(row) {
                    seen.text |= chunk.targets.is_text(row);
                    seen.point |= chunk.targets.has_point(row);
                    seen.values.insert(label);
                }
            }
        }
        seen
    }

    /// Whether more rows would not change the result. Several targets are numbers; text of more than two values is a class; fractions
    /// of more than two values are numbers. If classes are `counted`, text is not enough.
    fn is_enough(&self, counted: bool) -> bool {
        let fraction = || if counted { self.has_fraction() } else { self.values.iter().any(|v| !matches!(v, Label::Int(_))) };
        self.rows >= LOOK || self.several || (self.values.len() > 2 && fraction())
    }

    /// Whether one of the targets is a number that is not whole.
    fn has_fraction(&self) -> bool {
        let fraction = |label: &Label| matches!(label, Label::Text(t) if t.parse::<f64>().is_ok_and(|v| v.fract() != 0.0));
        !self.text && self.values.iter().any(fraction)
    }

    /// One of the targets, if all of them are numbers with a decimal comma.
    fn decimal_comma(&self) -> Option<&Label> {
        let comma = |label: &Label| has_decimal_comma(label.to_string().as_bytes());
        let numbers = |label: &Label| comma(label) || matches!(label, Label::Int(_));
        self.values.iter().find(|label| comma(label)).filter(|_| self.text && self.values.iter().all(numbers))
    }

    /// Whether all targets are whole numbers, at most [`FEW`] different ones.
    fn are_few_whole_numbers(&self) -> bool {
        !self.several && self.values.len() <= FEW && self.values.iter().all(|value| matches!(value, Label::Int(_)))
    }

    /// The task that the targets suggest, and the reason. Text and two whole numbers are classes, other targets are numbers, and so is one
    /// number that is written with a decimal point. LIBSVM writes classes as whole numbers; in VW a label is a number, unless
    /// all are 1 or -1.
    fn guess(&self, format: Format) -> (TaskName, String) {
        let (count, few) = (self.values.len(), self.are_few_whole_numbers());
        let signs = self.values.iter().all(|value| matches!(value, Label::Int(1 | -1)));
        let classes = |why: String| (TaskName::Classes, why);
        let numbers = |why: &str| (TaskName::Numbers, why.to_owned());
        match format {
            _ if self.several => numbers("the targets are numbers"),
            _ if count == 0 => classes("no row so far has a target and a weight above 0; for numbers add --task numbers".into()),
            _ if self.has_fraction() => numbers("the target is a number"),
            _ if self.text && count != 2 => classes("the target is text: a class".into()),
            Format::Vw if signs => classes("all labels are 1 or -1".into()),
            Format::Vw if count <= 2 => numbers("the label is a number; for classes add --task classes"),
            Format::Libsvm if few && count > 2 => {
                classes(format!("the labels are {count} whole numbers; if they are quantities add --task numbers"))
            }
            Format::Vw => numbers("the label is a number"),
            _ if count == 2 => classes("the target has two values".into()),
            _ if self.point && count == 1 => {
                numbers("the target is written with a decimal point; for classes add --task classes")
            }
            _ if count < 2 => classes("the target has one value so far".into()),
            _ if few => {
                let rows = crate::metrics::count(self.rows as f64);
                let found = format!("the target has {count} whole-number values in the first {rows} rows");
                (TaskName::Numbers, format!("{found}; if they are classes add --task classes"))
            }
            _ => numbers("the target is a number"),
        }
    }
}

/// The advice after a third class under a loss for two classes. `numbers`: all classes so far are numbers.
pub fn more_classes(args: &Learn, numbers: bool) -> String {
    let if_number = |advice: &str| if numbers { format!(", for a number {advice}") } else { String::new() };
    if args.stream.resume.is_some() {
        "this model separates two classes; for more, learn a new model with --task classes".into()
    } else if args.settings.loss.is_some() || args.settings.config.is_some() {
        format!("this loss separates two classes; for more use --loss max_margin{}", if_number("--loss squared"))
    } else {
        format!(
            "the first rows had two classes, so okl chose a loss for two; for more run again with --task classes{}",
            if_number("with --task numbers")
        )
    }
}

/// The message if the first rows are waited for.
pub fn waiting(args: &Learn) -> Option<&'static str> {
    (!args.show.quiet).then_some(WAITING)
}

/// The flag that only classes have, if one was given.
fn names_classes(table: &Map<String, Value>) -> Option<&'static str> {
    let weighted = table.get("class_weight").is_some_and(|weights| weights != "none");
    if table.contains_key("classes") { Some("classes") } else { weighted.then_some("class-weight") }
}

/// Whether a loss for two classes was given.
fn has_two_classes(table: &Map<String, Value>) -> anyhow::Result<bool> {
    let given = table.contains_key("loss");
    Ok(given && Config::from_value(Value::Object(table.clone()))?.loss.reads() == Reads::Sign)
}

/// Reads the first rows, chooses the settings that were not given, reports them, and builds the learner.
fn build(args: &Learn, table: Map<String, Value>, known: Option<Task>, mut passes: Passes) -> anyhow::Result<Option<Begun>> {
    let (format, memory) = (passes.format(), args.settings.memory);
    let counted = memory.is_some() && !table.contains_key("classes") && matches!(known, None | Some(Task::Classes));
    // The memory that is announced depends on the classes. The rows of a file are there; those of standard input would have to be waited for.
    let shown = counted
        || passes.schema().targets.len() == 1
            && !args.data.iter().any(|path| path == "-")
            && !table.contains_key("classes")
            && !table.contains_key("budget")
            && matches!(known, None | Some(Task::Classes))
            && !has_two_classes(&table)?;
    let enough = |first: &VecDeque<Chunk>| match known {
        Some(_) if !shown => first.iter().any(|chunk| chunk.rows > 0),
        _ => Targets::of(first, shown).is_enough(shown),
    };
    let first = passes.look(enough, waiting(args).map(|text| if counted { COUNTING } else { text }))?;
    if first.is_empty() {
        return Ok(None);
    }
    let features = first.iter().map(|chunk| chunk.features).max().unwrap_or(0);
    let ids = first.iter().any(|chunk| chunk.ids.is_some());
    let entries = Entries::of(first);
    let targets = if known.is_none() || counted { Targets::of(first, counted) } else { Targets::default() };
    let classes = shown.then(|| Targets::of(first, true).values.len());
    let named = known.map(|task| match task {
        Task::Classes => TaskName::Classes,
        Task::Numbers => TaskName::Numbers,
        Task::Novelty => TaskName::Novelty,
    });
    let asked = named.or(args.settings.task);
    let (task, why) = match asked {
        Some(task) => (task, None),
        None => {
            if let Some(found) = targets.decimal_comma() {
                let column = passes.schema().targets.join(",");
                return Err(usage(format!(
                    "--target {column}: found '{found}', {DECIMAL_COMMA}; if these are classes add --task classes"
                )));
            }
            match (targets.guess(format), names_classes(&table)) {
                ((TaskName::Numbers, _), Some(flag)) => (TaskName::Classes, Some(format!("--{flag} is about classes"))),
                ((task, why), _) => (task, Some(why)),
            }
        }
    };
    let schema = passes.schema();
    if task == TaskName::Classes && schema.targets.len() > 1 {
        return Err(usage(format!("--target {}: only one target is possible for classes", schema.targets.join(","))));
    }
    let few_values = asked.is_none() && task == TaskName::Numbers && targets.are_few_whole_numbers();
    let (classes, targets) = (classes.unwrap_or(targets.values.len()), schema.targets.len());
    let grows = schema.open || schema.one_hot || !schema.categories.is_empty() || !schema.texts.is_empty();
    let look = Look { task, why, classes, features, targets, sparse: schema.sparse, grows, ids, entries };
    let speaks_of_memory = memory.is_some() || !table.contains_key("budget");
    let given = table.clone();
    let (config, said) = settings::choose(table, &look, memory).map_err(|error| match error.downcast::<okl::Error>() {
        Ok(error) => settings::names_its_setting(error, &args.settings.flat, &given, &look),
        Err(other) => other,
    })?;
    if config.loss.reads() == Reads::Number && targets > 1 {
        let (names, loss) = (passes.schema().targets.join(","), shorthand(&json!(*config.loss)));
        return Err(usage(format!("--target {names}: the loss {loss} has one target; learn one model for each")));
    }
    if !args.show.quiet && !said.is_empty() {
        note("chosen, because not given:");
        said.iter().for_each(|line| note(wrapped(&format!("  {line}"), "    ")));
    }
    passes.began_with(&config);
    let each = of_a_term(&config, &look);
    let announced = speaks_of_memory.then_some(Announced { each, limit: memory });
    Ok(Some(Begun { learner: Learner::new(config)?, passes, few_values, announced }))
}
