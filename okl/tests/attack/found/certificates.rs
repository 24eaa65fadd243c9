//! Truncation errors, `certified:E`, regret, alert rates, ids.

use super::{Found, NONE};

pub(super) const LIST: &[Found] = &[
    Found {
        name: "the Forgetron's shrink is a loss, too",
        settings: &[
            ("loss", "\"perceptron\""),
            ("kernel", "\"gaussian:1\""),
            ("step", "\"constant:0.5\""),
            ("lambda", "0.0"),
            ("budget", "\"forgetron:1\""),
        ],
        x: &[0.2, -0.2],
        y: &[1.0, -1.0],
        ..NONE
    },
    Found {
        name: "a bank's regret is over the losses of heads, not of voices",
        settings: &[
            ("loss", "\"perceptron\""),
            ("kernel", "\"gaussian:0.01\""),
            ("lambda", "0.008"),
            ("budget", "\"window:1\""),
            ("warmup", "2"),
        ],
        x: &[1000.0, 1000.0],
        y: &[1.0, -1.0],
        ..NONE
    },
    Found {
        name: "certified is certified for every head",
        settings: &[
            ("loss", "\"hinge\""),
            ("kernel", "\"gaussian:1\""),
            ("step", "\"pegasos:10\""),
            ("offset", "true"),
            ("budget", "\"certified:0.0001\""),
        ],
        x: &[-900.0, 1000.0, -400.0],
        y: &[1.0, -1.0, 1.0],
        ..NONE
    },
    Found {
        name: "what a transfer loses of rows that are nearly equal",
        settings: &[
            ("loss", "\"hinge\""),
            ("kernel", "\"gaussian:1.6487063502375348\""),
            ("anchor", "\"none\""),
            ("step", "\"constant:0.5\""),
            ("lambda", "0.1"),
            ("budget", "\"transfer:1\""),
        ],
        x: &[1.0, 1.0001, 1.0002],
        y: &[1.0, -1.0, 1.0],
        ..NONE
    },
    Found {
        name: "a threshold that leaves the range of numbers by a large weight",
        settings: &[
            ("loss", "\"nu_novelty:0.9\""),
            ("kernel", "\"gaussian:0.76\""),
            ("step", "\"constant:0.3378431156475594\""),
            ("lambda", "0.01514442884338166"),
            ("threshold", "\"tracker:0.5\""),
            ("budget", "\"window:1\""),
            ("warmup", "4"),
        ],
        x: &[-5.0, -4.0, 3.0, -1.0, 1.0, -7.0],
        weights: &[1.0, 0.16, 2.6, 1.07, 10000.0, 10000.0],
        ..NONE
    },
    Found {
        name: "a tiny weight leaves digits to the bound of the rate",
        settings: &[
            ("loss", "\"nu_epsilon:0.05\""),
            ("kernel", "\"linear\""),
            ("form", "\"terms\""),
            ("step", "\"constant:0.039\""),
            ("lambda", "0.0007"),
            ("theta0", "1.2206782280917372"),
            ("scale", "\"none\""),
        ],
        x: &[1.0],
        y: &[5.0],
        weights: &[1e-9],
        ..NONE
    },
    Found {
        name: "an id is taken over by another row",
        settings: &[
            ("loss", "\"hinge\""),
            ("kernel", "\"gaussian:1\""),
            ("step", "\"constant:0.5\""),
            ("lambda", "0.1"),
            ("budget", "\"window:1\""),
        ],
        x: &[0.0, 1.0, 2.0, 2.0],
        y: &[1.0, -1.0, 1.0, 1.0],
        ids: &[7, 8, 7, 7],
        ..NONE
    },
    Found {
        name: "a transfer between rows of very different sizes under a polynomial kernel",
        settings: &[
            ("loss", "\"absolute\""),
            ("kernel", "{\"polynomial\": {\"degree\": 3, \"gamma\": 0.9, \"coef0\": 0}}"),
            ("anchor", "\"none\""),
            ("scale", "\"none\""),
            ("step", "\"constant:0.148\""),
            ("lambda", "0.0275"),
            ("offset", "true"),
            ("budget", "\"transfer:5\""),
        ],
        x: &[-1.1417751, -0.8344748, -0.83256245, -0.7379524, -0.02819656, 0.0021104647],
        y: &[0.52, -0.0078, -0.037, -0.38, 0.72, 0.71],
        ..NONE
    },
    Found {
        name: "a bank's regret where single precision leaves nothing of the distances",
        settings: &[
            ("anchor", "\"none\""),
            ("budget", "\"unlimited\""),
            ("kernel", "{\"matern52\": {\"gamma\": \"auto\"}}"),
            ("loss", "\"softmax\""),
            ("step", "\"pegasos:10\""),
            ("warmup", "4"),
        ],
        features: 5,
        x: &[
            1000001.1, 999999.1, 1000000.2, 1000000.7, 1000001.25, 1000001.2, 1000000.1, 1000002.06, 1000001.75, 999999.75,
            1000001.56, 999999.4, 1000001.5, 1000001.0, 1000001.0, 1000001.6, 999999.1, 999998.5, 999998.8, 999999.0, 1000002.75,
            1000000.1, 1000000.06, 1000000.44, 999999.25,
        ],
        labels: &[1, 2, 1, 3, 3],
        ..NONE
    },
    Found {
        name: "the regret counts that a class of larger weight is regularised more",
        settings: &[
            ("average", "\"exponential:0.2\""),
            ("budget", "\"transfer:1\""),
            ("class_weight", "\"balanced\""),
            (
                "kernel",
                "{\"sum\": [{\"rational_quadratic\": {\"gamma\": 0.5098984595065198, \"alpha\": 1.894095301751138}}, {\"matern32\": {\"gamma\": 0.46729399789030357}}]}",
            ),
            ("lambda", "0.05674941097861603"),
            ("loss", "\"hinge:0.3\""),
            ("shrink", "\"on_update\""),
            ("step", "\"constant:0.01683091310365479\""),
            ("warmup", "4"),
        ],
        x: &[700.0, 700.0, 700.0, 700.0, 700.0, 700.0, 700.0],
        labels: &[-2, -2, -2, -2, 3, -2, -2],
        ..NONE
    },
];
