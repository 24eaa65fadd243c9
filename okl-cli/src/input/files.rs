//! Several input files as one stream of rows. Every file has its own header; line numbers continue from file to file.

use super::{Chunk, Format, InputError, Options, Reader, Schema};
use crate::input::error::Trouble;

/// The rows of several files, chunk by chunk.
pub struct Files {
    reader: Reader,
    /// The files that are not open yet, in reverse order.
    rest: Vec<String>,
    options: Options,
    /// The number of the current file, from 0, and the total number of lines of the files before it.
    file: usize,
    before: u64,
}

impl From<Reader> for Files {
    fn from(reader: Reader) -> Files {
        Files { reader, rest: Vec::new(), options: Options::default(), file: 0, before: 0 }
    }
}

impl Files {
    /// Opens the first file; each other file is opened after the end of the one before.
    ///
    /// # Errors
    /// Those of [`Reader::open`]; and if a file does not exist or `paths` is empty.
    pub fn open(paths: &[String], options: Options) -> Result<Files, InputError> {
        let Some((first, rest)) = paths.split_first() else {
            return Err(InputError::new(Trouble::Usage, "no file", "there is nothing to read"));
        };
        for path in rest.iter().filter(|path| *path != "-") {
            std::fs::metadata(path).map_err(|e| InputError::io(path, &e))?;
        }
        let reader = Reader::open(first, options.clone())?;
        // The other files are read as the first one is.
        let has = |name: &String| !reader.absent().contains(name);
        let (id, weight) = (options.id.clone().filter(has), options.weight.clone().filter(has));
        let options = Options { id, weight, inherited: Vec::new(), later_file: true, ..options };
        Ok(Files { reader, rest: rest.iter().rev().cloned().collect(), options, file: 0, before: 0 })
    }

    /// The next rows, or nothing after the last file.
    ///
    /// # Errors
    /// Those of the files, with the line of the file.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Chunk>, InputError> {
        loop {
            if let Some(mut chunk) = self.reader.next()? {
                (chunk.file, chunk.before) = (self.file, self.before);
                chunk.lines.iter_mut().for_each(|line| *line += self.before);
                chunk.bad.iter_mut().for_each(|bad| bad.line += self.before);
                return Ok(Some(chunk));
            }
            let Some(path) = self.rest.pop() else { return self.reader.check_all_consumed(self.before).map(|()| None) };
            self.before += self.reader.lines();
            self.file += 1;
            let options = Options {
                schema: Some(self.reader.schema().clone()),
                after_line: self.options.after_line.saturating_sub(self.before),
                consumed: self.reader.unchecked(),
                print: self.reader.print(),
                ..self.options.clone()
            };
            self.reader = Reader::open(&path, options)?;
        }
    }

    /// The columns so far.
    pub fn schema(&self) -> &Schema {
        self.reader.schema()
    }

    /// The format of the current file.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// The name of the current file.
    pub fn file(&self) -> &str {
        self.reader.file()
    }
}
