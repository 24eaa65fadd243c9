//! The unit of targets, and the step sizes that are chosen for a loss; targets that are far from all others.

use okl::Config;
use okl::config::{Choice, OneOrMore, TargetScale};
use okl::loss::AnyLoss;

use crate::metrics::{Coverage, OutputSummary, count, figure, percent};
use crate::trial::{OtherQuantile, Trial, is_squared};

/// Fewer examples say nothing.
const ENOUGH: u64 = 100;
/// A target is an outlier if it is this many robust deviations from the median. Of normal numbers none in 10^23 is.
const OUTLYING: f64 = 10.0;
/// More outliers than this share of the targets are no outliers, but the tail of the targets.
const MOST_OUTLIERS: f64 = 0.05;

/// Targets whose deviation or mean is beyond this are reported however well they are predicted.
const MUCH_TOO_FAR: f64 = 30.0;

/// The targets of one output, and how well they are predicted.
pub struct Target {
    /// The name of the target.
    pub name: String,
    /// The mean of the targets, or their median.
    pub centre: Option<f64>,
    /// Their standard deviation, or a robust one.
    pub deviation: Option<f64>,
    /// The number of sampled rows of which centre and deviation are the robust ones; none if they are those of all rows and not robust.
    pub sampled: Option<usize>,
    /// The share of their variance that is predicted.
    pub r2: Option<f64>,
    /// Of a quantile: the share of targets at or below it.
    pub coverage: Option<Coverage>,
}

impl Target {
    /// Of an output of a run; `middle` is that of a sample of its targets.
    pub fn of(output: &OutputSummary, middle: Option<Middle>) -> Target {
        let OutputSummary { target_mean, target_deviation, r2, coverage, .. } = *output;
        let middle = middle.filter(|middle| middle.deviation > 0.0);
        Target {
            name: output.name.clone(),
            centre: middle.map(|middle| middle.median).or(target_mean),
            deviation: middle.map(|middle| middle.deviation).or(target_deviation),
            sampled: middle.map(|middle| middle.count),
            r2,
            coverage,
        }
    }

    /// The coverage of a quantile far from the median. It is far from the mean, too: its R² says nothing, but its coverage does.
    fn outer(&self) -> Option<Coverage> {
        self.coverage.filter(|coverage| (coverage.asked - 0.5).abs() > 0.25)
    }

    fn is_poor(&self) -> bool {
        self.outer().map_or(self.r2.is_some_and(|r2| r2 < 0.5), |coverage| coverage.is_off())
    }

    fn is_far(&self, limit: f64) -> bool {
        let (centre, deviation) = (self.centre.unwrap_or(0.0), self.deviation.unwrap_or(1.0));
        !(1.0 / limit..=limit).contains(&deviation) || centre.abs() > limit
    }
}

/// The median of numbers, and the distance of their quartiles as the standard deviation of normal numbers with such quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Middle {
    count: usize,
    median: f64,
    deviation: f64,
}

impl Middle {
    /// Of some numbers; none if there are none.
    pub fn of(mut numbers: Vec<f64>) -> Option<Middle> {
        numbers.sort_by(f64::total_cmp);
        let at = |share: f64| numbers.get((share * numbers.len() as f64) as usize).copied();
        Some(Middle { count: numbers.len(), median: at(0.5)?, deviation: (at(0.75)? - at(0.25)?) / 1.349 })
    }

    fn is_far(&self, number: f64) -> bool {
        (number - self.median).abs() > OUTLYING * self.deviation
    }
}

/// Targets that are poorly predicted and not in the unit that the step sizes suit.
pub struct Finding {
    name: String,
    centre: f64,
    deviation: f64,
    sampled: Option<usize>,
    /// The parameter of the loss that is in the unit of the targets.
    parameter: Option<&'static str>,
    shift: Vec<f64>,
    factor: Vec<f64>,
}

impl Finding {
    /// One or two sentences. `with`: what the reader can set.
    pub fn says(&self, with: &str) -> String {
        let (centre, deviation, rows) = match self.sampled {
            Some(rows) => ("median", "robust standard deviation", format!(" in a sample of {} rows", count(rows as f64))),
            None => ("mean", "standard deviation", String::new()),
        };
        let in_units = self
            .parameter
            .map_or(String::new(), |parameter| format!(" With {with}, {parameter} is in standard deviations of the target."));
        format!(
            "The step sizes that are chosen for this loss suit targets with a mean near 0 and a standard deviation near 1. {} has {centre} {} \
             and {deviation} {}{rows}.{in_units}",
            self.name,
            figure(self.centre),
            figure(self.deviation)
        )
    }

    /// The shifts of a `target_scale` to mean 0 and deviation 1, separated by commas.
    pub fn shifts(&self) -> String {
        joined(&self.shift)
    }

