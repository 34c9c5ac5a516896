//! The Unicode versions of the tables that normalisation and the token rule read.

/// The Unicode versions that this build implements, as `nfc 1.0.0, lower-case 1.0.0, script 1.0.0, category 1.0.0`:
/// of the tables for NFC, for lower-case and White_Space (the standard library's, so they follow the compiler), for
/// Script, and for the general category. They come from four sources and need not agree; where they differ, only
/// characters that the older of them does not assign yet are treated differently. The text is made from the tables in
/// use, so another build that could hash a text differently says so.
pub const UNICODE_VERSION: &str = match str::from_utf8(TEXT.0.split_at(TEXT.1).0) {
    Ok(text) => text,
    Err(_) => panic!("the text is ASCII"),
};

type Version = (u64, u64, u64);

/// Bytes and how many of them are the text. Evaluated by the compiler, which would refuse one that is too long.
const TEXT: ([u8; 128], usize) = {
    let bytes = ([0; 128], 0);
    let bytes = version(
        bytes,
        b"nfc ",
        widen(unicode_normalization::UNICODE_VERSION),
    );
    let bytes = version(bytes, b", lower-case ", widen(char::UNICODE_VERSION));
    let bytes = version(bytes, b", script ", unicode_script::UNICODE_VERSION);
    version(
        bytes,
        b", category ",
        unicode_general_category::UNICODE_VERSION,
    )
};

const fn widen(version: (u8, u8, u8)) -> Version {
    (version.0 as u64, version.1 as u64, version.2 as u64)
}

const fn version(text: ([u8; 128], usize), label: &[u8], version: Version) -> ([u8; 128], usize) {
    let text = append(text, label);
    let text = number(text, version.0);
    let text = number(append(text, b"."), version.1);
    number(append(text, b"."), version.2)
}

const fn number(text: ([u8; 128], usize), value: u64) -> ([u8; 128], usize) {
    let text = if value >= 10 {
        number(text, value / 10)
    } else {
        text
    };
    append(text, &[b'0' + (value % 10) as u8])
}

const fn append(text: ([u8; 128], usize), tail: &[u8]) -> ([u8; 128], usize) {
    let (mut bytes, start) = text;
    let mut i = 0;
    while i < tail.len() {
        bytes[start + i] = tail[i];
        i += 1;
    }
    (bytes, start + tail.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_names_all_four_tables() {
        let dotted = |(a, b, c): Version| format!("{a}.{b}.{c}");
        let expected = format!(
            "nfc {}, lower-case {}, script {}, category {}",
            dotted(widen(unicode_normalization::UNICODE_VERSION)),
            dotted(widen(char::UNICODE_VERSION)),
            dotted(unicode_script::UNICODE_VERSION),
            dotted(unicode_general_category::UNICODE_VERSION),
        );
        assert_eq!(UNICODE_VERSION, expected);
    }
}
