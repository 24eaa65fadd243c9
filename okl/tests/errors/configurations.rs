//! Configurations.

use super::*;

/// (settings, the field that is named, words of the reason)
type Refusal = (&'static str, &'static str, &'static [&'static str]);

const REFUSALS: &[Refusal] = &[
    ("loss = 'novelty'\noffset = true", "offset", &["novelty", "f would learn nothing"]),
    ("offset_step = 0.5", "offset_step", &["offset = true"]),
    ("offset = true\noffset_step = -0.5", "offset_step", &[">= 0", "-0.5"]),
    ("heads = 'varied'\nkernel = 'gaussian'", "heads", &["kernel = auto", "use grid"]),
    ("heads = 'weighted'\nkernel = 'gaussian'", "heads", &["kernel = auto", "use varied or grid"]),
    ("heads = 'weighted'\nkernel = 'auto'\nanchor = 'none'", "heads", &["anchor = first"]),
    ("relevance = [1, 0]\nkernel = 'gaussian:1'", "relevance", &["between", "found 0e0 for column 1"]),
    ("relevance = [2]\nkernel = 'linear'", "relevance", &["kernels of distance"]),
    ("relevance = [2]\nkernel = 'gaussian:1'\nform = 'fourier:8'", "relevance", &["form = terms"]),
    ("relevance = [2]\nkernel = 'gaussian:1'\nanchor = 'none'", "relevance", &["anchor = first"]),
    ("loss = 'nu_novelty'\noffset = true", "offset", &["novelty"]),
    ("loss = 'density'\noffset = true", "offset", &["novelty"]),
    ("loss = 'density:0'", "loss", &["nu", "between 0 and 1", "not 0"]),
    ("loss = 'density'\ntheta0 = 1", "theta0", &["no adaptive scalar"]),
    ("step = 'theorem2'\nlambda = 0", "step", &["theorem2", "lambda > 0"]),
    ("step = 'pegasos'\nlambda = 0", "step", &["pegasos", "lambda > 0"]),
    ("kernel = 'linear'\nbudget = 'merge:10'", "budget", &["merge", "distance", "transfer"]),
    ("kernel = { sum = ['gaussian:1', 'linear'] }\nbudget = 'merge:10'", "budget", &["distance"]),
    ("budget = 'merge:1'", "budget", &["at least 2", "found 1"]),
    ("kernel = 'precomputed'\nbudget = 'merge:10'", "budget", &["merge", "centre between two terms", "use transfer"]),
    ("kernel = 'precomputed'\nmemory = 1000000", "memory", &["cannot grow", "give a number of terms"]),
    ("kernel = 'precomputed'\nscale = 'standard'", "scale", &["no columns to scale"]),
    ("kernel = 'precomputed'\nform = 'weights'", "form", &["kernel = linear"]),
    ("kernel = 'precomputed'\nform = 'fourier:100'", "form", &["gaussian", "use terms"]),
    ("kernel = ['precomputed', 'linear']", "kernel", &["must be the only kernel"]),
    ("kernel = '2*precomputed'", "kernel", &["must be the only kernel"]),
    (
        "loss = 'squared'\noperator = [{ kernel = 'precomputed', operator = [1.0] }]",
        "kernel",
        &["must be the only kernel", "where the values are computed"],
    ),
    ("loss = 'nu_hinge:0'", "loss", &["nu", "between 0 and 1"]),
    ("loss = 'nu_novelty:1'", "loss", &["nu", "between 0 and 1", "not 1"]),
    ("loss = 'nu_epsilon:-0.5'", "loss", &["nu", "-0.5"]),
    ("loss = 'nu_huber:nu=1.5'", "loss", &["nu", "1.5"]),
    ("loss = 'nu_huber:nu=0.7,sigma_rule=concomitant'", "loss", &["nu", "0.5", "concomitant"]),
    ("loss = 'quantile:1'", "loss", &["q", "between 0 and 1"]),
    ("loss = 'hinge:0'", "loss", &["margin", "greater than 0"]),
    ("loss = 'novelty:-1'", "loss", &["margin"]),
    ("loss = 'epsilon:0'", "loss", &["epsilon", "absolute"]),
    ("loss = 'huber:0'", "loss", &["sigma"]),
    ("loss = 'squared'\noperator = [1.0, 2.0, 2.0, 1.0]", "operator", &["positive semidefinite", "eigenvalue", "-1"]),
    ("loss = 'squared'\noperator = [1.0, 0.5, 0.4, 1.0]", "operator", &["symmetric"]),
    ("loss = 'squared'\noperator = [1.0, 0.5, 0.4]", "operator", &["square", "3 entries"]),
    ("loss = 'hinge'\noperator = [1.0, 0.0, 0.0, 1.0]", "operator", &["one output"]),
    ("loss = 'max_margin'\noperator = [1.0, 0.0, 0.0, 1.0]", "operator", &["classes"]),
    ("loss = 'max_margin'\nclasses = [1, 2, 3]\noperator = [1.0, 0.0, 0.0, 1.0]", "operator", &["one row and column each"]),
    (
        "loss = 'squared'\noperator = [{ kernel = 'linear', operator = [1.0] }, { kernel = 'linear', operator = [1.0, 0.0, 0.0, 1.0] }]",
        "operator",
        &["same number of outputs"],
    ),
    (
        "loss = 'squared'\nbudget = 'merge:10'\noperator = [{ kernel = 'gaussian:1', operator = [1.0] }]",
        "budget",
        &["sum of operator kernels", "window"],
    ),
    (
        "loss = 'squared'\nbudget = 'transfer:10'\noperator = [{ kernel = 'gaussian:1', operator = [1.0] }]",
        "budget",
        &["sum of operator kernels"],
    ),
    (
        "loss = 'squared'\nimplicit = true\noperator = [{ kernel = 'gaussian:1', operator = [1.0] }, { kernel = 'linear', operator = [2.0] }]",
        "implicit",
        &["one operator J"],
    ),
    ("step = 'constant:10'\nlambda = 0.1", "step", &["eta lambda = 1", "below 1", "allow_overshoot"]),
    ("step = 'inverse_sqrt:3'\nlambda = 0.5", "step", &["eta lambda = 1.5"]),
    ("step = 'smd'\nimplicit = true", "step", &["smd", "explicit", "implicit"]),
    ("step = 'smd'\nregulariser = 'norm'", "step", &["smd", "regulariser"]),
    ("step = 'smd'\nallow_overshoot = true", "step", &["smd", "allow_overshoot"]),
    ("step = 'smd:per=coordinate'", "step", &["per = coordinate", "weight vector", "linear", "fourier"]),
    ("kernel = 'linear'\nform = 'terms'\nstep = 'smd:per=coordinate'", "step", &["per = coordinate", "weight vector"]),
    (
        "loss = 'squared'\nkernel = 'linear'\nstep = 'smd:per=coordinate'\nlambda = 0\noperator = [1.0, 0.5, 0.5, 1.0]",
        "step",
        &["per = coordinate", "operator"],
    ),
    ("implicit = true\nregulariser = 'norm'", "implicit", &["square regulariser"]),
    ("implicit = true\nloss = 'perceptron'", "implicit", &["perceptron"]),
    ("implicit = true\nloss = 'softmax'\nclasses = [0, 1]\noperator = [1.0, 0.5, 0.5, 1.0]", "implicit", &["J = I"]),
    ("loss = 'hinge'\nbudget = 'forgetron:5'\nstep = 'constant:1'\nlambda = 0", "budget", &["perceptron"]),
    ("loss = 'perceptron'\nbudget = 'forgetron:5'\nstep = 'decay'\nlambda = 0", "budget", &["constant"]),
    ("loss = 'perceptron'\nbudget = 'forgetron:5'\nstep = 'constant:1'\nlambda = 0.1", "budget", &["lambda = 0"]),
    ("budget = 'olok:0'", "budget", &["exponent", "(0, 1/2)"]),
    ("budget = 'olok:0.5'", "budget", &["exponent", "0.5"]),
    ("budget = 'olok:0.2'\nstep = 'constant'", "budget", &["inverse_sqrt"]),
    ("budget = 'olok:0.2'\nlambda = 0", "budget", &["lambda > 0"]),
    ("budget = 'window:0'", "budget", &["terms", "> 0"]),
    ("budget = 'transfer:0'", "budget", &["terms"]),
    ("budget = 'forgetron:0'", "budget", &["terms"]),
    ("budget = 'age:0'", "budget", &["steps"]),
    ("budget = 'weight:0'", "budget", &["tolerance"]),
    ("budget = 'certified:-1'", "budget", &["error", "-1"]),
    ("threshold = 'tracker'\nloss = 'hinge'", "threshold", &["density or nu_novelty"]),
    ("threshold = 'tracker'\nloss = 'novelty'", "threshold", &["density or nu_novelty"]),
    ("threshold = 'tracker:0'\nloss = 'nu_novelty'", "threshold", &["speed", "> 0"]),
    ("theta0 = 0.5\nloss = 'hinge'", "theta0", &["no adaptive scalar"]),
    ("theta0 = -0.5\nloss = 'nu_hinge'", "theta0", &[">= 0", "-0.5"]),
    ("theta0 = 0.0\nloss = 'nu_huber'", "theta0", &["0.000001"]),
    ("warmup = 0", "warmup", &["between 1 and", "found 0"]),
    ("warmup = 100000", "warmup", &["65536", "found 100000"]),
    ("classes = ['a', 'b', 'a']\nloss = 'softmax'", "classes", &["twice"]),
    ("classes = ['a']\nloss = 'softmax'", "classes", &["at least two"]),
    ("classes = ['a', 'b', 'c']\nloss = 'hinge'", "classes", &["exactly two", "max_margin"]),
    ("classes = ['a', 'b']\nloss = 'squared'", "classes", &["this loss has no classes"]),
    ("classes = ['a', 'b']\nloss = 'novelty'", "classes", &["this loss has no classes"]),
    ("class_weight = 'balanced'\nloss = 'squared'", "class_weight", &["no classes", "remove class_weight"]),
    ("class_weight = 'balanced'\nloss = 'nu_novelty'", "class_weight", &["no classes"]),
    ("class_weight = { a = 0.0 }", "class_weight", &["class a", "> 0", "found 0"]),
    ("class_weight = 'a=1e10'", "class_weight", &["class a", "1e9"]),
    ("class_weight = { c = 2 }\nclasses = ['a', 'b']", "class_weight", &["no class c"]),
    ("loss = ['hinge', 'squared']", "loss", &["hinge and squared read different targets"]),
    ("loss = ['squared', 'quantile']", "loss", &["squared and quantile read different targets"]),
    ("loss = ['quantile:0.1', 'quantile:0.9']", "loss", &["quantile predicts a value of its own"]),
    ("loss = ['hinge', 'nu_hinge']", "loss", &["nu_hinge has a threshold of its own"]),
    ("loss = ['novelty:1', 'novelty:2']", "loss", &["novelty has a threshold of its own"]),
    ("loss = 'logistic,logistic'", "loss", &["logistic is in the list twice"]),
    ("kernel = ['linear', 'linear']", "kernel", &["linear is in the list twice"]),
    ("loss = 'nu_hinge'\nkernel = 'gaussian,linear'", "kernel", &["learn in parallel", "name one"]),
    ("loss = ['hinge', 'logistic']\nbudget = 'olok:0.2'", "loss", &["learn in parallel", "olok"]),
    ("loss = ['hinge', 'perceptron']\nimplicit = true", "implicit", &["perceptron"]),
    ("kernel = ['gaussian:1', 'linear']\nbudget = 'merge:10'", "budget", &["merge", "function of distance"]),
    (
        "loss = 'squared'\nkernel = ['linear', 'gaussian']\noperator = [{ kernel = 'linear', operator = [1.0] }]",
        "kernel",
        &["their own kernels"],
    ),
    ("form = 'weights'", "form", &["kernel = linear", "use terms or fourier"]),
    ("form = 'weights'\nkernel = 'polynomial'", "form", &["degree = 2"]),
    ("form = 'weights'\nkernel = ['linear', 'gaussian']", "form", &["kernel = linear"]),
    ("form = 'weights'\nkernel = 'linear'\nbudget = 'window:10'", "form", &["no budget", "remove budget"]),
    ("form = 'weights'\nkernel = 'linear'\nmemory = 1000000", "form", &["remove memory"]),
    ("form = 'fourier:100'\nkernel = 'linear'", "form", &["gaussian", "matern52", "use terms"]),
    ("form = 'fourier:100'\nkernel = { sum = ['gaussian:1', 'matern32:1'] }", "form", &["this run has sum", "use terms"]),
    ("form = 'fourier:101'", "form", &["even number", "found 101"]),
    ("form = 'fourier:0'", "form", &["from 2", "found 0"]),
    ("form = 'fourier:100'\nbudget = 'window:10'", "form", &["remove budget"]),
    ("form = 'fourier:100'\nmemory = 1000000", "form", &["remove memory"]),
    ("widths = 'follow'\nloss = 'nu_novelty'", "widths", &["only in a bank"]),
    ("heads = 'selected'\nkernel = 'gaussian'", "heads", &["kernel = auto", "use grid"]),
    ("kernel = 'gaussian:auto*-1'", "kernel", &["multiple of auto", "-1"]),
    ("lambda = -1", "lambda", &[">= 0", "-1"]),
    ("regulariser = 'power:0.5'", "regulariser", &["power", "at least 1"]),
    ("average = 'exponential:0'", "average", &["rate", "(0, 1)"]),
    ("average = 'exponential:1'", "average", &["rate"]),
    ("kernel = 'gaussian:0'", "kernel", &["gamma", "> 0"]),
    ("kernel = 'matern52:-1'", "kernel", &["gamma", "-1"]),
    ("kernel = 'polynomial:degree=0'", "kernel", &["degree"]),
    ("kernel = 'polynomial:coef0=-1'", "kernel", &["coef0", "positive semidefinite"]),
    ("kernel = 'polynomial:gamma=0'", "kernel", &["gamma"]),
    ("kernel = 'rational_quadratic:alpha=0,gamma=1'", "kernel", &["alpha"]),
    ("kernel = { scaled = { weight = -1, of = 'linear' } }", "kernel", &["weight"]),
    ("kernel = { sum = [] }", "kernel", &["at least one"]),
    ("kernel = 'gaussian:1e39'", "kernel", &["gamma", "between", "2.356e38", "found 1e39"]),
    ("kernel = 'gaussian:1e-45'", "kernel", &["gamma", "8.156e-39", "found 1e-45"]),
    ("kernel = { gaussian = { gamma = [1.0, 1e39] } }", "kernel", &["gamma", "found 1e39"]),
    ("kernel = 'exponential:3e38'", "kernel", &["gamma", "2.356e38"]),
    ("kernel = 'matern32:2e38'", "kernel", &["gamma", "1.963e38"]),
    ("kernel = 'matern52:2e38'", "kernel", &["gamma", "1.520e38"]),
    ("kernel = 'rational_quadratic:gamma=1e20,alpha=1e-20'", "kernel", &["gamma", "3.399e18"]),
    ("kernel = 'rational_quadratic:gamma=1,alpha=1e39'", "kernel", &["alpha", "found 1e39"]),
    ("kernel = 'polynomial:gamma=1e39'", "kernel", &["gamma", "found 1e39"]),
    ("kernel = 'polynomial:coef0=1e-40'", "kernel", &["coef0", "found 1e-40"]),
    ("kernel = 'polynomial:degree=3,coef0=1e20'", "kernel", &["k(0, 0) = 1e60", "coef0"]),
    ("kernel = { scaled = { weight = 1e39, of = 'gaussian:1' } }", "kernel", &["weight", "found 1e39"]),
    (
        "kernel = { scaled = { weight = 1e30, of = { scaled = { weight = 1e30, of = 'gaussian:1' } } } }",
        "kernel",
        &["k(0, 0)", "weights"],
    ),
    ("kernel = { scaled = { weight = 1e-30, of = { scaled = { weight = 1e-30, of = 'gaussian:1' } } } }", "kernel", &["k(0, 0)"]),
    (
        "kernel = { sum = [{ scaled = { weight = 3e38, of = 'gaussian:1' } }, { scaled = { weight = 3e38, of = 'matern32:1' } }] }",
        "kernel",
        &["k(0, 0) = 6e38"],
    ),
    (
        "kernel = { product = [{ scaled = { weight = 1e-30, of = 'gaussian:1' } }, { scaled = { weight = 1e-30, of = 'matern32:1' } }] }",
        "kernel",
        &["k(0, 0)"],
    ),
    ("kernel = { product = ['linear', 'gaussian:-3'] }", "kernel", &["gamma", "-3"]),
    ("step = 'constant:0'", "step", &["eta", "> 0"]),
    ("step = 'theorem1:horizon=0'", "step", &["horizon"]),
    ("step = 'theorem1:horizon=10,radius=0'", "step", &["radius"]),
    ("step = 'decay:eta=1,tau=0'", "step", &["tau"]),
    ("step = 'linear:horizon=0'", "step", &["horizon"]),
    ("step = 'linear:eta=0,horizon=9'", "step", &["eta"]),
    ("step = 'pegasos:0.5'", "step", &["t0", "at least 1"]),
    ("step = 'smd:decay=1.5'", "step", &["decay", "[0, 1]"]),
    ("step = 'smd:mu=-1'", "step", &["mu"]),
    ("step = 'smd:floor=0'", "step", &["floor"]),
    ("step = 'smd:cap=-2'", "step", &["cap"]),
    ("scale = { fixed = { shift = [1.0], factor = [1.0, 2.0] } }", "scale", &["one length"]),
    ("scale = { fixed = { shift = [1.0], factor = [0.0] } }", "scale", &["factor", "> 0"]),
    ("scale = { fixed = { shift = [], factor = [] } }", "scale", &["at least one"]),
    (
        "scale = { fixed = { shift = [1.0], factor = [1.0], log_units = [1.0, 2.0] } }",
        "scale",
        &["log_units", "one number per column"],
    ),
    ("scale = { fixed = { shift = [1.0], factor = [1.0], log_units = [0.0] } }", "scale", &["log_units", "1e-100"]),
    (
        "scale = { fixed = { shift = [1.0], factor = [1.0], log_units = [1.0], follow = true } }",
        "scale",
        &["log_units", "cannot follow"],
    ),
    ("scale = 'whiten'\nkernel = 'linear'", "scale", &["kernels of distance", "standard"]),
    ("scale = 'whiten'\nanchor = 'none'", "scale", &["anchor = first"]),
    (
        "kernel = 'linear'\nform = 'terms'\nscale = { fixed = { shift = [1.0], factor = [1.0], whiten = [1.0] } }",
        "scale",
        &["kernel of distance"],
    ),
    ("scale = { fixed = { shift = [1.0], factor = [1.0], whiten = [1.0, 0.0] } }", "scale", &["n (n + 1) / 2", "found 2"]),
    (
        "scale = { fixed = { shift = [1.0], factor = [1.0], whiten = [1.0, 0.5, 1.0] } }",
        "scale",
        &["first n of 1 columns", "found 3"],
    ),
    ("scale = { fixed = { shift = [1.0], factor = [1.0], whiten = [-1.0] } }", "scale", &["> 0", "triangle"]),
];

