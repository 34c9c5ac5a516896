//! Opening what is not Parquet, panics as errors, and shared reads.

use std::path::PathBuf;

use super::*;

fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A file of the right frame with this footer.
fn framed(footer: &[u8]) -> Vec<u8> {
    let mut bytes = b"PAR1".to_vec();
    bytes.extend_from_slice(footer);
    bytes.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    bytes.extend_from_slice(b"PAR1");
    bytes
}

fn refusal(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "x.parquet", bytes);
    let error = open(&path)
        .and_then(|file| metadata(&file, &path, MetadataNeeds::Footer).map(|_| ()))
        .unwrap_err();
    assert!(error.refused());
    let text = error.to_string();
    let place = format!("`{}`", path.display());
    assert!(text.starts_with(&place), "{text}");
    text[place.len()..].to_owned()
}

#[test]
fn files_that_are_not_parquet_are_refused_with_what_they_are() {
    let remedy = "; write it again, or leave it out of input.paths";
    let not = " is not a Parquet file: ";
    for (bytes, found) in [
        (&b""[..], "it has 0 bytes"),
        (b"PAR1PAR1", "it has only 8 bytes"),
        (b"id,text\n1,hello\n", "it does not begin with PAR1"),
        (
            b"PAR1 and then nothing more",
            "it begins with PAR1 but does not end so; it was cut short",
        ),
        (
            b"nothing before\x01\0\0\0PAR1",
            "it ends with PAR1 but does not begin so",
        ),
        (
            b"PAR1\0\0\0\x7fPAR1",
            "its footer is said to take 2130706432 bytes, but the file has 12",
        ),
    ] {
        assert_eq!(refusal(bytes), format!("{not}{found}{remedy}"));
    }
    let encrypted = " is encrypted, which this version cannot read; decrypt it, or leave it out of \
                     input.paths";
    assert_eq!(refusal(b"PARE\0\0\0\0\0\0\0\0PARE"), encrypted);
    // FileMetaData field 8: a plain footer, encrypted columns.
    assert_eq!(refusal(&framed(b"\x8c\x1c\0\0\0")), encrypted);
}

#[test]
fn a_missing_file_and_a_folder_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("gone.parquet");
    let text = open(&missing).err().unwrap().to_string();
    let expected = format!(
        "`{}` does not exist; correct input.paths",
        missing.display()
    );
    assert_eq!(text, expected);
    let text = open(dir.path()).err().unwrap().to_string();
    assert!(
        text.ends_with("is not a regular file; leave it out of input.paths"),
        "{text}"
    );
}

/// A `FileMetaData` whose schema is a list of elements with these numbers of children.
fn schema_footer(children: &[i32]) -> Vec<u8> {
    let mut bytes = vec![0x15, 0x02, 0x19, 0xfc];
    let varint = |bytes: &mut Vec<u8>, mut value: u64| {
        while value > 0x7f {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    };
    varint(&mut bytes, children.len() as u64);
    for count in children {
        // Field 4, the name; field 5, num_children.
        bytes.extend_from_slice(&[0x48, 1, b'x', 0x15]);
        varint(
            &mut bytes,
            u64::from((count << 1 ^ count >> 31).cast_unsigned()),
        );
        bytes.push(0);
    }
    bytes.extend_from_slice(&[0x16, 0, 0x19, 0x0c, 0]);
    bytes
}

#[test]
fn a_schema_that_would_exhaust_stack_or_memory_never_reaches_the_crate() {
    let tail = "; the file is damaged or of a kind that this version cannot read: write it again, \
                or leave it out of input.paths";
    let check = |children: &[i32]| refusal(&framed(&schema_footer(children)));
    assert_eq!(
        check(&[i32::MAX, 0]),
        format!(
            ": footer: schema element 0 is said to have 2147483647 children, but 1 elements \
             follow{tail}"
        )
    );
    assert_eq!(
        check(&[1, -1]),
        format!(
            ": footer: schema element 1 is said to have -1 children, but 0 elements follow{tail}"
        )
    );
    let mut deep = vec![1; 20_000];
    deep.push(0);
    assert_eq!(
        check(&deep),
        format!(": footer: the schema is nested more than 100 levels deep{tail}")
    );
    assert_eq!(
        check(&[1, 0, 0]),
        format!(": footer: the schema has elements beyond its root (2){tail}")
    );
    assert_eq!(
        check(&[2, 1, 0]),
        format!(": footer: the schema lacks elements at its end{tail}")
    );
    for malformed in [
        &b"\x19"[..],
        b"",
        b"\x19\xfc\xff\xff\xff\xff\x7f\0",
        b"\x1f\0",
    ] {
        assert_eq!(
            refusal(&framed(malformed)),
            format!(": footer: its Thrift structure is malformed{tail}")
        );
    }
    // Structures within structures without end.
    assert!(refusal(&framed(&[0x1c; 100_000])).contains("malformed"));
}

#[test]
fn panics_become_errors_that_name_the_place() {
    let path = PathBuf::from("a.parquet");
    let boom: Result<(), Error> = guard(&path, "row group 3", || panic!("at {}", 7));
    let text = boom.unwrap_err().to_string();
    let expected = "`a.parquet`: row group 3: the Parquet reader panicked: at 7; ";
    assert!(text.starts_with(expected), "{text}");
    let inner = guard(&path, "outer", || {
        guard(&path, "inner", || -> Result<u8, Error> { panic!("plain") }).or(Ok(5))
    });
    assert_eq!(inner.unwrap(), 5);
    assert_eq!(GUARDS.get(), 0);
}

#[test]
fn clones_read_at_once_and_any_range_is_right() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes: Vec<u8> = (0..300_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
    bytes.splice(0..4, *b"PAR1");
    let end = bytes.len() - 8;
    bytes.splice(end.., *b"\0\0\0\0PAR1");
    let shared = open(&file(&dir, "x.parquet", &bytes)).unwrap();
    assert_eq!(shared.len(), bytes.len() as u64);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (shared, bytes) = (shared.clone(), &bytes);
            scope.spawn(move || {
                let mut start = thread * 1013;
                for round in 0..400_usize {
                    let length = (round * 331) % 90_000;
                    start = (start * 31 + 17) % (bytes.len() - length);
                    let got = shared.get_bytes(start as u64, length).unwrap();
                    assert_eq!(got, bytes[start..start + length]);
                    let mut head = vec![0; 300.min(bytes.len() - start)];
                    shared
                        .get_read(start as u64)
                        .unwrap()
                        .read_exact(&mut head)
                        .unwrap();
                    assert_eq!(head, bytes[start..start + head.len()]);
                }
            });
        }
    });
    let mut rest = Vec::new();
    shared
        .get_read(70_000)
        .unwrap()
        .read_to_end(&mut rest)
        .unwrap();
    assert_eq!(rest, bytes[70_000..]);
    assert!(shared.get_bytes(299_999, 2).is_err());
    assert!(shared.get_bytes(u64::MAX, 2).is_err());
    assert_eq!(
        shared.get_read(300_000).unwrap().read(&mut [0; 4]).unwrap(),
        0
    );
}
