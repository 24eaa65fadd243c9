//! Weights of classes: they are the weights of rows that the stream alone determines, and they find a rare class.

use crate::support::cases::Random;
use okl::{Batch, Config, Label, Learner};

const LEARNER: &str = "kernel = 'gaussian:0.4'\nstep = 'constant:0.3'\nlambda = 0\noffset = true\nbudget = 'window:50'";

/// Rows of `names.len()` classes, of which a later one is rarer; the first 20 rows are of the first class.
fn stream(names: &[&str], rows: usize) -> (Vec<f32>, Vec<Label>, Vec<f64>) {
    let mut random = Random(3);
    let x = (0..2 * rows).map(|_| (random.unit() * 2.0 - 1.0) as f32).collect();
    let class = |i: usize, random: &mut Random| (0..names.len() - 1).take_while(|_| i >= 20 && random.often(0.3)).count();
    let labels = (0..rows).map(|i| names[class(i, &mut random)].into()).collect();
    let given = (0..rows).map(|_| [0.0, 0.5, 1.0, 2.0][random.below(4)]).collect();
    (x, labels, given)
}

/// The weight of every row by the definition: n / (K n_c) over the rows so far, divided by the largest of these weights. While there is
/// one class, it is divided by the weight of a class with one example.
fn balanced(labels: &[Label], given: &[f64]) -> Vec<f64> {
    let weight = |i: usize| {
        let seen: Vec<&Label> = (0..=i).filter(|&j| given[j] > 0.0).map(|j| &labels[j]).collect();
        let count = |class: &Label| seen.iter().filter(|label| **label == class).count() as f64;
        let classes: std::collections::BTreeSet<&Label> = seen.iter().copied().collect();
        let of = |class: &Label| seen.len() as f64 / (classes.len() as f64 * count(class));
        let alone = if classes.len() == 1 { seen.len() as f64 } else { 0.0 };
        of(&labels[i]) / classes.iter().map(|class| of(class)).fold(alone, f64::max)
    };
    (0..labels.len()).map(|i| if given[i] > 0.0 { weight(i) } else { 1.0 }).collect()
}

struct Learned {
    scores: Vec<f64>,
    losses: Vec<Option<f64>>,
    learner: Learner,
}

