//! Label selectors in their string form, with the real parser's complaints.

use std::iter::Peekable;

use crate::status::{Error, Result};

/// All requirements must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// One requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses `a=b,c in (d,e),!f,g>1`.
    pub fn parse(text: &str) -> Result<Self> {
        let mut tokens = lex(text).into_iter().peekable();
        let mut requirements = Vec::new();
        if tokens.peek().is_none() {
            return Ok(Self::default());
        }
        if let Some(other) = tokens.peek().filter(|t| !matches!(t, Token::Word(_) | Token::Not)) {
            let message = format!("found '{}', expected: !, identifier, or 'end of string'", other.text());
            return Err(Error::bad_request(message));
        }
        loop {
            requirements.push(requirement(&mut tokens).map_err(Error::bad_request)?);
            match tokens.next() {
                None => return Ok(Self { requirements }),
                Some(Token::Comma) => match tokens.peek() {
                    Some(Token::Word(_) | Token::Not) => {}
                    other => {
                        let found = other.map_or("", Token::text);
                        return Err(Error::bad_request(format!(
                            "found '{found}', expected: identifier after ','"
                        )));
                    }
                },
                Some(other) => {
                    return Err(Error::bad_request(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    )));
                }
            }
        }
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether these labels satisfy all requirements.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|r| r.holds(label(&r.key)))
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = |v: &str| v.parse::<i64>().ok();
        match (&self.test, value) {
            (Test::Exists, value) => value.is_some(),
            (Test::Absent, value) => value.is_none(),
            (Test::In(all), Some(value)) => all.iter().any(|v| v == value),
            (Test::NotIn(all), value) => value.is_none_or(|value| all.iter().all(|v| v != value)),
            (Test::Greater(than), Some(value)) => number(value).is_some_and(|n| n > *than),
            (Test::Less(than), Some(value)) => number(value).is_some_and(|n| n < *than),
            (_, None) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Comma,
    Open,
    Close,
    Not,
    Equal,
    DoubleEqual,
    NotEqual,
    Greater,
    Less,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::Not => "!",
            Self::Equal => "=",
            Self::DoubleEqual => "==",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::Less => "<",
        }
    }
}

fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next_is = |chars: &mut Peekable<std::str::Chars<'_>>, c| chars.next_if_eq(&c).is_some();
        tokens.push(match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            ',' => Token::Comma,
            '(' => Token::Open,
            ')' => Token::Close,
            '>' => Token::Greater,
            '<' => Token::Less,
            '!' if next_is(&mut chars, '=') => Token::NotEqual,
            '!' => Token::Not,
            '=' if next_is(&mut chars, '=') => Token::DoubleEqual,
            '=' => Token::Equal,
            c => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| !" \t\n\r,()><!=".contains(*c)) {
                    word.push(c);
                }
                Token::Word(word)
            }
        });
    }
    tokens
}

type Tokens = Peekable<std::vec::IntoIter<Token>>;

