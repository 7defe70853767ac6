//! How processing ends when it cannot go on, and what the client is told.

use std::fmt;

/// Why a request is refused; decides the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The request is malformed.
    BadRequest,
    /// The caller is not known.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// There is no such model.
    NotFound,
    /// The body is larger than we are willing to hold.
    PayloadTooLarge,
    /// A limit is used up.
    ResourceExhausted,
    /// Our fault.
    Internal,
    /// Something we need does not answer, or we are too busy.
    ServiceUnavailable,
}

impl Code {
    /// The HTTP status.
    pub fn http_status(self) -> u16 {
        match self {
            Code::BadRequest => 400,
            Code::Unauthorized => 401,
            Code::Forbidden => 403,
            Code::NotFound => 404,
            Code::PayloadTooLarge => 413,
            Code::ResourceExhausted => 429,
            Code::Internal => 500,
            Code::ServiceUnavailable => 503,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What stopped a plugin. Messages reach the client: they never hold a key, a Secret's name or provider answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Answered with the code's HTTP status.
    #[error("inference error: {code} - {message}")]
    Refused {
        /// Decides the status.
        code: Code,
        /// What the client reads.
        message: String,
    },
    /// An error without a code: the gRPC stream ends with status Unknown, and Envoy answers 500.
    #[error("{0}")]
    Plain(String),
}

impl Failure {
    /// A refusal with `code`.
    pub fn refused(code: Code, message: impl Into<String>) -> Failure {
        Failure::Refused { code, message: message.into() }
    }

    /// A refusal because the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Failure {
        Failure::refused(Code::BadRequest, message)
    }

    /// A refusal because of something on our side.
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure::refused(Code::Internal, message)
    }
}
