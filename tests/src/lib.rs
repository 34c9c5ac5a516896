//! Helpers for the tests that run the real binaries.
