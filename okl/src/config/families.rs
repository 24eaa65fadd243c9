//! The names of settings, one table per family. Short forms, error messages and the help of the command line are made from these
//! tables; a test of the Python package checks its documentation against them.
//!
//! ```
//! use okl::config::families::{family, parameter};
//! let budget = family("budget").unwrap();
//! assert!(budget.names().any(|name| name == "window"));
//! assert_eq!(budget.name("age").unwrap().parameters, ["steps"]);
//! assert_eq!(parameter("steps").unwrap().about, "number of examples that a term lives under an age budget");
//! ```

/// A setting whose value is one of several names, each with parameters.
#[derive(Debug)]
#[non_exhaustive]
pub struct Family {
    /// The setting.
    pub key: &'static str,
    /// The meaning of the setting, without its names.
    pub about: &'static str,
    /// The names, in the order of the documentation.
    pub variants: &'static [Variant],
    /// Whether the value may be a list, whose members learn in parallel.
    pub lists: bool,
}

/// One name of a family.
#[derive(Debug)]
#[non_exhaustive]
pub struct Variant {
    /// The name.
    pub name: &'static str,
    /// Its parameters, each in [`PARAMETERS`].
    pub parameters: &'static [&'static str],
    /// Its meaning.
    pub about: &'static str,
    /// Whether it is left out of the help of the command line: made of lists or of other values of the family, so that it needs a table,
    /// or for programs only.
    pub nested: bool,
    /// Whether it is written as a name alone in the canonical form, without a table of parameters.
    pub(crate) bare: bool,
}

/// A parameter of one or more names.
#[derive(Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// A value that works in an example.
    pub(crate) example: &'static str,
}

impl Family {
    /// The names of the family.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.variants.iter().map(|variant| variant.name)
    }

    /// One of its names.
    pub fn name(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// One line: the meaning of the setting, and the names that have a short form.
    pub fn line(&self) -> String {
        let names: Vec<&str> = self.short_forms().map(|variant| variant.name).collect();
        format!("{}: {}", capital(self.about), either(&names))
    }

    /// The meaning of the setting, and one line for each name that has a short form.
    pub fn text(&self) -> String {
        let line = |variant: &Variant| match variant.parameters {
            [] => format!("{} - {}", variant.name, variant.about),
            // As one word without a space, these could not be broken to the width of a terminal.
            [_, _, _, _, _, ..] => {
                let (name, about, keys) = (variant.name, variant.about, variant.parameters.join(", "));
                format!("{name}:KEY=VALUE,... - {about}; keys: {keys}")
            }
            parameters => format!("{}:{} - {}", variant.name, written(parameters), variant.about),
        };
        let lines: Vec<String> = self.short_forms().map(line).collect();
        format!("{}:\n{}", capital(self.about), lines.join("\n"))
    }

    /// The names that the help of the command line has, then those that it leaves out.
    pub(crate) fn choices(&self) -> String {
        let list = |nested: bool| {
            let names: Vec<&str> = self.variants.iter().filter(|variant| variant.nested == nested).map(|v| v.name).collect();
            names.join(", ")
        };
        match list(true) {
            others if others.is_empty() => list(false),
            others => format!("{}; in tables of settings and in programs also {others}", list(false)),
        }
    }

    fn short_forms(&self) -> impl Iterator<Item = &'static Variant> {
        self.variants.iter().filter(|variant| !variant.nested)
    }
}

/// `STEPS` for one parameter, `eta=ETA,tau=TAU` for several.
fn written(parameters: &[&str]) -> String {
    match parameters {
        [one] => one.to_uppercase(),
        several => several.iter().map(|p| format!("{p}={}", p.to_uppercase())).collect::<Vec<_>>().join(","),
    }
}

fn either(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        names => names.join(""),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The family of a setting.
pub fn family(key: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.key == key)
}

/// A parameter by its name.
pub fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

/// The name of a loss or a kernel, as the configuration has it.
pub(crate) fn name_of(part: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(part).unwrap_or_default();
    value.as_object().and_then(|table| table.keys().next().cloned()).unwrap_or_default()
}