    /// Its factors.
    pub fn factors(&self) -> String {
        joined(&self.factor)
    }
}

/// Finds targets that are not in the unit of the step sizes that are chosen for the loss: poorly predicted ones, and those that are much too far. A loss with an adaptive tube or
/// scale learns with one setting; the gradient of every loss but the squared one is at most 1, so that its steps can be too short for targets
/// with a large deviation. Whether another unit helps must be measured: for skewed targets it can do harm.
pub fn finding(asked: &Config, examples: u64, outputs: &[Target]) -> Option<Finding> {
    let chosen = asked.step == Choice::Auto && asked.loss != AnyLoss::Squared {} && asked.target_scale.is_none();
    let parameter = match *asked.loss {
        AnyLoss::Epsilon { .. } => Some("epsilon"),
        AnyLoss::Huber { .. } => Some("sigma"),
        _ => None,
    };
    // Measured: the quantile loss gains from units only where its targets are much farther away.
    let limit = if matches!(*asked.loss, AnyLoss::Quantile { .. }) { 300.0 } else { 3.0 };
    let much = f64::max(limit, MUCH_TOO_FAR);
    let found = outputs.iter().find(|output| output.is_far(if output.is_poor() { limit } else { much }));
    let found = found.filter(|_| chosen && examples >= ENOUGH)?;
    Some(Finding {
        name: found.name.clone(),
        centre: found.centre?,
        deviation: found.deviation?,
        sampled: found.sampled,
        parameter,
        shift: outputs.iter().map(|output| plain(output.centre.unwrap_or(0.0))).collect(),
        factor: outputs
            .iter()
            .map(|output| plain(output.deviation.filter(|deviation| *deviation > 0.0).map_or(1.0, f64::recip)))
            .collect(),
    })
}

/// A run whose targets are numbers.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    /// The settings before the first row.
    pub asked: &'a Config,
    /// The number of examples.
    pub examples: u64,
    /// The figures of each output.
    pub outputs: &'a [OutputSummary],
    /// The targets of an output in the sample.
    pub targets: &'a dyn Fn(usize) -> Vec<f64>,
    /// Begins a trial of other settings. It takes time, so it is begun only where something is found.
    pub trial: &'a dyn Fn() -> Option<Trial>,
}

/// Advice about the numbers of a run, with the figures that were measured with it; none where nothing was measured to help.
pub fn advice(run: Numbers<'_>) -> Option<String> {
    let varies = |output: &OutputSummary| output.target_deviation.is_some_and(|deviation| deviation > 0.0);
    match run.examples >= ENOUGH && run.outputs.iter().all(varies) {
        false => None,
        true if is_squared(run.asked) => outlying(run),
        true => unit(run),
    }
}

/// The unit of the targets, with a line that helps.
fn unit(run: Numbers<'_>) -> Option<String> {
    let Numbers { asked, examples, outputs, targets, trial } = run;
    let in_sample = |(at, output): (usize, &OutputSummary)| Target::of(output, Middle::of(targets(at)));
    let all: Vec<Target> = outputs.iter().enumerate().map(in_sample).collect();
    let found = finding(asked, examples, &all)?;
    let target_scale = TargetScale::Fixed { shift: found.shift.clone(), factor: found.factor.clone() };
    let line = format!("target_scale = {{ fixed = {{ shift = [{}], factor = [{}] }} }}", found.shifts(), found.factors());
    let facts = found.says("the line below");
    match trial()?.better(&Config { target_scale, ..asked.clone() }, |_| true) {
        Some(better) => {
            Some(format!("{facts} {} Learn with --config FILE, where FILE has the line {line}", better.says("the line below")))
        }
        // The pinball loss of heavy tails hardly differs on a sample, but the share can be far off.
        None if all.iter().any(|target| target.coverage.is_some_and(|coverage| coverage.is_off())) => Some(format!(
            "{facts} On a sample of the rows the pinball loss is not clearly smaller in another unit. The share at or below the prediction can be closer \
             to the quantile: compare with --config FILE, where FILE has the line {line}"
        )),
        None => None,
    }
}

