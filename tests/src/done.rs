//! A run that has ended.

use std::process::Output;

/// How a binary ended and what it said.
#[derive(Debug)]
pub struct Done {
    /// The exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Done {
    /// Itself, if it ended well and left standard output to data.
    ///
    /// # Panics
    /// Where it did not.
    #[track_caller]
    #[must_use]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self
    }

    /// [`Done::ok`] where nothing more is asked of it.
    ///
    /// # Panics
    /// Where it did not end well.
    #[track_caller]
    pub fn succeeded(self) {
        let _ = self.ok();
    }

    /// The error text, if it ended with that code and an error that holds each of `parts`.
    ///
    /// # Panics
    /// Where it did not.
    #[track_caller]
    pub fn failed(self, code: i32, parts: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        let start = self.stderr.find("error: ");
        let start = start.unwrap_or_else(|| panic!("no error in: {}", self.stderr));
        let error = &self.stderr[start..];
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
        assert!(!error.contains("panicked"), "{error}");
        error.to_owned()
    }

    /// The stages that say on standard error that they started.
    #[must_use]
    pub fn started(&self) -> Vec<&'static str> {
        let begins = |stage: &&str| {
            let words = format!(" {stage:<8}starts (");
            self.stderr.lines().any(|line| line.contains(&words))
        };
        crate::STAGES.into_iter().filter(begins).collect()
    }
}
