//! Adds one cell to its row: a number is the value of a feature, a text is a level of a column. The first good row decides
//! which of the two a column has.

use super::builder::Builder;
use super::chunk::LARGEST;
use super::columns::{Column, Columns, MOST_FEATURES, MOST_LEVELS, Role};
use super::error::{self, Parsed};
use super::hash::hash_feature;
use super::number::{DECIMAL_COMMA, Value, has_decimal_comma, is_date, letters, of_number, shown};
use super::plan::typed;
use super::schema::{Feature, Features, Part};
use super::time::Moment;
use super::words::words;

/// The advice about a column of dates or times.
pub(super) fn of_time(name: &str) -> String {
    let name = typed(name);
    format!("say --time {name}, or leave it out with --ignore {name}")
}

/// The advice about a column with this text, a date or time.
pub(super) fn of_date(name: &str, text: &[u8]) -> String {
    match Moment::parse(text) {
        Some(_) => of_time(name),
        None => format!("write it as 2024-01-31 or 2024-01-31T08:15:00 (ISO 8601) and {}", of_time(name)),
    }
}

impl Columns {
    /// Adds one cell to the current row, according to the role of its column.
    pub fn cell(&mut self, column: u32, value: Value<'_>, raw: &[u8], out: &mut Builder) -> Parsed {
        if let Column { keep: Some(at), name, .. } = &self.list[column as usize] {
            out.keep(*at, raw, name)?;
        }
        match self.list[column as usize].role {
            _ if self.only_kept => Ok(()),
            Role::Ignored => Ok(()),
            Role::Target(_) if self.number_targets && matches!(value, Value::Text(_) | Value::Bool(_)) => {
                let found = if let Value::Text(text) = value { shown(text) } else { shown(raw) };
                Err(error::cell(&self.list[column as usize].name, format!("found {found}, expected a number")))
            }
            Role::Target(t) => out.target(t, value, raw, &self.list[column as usize].name),
            Role::Weight => out.weight(value, &self.list[column as usize].name),
            Role::Id => out.id(raw, &self.list[column as usize].name),
            Role::Number(f) => self.number(column, f, value, raw, out),
            Role::Category(c) => self.category(column, c, value, raw, out),
            Role::Log(at) => self.log(column, at, value, raw, out),
            Role::Time(at) => self.time(column, at, value, out),
            Role::Words(c) => self.words(column, c, value, raw, out),
            Role::Undecided => self.decide(column, value, raw, out),
        }
    }

    fn number(&mut self, column: u32, feature: u32, value: Value<'_>, raw: &[u8], out: &mut Builder) -> Parsed {
        let number = match value {
            Value::Number(v) => v,
            Value::Int(v) => v as f64,
            Value::Bool(v) => f64::from(u8::from(v)),
            Value::Missing => return self.absent(column, Some(feature), out),
            Value::Text(text) => return Err(self.text_refused(column, text, false)),
        };
        if number.abs() <= LARGEST {
            out.put(feature, number);
            return Ok(());
        }
        Err(self.too_large(column, number, raw))
    }

    /// `raw` is the text of the number, where there is one: a number beyond 1.8e308 is read as infinite.
    pub fn too_large(&self, column: u32, number: f64, raw: &[u8]) -> Box<error::Fault> {
        let Column { name, moments, .. } = &self.list[column as usize];
        if let Some(moments) = moments {
            let text = format!("found {number:e}, expected a number below 1e15; the column has {moments}: {}", of_time(name));
            return error::stop(name, text);
        }
        let digits = raw.iter().any(u8::is_ascii_digit);
        let what = if number.is_finite() || digits { "a number below 1e15; rescale this column" } else { "a finite number" };
        let found = if digits && !number.is_finite() { shown(raw.trim_ascii()) } else { format!("{number:e}") };
        error::cell(name, format!("found {found}, expected {what}"))
    }

    /// Adds a cell without a value: an error, or a cell that is filled later. A text that is missing is none of its levels.
    pub fn absent(&mut self, column: u32, feature: Option<u32>, out: &mut Builder) -> Parsed {
        if self.schema.missing.is_refused() {
            return Err(self.missing(column));
        }
        // A hashed column may have the value of another feature; a missing one adds nothing to it.
        feature.filter(|_| self.schema.hash_bits().is_none()).into_iter().for_each(|feature| out.missing(feature));
        let known = self.list[column as usize].indicator;
        if self.schema.missing.indicator && (known.is_some() || !self.only_columns) {
            let indicator = match known {
                Some(known) => known,
                None => self.add_feature(column, None, Some(Part::Missing))?,
            };
            self.list[column as usize].indicator = Some(indicator);
            out.put(indicator, 1.0);
        }
        Ok(())
    }