/// Targets far from all others under the squared loss, with a loss that predicts the other rows better.
fn outlying(run: Numbers<'_>) -> Option<String> {
    let Numbers { asked, outputs, trial, .. } = run;
    // One sigma for several targets would be in several units.
    let [output] = outputs else { return None };
    let targets = (run.targets)(0);
    let middle = Middle::of(targets.clone()).filter(|middle| middle.deviation > 0.0)?;
    let (all, far) = (targets.len(), targets.iter().filter(|y| middle.is_far(**y)).count());
    if far == 0 || far as f64 > MOST_OUTLIERS * all as f64 {
        return None;
    }
    let sigma = plain(middle.deviation);
    let loss = OneOrMore::of(vec![AnyLoss::Huber { sigma }])?;
    let better = trial()?.better(&Config { loss, ..asked.clone() }, |y| !middle.is_far(y[0]))?;
    let (are, such) = if far == 1 { ("is", "such a target") } else { ("are", "such targets") };
    Some(format!(
        "{} of {} sampled targets ({}) {are} more than {OUTLYING} robust standard deviations away from the median of {}. The squared loss follows \
         {such}. On the other rows of the sample, --loss huber:{sigma} is better. {} These figures leave out the rows with far targets. The rows of a sample are \
         no neighbours: where rows are like those just before them, compare whole runs. If the far targets are right and the mean matters, \
         keep the squared loss.",
        count(far as f64),
        count(all as f64),
        percent(far as f64 / all as f64),
        output.name,
        better.says(&format!("--loss huber:{sigma}"))
    ))
}

/// A number with three digits, as a file of settings takes it.
fn plain(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

fn joined(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}

/// Targets of which many are equal, so that the share at or below the predicted quantile can be far from the one that was asked for although the
/// prediction is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ties {
    value: f64,
    below: f64,
    equal: f64,
}

/// What is said about quantiles whose coverage is off: what was measured, whether targets are equal to the quantile, and another quantile only if
/// it was measured to help.
pub fn quantiles(run: Numbers<'_>) -> Vec<String> {
    let Numbers { asked, examples, outputs, targets, trial } = run;
    let one = |(at, output): (usize, &OutputSummary)| {
        let coverage = output.coverage?;
        let seen = coverage.warning(examples)?;
        if output.target_deviation == Some(0.0) {
            return None; // the target has one value, which is said elsewhere
        }
        Some(match Ties::at(coverage.asked, targets(at)).filter(|ties| ties.explain(coverage)) {
            _ if coverage.is_as_asked() => seen,
            Some(ties) => ties.says(&output.name, &seen),
            None => {
                let other = coverage.other_quantile().filter(|_| outputs.len() == 1);
                let advice = other.and_then(|other| another(asked, other, &trial()?)).or_else(|| in_parallel(asked, coverage));
                advice.map_or(seen.clone(), |advice| format!("{seen} {advice}"))
            }
        })
    };
    outputs.iter().enumerate().filter_map(one).collect()
}

/// Another quantile that comes closer to the share that was asked for.
fn another(asked: &Config, q: f64, trial: &Trial) -> Option<String> {
    let loss = OneOrMore::of(vec![AnyLoss::Quantile { q }])?;
    let OtherQuantile { asked, other, final_later } = trial.other_quantile(asked, &Config { loss, ..asked.clone() })?;
    Some(format!(
        "The quantile {q} comes closer. Measured on the later half of a sample: {} with it, {} with the settings of this run, and {} by the final model, \
         which had learned these rows; pinball loss {} with it and {} with the settings of this run.",
        percent(other.share),
        percent(asked.share),
        percent(final_later),
        figure(other.pinball),
        figure(asked.pinball)
    ))
}

/// Why the share can be far off where okl chooses the step size.
fn in_parallel(asked: &Config, coverage: Coverage) -> Option<String> {
    let said =
        "Settings learn in parallel, and those with the smallest pinball loss lead: nothing holds the share that was asked for.";
    (asked.step == Choice::Auto && coverage.is_off()).then(|| said.into())
}

/// At least this share of the targets must be equal.
const MANY_EQUAL: f64 = 0.05;

impl Ties {
    /// The targets of a sample that are equal to its quantile `q`; none if these are few.
    pub fn at(q: f64, mut targets: Vec<f64>) -> Option<Ties> {
        targets.sort_by(f64::total_cmp);
        let value = *targets.get((q * targets.len() as f64) as usize)?;
        let share = |end: usize| end as f64 / targets.len() as f64;
        let below = share(targets.partition_point(|y| *y < value));
        let equal = share(targets.partition_point(|y| *y <= value)) - below;
        (equal >= MANY_EQUAL).then_some(Ties { value, below, equal })
    }

    /// Whether the share of the last targets is one that these targets explain.
    fn explain(&self, coverage: Coverage) -> bool {
        (self.below..=self.below + self.equal).contains(&coverage.last)
    }

    /// What is known about the share at or below the prediction; `seen` says what this share is.
    fn says(&self, name: &str, seen: &str) -> String {
        let value = self.value;
        format!(
            "{seen} {} of the sampled values of {name} are {value}, and {} are smaller. Where the predicted quantile is near {value}, a share from {} to \
             {} is no sign of a poor prediction: the pinball loss says how good it is.",
            percent(self.equal),
            percent(self.below),
            percent(self.below),
            percent(self.below + self.equal)
        )
    }
}