const fn name(name: &'static str, parameters: &'static [&'static str], about: &'static str) -> Variant {
    Variant { name, parameters, about, nested: false, bare: false }
}

impl Variant {
    const fn bare(self) -> Variant {
        Variant { bare: true, ..self }
    }

    const fn nested(self) -> Variant {
        Variant { nested: true, ..self }
    }
}

/// Every family.
pub const FAMILIES: [Family; 8] = [
    Family {
        key: "kernel",
        about: "the kernel k(x, y), where r is the distance of x and y, or several separated by commas (default gaussian); a+b is the sum \
                of two kernels, a*b their product, 0.5*a half of one",
        lists: true,
        variants: &[
            name("auto", &[], "kernels that learn in parallel; those with the smallest loss have the largest weight").bare(),
            name("linear", &[], "<x, y>"),
            name("polynomial", &["degree", "gamma", "coef0"], "(gamma <x, y> + coef0)^degree"),
            name("gaussian", &["gamma"], "exp(-gamma r²)"),
            name("exponential", &["gamma"], "exp(-gamma r)"),
            name("manhattan", &["gamma"], "exp(-gamma s), s the sum of |x_j - y_j| over the columns"),
            name("matern32", &["gamma"], "(1 + s) exp(-s) with s = √3 gamma r"),
            name("matern52", &["gamma"], "(1 + s + s²/3) exp(-s) with s = √5 gamma r"),
            name("rational_quadratic", &["gamma", "alpha"], "(1 + gamma r²/alpha)^-alpha"),
            name("scaled", &["weight", "of"], "a weight times another kernel").nested(),
            name("sum", &[], "the sum of a list of kernels").nested(),
            name("product", &[], "the product of a list of kernels").nested(),
            name("precomputed", &[], "values that a program computes, for objects of any kind").nested(),
        ],
    },
    Family {
        key: "loss",
        about: "the loss l(z, y) of a score z and a target y, or several separated by commas",
        lists: true,
        variants: &[
            name("hinge", &["margin"], "two classes: max(0, margin - y z)"),
            name(
                "nu_hinge",
                &["nu"],
                "two classes: hinge with a margin that adapts so that a fraction nu of rows lies within it",
            ),
            name("perceptron", &[], "two classes: max(0, -y z)"),
            name("logistic", &[], "two classes: log(1 + exp(-y z))"),
            name("max_margin", &[], "any number of classes: hinge loss of the score difference to the best wrong class"),
            name("softmax", &[], "any number of classes: cross-entropy"),
            name("novelty", &["margin"], "no target: max(0, margin - z)"),
            name(
                "nu_novelty",
                &["nu"],
                "no target: novelty with a threshold that adapts so that a fraction nu of rows are alerts",
            ),
            name(
                "density",
                &["nu"],
                "no target: a kernel density of recent rows; its threshold is tracked, so that a fraction nu of rows are alerts",
            ),
            name("squared", &[], "numbers: (y - z)²/2"),
            name("absolute", &[], "numbers: |y - z|"),
            name("epsilon", &["epsilon"], "numbers: max(0, |y - z| - epsilon)"),
            name("nu_epsilon", &["nu"], "numbers: epsilon with a tube that adapts so that a fraction nu of rows lies outside"),
            name("huber", &["sigma"], "numbers: squared up to a residual of sigma, absolute beyond it"),
            name(
                "nu_huber",
                &["nu", "sigma_rule"],
                "numbers: huber with a sigma that adapts so that a fraction nu lies beyond it",
            ),
            name("quantile", &["q"], "numbers: the q-quantile of y given x"),
        ],
    },
    Family {
        key: "step",
        about: "the step size eta_t at example t (default auto)",
        lists: false,
        variants: &[
            name("auto", &[], "several step sizes learn in parallel; those with the smallest loss have the largest weight")
                .bare(),
            name("constant", &["eta"], "eta"),
            name("inverse_sqrt", &["eta"], "eta / √t"),
            name("theorem1", &["bound", "radius", "horizon"], "bound / (radius √horizon)"),
            name("theorem2", &[], "1 / (3 lambda √t)"),
            name("decay", &["eta", "tau"], "eta √(tau / (tau + t))"),
            name("linear", &["eta", "horizon"], "eta (1 - (t - 1)/horizon), constant after the horizon"),
            name("pegasos", &["t0"], "1 / (lambda (t + t0))"),
            name("normalised", &["eta", "tau"], "e / (1 + e s), s = k(x, x) + 1 with an offset; e = eta, or decaying with tau"),
            name("smd", &["eta", "mu", "decay", "floor", "cap", "preset", "per"], "adapts by stochastic meta-descent (SVMD)"),
        ],
    },
    Family {
        key: "budget",
        about: "how many terms are kept and what happens to the others",
        lists: false,
        variants: &[
            name("auto", &[], "1000 terms, doubled while that lowers the error and fits into `memory`; the default").bare(),
            name("unlimited", &[], "every term is kept"),
            name("window", &["terms"], "the oldest term is dropped"),
            name("age", &["steps"], "a term is dropped after a number of examples"),
            name("olok", &["exponent"], "OLOK's truncation: terms live for t^(1/2 + exponent) examples"),
            name("weight", &["tolerance"], "every 64 examples, terms whose norm is below the tolerance are dropped"),
            name(
                "certified",
                &["error"],
                "terms with the smallest norm are dropped while the truncation error stays below a limit (in units of the scaled targets)",
            ),
            name("transfer", &["terms"], "the term with the smallest residual is projected onto the newest term and removed"),
            name("merge", &["terms"], "the term with the smallest norm is merged with another; kernels of distance only"),
            name("forgetron", &["terms"], "the oldest term is dropped after a shrink; needs the perceptron loss"),
        ],
    },
    Family {
        key: "average",
        about: "the hypothesis that predicts (default auto)",
        lists: false,
        variants: &[
            name("auto", &[], "the last hypothesis; with step = auto also averages").bare(),
            name("none", &[], "the last hypothesis").bare(),
            name("uniform", &[], "the mean of all hypotheses").bare(),
            name("exponential", &["rate"], "an exponential moving average"),
        ],
    },
    Family {
        key: "threshold",
        about: "the threshold below which a novelty score is an alert (default norma, for density tracker; `okl learn` and `okl serve` choose tracker for nu_novelty, unless theta0 is given)",
        lists: false,
        variants: &[
            name("norma", &[], "theta of the loss").bare(),
            name("tracker", &["speed"], "a tracked quantile of the score (averaged for nu_novelty), which keeps the alert rate at nu"),
        ],
    },
    Family {
        key: "scale",
        about: "the units of the columns (default auto)",
        lists: false,
        variants: &[
            name("auto", &[], "none where gamma, step and lambda are given, else standard unless many columns share one range; follows the stream")
                .bare(),
            name("none", &[], "as they are").bare(),
            name("standard", &[], "mean 0 and standard deviation 1 over the first rows").bare(),
            name("log", &[], "for heavy tails: sign(x) ln(1 + |x| / unit) with a small unit per column, then standard").bare(),
            name("whiten", &[], "as auto; then the correlations of the columns are removed: distances are Mahalanobis distances (default of density)").bare(),
            name("fixed", &["shift", "factor", "log_units", "limit", "follow", "whiten"], "(x - shift) factor, one number per column").nested(),
        ],
    },
    Family {
        key: "regulariser",
        about: "what lambda multiplies (default square)",
        lists: false,
        variants: &[
            name("square", &[], "|f|²/2").bare(),
            name("norm", &[], "|f|").bare(),
            name("power", &["power"], "|f|^power / power"),
        ],
    },
];

const fn of(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, example: "1" }
}

