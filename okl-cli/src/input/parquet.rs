//! Parquet: flat columns of numbers, truth values and text, row group by row group, some rows at a time.
//!
//! The columns are read with the format's own column readers: no intermediate table, and no second data model.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescriptor;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::builder::Builder;
use super::cells::of_time;
use super::columns::{Columns, Role};
use super::error::{InputError, Parsed, Trouble};
use super::number::{Value, decimal};
use super::plan::assign;
use super::{Options, error, time};

/// Rows that are decoded at a time.
const BATCH: usize = 1024;

pub(super) struct Table {
    reader: SerializedFileReader<File>,
    /// For each column that is read: its index in the file and in [`Columns`].
    plan: Vec<(usize, u32)>,
    /// For each of them: how its times are written.
    clocks: Vec<Option<Clock>>,
    /// How many of them, the first ones, are in the fingerprint: all but those that are only passed through.
    printed: usize,
    group: usize,
    readers: Vec<ColumnReader>,
    batch: Vec<Cells>,
    rows: usize,
    /// The next row of the batch.
    at: usize,
    /// The row of the file that was taken last, from 1.
    row: u64,
}

/// Some rows of a column.
#[derive(Default)]
struct Cells {
    present: Vec<bool>,
    numbers: Vec<f64>,
    texts: Vec<ByteArray>,
    /// Exact integers, for ids.
    wholes: Vec<i64>,
    truth: bool,
}

impl Table {
    pub fn open(file: &str, options: &Options, columns: &mut Columns) -> Result<Table, InputError> {
        let opened = File::open(file).map_err(|e| InputError::io(file, &e))?;
        let reader = guarded(|| SerializedFileReader::new(opened)).map_err(|e| damaged(file, &e))?;
        let names: Vec<String> =
            reader.metadata().file_metadata().schema_descr().columns().iter().map(|c| c.path().string()).collect();
        let plan = assign(&names, options, columns).map_err(|text| InputError::new(Trouble::Usage, file, text))?;
        let is_ignored = |c: u32| columns.list[c as usize].role == Role::Ignored;
        let (kept, used): (Vec<_>, Vec<_>) = plan.into_iter().enumerate().partition(|(_, c)| is_ignored(*c));
        let printed = used.len();
        let kept = kept.into_iter().filter(|(_, c)| columns.list[*c as usize].keep.is_some());
        let plan: Vec<(usize, u32)> = used.into_iter().chain(kept).collect();
        let mut clocks = Vec::new();
        for (at, place) in &plan {
            let column = reader.metadata().file_metadata().schema_descr().column(*at);
            readable(&column).map_err(|fault| InputError::at(file, 0, *fault))?;
            let described = &mut columns.list[*place as usize];
            (described.moments, described.unit) = (moments(&column), unit(&column));
            let number = matches!(described.role, Role::Number(_) | Role::Undecided);
            if let Some(moments) = described.moments.filter(|_| number && options.schema.is_none()) {
                let text = format!("the column has {moments}, expected numbers; {}", of_time(&described.name));
                return Err(InputError::at(file, 0, *error::stop(&described.name, text)));
            }
            clocks.push(clock(&column));
        }
        Ok(Table { reader, plan, clocks, printed, group: 0, readers: Vec::new(), batch: Vec::new(), rows: 0, at: 0, row: 0 })
    }

    pub fn advance(&mut self, file: &str) -> Result<Option<u64>, InputError> {
        while self.at == self.rows {
            if !guarded(|| self.fill()).map_err(|e| damaged(file, &e))? {
                return Ok(None);
            }
        }
        self.at += 1;
        self.row += 1;
        Ok(Some(self.row))
    }

    /// Rows that have been taken.
    pub fn read(&self) -> u64 {
        self.row
    }

    /// The fingerprint of all rows up to this one: a hash of the fingerprint before it and of the row's values.
    pub fn print(&self, before: u64) -> u64 {
        let row = self.at - 1;
        self.batch[..self.printed].iter().fold(before, |print, cells| match cells.value(row) {
            Value::Missing => xxh3_64_with_seed(b"", print),
            Value::Text(text) => xxh3_64_with_seed(text, print),
            _ => xxh3_64_with_seed(&cells.numbers[row].to_bits().to_le_bytes(), print),
        })
    }

    pub fn again(&mut self) {
        self.at -= 1;
        self.row -= 1;
    }