    pub fn missing(&self, column: u32) -> Box<error::Fault> {
        let name = &self.list[column as usize].name;
        match name.split_once('.') {
            Some((whole, _)) if self.schema.open => error::cell(
                name,
                format!(
                    "the value is missing; fill it in, say --missing mean, or leave all of '{whole}' out with --ignore {whole}"
                ),
            ),
            _ => error::cell(name, "the value is missing; fill it in, or learn with --missing mean, zero or last"),
        }
    }

    /// `first`: whether no earlier row has a value of the column.
    fn text_refused(&self, column: u32, text: &[u8], first: bool) -> Box<error::Fault> {
        let name = &self.list[column as usize].name;
        let alone = self.of_numbers.contains(&column);
        let what = if has_decimal_comma(text) {
            DECIMAL_COMMA.into()
        } else if let Some(why) = of_number(text) {
            format!("{why}{}", if self.started() || alone { "" } else { self.first_row() })
        } else if self.started() && is_date(text) {
            "a date or time, expected a number; correct it".into()
        } else if self.started() && first {
            let name = typed(name);
            format!("expected a number; no earlier row has a value here; use --ignore {name}, or --one-hot {name} --missing zero")
        } else if self.started() {
            let or =
                self.with_one_hot(name).map_or(String::new(), |flag| format!(", or if the column has categories use {flag}"));
            format!("expected a number, as in earlier rows; correct it{or}")
        } else if alone {
            "expected a number, as in most of the next rows; correct it".into()
        } else if is_date(text) {
            format!("a date or time, expected a number; {}{}", of_date(name, text), self.first_row())
        } else {
            let name = typed(name);
            format!("expected a number; use --one-hot {name}, --text {name} or --ignore {name}{}", self.first_row())
        };
        let text = format!("found {}, {what}", shown(text));
        if self.started() || alone { error::cell(name, text) } else { error::stop(name, text) }
    }

