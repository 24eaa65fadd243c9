//! What a server needs: batches that are checked, stored and then learned, and models that readers use while the writer learns.

use okl::{Batch, Config, ErrorKind, Label, Learner, Workspace};

fn learner(settings: &str) -> Learner {
    let common = "kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:20'\n";
    Learner::new(Config::from_toml(&format!("{common}{settings}")).unwrap()).unwrap()
}

fn labels(names: &[&str]) -> Vec<Label> {
    names.iter().map(|name| Label::from(*name)).collect()
}

const X: [f32; 4] = [0.0, 1.0, 2.0, 3.0];

/// The same calls of `learn`, in the same order.
fn expected(settings: &str, batches: &[&Batch<'_>]) -> Learner {
    let mut learner = learner(settings);
    batches.iter().for_each(|batch| drop(learner.learn(batch).unwrap()));
    learner
}

#[test]
fn a_checked_batch_is_learned_as_by_learn() {
    let batch = Batch::new(&X, 1).numbers(&[1.0, -1.0, 1.0, -1.0]);
    let (mut checked, mut plain) = (learner("loss = 'hinge'"), learner("loss = 'hinge'"));
    let waiting = checked.check(&batch).unwrap();
    assert_eq!((waiting.rows(), waiting.learned(), checked.examples(), checked.features()), (4, 0, 0, 0));
    assert_eq!(checked.learn_checked(waiting).unwrap(), plain.learn(&batch).unwrap());
    assert_eq!(checked.to_bytes(), plain.to_bytes());
}

/// Both batches name classes that nobody knows when they are checked; the second is learned as the classes then are.
#[test]
fn classes_that_are_named_in_between_count() {
    for loss in ["loss = 'max_margin'", "loss = 'hinge'"] {
        let (first, second) = (labels(&["b", "a"]), labels(&["a", "b"]));
        let (first, second) = (Batch::new(&X[..2], 1).labels(&first), Batch::new(&X[2..], 1).labels(&second));
        let mut learner = learner(loss);
        let waiting = [learner.check(&first).unwrap(), learner.check(&second).unwrap()];
        waiting.into_iter().for_each(|checked| drop(learner.learn_checked(checked).unwrap()));
        assert_eq!(learner.classes(), labels(&["b", "a"]), "{loss}");
        assert_eq!(learner.to_bytes(), expected(loss, &[&first, &second]).to_bytes(), "{loss}");
    }
}

#[test]
fn what_has_become_wrong_in_between_is_refused_and_changes_nothing() {
    let (two, third) = (labels(&["a", "b"]), labels(&["c"]));
    let mut learner = learner("loss = 'hinge'");
    let other = learner.check(&Batch::new(&X[..1], 1).labels(&third)).unwrap();
    learner.learn(&Batch::new(&X[..2], 1).labels(&two)).unwrap();
    let before = learner.to_bytes();
    let error = learner.learn_checked(other).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Target { row: 0, .. }), "{error}");
    assert_eq!(learner.to_bytes(), before);

    let narrow = learner.check(&Batch::new(&X[..1], 1).labels(&two[..1])).unwrap();
    learner.widen(2).unwrap();
    let before = learner.to_bytes();
    let error = learner.learn_checked(narrow).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{error}");
    assert_eq!(learner.to_bytes(), before);
}

/// The number of classes and features is the same in both learners, their order is not.
#[test]
fn a_batch_that_another_learner_has_checked_is_checked_again() {
    let (ab, ba, one) = (labels(&["a", "b"]), labels(&["b", "a"]), labels(&["a"]));
    let batch = Batch::new(&X[2..3], 1).labels(&one);
    let mut here = learner("loss = 'max_margin'");
    let mut there = here.clone();
    here.learn(&Batch::new(&X[..2], 1).labels(&ab)).unwrap();
    there.learn(&Batch::new(&X[..2], 1).labels(&ba)).unwrap();
    let mut plain = there.clone();
    let checked = here.check(&batch).unwrap();
    assert_eq!(there.learn_checked(checked).unwrap(), plain.learn(&batch).unwrap());
    assert_eq!(there.to_bytes(), plain.to_bytes());
}

#[test]
fn the_rows_of_a_batch_stay_together() {
    let x: Vec<f32> = (0..600).map(|i| (i % 7) as f32).collect();
    let y: Vec<f64> = (0..600).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let batch = Batch::new(&x, 1).numbers(&y);
    let mut whole = learner("loss = 'hinge'");
    let scores = whole.learn(&batch).unwrap();

    let mut learner = learner("loss = 'hinge'");
    let mut checked = learner.check(&batch).unwrap();
    assert!(learner.learn_next(&mut checked, |_, _| {}).unwrap());
    let learned = checked.learned();
    let mut other = learner.clone();
    // A row in between would make the rest of the batch another stream.
    other.learn(&Batch::new(&[1.0], 1).numbers(&[1.0])).unwrap();
    let before = other.to_bytes();
    assert!(other.learn_next(&mut checked, |_, _| {}).is_err());
    assert_eq!(other.to_bytes(), before);
    // The learner that learned the first rows goes on; rows that are only predicted change nothing.
    learner.learn(&Batch::new(&[1.0], 1)).unwrap();
    let rest = learner.learn_checked(checked).unwrap();
    assert_eq!(rest.values, scores.values[learned..]);
    assert_eq!(learner.to_bytes(), whole.to_bytes());
}

/// Four readers score the published model over and over while the writer replaces every term.
#[test]
fn readers_of_a_published_model_see_no_change() {
    let x: Vec<f32> = (0..2000).map(|i| ((i * 37) % 101) as f32 * 0.05).collect();
    let y: Vec<f64> = (0..2000).map(|i| if (i * 37) % 101 < 40 { 1.0 } else { -1.0 }).collect();
    let mut learner = learner("loss = 'hinge'");
    learner.learn(&Batch::new(&x[..200], 1).numbers(&y[..200])).unwrap();
    let (model, bytes) = (learner.publish(), learner.to_bytes());
    let expected = learner.predict(&Batch::new(&x, 1)).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let mut workspace = Workspace::default();
                (0..20).for_each(|_| assert_eq!(model.predict_with(&mut workspace, &Batch::new(&x, 1)).unwrap(), expected));
            });
        }
        (0..10).for_each(|_| drop(learner.learn(&Batch::new(&x, 1).numbers(&y)).unwrap()));
    });
    assert_eq!(model.to_bytes(), bytes);
    assert_ne!(learner.predict(&Batch::new(&x, 1)).unwrap(), expected);
    // What is published is a learner: a copy of it learns on as the writer did.
    let mut again = Learner::clone(&model);
    (0..10).for_each(|_| drop(again.learn(&Batch::new(&x, 1).numbers(&y)).unwrap()));
    assert_eq!(again.to_bytes(), learner.to_bytes());
}
