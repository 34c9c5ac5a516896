//! Byte sizes such as `8GiB`.

/// Units by name, without regard to case, with their bytes.
const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// The most digits of a number; more would say nothing and might not fit.
const DIGITS: usize = 19;

/// The bytes that `text` names: digits, a fraction with a point if any, and a unit (none: bytes);
/// a part of a byte is dropped. `None` if it is no such text, or more than `u64::MAX`.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at)?;
    let unit = unit.trim_start();
    let unit_bytes = match unit {
        "" => 1,
        _ => {
            UNITS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(unit))?
                .1
        }
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (number, ""),
    };
    if whole.is_empty() || whole.len() > DIGITS || fraction.len() > DIGITS {
        return None;
    }
    let unit_bytes = u128::from(unit_bytes);
    let mut bytes = whole.parse::<u128>().ok()? * unit_bytes;
    if !fraction.is_empty() {
        let scale = fraction.bytes().fold(1, |scale: u128, _| scale * 10);
        bytes += fraction.parse::<u128>().ok()? * unit_bytes / scale;
    }
    u64::try_from(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        let table = [
            ("8GiB", Some(8 << 30)),
            ("512MiB", Some(512 << 20)),
            ("64MB", Some(64_000_000)),
            ("1.5GiB", Some(3 << 29)),
            ("0.1KiB", Some(102)),
            (" 2 TiB ", Some(2 << 40)),
            ("1kb", Some(1_000)),
            ("7 gib", Some(7 << 30)),
            ("1000", Some(1_000)),
            ("12B", Some(12)),
            ("0", Some(0)),
            ("16777215TiB", Some(16_777_215 << 40)),
            ("16777216TiB", None),
            ("9999999999999999999TiB", None),
            ("99999999999999999999", None),
            ("0.00000000000000000000001TiB", None),
            ("8G", None),
            ("8 Gi B", None),
            ("lots", None),
            ("", None),
            (".5GiB", None),
            ("1.GiB", None),
            ("1.2.3GiB", None),
            ("-1GiB", None),
            ("1e3", None),
            ("٣GiB", None),
        ];
        for (text, bytes) in table {
            assert_eq!(parse(text), bytes, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,30}|[0-9.]{0,45}[kKmMgGtT]?i?[bB]?") {
            let _ = parse(&text);
        }

        #[test]
        fn whole_units_are_exact(count in 0_u64..16_000_000) {
            prop_assert_eq!(parse(&format!("{count}TiB")), Some(count << 40));
        }
    }
}
