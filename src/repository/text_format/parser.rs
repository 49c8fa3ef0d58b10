//! Parses tokens into messages.

use super::schema::{FieldKind, FieldType, MessageType};
use super::token::{Token, Tokens};
use super::{Field, FieldValue, TextFault, TextMessage, quoted};

/// The maximum depth of nested messages.
const DEEPEST: usize = 32;

/// Reads a text as a message of a type.
pub(super) fn parse(text: &str, kind: &'static MessageType) -> Result<TextMessage, TextFault> {
    let mut parser = Parser {
        tokens: Tokens::new(text),
        next: None,
        line: 1,
        path: Vec::new(),
    };
    parser.advance()?;
    let mut message = TextMessage {
        line: 1,
        fields: Vec::new(),
    };
    while parser.next.is_some() {
        parser.field(kind, &mut message)?;
    }
    Ok(message)
}

/// A reader of tokens with one token of lookahead.
struct Parser<'t> {
    tokens: Tokens<'t>,
    next: Option<Token>,
    /// The line of the next token.
    line: usize,
    /// The names of the enclosing fields.
    path: Vec<&'static str>,
}

impl Parser<'_> {
    /// Takes the next token.
    fn advance(&mut self) -> Result<Option<Token>, TextFault> {
        let (next, line) = self.tokens.next()?;
        self.line = line;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn is_sign(&self, sign: char) -> bool {
        self.next == Some(Token::Sign(sign))
    }

    /// Takes a sign if it is the next token.
    fn took(&mut self, sign: char) -> Result<bool, TextFault> {
        let is_there = self.is_sign(sign);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    /// Returns the error that the next token is not `expected`.
    fn unexpected(&self, expected: &str) -> TextFault {
        let found = self.next.as_ref();
        let found = found.map_or_else(|| "the end of the file".to_owned(), Token::shown);
        self.wrong(self.line, format!("expected {expected}, found {found}"))
    }

    /// Returns an error in the current field.
    fn wrong(&self, line: usize, why: String) -> TextFault {
        let message = match self.path.is_empty() {
            true => why,
            false => format!("{}: {why}", self.path.join(".")),
        };
        TextFault { line, message }
    }

    /// Takes a field with all of its values.
    fn field(
        &mut self,
        of: &'static MessageType,
        message: &mut TextMessage,
    ) -> Result<(), TextFault> {
        let line = self.line;
        let Some(Token::Name(name)) = &self.next else {
            return Err(self.unexpected("the name of a field"));
        };
        let Some(field) = of.field(name) else {
            let known = of.names().join(", ");
            let name = quoted(name);
            let why = format!("unknown field `{name}`, expected one of {known}");
            return Err(self.wrong(line, why));
        };
        self.path.push(field.name);
        self.advance()?;
        let colon = self.took(':')?;
        let is_list = self.took('[')?;
        if !colon && !is_list && !matches!(field.kind, FieldKind::Message(_)) {
            return Err(self.unexpected("`:`"));
        }
        check_choice(of, field, message).map_err(|why| self.wrong(line, why))?;
        self.values(field, is_list, line, message)?;
        if !self.took(',')? {
            self.took(';')?;
        }
        self.path.pop();
        Ok(())
    }

    /// Takes a value, or the values of a list up to its end.
    fn values(
        &mut self,
        field: &'static FieldType,
        is_list: bool,
        line: usize,
        message: &mut TextMessage,
    ) -> Result<(), TextFault> {
        if !is_list {
            return self.add(field, line, message);
        }
        if !field.repeated {
            return Err(self.wrong(line, "expected one value, found a list".into()));
        }
        if self.took(']')? {
            return Ok(());
        }
        loop {
            let line = self.line;
            self.add(field, line, message)?;
            if self.took(']')? {
                return Ok(());
            }
            if !self.took(',')? {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    fn add(
        &mut self,
        field: &'static FieldType,
        line: usize,
        message: &mut TextMessage,
    ) -> Result<(), TextFault> {
        if !field.repeated && message.fields.iter().any(|f| f.name == field.name) {
            return Err(self.wrong(line, "appears twice".into()));
        }
        let value = self.value(field)?;
        message.fields.push(Field {
            name: field.name,
            line,
            value,
        });
        Ok(())
    }

    fn value(&mut self, field: &'static FieldType) -> Result<FieldValue, TextFault> {
        match field.kind {
            FieldKind::Message(number) => self.message(number).map(FieldValue::Message),
            FieldKind::Text => self.text().map(FieldValue::Text),
            FieldKind::Flag => self.flag().map(FieldValue::Flag),
            FieldKind::Choice(choices) => self.choice(choices).map(FieldValue::Choice),
            FieldKind::Number => self.number().map(FieldValue::Number),
            FieldKind::Whole { least, most } => self.whole(least, most).map(FieldValue::Whole),
        }
    }

    fn message(&mut self, number: usize) -> Result<TextMessage, TextFault> {
        let line = self.line;
        let end = match self.next {
            Some(Token::Sign('{')) => '}',
            Some(Token::Sign('<')) => '>',
            _ => return Err(self.unexpected("`{`")),
        };
        self.advance()?;
        let kind = MessageType::at(number).filter(|_| self.path.len() < DEEPEST);
        let Some(kind) = kind else {
            let why = format!("more than {DEEPEST} nested messages");
            return Err(self.wrong(line, why));
        };
        let mut message = TextMessage {
            line,
            fields: Vec::new(),
        };
        while !self.took(end)? {
            if self.next.is_none() {
                return Err(self.unexpected(&format!("`{end}`")));
            }
            self.field(kind, &mut message)?;
        }
        Ok(message)
    }

    /// Takes strings. Adjacent strings form one string.
    fn text(&mut self) -> Result<String, TextFault> {
        let mut whole = match &self.next {
            Some(Token::Text(text)) => text.clone(),
            _ => return Err(self.unexpected("a string in quotes")),
        };
        self.advance()?;
        while let Some(Token::Text(more)) = &self.next {
            whole.push_str(more);
            self.advance()?;
        }
        Ok(whole)
    }

    fn flag(&mut self) -> Result<bool, TextFault> {
        let flag = match &self.next {
            Some(Token::Name(word)) => match word.as_str() {
                "true" | "True" | "t" => Some(true),
                "false" | "False" | "f" => Some(false),
                _ => None,
            },
            Some(Token::Number(number)) => match number.as_str() {
                "1" => Some(true),
                "0" => Some(false),
                _ => None,
            },
            _ => None,
        };
        let flag = flag.ok_or_else(|| self.unexpected("`true` or `false`"))?;
        self.advance()?;
        Ok(flag)
    }

    fn choice(
        &mut self,
        choices: &'static [(i32, &'static str)],
    ) -> Result<&'static str, TextFault> {
        let found = choices.iter().find(|(number, name)| match &self.next {
            Some(Token::Name(written)) => written == name,
            Some(Token::Number(written)) => written.parse() == Ok(*number),
            _ => false,
        });
        let Some((_, name)) = found else {
            let names: Vec<&str> = choices.iter().map(|(_, name)| *name).collect();
            return Err(self.unexpected(&format!("one of {}", names.join(", "))));
        };
        self.advance()?;
        Ok(name)
    }

    fn number(&mut self) -> Result<f64, TextFault> {
        let is_negative = self.took('-')?;
        let number = match &self.next {
            Some(Token::Number(text)) => text.trim_end_matches(['f', 'F']).parse::<f64>().ok(),
            Some(Token::Name(word)) => match word.to_ascii_lowercase().as_str() {
                "inf" | "infinity" => Some(f64::INFINITY),
                "nan" => Some(f64::NAN),
                _ => None,
            },
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected("a number"))?;
        self.advance()?;
        Ok(if is_negative { -number } else { number })
    }

    fn whole(&mut self, least: i128, most: i128) -> Result<i128, TextFault> {
        let is_negative = self.took('-')?;
        let number = match &self.next {
            Some(Token::Number(text)) => whole_number(text),
            _ => None,
        };
        let expected = || match (least, most) {
            (0, _) => format!("a whole number from 0 to {most}"),
            _ => format!("a whole number from {least} to {most}"),
        };
        let number = number.map(|n| if is_negative { -n } else { n });
        let number = number.filter(|n| (least..=most).contains(n));
        let number = number.ok_or_else(|| self.unexpected(&expected()))?;
        self.advance()?;
        Ok(number)
    }
}

/// Refuses two fields of the same choice.
fn check_choice(of: &MessageType, field: &FieldType, message: &TextMessage) -> Result<(), String> {
    let rivals = |name: &str| {
        let other = of.field(name).filter(|other| other.choice == field.choice);
        field.choice.is_some() && other.is_some() && name != field.name
    };
    match message.fields.iter().find(|other| rivals(other.name)) {
        None => Ok(()),
        Some(other) => Err(format!(
            "expected this field or `{}`, found both",
            other.name
        )),
    }
}

/// Reads a whole number: decimal, `0x` hexadecimal or `0` octal.
fn whole_number(text: &str) -> Option<i128> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if lower.len() > 1 && lower.starts_with('0') => (&lower[1..], 8),
        None => (&*lower, 10),
    };
    i128::from_str_radix(digits, radix).ok()
}