fn requirement(tokens: &mut Tokens) -> std::result::Result<Requirement, String> {
    let fail = |found: Option<&Token>, expected: &str| {
        let found = found.map_or("", Token::text);
        format!("unable to parse requirement: found '{found}', expected: {expected}")
    };
    let absent = tokens.next_if_eq(&Token::Not).is_some();
    let key = match tokens.next() {
        Some(Token::Word(word)) => word,
        other => return Err(fail(other.as_ref(), "identifier")),
    };
    check_key(&key)?;
    if absent {
        return Ok(Requirement { key, test: Test::Absent });
    }
    let test = match tokens.peek() {
        None | Some(Token::Comma) => return Ok(Requirement { key, test: Test::Exists }),
        Some(Token::Word(word)) if word == "in" || word == "notin" => {
            let negative = word == "notin";
            tokens.next();
            let values = set(tokens)?;
            values.iter().try_for_each(|v| check_value(&key, v))?;
            if negative { Test::NotIn(values) } else { Test::In(values) }
        }
        Some(operator) => {
            let operator = operator.clone();
            if matches!(operator, Token::Word(_) | Token::Open | Token::Close | Token::Not) {
                let known = "in, notin, =, ==, !=, gt, lt";
                return Err(format!(
                    "unable to parse requirement: found '{}', expected: {known}",
                    operator.text()
                ));
            }
            tokens.next();
            let value = match &tokens.peek() {
                None | Some(Token::Comma) => String::new(),
                Some(Token::Word(_)) => match tokens.next() {
                    Some(Token::Word(word)) => word,
                    _ => String::new(),
                },
                other => return Err(fail(*other, "identifier")),
            };
            let number = || {
                value.parse::<i64>().map_err(|_| {
                    format!("unable to parse requirement: values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
                })
            };
            match operator {
                Token::NotEqual => Test::NotIn(vec![value]),
                Token::Greater => Test::Greater(number()?),
                Token::Less => Test::Less(number()?),
                _ => Test::In(vec![value]),
            }
        }
    };
    if let Test::In(values) | Test::NotIn(values) = &test {
        values.iter().try_for_each(|v| check_value(&key, v))?;
    }
    Ok(Requirement { key, test })
}

/// `(a,b)`; empty members count.
fn set(tokens: &mut Tokens) -> std::result::Result<Vec<String>, String> {
    match tokens.next() {
        Some(Token::Open) => {}
        other => {
            let found = other.as_ref().map_or("", Token::text);
            return Err(format!("unable to parse requirement: found '{found}' expected: '('"));
        }
    }
    let mut values = Vec::new();
    let mut current: Option<String> = None;
    for token in tokens.by_ref() {
        match token {
            Token::Word(word) if current.is_none() => current = Some(word),
            Token::Comma => values.push(current.take().unwrap_or_default()),
            Token::Close => {
                values.push(current.take().unwrap_or_default());
                return Ok(values);
            }
            other => {
                return Err(format!(
                    "unable to parse requirement: found '{}', expected: ',', or ')'",
                    other.text()
                ));
            }
        }
    }
    Err("unable to parse requirement: found '', expected: ',', or ')'".into())
}

fn check_key(key: &str) -> std::result::Result<(), String> {
    match crate::validate::label_key(key) {
        problems if problems.is_empty() => Ok(()),
        problems => Err(format!(
            "unable to parse requirement: <nil>: Invalid value: {}: {}",
            crate::status::go_quote(key),
            problems.join("; ")
        )),
    }
}

fn check_value(key: &str, value: &str) -> std::result::Result<(), String> {
    match crate::validate::label_value(value) {
        problems if problems.is_empty() => Ok(()),
        problems => Err(format!(
            "unable to parse requirement: values[0][{key}]: Invalid value: {}: {}",
            crate::status::go_quote(value),
            problems.join("; ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector = LabelSelector::parse(selector).unwrap();
        selector.matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
    }

    #[test]
    fn every_operator_selects_what_it_says() {
        let labels = [("a", "b"), ("n", "5"), ("app.io/x", "y")];
        for yes in [
            "",
            "a=b",
            "a==b",
            "a!=c",
            "z!=c",
            "a in (x,b)",
            "a notin (x)",
            "z notin (x)",
            "a",
            "!z",
            "n>4",
            "n<6",
            "app.io/x = y , a in ( b )",
        ] {
            assert!(matches(yes, &labels), "{yes}");
        }
        for no in
            ["a=c", "a!=b", "a in (x)", "z in (x)", "a notin (b)", "z", "!a", "n>5", "n<5", "a>1", "z>1"]
        {
            assert!(!matches(no, &labels), "{no}");
        }
    }

    #[test]
    fn complaints_are_those_of_the_real_parser() {
        let error = |text: &str| LabelSelector::parse(text).unwrap_err().message;
        assert_eq!(error("a in"), "unable to parse requirement: found '' expected: '('");
        assert_eq!(error("=b"), "found '=', expected: !, identifier, or 'end of string'");
        assert_eq!(error("!=b"), "found '!=', expected: !, identifier, or 'end of string'");
        assert_eq!(error("!,b"), "unable to parse requirement: found ',', expected: identifier");
        assert_eq!(error("a in (b"), "unable to parse requirement: found '', expected: ',', or ')'");
        assert_eq!(error("a,"), "found '', expected: identifier after ','");
    }
}