/// Read, and refused by the one place of validation, which names the setting and says why; nothing is built.
#[test]
fn configurations_that_cannot_work() {
    for (toml, field, words) in REFUSALS {
        let config = Config::from_toml(toml).unwrap_or_else(|e| panic!("{toml}: {e}"));
        let error = config.check().expect_err(toml);
        let ErrorKind::Config { field: found, .. } = error.kind() else { panic!("{error:?}") };
        assert_eq!(found, field, "{toml}: {error}");
        says(&error, &[&[*field], *words].concat());
        assert_eq!(Learner::new(config).unwrap_err(), error);
    }
}

/// Numbers that no text can carry here are refused all the same when they are set in Rust.
#[test]
fn settings_that_are_not_finite() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let fixed = |shift, factor, log| Scale::Fixed {
            shift: vec![shift],
            factor: vec![factor],
            log_units: vec![log],
            limit: None,
            follow: false,
            whiten: Vec::new(),
        };
        let [scale, factor, log] = [fixed(bad, 1.0, 1.0), fixed(1.0, bad, 1.0), fixed(1.0, 1.0, bad)];
        let nu = AnyLoss::NuHinge { nu: 0.5 };
        let settings: [(&str, Config); 11] = [
            ("offset_step", Config { offset: true, offset_step: Some(bad), ..Config::default() }),
            ("lambda", Config { lambda: bad.into(), ..Config::default() }),
            ("theta0", Config { theta0: Some(bad), loss: nu.into(), ..Config::default() }),
            ("scale", Config { scale, ..Config::default() }),
            ("scale", Config { scale: factor, ..Config::default() }),
            ("scale", Config { scale: log, ..Config::default() }),
            ("operator", Config { operator: Some(OperatorRule::Matrix(vec![bad])), ..Config::default() }),
            ("step", Config { step: AnyStep::Constant { eta: bad }.into(), ..Config::default() }),
            ("loss", Config { loss: AnyLoss::NuHinge { nu: bad }.into(), ..Config::default() }),
            ("kernel", Config { kernel: KernelRule::Gaussian { gamma: Gamma::Value(bad) }.into(), ..Config::default() }),
            ("budget", Config { budget: Some(BudgetRule::Weight { tolerance: bad }), ..Config::default() }),
        ];
        for (field, config) in settings {
            let error = config.check().expect_err(field);
            assert!(matches!(error.kind(), ErrorKind::Config { field: found, .. } if found == field), "{error}");
        }
    }
}

