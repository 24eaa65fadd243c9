//! The form in which a class is returned: the one in which it was first sent. A learner has one name for 1 and "1", and none for true.

use std::collections::BTreeMap;

use okl::Label;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rows::Target;

/// The form of a class that can be written as a number or as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Number,
    Text,
}

/// The forms of all classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forms {
    /// Whether classes are returned as truth values: the first class decides, and a class that is no truth value ends it.
    flags: Option<bool>,
    /// By the spelling of the class; classes that can be written in one way only are not here, nor are those of a model file.
    sent: BTreeMap<String, Form>,
}

impl Forms {
    /// Notes the forms of targets. `labels`: the names that the learner has for them; `open`: whether a row decides the form of this class.
    pub fn note(&mut self, targets: &[Target], labels: &[Label], open: impl Fn(&Label) -> bool) {
        for (target, label) in targets.iter().zip(labels) {
            let form = match target {
                Target::Missing => continue,
                Target::Flag(_) => None,
                Target::Number(_) => Some(Form::Number),
                Target::Text(_) => Some(Form::Text),
            };
            self.flags = match self.flags {
                None => Some(matches!(target, Target::Flag(_))),
                Some(flags) => Some(flags && is_truth(label)),
            };
            if let Some(form) = form.filter(|_| number(label).is_some() && open(label)) {
                self.sent.entry(label.to_string()).or_insert(form);
            }
        }
    }

    /// Whether an older copy is still complete: forms are only added.
    pub fn is_complete(&self, old: &Forms) -> bool {
        self.flags == old.flags && self.sent.len() == old.sent.len()
    }

    /// A class as JSON.
    pub fn json(&self, class: &Label) -> Value {
        if self.flags == Some(true) && is_truth(class) {
            return json!(*class == Label::from("true"));
        }
        match self.sent.get(&class.to_string()) {
            Some(Form::Text) => json!(class.to_string()),
            Some(Form::Number) => number(class).unwrap_or_else(|| json!(class)),
            None => json!(class),
        }
    }
}

fn is_truth(label: &Label) -> bool {
    matches!(label, Label::Text(text) if matches!(text.as_str(), "true" | "false"))
}

/// The number that has this spelling.
fn number(label: &Label) -> Option<Value> {
    match label {
        Label::Int(number) => Some(json!(number)),
        Label::Text(text) => match text.parse::<i64>() {
            Ok(whole) if whole.to_string() == *text => Some(json!(whole)),
            _ => {
                text.parse::<f64>().ok().filter(|value| value.is_finite() && value.to_string() == *text).map(|value| json!(value))
            }
        },
    }
}
