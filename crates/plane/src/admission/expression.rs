//! CEL expressions over the objects of a request.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::objects::{Key, Map};
use cel::{Context, Env, ExecutionError, Program, extensions};
use serde_json::Value;

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    if let Err(error) = env.add_extension(extensions::strings) {
        tracing::error!(%error, "CEL string functions are not available");
    }
    Arc::new(env)
});

/// A compiled expression, or why it does not compile.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    pub(super) text: String,
    program: Result<Arc<Program>, String>,
}

impl Expression {
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let program =
            ENVIRONMENT.compile(&text).map(Arc::new).map_err(|error| format!("compilation error: {error}"));
        Self { text, program }
    }

    /// Its value, or the error in the API server's words.
    pub(super) fn evaluate(&self, variables: &Variables<'_>) -> Result<cel::Value, String> {
        let program = self.program.as_ref().map_err(Clone::clone)?;
        program.execute(&variables.0).map_err(|error| error_text(&error))
    }

    /// Its value, if it is a truth value.
    pub(super) fn holds(&self, variables: &Variables<'_>) -> Result<bool, String> {
        match self.evaluate(variables)? {
            cel::Value::Bool(holds) => Ok(holds),
            other => Err(format!("expected bool, got {}", other.type_of())),
        }
    }
}

/// What an expression may speak of.
pub(super) struct Variables<'a>(Context<'a, 'a>);

impl Variables<'_> {
    pub(super) fn new() -> Self {
        Self(Context::with_env(ENVIRONMENT.clone()))
    }

    pub(super) fn with(mut self, name: &str, value: &Value) -> Self {
        self.0.add_variable_from_value(name, cel_value(value));
        self
    }

    pub(super) fn set(&mut self, name: &str, value: cel::Value) {
        self.0.add_variable_from_value(name, value);
    }
}

/// JSON numbers without a fraction are CEL ints, as in Kubernetes.
pub(super) fn cel_value(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => cel::Value::Int(int),
            (None, Some(float)) => cel::Value::Float(float),
            (None, None) => cel::Value::Null,
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(cel_value).collect())),
        Value::Object(fields) => {
            let map: HashMap<Key, cel::Value> =
                fields.iter().map(|(key, value)| (Key::from(key.as_str()), cel_value(value))).collect();
            cel::Value::Map(Map { map: Arc::new(map) })
        }
    }
}

fn error_text(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => {
            format!("undeclared reference to '{name}' (in container '')")
        }
        ExecutionError::NoSuchOverload(_) => "no such overload".into(),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        other => other.to_string(),
    }
}
