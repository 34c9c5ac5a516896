//! The fault that a test asks for, in builds with the feature `faults`.

/// The environment variable that names it: process (a stage, or `neardup`), operation, which of
/// them, and the error's number or `abort`, such as `join:rename:3:28`.
#[cfg(feature = "faults")]
const VARIABLE: &str = "NEARDUP_FAULT";

/// Arms the fault, if it is one of the process of that name.
pub fn arm(process: &str) {
    #[cfg(feature = "faults")]
    if let Ok(fault) = std::env::var(VARIABLE)
        && let [named, operation, number, action] = fault.split(':').collect::<Vec<_>>()[..]
        && named == process
    {
        let before = match number.parse::<u64>() {
            Ok(number) if number > 1 => format!("{}*off->", number - 1),
            _ => String::new(),
        };
        let action = format!("{before}1*return({action})");
        if let Err(error) = fail::cfg(operation, &action) {
            eprintln!("{VARIABLE}={fault} cannot be used: {error}");
        }
    }
    #[cfg(not(feature = "faults"))]
    let _ = process;
}