/// What is not even read: unknown names, keys, forms. (settings, words of the message)
const UNREADABLE: &[(&str, &[&str])] = &[
    ("loss = 'hingee'", &["loss", "hingee", "nu_hinge", "quantile"]),
    ("kernel = 'rbf'", &["kernel", "rbf", "did you mean gaussian?"]),
    ("kernel = 'guassian'", &["kernel", "guassian", "did you mean gaussian?"]),
    ("kernel = 'rfb'", &["kernel", "rfb", "did you mean gaussian?"]),
    ("step = 'adaptive'", &["step", "adaptive", "did you mean smd?"]),
    ("step = 'adaptve'", &["step", "adaptve", "did you mean smd?", "choose one of auto"]),
    ("learning_rate = 'adaptve'", &["learning_rate", "no such setting", "did you mean `step`?"]),
    ("tua = 3", &["tua", "no such setting", "did you mean `tau`?"]),
    ("gamma = { a = 1 }", &["kernel", "gamma must be a number"]),
    ("kernel = 'rbf:0.5'", &["kernel", "rbf", "gaussian"]),
    ("step = 'adam'", &["step", "adam", "smd"]),
    ("budget = 'lru:5'", &["budget", "lru", "window"]),
    ("average = 'ema'", &["average", "ema", "uniform"]),
    ("threshold = 'quantile'", &["threshold", "quantile", "tracker"]),
    ("scale = 'minmax'", &["scale", "minmax", "standard"]),
    ("regulariser = 'l1'", &["regulariser", "l1", "square"]),
    ("anchor = 'middle'", &["middle", "first"]),
    ("shrink = 'never'", &["shrink", "never", "always", "on_update"]),
    ("class_weight = 'fair'", &["class_weight", "fair", "none", "balanced", "table"]),
    ("class_weight = 3", &["class_weight", "found 3", "balanced"]),
    ("class_weight = {}", &["class_weight", "a number > 0 per class"]),
    ("class_weight = { a = 'heavy' }", &["class_weight", "heavy"]),
    ("form = 'fourier'", &["form", "fourier:SIZE"]),
    ("form = 'fourier:many'", &["form", "size must be a whole number", "many"]),
    ("form = 'fourier:size=10,rows=3'", &["form", "no parameter", "rows", "size, seed"]),
    ("form = 'fourier:seed=3'", &["form", "needs size"]),
    ("form = 3", &["form", "found 3"]),
    ("form = 'primal'", &["form", "primal", "terms", "weights"]),
    ("lamda = 1", &["lamda", "did you mean `lambda`?", "kernel, loss, step"]),
    ("kernel = 'gaussian:width=1'", &["kernel", "width", "gamma"]),
    ("step = 'decay:eta=1,taw=3'", &["step", "taw", "eta, tau"]),
    ("step = 'decay:1'", &["step", "key=value", "eta, tau"]),
    ("loss = 'perceptron:1'", &["loss", "perceptron", "none"]),
    ("loss = 'squared:x=1'", &["loss", "squared", "none"]),
    ("kernel = { rbf = { gamma = 1 } }", &["kernel", "rbf"]),
    ("kernel = { gaussian = { width = 1 } }", &["width"]),
    ("kernel = { gaussian = { gamma = 1 }, linear = {} }", &["kernel", "one name"]),
    ("kernel = { gaussian = 5 }", &["kernel", "gaussian", "table"]),
    ("kernel = 5", &["kernel", "name or a table", "5"]),
    ("kernel = { sum = ['gaussian:1', 'rbf'] }", &["kernel", "rbf"]),
    ("kernel = { scaled = { weight = 1, of = 'rbf' } }", &["kernel", "rbf"]),
    ("kernel = { scaled = { weight = 1 } }", &["of"]),
    ("kernel = 'gaussian:abc'", &["gamma", "abc", "auto"]),
    ("budget = 'age'", &["steps"]),
    ("budget = 'window:many'", &["many"]),
    ("budget = 'window:-3'", &["-3"]),
    ("budget = 'window:2.5'", &["2.5"]),
    ("terms = 5\nbudget = 'age:3'", &["terms"]),
    ("kernel = 'linear'\ngamma = 1", &["gamma", "linear", "none"]),
    ("loss = 'squared'\nnu = 0.1", &["nu", "squared"]),
    ("step = 'constant'\ntau = 3", &["tau", "constant", "eta"]),
    ("operator = [{ kernel = 'rbf', operator = [1.0] }]", &["kernel", "rbf"]),
    ("operator = 'identity'", &["operator"]),
    ("implicit = 'yes'", &["implicit", "true or false"]),
    ("warmup = -1", &["warmup", "-1"]),
    ("lambda = nan", &["lambda", "finite"]),
    ("theta0 = inf\nloss = 'nu_hinge'", &["theta0", "finite"]),
    ("kernel = 'gaussian'\ngamma = inf", &["gamma", "finite"]),
    ("loss = 'squared'\noperator = [1.0, nan, nan, 1.0]", &["operator", "finite"]),
    ("scale = { fixed = { shift = [nan], factor = [1.0] } }", &["scale", "finite"]),
    ("kernel = ['gaussian', { exponential = { gamma = [1, 2, 3] } }, 'hinge']", &["kernel", "unknown name", "hinge"]),
    ("kernel = 'auto'\ngamma = 1", &["gamma", "`auto` has no such parameter"]),
    ("kernel = ['gaussian', 'exponential']\ngamma = 1", &["gamma", "`kernel` is a list", "gamma=1"]),
    ("kernel = ['auto', 'linear']", &["kernel", "auto"]),
    ("kernel = []", &["kernel", "the list is empty"]),
    ("kernel = { sum = [['linear'], 'linear'] }", &["kernel", "expected a name or a table"]),
    ("loss = 'hinge'\nloss = 'squared'", &["duplicate"]),
    ("loss =", &["configuration"]),
];

