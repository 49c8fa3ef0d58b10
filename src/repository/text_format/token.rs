//! Splits a text into tokens: names, numbers, strings and signs, each with its line.

use super::{TextFault, quoted};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, or a word such as `true`.
    Name(String),
    /// A number as written, without its sign.
    Number(String),
    /// A string with its escapes resolved.
    Text(String),
    /// A sign: one of `{}[]<>:,;-`.
    Sign(char),
}

impl Token {
    /// Returns it for errors, cut if it is long.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Name(text) | Token::Number(text) => format!("`{}`", quoted(text)),
            Token::Text(text) => format!("\"{}\"", quoted(text)),
            Token::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// A reader of tokens.
pub(super) struct Tokens<'t> {
    rest: std::str::Chars<'t>,
    line: usize,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Tokens {
            rest: text.chars(),
            line: 1,
        }
    }

    /// Returns the next token with its line, or `None` with the last line at the end.
    pub(super) fn next(&mut self) -> Result<(Option<Token>, usize), TextFault> {
        self.skip_blank();
        let line = self.line;
        let Some(first) = self.peek() else {
            return Ok((None, line));
        };
        let token = match first {
            '"' | '\'' => {
                self.advance();
                Token::Text(self.string(first)?)
            }
            '{' | '}' | '[' | ']' | '<' | '>' | ':' | ',' | ';' | '-' => {
                self.advance();
                Token::Sign(first)
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                Token::Name(self.taken(|c| c.is_ascii_alphanumeric() || c == '_'))
            }
            '0'..='9' | '.' => Token::Number(self.number()),
            other => {
                let found = other.escape_debug();
                return Err(self.wrong(format!("expected a field, found `{found}`")));
            }
        };
        Ok((Some(token), line))
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn advance(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn wrong(&self, message: String) -> TextFault {
        TextFault {
            line: self.line,
            message,
        }
    }

    /// Skips spaces, and comments up to the end of their line.
    fn skip_blank(&mut self) {
        while let Some(next) = self.peek() {
            match next {
                '#' => {
                    self.taken(|c| c != '\n');
                }
                c if c.is_ascii_whitespace() || c == '\u{feff}' => {
                    self.advance();
                }
                _ => return,
            }
        }
    }

    fn taken(&mut self, goes_on: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.peek().filter(|c| goes_on(*c)) {
            taken.push(next);
            self.advance();
        }
        taken
    }

    /// Takes a number, with the sign of its exponent.
    fn number(&mut self) -> String {
        let mut number = String::new();
        while let Some(next) = self.peek() {
            let is_exponent = number.ends_with(['e', 'E']) && !number.starts_with("0x");
            match next {
                '+' | '-' if is_exponent => {}
                c if c.is_ascii_alphanumeric() || c == '.' => {}
                _ => break,
            }
            number.push(next);
            self.advance();
        }
        number
    }

    /// Takes a string up to its closing quote.
    fn string(&mut self, quote: char) -> Result<String, TextFault> {
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None | Some('\n') => {
                    return Err(self.wrong(format!("a string without a closing {quote}")));
                }
                Some(c) if c == quote => {
                    self.advance();
                    break;
                }
                Some('\\') => {
                    self.advance();
                    self.escape(&mut bytes)?;
                }
                Some(c) => {
                    bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
                    self.advance();
                }
            }
        }
        String::from_utf8(bytes).map_err(|_| self.wrong("a string that is not UTF-8".into()))
    }

    /// Takes the characters after a backslash.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), TextFault> {
        let Some(kind) = self.advance() else {
            return Err(self.wrong("a backslash at the end".into()));
        };
        let one = match kind {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => kind as u8,
            '0'..='7' => return self.coded(8, 2, kind.to_string(), bytes),
            'x' | 'X' => return self.coded(16, 2, String::new(), bytes),
            'u' => return self.character(4, bytes),
            'U' => return self.character(8, bytes),
            other => {
                let found = other.escape_debug();
                return Err(self.wrong(format!("unknown escape `\\{found}` in a string")));
            }
        };
        bytes.push(one);
        Ok(())
    }

    /// Takes up to `more` digits of a byte.
    fn coded(
        &mut self,
        radix: u32,
        more: usize,
        mut digits: String,
        bytes: &mut Vec<u8>,
    ) -> Result<(), TextFault> {
        let least = digits.len();
        while let Some(next) = self.peek().filter(|c| c.is_digit(radix)) {
            if digits.len() == least + more {
                break;
            }
            digits.push(next);
            self.advance();
        }
        let byte = u8::from_str_radix(&digits, radix);
        bytes.push(byte.map_err(|_| self.wrong("an escape in a string is not a byte".into()))?);
        Ok(())
    }

    /// Takes `digits` digits of a character's number.
    fn character(&mut self, digits: usize, bytes: &mut Vec<u8>) -> Result<(), TextFault> {
        let mut number = 0;
        for _ in 0..digits {
            let digit = self.peek().and_then(|c| c.to_digit(16));
            let Some(digit) = digit else {
                return Err(self.wrong(format!("an escape has fewer than {digits} digits")));
            };
            number = number << 4 | digit;
            self.advance();
        }
        let Some(found) = char::from_u32(number) else {
            return Err(self.wrong("an escape is not a character".into()));
        };
        bytes.extend(found.encode_utf8(&mut [0; 4]).bytes());
        Ok(())
    }
}