    pub fn parse(&mut self, columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        out.begin(columns.features());
        let row = self.at - 1;
        for (((_, column), cells), clock) in self.plan.iter().zip(&self.batch).zip(&self.clocks) {
            let value = cells.value(row);
            if let Value::Text(text) = value {
                columns.cell(*column, value, text, out)?;
                continue;
            }
            let raw = match columns.list[*column as usize].role {
                Role::Target(_) => cells.shown(row, decimal),
                role if columns.list[*column as usize].keep.is_some() && role != Role::Id => match (clock, cells.wholes.get(row))
                {
                    (Some(clock), Some(whole)) if cells.present[row] => clock.text(*whole),
                    _ => cells.shown(row, |number| number.to_string()),
                },
                _ if columns.list[*column as usize].keep.is_some() => cells.shown(row, |number| number.to_string()),
                Role::Id | Role::Category(_) | Role::Words(_) => cells.shown(row, |number| number.to_string()),
                Role::Ignored | Role::Undecided | Role::Number(_) | Role::Time(_) | Role::Log(_) | Role::Weight => String::new(),
            };
            columns.cell(*column, value, raw.as_bytes(), out)?;
        }
        Ok(true)
    }

    /// Decodes the next rows; `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        if !self.readers.is_empty() {
            self.read_batch()?;
            if self.rows > 0 {
                return Ok(true);
            }
        }
        if self.group == self.reader.num_row_groups() {
            return Ok(false);
        }
        let group = self.reader.get_row_group(self.group)?;
        self.readers = self.plan.iter().map(|(at, _)| group.get_column_reader(*at)).collect::<Result<_, _>>()?;
        self.group += 1;
        Ok(true)
    }

    fn read_batch(&mut self) -> Result<(), ParquetError> {
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        let decode = |(reader, (at, _)): (&mut ColumnReader, &(usize, u32))| Cells::decode(reader, &schema.column(*at));
        self.batch = self.readers.iter_mut().zip(&self.plan).map(decode).collect::<Result<_, _>>()?;
        let lengths = || self.batch.iter().map(|c| c.present.len());
        (self.rows, self.at) = (lengths().next().unwrap_or(0), 0);
        if lengths().any(|n| n != self.rows) {
            return Err(ParquetError::General("columns of different lengths".into()));
        }
        Ok(())
    }
}

impl Cells {
    fn decode(reader: &mut ColumnReader, column: &ColumnDescriptor) -> Result<Cells, ParquetError> {
        let scale = scale(column);
        let unsigned = matches!(
            column.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        );
        let mut cells = Cells::default();
        match reader {
            ColumnReader::BoolColumnReader(r) => {
                cells.truth = true;
                cells.numbers = cells.read(r, |v| f64::from(u8::from(v)))?;
            }
            ColumnReader::Int32ColumnReader(r) if unsigned => cells.whole(r, |v| i64::from(v as u32), scale)?,
            ColumnReader::Int32ColumnReader(r) => cells.whole(r, i64::from, scale)?,
            ColumnReader::Int64ColumnReader(r) => cells.whole(r, |v| v, scale)?,
            ColumnReader::FloatColumnReader(r) => cells.numbers = cells.read(r, f64::from)?,
            ColumnReader::DoubleColumnReader(r) => cells.numbers = cells.read(r, |v| v)?,
            ColumnReader::ByteArrayColumnReader(r) => cells.texts = cells.read(r, |v| v)?,
            _ => return Err(ParquetError::General("a column type that is not read".into())),
        }
        Ok(cells)
    }

    fn whole<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        whole: impl Fn(T::T) -> i64,
        scale: f64,
    ) -> Result<(), ParquetError> {
        self.wholes = self.read(reader, whole)?;
        self.numbers = self.wholes.iter().map(|v| *v as f64 / scale).collect();
        if scale != 1.0 {
            self.wholes.clear();
        }
        Ok(())
    }

    /// The next values, with a default for missing ones.
    fn read<T: DataType, V: Default>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        map: impl Fn(T::T) -> V,
    ) -> Result<Vec<V>, ParquetError> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (records, _, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        self.present = if levels.is_empty() { vec![true; records] } else { levels.iter().map(|l| *l > 0).collect() };
        let mut values = values.into_iter().map(map);
        Ok(self.present.iter().map(|there| if *there { values.next().unwrap_or_default() } else { V::default() }).collect())
    }

    fn value(&self, row: usize) -> Value<'_> {
        match (self.texts.get(row), self.numbers.get(row)) {
            _ if !self.present[row] => Value::Missing,
            (Some(text), _) if text.data().is_empty() => Value::Missing,
            (Some(text), _) => Value::Text(text.data()),
            (_, Some(v)) if self.truth => Value::Bool(*v != 0.0),
            (_, Some(v)) if v.is_nan() => Value::Missing,
            (_, Some(v)) => Value::Number(*v),
            _ => Value::Missing,
        }
    }

    /// The text of a value that is not text; `number` writes numbers that are not stored as integers.
    fn shown(&self, row: usize, number: fn(f64) -> String) -> String {
        match self.value(row) {
            Value::Bool(v) => v.to_string(),
            Value::Number(v) => self.wholes.get(row).map_or_else(|| number(v), i64::to_string),
            _ => String::new(),
        }
    }
}