fn learn(settings: &str, (x, labels): (&[f32], &[Label]), weights: &[f64], cut: usize) -> Learned {
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    let (mut scores, mut losses) = (Vec::new(), Vec::new());
    for first in (0..labels.len()).step_by(cut) {
        let rows = first..labels.len().min(first + cut);
        let batch = Batch::new(&x[2 * rows.start..2 * rows.end], 2).labels(&labels[rows.clone()]).weights(&weights[rows]);
        learner
            .learn_with(&batch, |_, step| {
                scores.push(step.scores[0]);
                losses.push(step.loss);
            })
            .unwrap();
        learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
    }
    Learned { scores, losses, learner }
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

/// Without a regulariser, learning with class weights is learning with the products of these weights and the given ones. The reported
/// losses do not contain the weights of the classes.
#[test]
fn class_weights_are_weights_of_rows() {
    for (loss, names) in
        [("hinge", &["m", "a"][..]), ("logistic", &["a", "m"]), ("max_margin", &["b", "c", "a"]), ("softmax", &["a", "b"])]
    {
        let (x, labels, given) = stream(names, 200);
        let table: Vec<f64> = labels.iter().map(|label| if *label == Label::from("a") { 0.5 / 4.0 } else { 1.0 }).collect();
        let tables = "class_weight = { a = 0.5, b = 4.0, c = 4.0, m = 4.0 }";
        for (setting, of_class) in [("class_weight = 'balanced'", balanced(&labels, &given)), (tables, table)] {
            let plain = format!("loss = '{loss}'\n{LEARNER}");
            let products: Vec<f64> = given.iter().zip(&of_class).map(|(a, b)| a * b).collect();
            let expected = learn(&plain, (&x, &labels), &products, 200);
            let found = learn(&format!("{plain}\n{setting}"), (&x, &labels), &given, 33);
            assert!(close(&found.scores, &expected.scores), "{loss}, {setting}");
            assert!(close(&found.learner.coefficients(), &expected.learner.coefficients()), "{loss}, {setting}");
            for (row, ((found, expected), weight)) in found.losses.iter().zip(&expected.losses).zip(&of_class).enumerate() {
                let apart = found.map(|loss| loss * weight).zip(*expected).map(|(a, b)| (a - b).abs());
                assert!(found.is_some() == expected.is_some() && apart.is_none_or(|d| d < 1e-9), "{loss}, row {row}");
            }
            let unweighted = learn(&plain, (&x, &labels), &given, 200);
            assert!(!close(&unweighted.scores, &expected.scores), "the weights matter: {loss}");
        }
    }
}

/// By hand: w = 2 after a row of weight 1; then the row of class b is shrunk by eta lambda / 4 in place of eta lambda, w = 2 (1 - 0.05)
/// = 1.9, and moves by eta / 4 times the gradient.
#[test]
fn class_weights_multiply_the_regulariser() {
    let settings = "loss = 'hinge:9'\nkernel = 'linear'\nstep = 'constant:0.5'\nlambda = 0.4\nform = 'weights'\nscale = 'none'";
    for (weights, expected) in [("", 2.0 * (1.0 - 0.2) - 0.5), ("class_weight = { a = 4.0 }", 1.9 - 0.125)] {
        let config = Config::from_toml(&format!("{settings}\nclasses = ['b', 'a']\n{weights}")).unwrap();
        let mut learner = Learner::new(config).unwrap();
        learner.learn(&Batch::new(&[4.0, 1.0], 1).labels(&["a".into(), "b".into()])).unwrap();
        assert!((learner.weights().unwrap()[0] - expected).abs() < 1e-12, "{:?} {expected}", learner.weights());
    }
}

/// Numbers -1 and +1 are the classes of these names.
#[test]
fn signs_are_classes() {
    let (x, labels, given) = stream(&["no", "yes"], 120);
    let y: Vec<f64> = labels.iter().map(|label| if *label == Label::from("no") { -1.0 } else { 1.0 }).collect();
    let scores = |setting: &str, numbers: bool| {
        let mut learner = Learner::new(Config::from_toml(&format!("loss = 'hinge'\n{LEARNER}\n{setting}")).unwrap()).unwrap();
        let batch = Batch::new(&x, 2).weights(&given);
        learner.learn(&if numbers { batch.numbers(&y) } else { batch.labels(&labels) }).unwrap();
        learner.predict(&Batch::new(&x, 2)).unwrap().values
    };
    assert_eq!(scores("class_weight = { '-1' = 0.2 }", true), scores("class_weight = { no = 0.2 }", false));
    assert_eq!(scores("class_weight = 'balanced'", true), scores("class_weight = 'balanced'", false));
    assert_ne!(scores("", true), scores("class_weight = 'balanced'", true));
}

/// One row in a thousand is of the rare class, which is shifted by 1.5 deviations in three of four columns: the best balanced rule
/// has a recall of 0.90 and false alarms of 0.10. Without weights nothing is found.
#[test]
fn a_rare_class_is_found() {
    let mut random = Random(1);
    let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let mut draw = |rows: usize, every: usize| -> (Vec<f32>, Vec<Label>) {
        let labels: Vec<Label> = (0..rows).map(|i| if i % every == every / 2 { "rare" } else { "common" }.into()).collect();
        let shift = |i: usize, column: usize| if i % every == every / 2 && column < 3 { 1.5 } else { 0.0 };
        ((0..4 * rows).map(|at| (normal() + shift(at / 4, at % 4)) as f32).collect(), labels)
    };
    let (x, labels) = draw(20_000, 1000);
    let (test, truth) = draw(2000, 2);
    let rates = |weights: &str| {
        let settings = format!("loss = 'logistic'\noffset = true\nbudget = 'merge:60'\n{weights}");
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        learner.learn(&Batch::new(&x, 4).labels(&labels)).unwrap();
        let scores = learner.predict(&Batch::new(&test, 4)).unwrap();
        let decided: Vec<&Label> = scores.iter().map(|z| &learner.classes()[learner.decide(z).unwrap()]).collect();
        let share = |class: &str| {
            let of: Vec<bool> =
                (0..truth.len()).filter(|&i| truth[i] == class.into()).map(|i| *decided[i] == "rare".into()).collect();
            of.iter().filter(|rare| **rare).count() as f64 / of.len() as f64
        };
        [share("rare"), share("common")]
    };
    let ([without, _], [recall, alarms]) = (rates(""), rates("class_weight = 'balanced'"));
    println!("recall {without} without weights, {recall} with balanced classes at {alarms} false alarms");
    assert!(without < 0.05 && recall > 0.4 && alarms < 0.1, "{without} {recall} {alarms}");
}

/// However targets are given, a table that names their classes has no absent class, and a name that is none of them is one.
#[test]
fn classes_that_examples_had_are_not_absent() {
    let (x, _, _) = stream(&["no", "yes"], 120);
    let signs: Vec<f64> = (0..120).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let named = |names: [Label; 2]| (0..120).map(|i| names[usize::from(i % 3 == 0)].clone()).collect::<Vec<Label>>();
    let absent = |setting: &str, targets: &dyn Fn(Batch<'_>, &mut Learner)| {
        let settings = format!("loss = 'hinge'\n{LEARNER}\nclass_weight = {setting}");
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        targets(Batch::new(&x, 2), &mut learner);
        let health = learner.health();
        let said = health.findings(|c| c.to_string()).iter().any(|line| line.contains("class_weight"));
        assert_eq!(said, !health.absent_classes.is_empty());
        health.absent_classes
    };
    let of_numbers = |batch: Batch<'_>, learner: &mut Learner| learner.learn(&batch.numbers(&signs)).map(drop).unwrap();
    for names in
        [[Label::Int(-1), Label::Int(1)], ["no".into(), "yes".into()], ["false".into(), "true".into()], [0.into(), 1.into()]]
    {
        let labels = named(names.clone());
        let of_labels = |batch: Batch<'_>, learner: &mut Learner| learner.learn(&batch.labels(&labels)).map(drop).unwrap();
        let [a, b] = [names[0].to_string(), names[1].to_string()];
        let tables = [format!("{{ '{a}' = 0.1 }}"), format!("{{ '{b}' = 2.0 }}"), format!("{{ '{a}' = 0.1, '{b}' = 1.0 }}")];
        for table in &tables {
            assert!(absent(table, &of_labels).is_empty(), "{table}");
            if names[0] == Label::Int(-1) {
                assert!(absent(table, &of_numbers).is_empty(), "{table}, numbers");
            }
        }
        assert_eq!(absent(&format!("{{ '{a}' = 0.1, other = 2.0 }}"), &of_labels), ["other"]);
    }
    assert_eq!(absent("{ '-1' = 0.1, '2' = 2.0 }", &of_numbers), ["2"]);
}