    /// Why --on-bad-row skip does not leave out the first row, and what does.
    fn first_row(&self) -> &'static str {
        match self.skips {
            true => {
                "; if other rows have a number here, delete this row: the first row says what a column has, so --on-bad-row skip does not leave it out"
            }
            false => "",
        }
    }

    fn decide(&mut self, column: u32, value: Value<'_>, raw: &[u8], out: &mut Builder) -> Parsed {
        match value {
            Value::Missing => self.absent(column, None, out),
            Value::Text(text) if !self.schema.one_hot => Err(self.text_refused(column, text, true)),
            Value::Text(_) => {
                self.list[column as usize].role = self.new_table(Role::Category);
                self.cell(column, value, raw, out)
            }
            _ => {
                self.make_number(column)?;
                self.cell(column, value, raw, out)
            }
        }
    }

    /// Makes a column of numbers the next feature.
    pub fn make_number(&mut self, column: u32) -> Parsed {
        let feature = self.add_feature(column, None, None)?;
        self.list[column as usize].role = Role::Number(feature);
        Ok(())
    }

    fn category(&mut self, column: u32, category: u32, value: Value<'_>, raw: &[u8], out: &mut Builder) -> Parsed {
        if value == Value::Missing {
            return self.absent(column, None, out);
        }
        if let Some(feature) = self.categories[category as usize].get(raw) {
            out.put(*feature, 1.0);
            return Ok(());
        }
        if self.categories[category as usize].len() >= MOST_LEVELS && self.schema.hash_bits().is_none() {
            let name = &self.list[column as usize].name;
            return Err(error::stop(
                name,
                format!(
                    "more than {MOST_LEVELS} different texts; use --ignore {name}, or --id {name} if it is an id, or --hash-bits 18"
                ),
            ));
        }
        let level = letters(raw, &self.list[column as usize].name)?;
        if self.only_columns {
            return Ok(());
        }
        let feature = self.add_level_feature(column, category, level, None)?;
        out.put(feature, 1.0);
        Ok(())
    }

    /// The feature of a new level of a column. Hashed features need no table.
    fn add_level_feature(&mut self, column: u32, table: u32, level: &str, part: Option<Part>) -> Parsed<u32> {
        let feature = self.add_feature(column, Some(level.into()), part)?;
        if self.schema.hash_bits().is_none() {
            self.categories[table as usize].insert(level.as_bytes().into(), feature);
        }
        Ok(feature)
    }

    /// Adds the words of a text, each as often as it occurs. An empty text has none.
    fn words(&mut self, column: u32, table: u32, value: Value<'_>, raw: &[u8], out: &mut Builder) -> Parsed {
        if value == Value::Missing {
            return Ok(());
        }
        let text = letters(raw, &self.list[column as usize].name)?;
        words(text, self.schema.ngrams, |word| {
            let known = self.categories[table as usize].get(word.as_bytes()).copied();
            let feature = match known {
                Some(feature) => feature,
                None if self.only_columns => return Ok(()),
                None => self.add_level_feature(column, table, word, Some(Part::Word))?,
            };
            out.put(feature, 1.0);
            Ok(())
        })
    }

    /// Adds the logarithm of 1 + |x| with the sign of x: it is defined everywhere and keeps 0.
    fn log(&mut self, column: u32, known: Option<u32>, value: Value<'_>, raw: &[u8], out: &mut Builder) -> Parsed {
        let feature = match known {
            Some(feature) => feature,
            None => self.add_feature(column, None, Some(Part::Log))?,
        };
        self.list[column as usize].role = Role::Log(Some(feature));
        let log = |x: f64| Value::Number(if x.is_finite() { libm::log1p(x.abs()).copysign(x) } else { x });
        let value = match value {
            Value::Number(x) => log(x),
            Value::Int(x) => log(x as f64),
            other => other,
        };
        self.number(column, feature, value, raw, out)
    }

    /// Adds the features of a time. The first time of the data is where elapsed time begins.
    fn time(&mut self, column: u32, known: Option<u32>, value: Value<'_>, out: &mut Builder) -> Parsed {
        let unit = self.list[column as usize].unit;
        let number = |number: f64| match unit {
            Some(unit) => Some(Moment::of_milliseconds(number * unit)),
            None => Moment::of_number(number),
        };
        let (moment, found) = match value {
            Value::Missing => return self.absent(column, None, out),
            Value::Text(text) => (Moment::parse(text), shown(text)),
            Value::Number(v) => (number(v), v.to_string()),
            Value::Int(v) => (number(v as f64), v.to_string()),
            Value::Bool(v) => (None, v.to_string()),
        };
        let Some(moment) = moment else {
            let what = "expected a time such as 2024-01-31T08:15:00Z, or seconds (from 1e8) or milliseconds (from 1e11) since 1970: write the column so";
            return Err(error::cell(&self.list[column as usize].name, format!("found {found}, {what}")));
        };
        let first = match known {
            Some(first) => first,
            None => {
                let first = self.features() as u32;
                for part in Part::of_time(moment.utc) {
                    self.add_feature(column, None, Some(part))?;
                }
                self.list[column as usize].role = Role::Time(Some(first));
                first
            }
        };
        let origin = self.origin(first).unwrap_or(moment.utc);
        (first..).zip(moment.features(origin)).for_each(|(feature, value)| out.put(feature, value));
        Ok(())
    }

    /// Where the elapsed time of a column begins; `first` is the first of its features.
    fn origin(&self, first: u32) -> Option<i64> {
        let Features::Named(list) = &self.schema.features else { return None };
        match list.get(first as usize)?.part {
            Some(Part::Elapsed(origin)) => Some(origin),
            _ => None,
        }
    }

    fn add_feature(&mut self, column: u32, level: Option<String>, part: Option<Part>) -> Parsed<u32> {
        let Column { name, required, .. } = &self.list[column as usize];
        if let Some(bits) = self.schema.hash_bits() {
            let feature = Feature { column: name.clone(), level, optional: true, part };
            return Ok(match &feature.level {
                Some(level) => hash_feature(name.as_bytes(), level.as_bytes(), bits),
                None => hash_feature(b"", feature.name().as_bytes(), bits),
            });
        }
        let at = self.schema.len();
        if at >= MOST_FEATURES {
            return Err(error::stop(
                name,
                format!("more than {MOST_FEATURES} features; choose some with --features, or hash them with --hash-bits 20"),
            ));
        }
        if let Features::Named(list) = &mut self.schema.features {
            list.push(Feature { column: name.clone(), level, optional: !required, part });
        }
        Ok(at as u32)
    }
}