#[test]
fn configurations_that_cannot_be_read() {
    for (toml, words) in UNREADABLE {
        let error = Config::from_toml(toml).expect_err(toml);
        assert!(matches!(error.kind(), ErrorKind::Config { .. }));
        let text = error.to_string().to_lowercase();
        assert!(words.iter().all(|w| text.contains(&w.to_lowercase())), "{toml}: {text:?} lacks one of {words:?}");
    }
    for json in ["", "[]", "5", "{\"loss\": 3}", "{\"loss\": \"hinge\"", "{\"loss\": {\"hinge\": {\"margin\": \"x\"}}}"] {
        assert!(matches!(Config::from_json(json).unwrap_err().kind(), ErrorKind::Config { .. }), "{json}");
    }
}

/// Text, tables, flat keys, TOML and JSON: one configuration.
#[test]
fn every_way_to_write_it() {
    let same = |forms: &[&str], json: &str| {
        let canonical = Config::from_json(json).unwrap();
        for form in forms {
            assert_eq!(Config::from_toml(form).unwrap_or_else(|e| panic!("{form}: {e}")), canonical, "{form}");
            let value: Value = serde_json::to_value(toml::from_str::<toml::Value>(form).unwrap()).unwrap();
            assert_eq!(Config::from_json(&value.to_string()).unwrap(), canonical);
        }
        assert_eq!(Config::from_json(&canonical.to_json()).unwrap(), canonical);
    };
    same(
        &[
            "kernel = 'gaussian:0.5'",
            "kernel = 'gaussian:gamma=0.5'",
            "kernel = 'gaussian'\ngamma = 0.5",
            "kernel = { gaussian = { gamma = 0.5 } }",
            "[kernel.gaussian]\ngamma = 0.5",
        ],
        r#"{"kernel":{"gaussian":{"gamma":0.5}}}"#,
    );
    same(
        &[
            "kernel = 'gaussian'",
            "kernel = 'gaussian:auto'",
            "kernel = { gaussian = {} }",
            "",
            "gamma = 'auto'",
            "kernel = 'gaussian'\ngamma = 'auto'",
        ],
        r#"{"kernel":{"gaussian":{"gamma":"auto"}}}"#,
    );
    same(&["kernel = 'gaussian:median'", "gamma = 'median'"], r#"{"kernel":{"gaussian":{"gamma":"median"}}}"#);
    same(&["gamma = [0.5, 2.0]"], r#"{"kernel":{"gaussian":{"gamma":[0.5,2.0]}}}"#);
    same(&["", "step = 'auto'\nlambda = 'auto'\nscale = 'auto'"], r#"{"step":"auto","lambda":"auto","scale":"auto"}"#);
    same(
        &[
            "step = 'decay:eta=2,tau=30'",
            "step = 'decay:tau=30,eta=2'",
            "step = 'decay'\neta = 2\ntau = 30",
            "step = 'decay:eta=2'\ntau = 30.0",
            "step = { decay = { eta = 2, tau = 30 } }",
        ],
        r#"{"step":{"decay":{"eta":2.0,"tau":30.0}}}"#,
    );
    same(
        &["budget = 'window:7'", "budget = 'window'\nterms = 7", "budget = { window = { terms = 7 } }"],
        r#"{"budget":{"window":{"terms":7}}}"#,
    );
    same(&["loss = 'perceptron'", "loss = { perceptron = {} }", "loss = 'perceptron:'"], r#"{"loss":{"perceptron":{}}}"#);
    same(&["average = 'none'", "[average.none]"], r#"{"average":"none"}"#);
    same(&["average = 'auto'", ""], r#"{"average":"auto"}"#);
    same(&["average = 'exponential:0.1'", "average = 'exponential'\nrate = 0.1"], r#"{"average":{"exponential":{"rate":0.1}}}"#);
    same(&["threshold = 'tracker'", "threshold = { tracker = {} }"], r#"{"threshold":{"tracker":{}}}"#);
    same(&["threshold = 'tracker:0.2'", "threshold = 'tracker'\nspeed = 0.2"], r#"{"threshold":{"tracker":{"speed":0.2}}}"#);
    same(&["regulariser = 'power:3'", "regulariser = 'power'\npower = 3"], r#"{"regulariser":{"power":{"power":3.0}}}"#);
    same(
        &["loss = 'nu_huber:nu=0.2,sigma_rule=concomitant'", "loss = 'nu_huber'\nnu = 0.2\nsigma_rule = 'concomitant'"],
        r#"{"loss":{"nu_huber":{"nu":0.2,"sigma_rule":"concomitant"}}}"#,
    );
    same(&["step = 'smd:preset=svmd2005'", "step = 'smd'\npreset = 'svmd2005'"], r#"{"step":{"smd":{"preset":"svmd2005"}}}"#);
    let each = r#"{"kernel":{"linear":{}},"step":{"smd":{"per":"coordinate"}}}"#;
    same(&["kernel = 'linear'\nstep = 'smd:per=coordinate'", "kernel = 'linear'\nstep = 'smd'\nper = 'coordinate'"], each);
    same(
        &[
            "loss = ['epsilon:0.2', 'huber:3', 'squared']",
            "loss = 'epsilon:epsilon=0.2,huber:sigma=3,squared'",
            "loss = 'epsilon:0.2, huber:3, squared'",
        ],
        r#"{"loss":[{"epsilon":{"epsilon":0.2}},{"huber":{"sigma":3.0}},{"squared":{}}]}"#,
    );
    same(
        &[
            "kernel = 'rational_quadratic:gamma=1,alpha=2,linear'",
            "kernel = ['rational_quadratic:alpha=2,gamma=1', { linear = {} }]",
        ],
        r#"{"kernel":[{"rational_quadratic":{"gamma":1.0,"alpha":2.0}},{"linear":{}}]}"#,
    );
    same(&["loss = ['squared']", "loss = 'squared'"], r#"{"loss":{"squared":{}}}"#);
    same(
        &["kernel = { sum = ['linear', { scaled = { weight = 2, of = 'gaussian:0.5' } }] }"],
        r#"{"kernel":{"sum":[{"linear":{}},{"scaled":{"weight":2.0,"of":{"gaussian":{"gamma":0.5}}}}]}}"#,
    );
    same(
        &[
            "kernel = 'linear+2*gaussian:0.5'",
            "kernel = 'linear + 2 * gaussian:gamma=5e-1'",
            "kernel = { sum = ['linear', '2.0*gaussian:0.5'] }",
        ],
        r#"{"kernel":{"sum":[{"linear":{}},{"scaled":{"weight":2.0,"of":{"gaussian":{"gamma":0.5}}}}]}}"#,
    );
    same(
        &["kernel = '1e-1*linear*rational_quadratic:gamma=1e+1,alpha=2,matern32:auto*16'"],
        r#"{"kernel":[{"scaled":{"weight":0.1,"of":{"product":[{"linear":{}},{"rational_quadratic":{"gamma":10.0,"alpha":2.0}}]}}},{"matern32":{"gamma":"auto*16.0"}}]}"#,
    );
    same(
        &["form = 'fourier:10,orthogonal'", "form = 'fourier:size=10,orthogonal=true'"],
        r#"{"form":{"fourier":{"size":10,"orthogonal":true}}}"#,
    );
    same(
        &["operator = [{ kernel = 'matern32:2', operator = [1.0] }]"],
        r#"{"operator":[{"kernel":{"matern32":{"gamma":2.0}},"operator":[1.0]}]}"#,
    );
    same(&["scale = 'standard'", "scale = { standard = {} }"], r#"{"scale":"standard"}"#);
    same(&["scale = 'log'", "scale = { log = {} }"], r#"{"scale":"log"}"#);
}

/// One of each variant, through canonical JSON and back, to the last bit.
#[test]
fn canonical_json_round_trips() {
    let gamma = f64::from_bits(0x3fb9_9999_9999_9999);
    let kernels = json!([
        {"linear": {}}, {"polynomial": {"degree": 2, "gamma": gamma, "coef0": 0.0}}, {"gaussian": {"gamma": gamma}}, {"gaussian": {"gamma": "auto"}},
        {"exponential": {"gamma": gamma}}, {"matern32": {"gamma": gamma}}, {"matern52": {"gamma": gamma}}, {"manhattan": {"gamma": gamma}}, {"rational_quadratic": {"gamma": gamma, "alpha": gamma}},
        {"scaled": {"weight": gamma, "of": {"linear": {}}}}, {"sum": [{"linear": {}}, {"gaussian": {"gamma": gamma}}]}, {"product": [{"linear": {}}]}, {"precomputed": {}},
        [{"gaussian": {"gamma": gamma}}, {"exponential": {"gamma": "auto"}}], "auto", {"matern32": {"gamma": "auto*16.0"}},
    ]);
    let losses = json!([
        {"hinge": {"margin": gamma}}, {"nu_hinge": {"nu": gamma}}, {"perceptron": {}}, {"logistic": {}}, {"max_margin": {}}, {"softmax": {}},
        {"novelty": {"margin": gamma}}, {"nu_novelty": {"nu": gamma}}, {"density": {"nu": gamma}}, {"squared": {}}, {"absolute": {}}, {"epsilon": {"epsilon": gamma}},
        {"nu_epsilon": {"nu": gamma}}, {"huber": {"sigma": gamma}}, {"nu_huber": {"nu": gamma, "sigma_rule": "concomitant"}},
        {"nu_huber": {"nu": gamma, "sigma_rule": "quantile"}}, {"quantile": {"q": gamma}},
        [{"hinge": {"margin": gamma}}, {"logistic": {}}],
    ]);
    let steps = json!([
        {"constant": {"eta": gamma}}, {"inverse_sqrt": {"eta": gamma}}, {"theorem1": {"bound": gamma, "radius": gamma, "horizon": 9}}, {"theorem2": {}},
        {"decay": {"eta": gamma, "tau": gamma}}, {"linear": {"eta": gamma, "horizon": 9}}, {"pegasos": {"t0": 1.5}}, {"smd": {"eta": gamma, "mu": gamma, "decay": gamma}},
        {"smd": {"eta": gamma, "mu": gamma, "decay": gamma, "floor": gamma, "cap": gamma, "preset": "svmd2005", "per": "coordinate"}},
        {"normalised": {"eta": gamma}}, {"normalised": {"eta": gamma, "tau": gamma}}, "auto",
    ]);
    let budgets = json!([
        {"unlimited": {}}, {"window": {"terms": 3}}, {"age": {"steps": 3}}, {"olok": {"exponent": gamma}}, {"weight": {"tolerance": gamma}},
        {"certified": {"error": gamma}}, {"transfer": {"terms": 3}}, {"merge": {"terms": 3}}, {"forgetron": {"terms": 3}},
    ]);
    let others = [
        ("average", json!(["auto", "none", "uniform", {"exponential": {"rate": gamma}}])),
        ("threshold", json!(["norma", {"tracker": {"speed": gamma}}])),
        (
            "scale",
            json!(["auto", "none", "standard", "log", "whiten", {"fixed": {"shift": [gamma, -gamma], "factor": [gamma, 1.0], "log_units": [gamma, 1.0], "whiten": [gamma, -gamma, 1.0]}}]),
        ),
        ("regulariser", json!(["square", "norm", {"power": {"power": 1.0 + gamma}}])),
        ("anchor", json!(["first", "none"])),
        (
            "form",
            json!(["terms", "weights", { "fourier": { "size": 10, "seed": 3 } }, { "fourier": { "size": 10, "seed": 3, "orthogonal": true } }]),
        ),
        ("shrink", json!(["on_update"])),
        ("widths", json!(["fixed", "follow"])),
        ("heads", json!(["grid", "selected", "varied", "weighted", "mixed", "broad"])),
        ("operator", json!([[1.0, gamma, gamma, 1.0], [{"kernel": {"linear": {}}, "operator": [gamma]}]])),
        ("classes", json!([[1, "a", -5]])),
        ("class_weight", json!(["balanced", { "a=b": gamma, "7": 2.0 }])),
        ("theta0", json!([gamma])),
        ("relevance", json!([[gamma, 2.0]])),
        ("offset_step", json!([gamma])),
        ("lambda", json!([gamma, 5e-324, 1.7976931348623157e308])),
        ("warmup", json!([17])),
        ("warmup_passes", json!([3])),
        ("memory", json!([1_000_000])),
        ("offset", json!([true, false])),
        ("implicit", json!([true])),
        ("allow_overshoot", json!([true])),
    ];
    let settings = [("kernel", kernels), ("loss", losses), ("step", steps), ("budget", budgets)].into_iter().chain(others);
    for (key, values) in settings {
        let values = values.as_array().unwrap();
        // `budget = auto` is that no budget is given.
        let names = family(key).into_iter().flat_map(|family| family.names());
        for name in names.filter(|name| (key, *name) != ("budget", "auto")) {
            assert!(values.iter().any(|v| v == name || v.get(name).is_some()), "{key} {name} is not in the list");
        }
        for value in values {
            let config = Config::from_json(&json!({ key: value }).to_string()).unwrap_or_else(|e| panic!("{key} {value}: {e}"));
            let text = config.to_json();
            let again = Config::from_json(&text).unwrap();
            assert_eq!((&again, again.to_json()), (&config, text.clone()));
            assert_eq!(&serde_json::from_str::<Value>(&text).unwrap()[key], value, "canonical already");
        }
    }
    let config =
        Config::from_json(&json!({"kernel": {"gaussian": {"gamma": gamma}}, "step": {"constant": {"eta": gamma}}}).to_string())
            .unwrap();
    let KernelRule::Gaussian { gamma: Gamma::Value(read) } = **config.kernel.given().unwrap() else { panic!() };
    assert_eq!(read.to_bits(), gamma.to_bits());
    assert_eq!(config.step, AnyStep::Constant { eta: gamma }.into());
}

/// After a warm-up the configuration holds what was found: a learner built from it needs none.
#[test]
fn a_frozen_configuration_round_trips() {
    let mut learner = learner(
        "loss = 'hinge'\nkernel = { product = ['gaussian', 'matern32'] }\nscale = 'standard'\nwarmup = 5\nanchor = 'none'",
    );
    let x: Vec<f32> = (0..24u16).map(|i| f32::from(i * i % 23) / 7.0).collect();
    learner.learn(&Batch::new(&x, 2).numbers(&[1.0, -1.0].repeat(6))).unwrap();
    assert!(!learner.warming_up());
    let config = Config::from_json(&learner.config().to_json()).unwrap();
    assert_eq!(&config, learner.config());
    assert!(matches!(config.scale, Scale::Fixed { .. }) && !config.to_json().contains("auto"));
    let mut again = Learner::new(config).unwrap();
    assert!(!again.warming_up());
    let scores = again.learn(&Batch::new(&x, 2).numbers(&[1.0, -1.0].repeat(6))).unwrap();
    assert_eq!(again.coefficients(), learner.coefficients().as_slice());
    assert_eq!(scores.outputs, 1);
}

/// The errors of one part are not hidden behind another's, and the defaults themselves are accepted.
#[test]
fn defaults_are_accepted() {
    Config::default().check().unwrap();
    for loss in family("loss").unwrap().names() {
        let config = Config::from_toml(&format!("loss = '{loss}'")).unwrap();
        config.check().unwrap();
        assert_ne!(config.loss == AnyLoss::Hinge { margin: 1.0 }, loss != "hinge");
    }
    assert!(matches!(Config::from_toml("operator = [1.0]").unwrap().operator, Some(OperatorRule::Matrix(_))));
}

/// Of every setting and parameter that is a number, a list, a word or a switch: a value of another kind is refused by the name of
/// the setting, with what was found and without words of the reader of JSON.
#[test]
fn values_of_another_kind_are_refused_in_plain_words() {
    let inside = |part: &str, value: &Value| {
        let (group, rest) = part.split_once('.').unwrap_or((part, ""));
        match rest.split_once('.') {
            Some((name, key)) => json!({ group: { name: { key: value } } }),
            None => json!({ group: value }),
        }
    };
    let whole = ["budget.merge.terms", "budget.window.terms", "budget.age.steps", "kernel.polynomial.degree", "warmup"];
    let whole = whole.into_iter().chain(["step.theorem1.horizon", "step.linear.horizon", "budget.transfer.terms"]);
    let numbers = "kernel.polynomial.coef0 kernel.rational_quadratic.alpha kernel.scaled.weight kernel.gaussian.gamma loss.hinge.margin \
                   loss.nu_hinge.nu loss.epsilon.epsilon loss.huber.sigma loss.quantile.q step.constant.eta step.decay.tau step.smd.mu \
                   step.smd.decay step.smd.floor step.smd.cap step.pegasos.t0 step.theorem1.bound step.theorem1.radius \
                   budget.olok.exponent budget.weight.tolerance budget.certified.error average.exponential.rate threshold.tracker.speed \
                   regulariser.power.power scale.fixed.limit lambda theta0 offset_step";
    let others = "scale.fixed.shift scale.fixed.factor scale.fixed.log_units scale.fixed.whiten scale.fixed.follow target_scale.fixed.shift target_scale loss.nu_huber.sigma_rule step.smd.preset step.smd.per \
                  anchor shrink offset implicit allow_overshoot classes operator relevance";
    let listed = |name: &str| {
        whole.clone().chain(numbers.split(' ')).chain(others.split(' ')).any(|part| part.ends_with(&format!(".{name}")))
    };
    let missing: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).filter(|name| !listed(name)).collect();
    // The kernel that is scaled is a setting of its own.
    assert_eq!(missing, ["of"]);
    let (text, truth) = (json!("many"), json!(true));
    let (list, table) = (json!([{ "a": [] }, 3]), json!({ "a": 1 }));
    let mut cases = Vec::new();
    for part in whole {
        cases.extend([&json!(-1), &json!(1.5), &json!(-1e30), &text, &truth, &list, &table].map(|v| (part, v.clone())));
    }
    for part in numbers.split_whitespace() {
        cases.extend([&text, &truth, &list, &table].map(|v| (part, v.clone())));
    }
    for part in others.split_whitespace() {
        cases.extend([&json!(-1), &json!(1.5), &list, &table].map(|v| (part, v.clone())));
    }
    for (part, value) in cases {
        let said = Config::from_value(inside(part, &value)).expect_err(part).to_string();
        let key = part.rsplit('.').next().unwrap();
        let plain = !["usize", "u64", "u32", "f64", "invalid", "untagged", "variant", "sequence", "integer `"]
            .iter()
            .any(|w| said.contains(w));
        assert!(
            plain && said.contains(key) && (said.contains("must be") || said.contains("expected")),
            "{part} = {value}: {said}"
        );
    }
}

#[test]
fn a_size_is_no_number_of_terms() {
    for (budget, found) in [("merge:10MB", "\"10MB\""), ("64MB", "\"64MB\"")] {
        says(
            &Config::from_toml(&format!("budget = '{budget}'")).unwrap_err(),
            &["budget", found, "--memory", "okl.terms_within"],
        );
    }
    says(&Config::from_toml("budget = -1").unwrap_err(), &["budget", "a whole number of terms", "-1"]);
    says(&Config::from_toml("terms = 0.5").unwrap_err(), &["terms", "whole number", "0.5"]);
    let terms = |toml: &str| Config::from_toml(toml).unwrap().budget();
    let default = |kernel: &str| terms(&format!("kernel = {kernel}"));
    for kernel in ["'exponential'", "'matern52:2'", "{ sum = ['gaussian:1', 'exponential:2'] }"] {
        assert_eq!(default(kernel), BudgetRule::Merge { terms: 1000 }, "{kernel}");
    }
    assert_eq!(default("{ product = ['gaussian:1', 'linear'] }"), BudgetRule::Transfer { terms: 1000 });
    assert_eq!(terms("budget = 'merge:1e3'"), BudgetRule::Merge { terms: 1000 });
    assert_eq!(terms("budget = 'window'\nterms = 2e2"), BudgetRule::Window { terms: 200 });
    assert_eq!(terms("budget = 1e3"), terms("budget = 1000"));
}
