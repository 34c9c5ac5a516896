//! Points where a test can make the operating system fail, or this process end.
//!
//! A point has the name of its operation: `open`, `write`, `sync`, `rename` or `remove`. Without the
//! feature `faults` there is nothing here but an `Ok`.

use std::io;

/// Fails where a test asked for it: with the error of that number of the operating system, or by
/// ending the process on the spot (`abort`).
///
/// # Errors
/// The one that was asked for.
#[inline]
#[allow(dead_code, reason = "x")]
pub(crate) fn point(operation: &'static str) -> io::Result<()> {
    #[cfg(feature = "faults")]
    fail::fail_point!(operation, |action: Option<String>| Err({
        eprintln!("fault: {operation}");
        match action.as_deref().and_then(|number| number.parse().ok()) {
            Some(number) => io::Error::from_raw_os_error(number),
            None => std::process::abort(),
        }
    }));
    #[cfg(not(feature = "faults"))]
    let _ = operation;
    Ok(())
}
