//! Splits a command line into words as a POSIX shell does, expands variables and runs pipelines.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::process::{Child, Command, Stdio};

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Word(String),
    Pipe,
    And,
    Or,
    Background,
    RedirectOut { append: bool },
    RedirectIn,
}

#[derive(Debug, PartialEq)]
pub enum SyntaxError {
    UnclosedQuote(char),
    TrailingBackslash,
    UnexpectedToken(String),
    EmptyCommand,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyntaxError::UnclosedQuote(quote) => write!(f, "the quote {quote} is never closed"),
            SyntaxError::TrailingBackslash => write!(f, "a backslash stands at the end"),
            SyntaxError::UnexpectedToken(token) => write!(f, "unexpected {token}"),
            SyntaxError::EmptyCommand => write!(f, "a command is missing"),
        }
    }
}

impl std::error::Error for SyntaxError {}

pub struct Lexer<'a> {
    characters: std::iter::Peekable<std::str::Chars<'a>>,
    variables: &'a HashMap<String, String>,
}

impl<'a> Lexer<'a> {
    pub fn new(line: &'a str, variables: &'a HashMap<String, String>) -> Self {
        Lexer { characters: line.chars().peekable(), variables }
    }

    pub fn tokens(mut self) -> Result<Vec<Token>, SyntaxError> {
        let mut tokens = Vec::new();
        while let Some(&character) = self.characters.peek() {
            match character {
                ' ' | '\t' => {
                    self.characters.next();
                }
                '#' => break,
                '|' => {
                    self.characters.next();
                    tokens.push(if self.follows('|') { Token::Or } else { Token::Pipe });
                }
                '&' => {
                    self.characters.next();
                    tokens.push(if self.follows('&') { Token::And } else { Token::Background });
                }
                '>' => {
                    self.characters.next();
                    let append = self.follows('>');
                    tokens.push(Token::RedirectOut { append });
                }
                '<' => {
                    self.characters.next();
                    tokens.push(Token::RedirectIn);
                }
                _ => tokens.push(Token::Word(self.word()?)),
            }
        }
        Ok(tokens)
    }

    fn follows(&mut self, expected: char) -> bool {
        if self.characters.peek() == Some(&expected) {
            self.characters.next();
            return true;
        }
        false
    }

    fn word(&mut self) -> Result<String, SyntaxError> {
        let mut word = String::new();
        while let Some(&character) = self.characters.peek() {
            match character {
                ' ' | '\t' | '|' | '&' | '<' | '>' => break,
                '\'' => {
                    self.characters.next();
                    word.push_str(&self.single_quoted()?);
                }
                '"' => {
                    self.characters.next();
                    word.push_str(&self.double_quoted()?);
                }
                '\\' => {
                    self.characters.next();
                    word.push(self.characters.next().ok_or(SyntaxError::TrailingBackslash)?);
                }
                '$' => {
                    self.characters.next();
                    word.push_str(&self.variable());
                }
                other => {
                    self.characters.next();
                    word.push(other);
                }
            }
        }
        Ok(word)
    }

    fn single_quoted(&mut self) -> Result<String, SyntaxError> {
        let mut text = String::new();
        for character in self.characters.by_ref() {
            if character == '\'' {
                return Ok(text);
            }
            text.push(character);
        }
        Err(SyntaxError::UnclosedQuote('\''))
    }

    fn double_quoted(&mut self) -> Result<String, SyntaxError> {
        let mut text = String::new();
        while let Some(character) = self.characters.next() {
            match character {
                '"' => return Ok(text),
                '\\' => match self.characters.next() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => text.push(escaped),
                    Some(other) => {
                        text.push('\\');
                        text.push(other);
                    }
                    None => return Err(SyntaxError::TrailingBackslash),
                },
                '$' => text.push_str(&self.variable()),
                other => text.push(other),
            }
        }
        Err(SyntaxError::UnclosedQuote('"'))
    }

    fn variable(&mut self) -> String {
        let braced = self.follows('{');
        let mut name = String::new();
        while let Some(&character) = self.characters.peek() {
            if !(character.is_alphanumeric() || character == '_') {
                break;
            }
            name.push(character);
            self.characters.next();
        }
        if braced {
            self.follows('}');
        }
        if name.is_empty() {
            return "$".to_string();
        }
        self.variables.get(&name).cloned().unwrap_or_default()
    }
}

/// Commands of a pipeline, each a list of words.
pub fn pipeline(tokens: &[Token]) -> Result<Vec<Vec<String>>, SyntaxError> {
    let mut commands = vec![Vec::new()];
    for token in tokens {
        match token {
            Token::Word(word) => {
                if let Some(command) = commands.last_mut() {
                    command.push(word.clone());
                }
            }
            Token::Pipe => commands.push(Vec::new()),
            other => return Err(SyntaxError::UnexpectedToken(format!("{other:?}"))),
        }
    }
    if commands.iter().any(Vec::is_empty) {
        return Err(SyntaxError::EmptyCommand);
    }
    Ok(commands)
}

/// Start all commands with their streams joined, and wait for the last one.
pub fn run(commands: &[Vec<String>]) -> io::Result<i32> {
    let mut children: Vec<Child> = Vec::new();
    let mut input = Stdio::inherit();
    for (index, command) in commands.iter().enumerate() {
        let last = index + 1 == commands.len();
        let output = if last { Stdio::inherit() } else { Stdio::piped() };
        let mut child = Command::new(&command[0]).args(&command[1..]).stdin(input).stdout(output).spawn()?;
        input = match child.stdout.take() {
            Some(stdout) => Stdio::from(stdout),
            None => Stdio::null(),
        };
        children.push(child);
    }
    let mut code = 0;
    for child in &mut children {
        code = child.wait()?.code().unwrap_or(128);
    }
    Ok(code)
}