/// The divisor of a decimal column, whose values are stored as whole numbers; 1 for other columns.
fn scale(column: &ColumnDescriptor) -> f64 {
    let decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
        || column.converted_type() == ConvertedType::DECIMAL;
    if decimal { 10f64.powi(column.type_scale()) } else { 1.0 }
}

/// What the whole numbers of the column are, if they are points in time.
fn moments(column: &ColumnDescriptor) -> Option<&'static str> {
    match clock(column)? {
        Clock { second: 0, .. } => Some("dates"),
        Clock { second: 1_000, .. } => Some("timestamps, in milliseconds since 1970"),
        Clock { second: 1_000_000, .. } => Some("timestamps, in microseconds since 1970"),
        Clock { .. } => Some("timestamps, in nanoseconds since 1970"),
    }
}

/// How the points in time of a column are stored.
#[derive(Clone, Copy)]
struct Clock {
    /// The units of a second; 0 for dates, which are days.
    second: i64,
    /// Whether the times are those of universal time.
    utc: bool,
}

impl Clock {
    /// The point in time as ISO 8601.
    fn text(self, whole: i64) -> String {
        if self.second == 0 {
            return time::date(whole);
        }
        let (seconds, rest) = (whole.div_euclid(self.second), whole.rem_euclid(self.second));
        let (day, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let digits = self.second.ilog10() as usize;
        let fraction = if rest == 0 { String::new() } else { format!(".{rest:0digits$}") };
        let zone = if self.utc { "Z" } else { "" };
        format!("{}T{:02}:{:02}:{:02}{fraction}{zone}", time::date(day), clock / 3600, clock / 60 % 60, clock % 60)
    }
}

/// How the points in time of a column are stored, if it has any.
fn clock(column: &ColumnDescriptor) -> Option<Clock> {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Timestamp(time)), _) => {
            let second = match time.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            };
            Some(Clock { second, utc: time.is_adjusted_to_u_t_c })
        }
        (_, ConvertedType::TIMESTAMP_MILLIS) => Some(Clock { second: 1_000, utc: true }),
        (_, ConvertedType::TIMESTAMP_MICROS) => Some(Clock { second: 1_000_000, utc: true }),
        (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Some(Clock { second: 0, utc: false }),
        _ => None,
    }
}

/// Milliseconds per unit of a column of times or dates.
fn unit(column: &ColumnDescriptor) -> Option<f64> {
    match clock(column)?.second {
        0 => Some(time::DAY as f64),
        1_000 => Some(1.0),
        1_000_000 => Some(1e-3),
        _ => Some(1e-6),
    }
}

fn readable(column: &ColumnDescriptor) -> Parsed {
    let name = column.path().string();
    if column.max_rep_level() > 0 || column.max_def_level() > 1 {
        return Err(error::stop(&name, format!("nested or repeated values are not read; use --ignore {name} or flatten it")));
    }
    match column.physical_type() {
        Type::INT96 => Err(error::stop(&name, format!("timestamps (INT96) are not read; {}", of_time(&name)))),
        Type::FIXED_LEN_BYTE_ARRAY => {
            Err(error::stop(&name, format!("{} is not read; use --ignore {name} or write it as DOUBLE", column.physical_type())))
        }
        _ => Ok(()),
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// The parquet crate panics on some damaged files. Turns such a panic into an error, without a panic message on the terminal.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info)
            }
        }));
    });
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    result.unwrap_or_else(|_| Err(ParquetError::General("the file is damaged: its parts are inconsistent".into())))
}

fn damaged(file: &str, error: &ParquetError) -> InputError {
    InputError::new(Trouble::Data, file, format!("not a Parquet file that can be read: {error}"))
}
