//! Checks a configuration. A configuration that passes can be built and run; otherwise the error has the setting and the reason.

use crate::config::kernel_rule::MOST_WIDTHS;
use crate::config::{Anchor, Choice, Config, Heads, KernelRule, Member, OperatorRule, Scale, Threshold, Widths, families};
use crate::engine::head::Average;
use crate::error::{Error, Result};
use crate::learner::batch::LARGEST;
use crate::learner::relevance::RANGE;
use crate::learner::scaling::LOG_UNITS;
use crate::learner::whitening;
use crate::parts::budget::BudgetRule;
use crate::parts::loss::{AnyLoss, Loss, Reads};
use crate::parts::output::Output;
use crate::parts::regulariser::AnyRegulariser;
use crate::parts::step::{AnyStep, StepSize};

impl Config {
    /// Checks the configuration; the error has the setting and the reason.
    ///
    /// ```
    /// # use okl::Config;
    /// let error = Config::from_toml("lambda = -1")?.check().unwrap_err();
    /// assert!(error.to_string().starts_with("lambda: must be"));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        self.check_loaded()?;
        self.check_promises()
    }

    /// Checks the configuration of a model file. Refuses less than [`Config::check`]: settings that an older version accepted still load.
    pub(crate) fn check_loaded(&self) -> Result<()> {
        let within = |field: &str, found: std::result::Result<(), String>| found.map_err(|reason| Error::config(field, reason));
        self.loss.all().iter().try_for_each(|loss| within("loss", loss.check()))?;
        if let Choice::Given(step) = &self.step {
            within("step", step.check())?;
        }
        within("budget", self.budget().check())?;
        self.rules().try_for_each(KernelRule::check)?;
        self.check_precomputed()?;
        self.check_lists()?;
        self.check_form()?;
        self.check_widths()?;
        self.check_relevance()?;
        self.check_scalars()?;
        self.check_output()?;
        self.check_class_weight()?;
        self.check_target_scale()?;
        self.members().iter().try_for_each(|member| self.check_step(member))?;
        self.check_budget()?;
        self.check_memory()?;
        self.check_novelty()
    }

    /// Several kernels or several losses need a bank, and losses of one bank read the same targets.
    fn check_lists(&self) -> Result<()> {
        let refuse = |field: &str, reason: String| Err(Error::config(field, reason));
        let (losses, kernels) = (self.loss.all(), self.kernel_rules());
        let named = |loss: &AnyLoss| families::name_of(&loss);
        if let Some(other) = losses.iter().find(|loss| loss.reads() != self.loss.reads()) {
            let [first, other] = [&*self.loss, other].map(named);
            return refuse("loss", format!("{first} and {other} read different targets: name losses of one task"));
        }
        let adapts = |loss: &&AnyLoss| loss.theta().is_some() || loss.reads() == Reads::Nothing;
        if let Some(loss) = losses.iter().find(adapts).filter(|_| losses.len() > 1) {
            return refuse("loss", format!("{} has a threshold of its own, so it must be the only loss", named(loss)));
        }
        if losses.len() > 1 && losses.iter().any(|loss| named(loss) == "quantile") {
            return refuse(
                "loss",
                "quantile predicts a value of its own, so it must be the only loss: learn one model per quantile".into(),
            );
        }
        if let Some(twice) = (1..losses.len()).find(|&i| losses[..i].contains(&losses[i])) {
            return refuse("loss", format!("{} is in the list twice", named(&losses[twice])));
        }
        if let Some(twice) = (1..kernels.len()).find(|&i| kernels[..i].contains(&kernels[i])) {
            return refuse("kernel", format!("{} is in the list twice", families::name_of(&kernels[twice])));
        }
        let listed = [("loss", losses.len()), ("kernel", kernels.len())].into_iter().find(|(_, count)| *count > 1);
        let Some((field, _)) = listed.filter(|_| !self.banks()) else { return self.check_kernel_list() };
        let reason = "the members of a list learn in parallel, which this loss or budget does not allow (novelty losses, losses \
                      with nu, the olok and forgetron budgets): name one";
        refuse(field, reason.into())
    }

    /// Precomputed values are the only kernel, and there are no features to scale and no centres to merge.
    fn check_precomputed(&self) -> Result<()> {
        let refuse = |field: &str, reason: &str| Err(Error::config(field, reason));
        if !self.is_precomputed() {
            return match self.rules().chain(self.kernel_rules()).any(KernelRule::has_precomputed) {
                true => {
                    refuse("kernel", "precomputed must be the only kernel: add or multiply kernels where the values are computed")
                }
                false => Ok(()),
            };
        }
        if !matches!(self.scale, Scale::Auto | Scale::None) {
            return refuse("scale", "a precomputed kernel has no columns to scale: scale where the values are computed");
        }
        if matches!(self.budget, Some(BudgetRule::Merge { .. })) {
            return refuse(
                "budget",
                "merge makes a centre between two terms, of which a precomputed kernel has no values: use transfer",
            );
        }
        match self.memory {
            Some(_) => refuse("memory", "the number of terms cannot grow with a precomputed kernel: give a number of terms"),
            None => Ok(()),
        }
    }

    fn check_widths(&self) -> Result<()> {
        if matches!(self.heads, Choice::Given(Heads::Weighted | Heads::Mixed | Heads::Broad)) && !self.weighs() {
            let reason = "weighted, mixed and broad heads are those of kernel = auto (gaussian with three widths, gaussian and matern32 with one, \
                          and manhattan with one for broad heads) under losses with a proximal step, over terms, with anchor = first and a scale: use varied or grid";
            return Err(Error::config("heads", reason));
        }
        if matches!(self.heads, Choice::Given(Heads::Selected | Heads::Varied)) && !self.selects() {
            let reason = "selected and varied heads are those of kernel = auto (gaussian with three widths and matern32 with one) under \
                          losses with a proximal step: use grid";
            return Err(Error::config("heads", reason));
        }
        match self.widths == Choice::Given(Widths::Follow) && !self.follows() {
            true => Err(Error::config(
                "widths",
                "widths can follow the stream only in a bank: not with novelty losses, losses with nu, the olok and forgetron \
                 budgets, or a sum of operator kernels",
            )),
            false => Ok(()),
        }
    }

    fn check_relevance(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::config("relevance", reason));
        if self.relevance.is_empty() {
            return Ok(());
        }
        if let Some((column, found)) = self.relevance.iter().enumerate().find(|(_, v)| !RANGE.contains(v)) {
            let (least, most) = (RANGE.start(), RANGE.end());
            return refuse(format!(
                "weights of columns must be between {least:e} and {most:e}, found {found:e} for column {column}"
            ));
        }
        match (self.can_merge() && self.single_kernel(), self.uses_weights(), self.anchor) {
            (false, ..) => refuse("only kernels of distance weigh columns: remove it, or scale the columns".into()),
            (_, true, _) => refuse("weights of columns need terms: use form = terms".into()),
            (.., Anchor::None) => refuse("weights of columns need dense rows: use anchor = first".into()),
            _ => Ok(()),
        }
    }

    fn check_kernel_list(&self) -> Result<()> {
        let (kernels, refuse) = (self.kernel_rules(), |reason: String| Err(Error::config("kernel", reason)));
        if kernels.len() > 1 && matches!(self.operator, Some(OperatorRule::Sum(_))) {
            return refuse("the parts of the operator have their own kernels: remove the list".into());
        }
        let widths: usize = kernels.iter().map(KernelRule::widths).sum();
        match widths > MOST_WIDTHS {
            true => refuse(format!("a bank has at most {MOST_WIDTHS} kernels, the widths of each counted; found {widths}")),
            false => Ok(()),
        }
    }

    fn check_scalars(&self) -> Result<()> {
        let refuse = |field: &str, reason: String| Err(Error::config(field, reason));
        if let Some(lambda) = self.lambda.given().filter(|l| !(l.is_finite() && **l >= 0.0)) {
            return refuse("lambda", format!("must be a finite number >= 0, found {lambda}"));
        }
        if let AnyRegulariser::Power { power } = self.regulariser
            && !(power.is_finite() && power >= 1.0)
        {
            return refuse("regulariser", format!("power must be at least 1 for the regulariser to be convex, found {power}"));
        }
        if let Choice::Given(Average::Exponential { rate }) = self.average
            && !(rate > 0.0 && rate < 1.0)
        {
            return refuse("average", format!("rate must be in (0, 1), found {rate}"));
        }
        if let Some(theta) = self.theta0 {
            match self.loss.theta() {
                None => return refuse("theta0", "this loss has no adaptive scalar".into()),
                Some(range) if !(theta.is_finite() && theta >= range.least) => {
                    return refuse("theta0", format!("must be a finite number >= {}, found {theta}", range.least));
                }
                _ => {}
            }
        }
        if let Some(step) = self.offset_step {
            let problem = match step {
                _ if !self.offset => "needs offset = true".into(),
                _ if !(step.is_finite() && step >= 0.0) => format!("must be a finite number >= 0, found {step}"),
                _ => String::new(),
            };
            if !problem.is_empty() {
                return refuse("offset_step", problem);
            }
        }
        if self.warmup == 0 || self.warmup > 1 << 16 {
            return refuse("warmup", format!("must be between 1 and 65536 examples, found {}", self.warmup));
        }
        match self.warmup_passes {
            Some(passes) if !(1..=100).contains(&passes) => {
                return refuse("warmup_passes", format!("must be between 1 and 100, found {passes}"));
            }
            Some(2..) if !(self.repeats() && self.banks()) => {
                let needs = "more than one pass needs weights or a merge or transfer budget, and a loss without an adaptive margin, tube or threshold";
                return refuse("warmup_passes", needs.into());
            }
            _ => {}
        }
        if self.scale == Scale::Whiten && !self.can_whiten() {
            let reason = "whiten needs kernels of distance, as gaussian, and anchor = first: use scale = standard";
            return refuse("scale", reason.into());
        }
        if let Scale::Fixed { shift, factor, log_units, limit, follow, whiten } = &self.scale {
            let is_weight_vector = self.uses_weights() && self.is_linear();
            if !(whiten.is_empty() || self.can_whiten() || is_weight_vector) {
                return refuse(
                    "scale",
                    "a fixed scale can whiten only with anchor = first and a kernel of distance, or weights of a linear kernel"
                        .into(),
                );
            }
            let Some(size) = whitening::size(whiten.len()).filter(|size| *size <= shift.len()) else {
                let (found, columns) = (whiten.len(), shift.len());
                let reason = format!("whiten needs n (n + 1) / 2 numbers, for the first n of {columns} columns, found {found}");
                return refuse("scale", reason);
            };
            if whiten.iter().any(|t| !t.is_finite()) || (1..=size).any(|rows| whiten[whitening::entries(rows) - 1] <= 0.0) {
                return refuse("scale", "whiten must be finite, with a number > 0 at the end of each row of the triangle".into());
            }
            if *follow && !self.units_can_follow() {
                return refuse(
                    "scale",
                    "a fixed scale can follow the stream only with a kernel of distance and anchor = first".into(),
                );
            }
            if *follow && !log_units.is_empty() {
                return refuse(
                    "scale",
                    "a fixed scale with log_units cannot follow the stream: remove follow or log_units".into(),
                );
            }
            if !(log_units.is_empty() || log_units.len() == shift.len()) {
                return refuse("scale", format!("log_units needs one number per column, found {}", log_units.len()));
            }
            if let Some(unit) = log_units.iter().find(|unit| !LOG_UNITS.contains(unit)) {
                return refuse("scale", format!("log_units must be numbers from 1e-100 to 1e15, found {unit:e}"));
            }
            if limit.is_some_and(|l| !(l > 0.0 && l <= LARGEST)) {
                return refuse("scale", "the limit of a fixed scale must be a number > 0".into());
            }
            if shift.len() != factor.len() || shift.iter().chain(factor).any(|v| !v.is_finite()) {
                return refuse("scale", "fixed shift and factor must be finite and of one length".into());
            }
            if shift.is_empty() || factor.iter().any(|f| *f <= 0.0) {
                return refuse("scale", "a fixed scale needs at least one feature, and every factor > 0".into());
            }
        }
        Ok(())
    }

    fn check_output(&self) -> Result<()> {
        let refuse = |field: &str, reason: &str| Err(Error::config(field, reason));
        let reads = self.loss.reads();
        if let Some(classes) = &self.classes {
            let distinct: std::collections::HashSet<_> = classes.iter().collect();
            if distinct.len() != classes.len() {
                return refuse("classes", "a class is named twice");
            }
            match reads {
                Reads::Class if classes.len() < 2 => return refuse("classes", "at least two classes are needed"),
                Reads::Sign if classes.len() != 2 => {
                    let (loss, found) = (families::name_of(&*self.loss), classes.len());
                    let more = if found > 2 { "; use max_margin or softmax for more" } else { "" };
                    return refuse("classes", &format!("the loss {loss} separates exactly two classes, found {found}{more}"));
                }
                Reads::Number | Reads::Vector | Reads::Nothing => {
                    return refuse("classes", "this loss has no classes; remove `classes`");
                }
                _ => {}
            }
        }
        let Output::Separable(parts) = self.output()? else { return Ok(()) };
        let Some(first) = parts.first() else { return refuse("operator", "a sum of operator kernels needs at least one part") };
        if parts.iter().any(|j| j.size() != first.size()) {
            return refuse("operator", "all parts must have the same number of outputs");
        }
        match reads {
            Reads::Vector => Ok(()),
            Reads::Class if self.classes.as_ref().is_some_and(|c| c.len() == first.size()) => Ok(()),
            Reads::Class => refuse("operator", "with classes, an operator needs the list `classes`, one row and column each"),
            _ if first.size() == 1 => Ok(()),
            _ => refuse("operator", "this loss has one output; use squared, huber, epsilon, max_margin or softmax for several"),
        }
    }

    fn check_target_scale(&self) -> Result<()> {
        let Some(found) = self.target_scale.outputs() else { return Ok(()) };
        let refuse = |reason: String| Err(Error::config("target_scale", reason));
        self.target_scale.check()?;
        let outputs = match (self.output()?, self.loss.reads()) {
            (_, Reads::Sign | Reads::Class | Reads::Nothing) => {
                return refuse("this loss does not read numbers, so there is nothing to scale: drop target_scale".into());
            }
            (_, Reads::Number) => 1,
            (Output::Separable(parts), Reads::Vector) => parts[0].size(),
            (Output::Identity | Output::Full, Reads::Vector) => found,
        };
        match found == outputs {
            true => Ok(()),
            false => refuse(format!("there are {outputs} outputs here, found shifts and factors for {found}")),
        }
    }

    fn check_step(&self, Member { step, lambda, .. }: &Member) -> Result<()> {
        let refuse = |field: &str, reason: String| Err(Error::config(field, reason));
        if *lambda == 0.0 && matches!(step, AnyStep::Theorem2 {} | AnyStep::Pegasos { .. }) {
            return refuse("step", "theorem2 and pegasos divide by lambda: give lambda > 0".into());
        }
        let (smd, square) = (matches!(step, AnyStep::Smd { .. }), self.regulariser == AnyRegulariser::Square);
        if smd && (self.implicit || !square || self.allow_overshoot) {
            return refuse("step", "smd needs the explicit step, the square regulariser and eta lambda < 1; remove implicit, regulariser or allow_overshoot".into());
        }
        if step.per_coordinate(*lambda).is_some() {
            self.check_per_coordinate()?;
        }
        if self.implicit {
            return self.check_implicit();
        }
        let largest = step.largest(*lambda) * lambda;
        if square && !self.proximal() && !self.allow_overshoot && largest >= 1.0 {
            return refuse(
                "step",
                format!(
                    "eta lambda = {largest} must be below 1, otherwise a step removes f or changes its sign; lower eta or lambda, or set allow_overshoot"
                ),
            );
        }
        Ok(())
    }

    /// A step size for each coordinate needs coordinates that are features, and outputs that do not share them.
    fn check_per_coordinate(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("step", reason));
        if !self.uses_weights() {
            return refuse(
                "per = coordinate needs a weight vector: kernel = linear without budget and memory, or form = weights or fourier; \
                 remove per to have one step size for all of f",
            );
        }
        match self.operator {
            Some(_) => refuse("per = coordinate needs outputs that do not share their coordinates: remove operator, or per"),
            None => Ok(()),
        }
    }

    pub(super) fn check_implicit(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("implicit", reason));
        let output = self.output()?;
        if self.regulariser != AnyRegulariser::Square {
            return refuse("implicit = true needs the square regulariser");
        }
        if !output.projectable() {
            return refuse("the proximal step needs one operator J; a sum of operator kernels has no common eigenvectors");
        }
        let outputs = output.single().map_or(1, |j| j.size());
        match self.loss.all().iter().all(|loss| loss.can_prox(outputs, output.single().is_none())) {
            true => Ok(()),
            false => refuse(
                "this loss has no proximal step here (the perceptron's never leaves f = 0; max_margin and softmax need J = I)",
            ),
        }
    }

    fn check_budget(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("budget", reason));
        let rule = self.budget();
        match rule {
            BudgetRule::Merge { .. } | BudgetRule::Transfer { .. } if !self.single_kernel() => refuse(
                "merging and transfer project one term onto another, which a sum of operator kernels does not allow: use window or age",
            ),
            BudgetRule::Merge { .. } if !self.can_merge() => refuse(
                "merge needs a kernel that is a function of distance (gaussian, exponential, matern, rational_quadratic, and their sums and products): use transfer",
            ),
            BudgetRule::Forgetron { .. } => {
                let textbook = self.loss == AnyLoss::Perceptron {}
                    && self.step.given().is_none_or(|step| matches!(step, AnyStep::Constant { .. }))
                    && self.lambda.given().is_none_or(|lambda| *lambda == 0.0)
                    && self.operator.is_none();
                if !self.can_merge() && !self.is_precomputed() {
                    refuse(
                        "the Forgetron needs k(x, x) to be bounded: use a Gaussian kernel or another that depends on x - x' only",
                    )
                } else if textbook {
                    Ok(())
                } else {
                    refuse("the Forgetron is a perceptron: it needs loss = perceptron, step = constant and lambda = 0")
                }
            }
            BudgetRule::Olok { .. }
                if self.lambda.given() == Some(&0.0)
                    || self.step.given().is_some_and(|step| !matches!(step, AnyStep::InverseSqrt { .. })) =>
            {
                refuse("the olok budget needs step = inverse_sqrt and lambda > 0")
            }
            _ => Ok(()),
        }
    }

    fn check_memory(&self) -> Result<()> {
        match self.memory {
            Some(_) if !self.can_grow() => Err(Error::config(
                "memory",
                "the number of terms can only grow under a merge or transfer budget, with the square regulariser, without smd and \
                 without an adaptive margin, tube or threshold: remove memory",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses budgets whose guarantee does not hold with the other settings.
    fn check_promises(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("budget", reason));
        match self.budget() {
            BudgetRule::Certified { .. } if self.allow_overshoot => refuse(
                "with allow_overshoot a step can increase the truncation error, so the limit cannot be guaranteed; use window or age",
            ),
            _ => Ok(()),
        }
    }

    fn check_novelty(&self) -> Result<()> {
        let novelty = self.loss.reads() == Reads::Nothing;
        if novelty && self.offset {
            return Err(Error::config(
                "offset",
                "a novelty loss cannot have an offset: a large b alone would make the loss 0, and f would learn nothing (N section 3)",
            ));
        }
        if let Threshold::Tracker { speed } = self.threshold {
            if !matches!(*self.loss, AnyLoss::NuNovelty { .. } | AnyLoss::Density { .. }) {
                return Err(Error::config("threshold", "threshold = tracker needs loss = density or nu_novelty"));
            }
            if let Some(speed) = speed.filter(|speed| !(*speed > 0.0 && speed.is_finite())) {
                return Err(Error::config("threshold", format!("speed must be a finite number > 0, found {speed}")));
            }
        }
        Ok(())
    }
}
