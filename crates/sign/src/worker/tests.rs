//! Ill-formed text in pieces.

use super::*;

#[test]
fn ill_formed_text_in_pieces_is_that_of_the_whole() {
    let cases: [&[u8]; 5] = [
        b"",
        b"plain",
        b"ab\xff\xc3\xa4",
        b"\xf0\x9f\x92",
        b"\xc3\xc3\xa4\x80\x80z",
    ];
    for value in cases {
        let pieces: String = well_formed(value).collect();
        assert_eq!(pieces, String::from_utf8_lossy(value), "{value:?}");
    }
}
