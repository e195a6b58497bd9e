//! Reads CSV as RFC 4180 has it, record by record, with the line of every error.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead};

#[derive(Debug)]
pub enum Error {
    Io(io::Error),
    UnclosedQuote { line: usize },
    TextAfterQuote { line: usize, column: usize },
    FieldCount { line: usize, expected: usize, found: usize },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => write!(f, "cannot read: {error}"),
            Error::UnclosedQuote { line } => write!(f, "line {line}: a quote is never closed"),
            Error::TextAfterQuote { line, column } => {
                write!(f, "line {line}, column {column}: text after a closing quote")
            }
            Error::FieldCount { line, expected, found } => {
                write!(f, "line {line}: {found} fields where {expected} were expected")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub delimiter: char,
    pub trim: bool,
    pub flexible: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { delimiter: ',', trim: false, flexible: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Start,
    Plain,
    Quoted,
    AfterQuote,
}

pub struct Reader<R> {
    input: R,
    options: Options,
    line: usize,
    fields: Option<usize>,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R) -> Self {
        Self::with_options(input, Options::default())
    }

    pub fn with_options(input: R, options: Options) -> Self {
        Reader { input, options, line: 0, fields: None }
    }

    /// The next record, or nothing at the end.
    pub fn read_record(&mut self) -> Result<Option<Vec<String>>, Error> {
        let mut record = Vec::new();
        let mut field = String::new();
        let mut state = State::Start;
        let first_line = self.line + 1;
        loop {
            let mut text = String::new();
            if self.input.read_line(&mut text)? == 0 {
                if state == State::Quoted {
                    return Err(Error::UnclosedQuote { line: first_line });
                }
                return Ok(None);
            }
            self.line += 1;
            let body = text.trim_end_matches(['\r', '\n']);
            if body.is_empty() && state == State::Start && record.is_empty() {
                continue;
            }
            for (column, character) in body.chars().enumerate() {
                state = self.step(state, character, column + 1, &mut field, &mut record)?;
            }
            if state == State::Quoted {
                field.push('\n');
                continue;
            }
            self.finish_field(&mut field, &mut record);
            return self.checked(record, first_line).map(Some);
        }
    }

    fn step(
        &self,
        state: State,
        character: char,
        column: usize,
        field: &mut String,
        record: &mut Vec<String>,
    ) -> Result<State, Error> {
        let next = match (state, character) {
            (State::Start, '"') => State::Quoted,
            (State::Quoted, '"') => State::AfterQuote,
            (State::Quoted, other) => {
                field.push(other);
                State::Quoted
            }
            (State::AfterQuote, '"') => {
                field.push('"');
                State::Quoted
            }
            (_, other) if other == self.options.delimiter => {
                self.finish_field(field, record);
                State::Start
            }
            (State::AfterQuote, _) => {
                return Err(Error::TextAfterQuote { line: self.line, column });
            }
            (_, other) => {
                field.push(other);
                State::Plain
            }
        };
        Ok(next)
    }

    fn finish_field(&self, field: &mut String, record: &mut Vec<String>) {
        let text = std::mem::take(field);
        if self.options.trim {
            record.push(text.trim().to_string());
        } else {
            record.push(text);
        }
    }

    fn checked(&mut self, record: Vec<String>, line: usize) -> Result<Vec<String>, Error> {
        let expected = *self.fields.get_or_insert(record.len());
        if !self.options.flexible && record.len() != expected {
            return Err(Error::FieldCount { line, expected, found: record.len() });
        }
        Ok(record)
    }

    /// Read the first record as names and every further one as a map.
    pub fn into_maps(mut self) -> Result<Vec<HashMap<String, String>>, Error> {
        let names = match self.read_record()? {
            Some(names) => names,
            None => return Ok(Vec::new()),
        };
        let mut maps = Vec::new();
        while let Some(record) = self.read_record()? {
            maps.push(names.iter().cloned().zip(record).collect());
        }
        Ok(maps)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Vec<String>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_record().transpose()
    }
}

/// A field as it must be written.
pub fn escape(field: &str, delimiter: char) -> String {
    let special = field.contains(['"', '\n', '\r']) || field.contains(delimiter);
    if special {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}

pub fn write_record(record: &[String], delimiter: char) -> String {
    let mut line = String::new();
    for (index, field) in record.iter().enumerate() {
        if index > 0 {
            line.push(delimiter);
        }
        line.push_str(&escape(field, delimiter));
    }
    line.push('\n');
    line
}
