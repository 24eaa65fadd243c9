//! Names in the options that no row has had so far. In a format with a header an unknown name is refused at once; JSON lines, LIBSVM and VW
//! text have no header, and a name that no row has is probably misspelt.

use okl::config::nearest;

use super::Options;
use crate::metrics::count;

/// The nearest name is suggested for names of at least this many bytes. Shorter names are all similar.
const LONG: usize = 3;

/// The option that gave a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Ignored,
    Chosen,
    Weight,
    /// The model took its weights from this key.
    InheritedWeight,
    Kept,
}

#[derive(Clone, Debug)]
struct Name {
    name: String,
    of: Use,
    met: bool,
}

/// The names, and what a row calls its cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    names: Vec<Name>,
    /// Whether cells have keys (JSON lines); otherwise they are features.
    pub are_keys: bool,
}

impl Asked {
    /// The names in these options. A second file has none: the first one may have had them.
    pub fn of(options: &Options, are_keys: bool) -> Self {
        let mut asked = Asked { names: Vec::new(), are_keys };
        if options.later_file {
            return asked;
        }
        let inherited = |name: &&String| !options.inherited.contains(name);
        let chosen: &[String] = if options.schema.is_none() { &options.features } else { &[] };
        options.ignore.iter().for_each(|name| asked.add(name, Use::Ignored));
        chosen.iter().for_each(|name| asked.add(name, Use::Chosen));
        options.weight.iter().filter(inherited).for_each(|name| asked.add(name, Use::Weight));
        if are_keys {
            options.keep.iter().for_each(|name| asked.add(name, Use::Kept));
        }
        asked
    }

    fn add(&mut self, name: &str, of: Use) {
        self.names.push(Name { name: name.into(), of, met: false });
    }

    /// Adds the key of the weights of the rows that a model has learned.
    pub fn add_inherited(&mut self, name: &str) {
        self.add(name, Use::InheritedWeight);
    }

    /// Whether there is no name, or the names have been checked.
    pub fn is_checked(&self) -> bool {
        self.names.is_empty()
    }

    /// The word for a cell in messages.
    pub fn what(&self) -> &'static str {
        if self.are_keys { "key" } else { "feature" }
    }

    /// A row has this name.
    pub fn meet(&mut self, name: &[u8]) {
        self.names.iter_mut().filter(|asked| asked.name.as_bytes() == name).for_each(|asked| asked.met = true);
    }

    /// Whether it is one of the names that no row has had.
    pub fn is_unmet(&self, name: &str) -> bool {
        self.names.iter().any(|asked| !asked.met && asked.name == name)
    }

    /// A sentence for each name that none of the first `rows` rows has. `there`: the names that they have, as a list and in words; `chosen`: whether
    /// they have features of this name.
    ///
    /// # Errors
    /// If `--features` has names, and the rows have none of them.
    pub fn sentences(
        &self,
        rows: u64,
        (names, there): (&[String], &str),
        chosen: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, String> {
        let there = |name: &str| match nearest(name, names.iter().map(String::as_str)).filter(|_| name.len() >= LONG) {
            Some(near) => format!("{there}; did you mean {near}?"),
            None => there.to_owned(),
        };
        let what = self.what();
        let none = match rows {
            1 => format!("the first row does not have the {what}"),
            rows => format!("none of the first {} rows has the {what}", count(rows as f64)),
        };
        let met = |asked: &Name| asked.met || (asked.of == Use::Chosen && chosen(&asked.name));
        let of_features = || self.names.iter().filter(|asked| asked.of == Use::Chosen);
        if let Some(first) = of_features().next().filter(|_| !of_features().any(met)) {
            return Err(format!("--features: {none} '{}'; {}", first.name, there(&first.name)));
        }
        let sentence = |asked: &Name| {
            let Name { name, of, met: had } = asked;
            let effect = match of {
                Use::InheritedWeight if *had => {
                    return Some(format!(
                        "weights are taken from the key '{name}', as when the model was learned; rows without it have the weight 1; \
                         --ignore {name} leaves it out"
                    ));
                }
                _ if met(asked) => return None,
                Use::Ignored => "--ignore left out nothing for it",
                Use::Chosen => "--features took nothing for it",
                Use::Weight => "they have the weight 1",
                Use::InheritedWeight => "from which the model took its weights: they have the weight 1",
                Use::Kept => "its texts are empty",
            };
            let between = if *of == Use::InheritedWeight { ", " } else { ": " };
            Some(format!("{none} '{name}'{between}{effect}; {}", there(name)))
        };
        Ok(self.names.iter().filter_map(sentence).collect())
    }
}
