//! Exit codes and the errors that lead to them.

use std::process::ExitCode;

use workdir::Failure;

/// Why the program ends with another code than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The work failed; running again resumes it.
    Failed = 1,
    /// The command line or the manifest is wrong.
    Usage = 2,
    /// An input, the budget, the disk, a lock or a folder was refused.
    Refused = 3,
}

/// An error for the person at the machine.
#[derive(Debug)]
pub struct Problem {
    /// The exit code.
    pub code: Code,
    /// What, where, and what to do.
    pub message: String,
}

impl Problem {
    /// A problem of that code.
    pub fn new(code: Code, message: impl ToString) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    /// Prints the message and gives the exit code.
    pub fn report(&self) -> ExitCode {
        for (i, line) in self.message.lines().enumerate() {
            let prefix = if i == 0 { "error: " } else { "       " };
            eprintln!("{prefix}{line}");
        }
        ExitCode::from(self.code as u8)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let code = if failure.refused {
            Code::Refused
        } else {
            Code::Failed
        };
        Self::new(code, failure)
    }
}

impl From<workdir::Error> for Problem {
    fn from(error: workdir::Error) -> Self {
        let code = if error.refused() {
            Code::Refused
        } else {
            Code::Failed
        };
        Self::new(code, error)
    }
}

impl From<dataset::Error> for Problem {
    fn from(error: dataset::Error) -> Self {
        let code = match error.refused() {
            true => Code::Refused,
            false => Code::Failed,
        };
        Self::new(code, error)
    }
}

impl From<manifest::Error> for Problem {
    fn from(error: manifest::Error) -> Self {
        Self::new(Code::Usage, error)
    }
}