impl Parameter {
    const fn for_instance(self, example: &'static str) -> Parameter {
        Parameter { example, ..self }
    }
}

/// All parameters. A parameter has the same meaning for all names that have it.
pub const PARAMETERS: [Parameter; 38] = [
    of(
        "gamma",
        "width of the kernel, as its formula has it: a number, median or auto (found from the first rows); in a file also a list of numbers",
    ),
    of("degree", "degree of the polynomial kernel"),
    of("coef0", "constant of the polynomial kernel (gamma <x, y> + coef0)^degree"),
    of("alpha", "exponent of the rational quadratic kernel"),
    of("weight", "factor of a scaled kernel"),
    of("of", "kernel that is scaled"),
    of("margin", "margin of the hinge and novelty losses"),
    of(
        "nu",
        "fraction of rows: alerts of a detector, examples inside the margin (nu_hinge), targets outside the tube (nu_epsilon), or residuals beyond the scale (nu_huber)",
    ),
    of("epsilon", "half width of the tube of the epsilon loss, within which residuals cost nothing"),
    of("sigma", "residual from which the Huber loss is linear"),
    of("sigma_rule", "rule by which nu_huber adapts sigma: quantile or concomitant"),
    of("q", "quantile that the quantile loss predicts, between 0 and 1"),
    of("eta", "step size of constant, inverse_sqrt, decay, linear, normalised and smd; the first one where it changes"),
    of("tau", "number of examples after which a decaying step is 0.71 of eta"),
    of("bound", "norm of the function that theorem1 compares with"),
    of("radius", "largest √k(x, x) that theorem1 assumes"),
    of("horizon", "number of examples that theorem1 and linear steps are planned for").for_instance("10000"),
    of("t0", "number of examples, at least 1, by which pegasos delays its schedule"),
    of("mu", "meta step size of smd, with which it adapts its step"),
    of("decay", "decay of smd's trace, between 0 and 1"),
    of("floor", "smallest step of smd"),
    of("cap", "largest step of smd"),
    of("preset", "published parameters of smd, in place of mu, decay, floor and cap: svmd2005"),
    of(
        "per",
        "word coordinate: under smd, every weight has a step size of its own (form weights or fourier); one step size for all when not given",
    ),
    of("terms", "number of terms of a window, transfer, merge or forgetron budget"),
    of("steps", "number of examples that a term lives under an age budget").for_instance("1000"),
    of("exponent", "exponent of the olok budget, between 0 and 1/2").for_instance("0.1"),
    of("tolerance", "norm below which a weight budget drops a term").for_instance("0.001"),
    of("error", "truncation error that a certified budget never exceeds; with target_scale, in units of the scaled targets"),
    of("rate", "rate at which an exponential average forgets, between 0 and 1").for_instance("0.001"),
    of("speed", "speed at which the tracker of the threshold moves; found from the first scores when not given"),
    of("shift", "numbers that a fixed scale subtracts, one per column"),
    of("factor", "numbers that a fixed scale multiplies by, one per column"),
    of("whiten", "lower triangle by which a fixed scale multiplies scaled rows, row by row"),
    of("log_units", "units of the logarithms that a fixed scale takes first, one per column"),
    of("limit", "largest size of a scaled value; larger values are clipped"),
    of("follow", "choice whether the units of a fixed scale follow the stream (default false)"),
    of("power", "exponent of the regulariser |f|^power / power, at least 1").for_instance("1.5"),
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Config;

    /// The names between backquotes in what serde says of a value that it cannot read, without the first.
    fn expected_by_serde(value: Value) -> Vec<String> {
        let said = serde_json::from_value::<Config>(value).unwrap_err().to_string();
        let mut names: Vec<String> = said.split('`').skip(3).step_by(2).map(str::to_string).collect();
        names.sort();
        names
    }

    fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<String> {
        let mut names: Vec<String> = names.map(str::to_string).collect();
        names.sort();
        names
    }

    #[test]
    fn the_names_are_those_that_serde_reads() {
        for family in &FAMILIES {
            // `auto` of a choice is read before serde sees the names.
            let choice = ["kernel", "step", "average", "budget"].contains(&family.key);
            let found = expected_by_serde(json!({ family.key: { "?": {} } }));
            assert_eq!(found, sorted(family.names().filter(|name| !(choice && *name == "auto"))), "{}", family.key);
        }
    }

    #[test]
    fn the_parameters_are_those_that_serde_reads() {
        for (family, variant) in FAMILIES.iter().flat_map(|f| f.variants.iter().map(move |v| (f, v))) {
            let lists = ["sum", "product"].contains(&variant.name);
            if !lists && !variant.parameters.is_empty() {
                let found = expected_by_serde(json!({ family.key: { variant.name: { "?": 1 } } }));
                let listed = sorted(variant.parameters.iter().copied());
                // Of one parameter serde says only that it expects this one.
                assert!(found == listed || found.is_empty(), "{} {}: {found:?}", family.key, variant.name);
            }
            assert!(variant.parameters.iter().all(|name| parameter(name).is_some()), "{}", variant.name);
        }
        let used = |name: &str| FAMILIES.iter().flat_map(|f| f.variants).any(|v| v.parameters.contains(&name));
        assert!(PARAMETERS.iter().all(|parameter| used(parameter.name)));
    }

    #[test]
    fn a_text_names_every_short_form() {
        let kernel = family("kernel").unwrap();
        assert!(kernel.line().ends_with("matern52 or rational_quadratic"), "{}", kernel.line());
        assert!(kernel.text().contains("\ngaussian:GAMMA - exp(-gamma r²)\n") && !kernel.text().contains("scaled"));
        assert!(family("step").unwrap().text().contains("decay:eta=ETA,tau=TAU - "));
    }
}
