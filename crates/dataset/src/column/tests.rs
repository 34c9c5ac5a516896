//! Labels as people write them, and the order of rank keys.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int64Array, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt8Array,
    UInt64Array,
};
use parquet::data_type::{ByteArray, FixedLenByteArrayType};

use super::decimal::Decimal;
use super::*;
use crate::testing::{inspected, shared, small, write, write_typed};

fn path(dir: &tempfile::TempDir, name: &str) -> PathBuf {
    dir.path().canonicalize().unwrap().join(name)
}

fn text(rows: usize) -> ArrayRef {
    Arc::new(StringArray::from(vec!["x"; rows]))
}

/// A file with a column `c` beside the text.
fn source_of(dir: &tempfile::TempDir, column: ArrayRef) -> Source {
    let file = path(dir, "a.parquet");
    let rows = column.len();
    write(&file, &[("text", text(rows)), ("c", column)], small(3));
    inspected(&file, "text")
}

fn labels(source: &Source, column: &str) -> Vec<Option<String>> {
    check_label_column(source, column).unwrap();
    let mut reader = LabelReader::open(source, column).unwrap();
    let mut all = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        all.extend(batch);
    }
    assert_eq!(all.len() as u64, source.rows);
    all
}

fn keys(source: &Source, column: &str, kind: RankKind) -> Vec<[u64; 2]> {
    rank_class(source, column, kind).unwrap();
    let mut reader = RankReader::open(source, column, kind).unwrap();
    let mut all = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        all.extend(batch);
    }
    assert_eq!(all.len() as u64, source.rows);
    all
}

/// Checks the labels of columns of several types.
fn assert_labels(cases: Vec<(ArrayRef, Vec<Option<&str>>)>) {
    let dir = tempfile::tempdir().unwrap();
    for (column, expected) in cases {
        let name = column.data_type().to_string();
        let source = source_of(&dir, column);
        let labels = labels(&source, "c");
        let labels: Vec<Option<&str>> = labels.iter().map(Option::as_deref).collect();
        assert_eq!(labels, expected, "{name}");
    }
}

#[test]
fn labels_are_values_as_people_write_them() {
    let fixed = |bytes: Vec<[u8; 2]>| FixedSizeBinaryArray::try_from_iter(bytes.into_iter());
    assert_labels(vec![
        (
            Arc::new(StringArray::from(vec![
                Some("a"),
                None,
                Some(""),
                Some("ü"),
            ])),
            vec![Some("a"), None, Some(""), Some("ü")],
        ),
        (
            Arc::new(BinaryArray::from(vec![&b"ok"[..], b"\xff\x01"])),
            vec![Some("ok"), Some("ff01")],
        ),
        (
            Arc::new(Int64Array::from(vec![
                Some(-1),
                None,
                Some(i64::MAX),
                Some(0),
            ])),
            vec![Some("-1"), None, Some("9223372036854775807"), Some("0")],
        ),
        (
            Arc::new(UInt64Array::from(vec![u64::MAX])),
            vec![Some("18446744073709551615")],
        ),
        (Arc::new(UInt8Array::from(vec![255])), vec![Some("255")]),
        (
            Arc::new(BooleanArray::from(vec![true, false])),
            vec![Some("true"), Some("false")],
        ),
        (
            Arc::new(Float64Array::from(vec![1.0, 0.1, -1e300])),
            vec![Some("1.0"), Some("0.1"), Some("-1e300")],
        ),
        (
            Arc::new(fixed(vec![[0xab, 0]]).unwrap()),
            vec![Some("ab00")],
        ),
    ]);
}

#[test]
fn times_and_decimals_are_labels() {
    assert_labels(vec![
        (
            Arc::new(Date32Array::from(vec![0, -1, i32::MAX])),
            vec![Some("1970-01-01"), Some("1969-12-31"), Some("2147483647")],
        ),
        (
            Arc::new(Time64MicrosecondArray::from(vec![3_723_000_001])),
            vec![Some("01:02:03.000001")],
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![1_500]).with_timezone("Europe/Rome")),
            vec![Some("1970-01-01T00:00:01.500Z")],
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![-1])),
            vec![Some("1969-12-31T23:59:59.999999999")],
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![12_345, -5, 0])
                    .with_precision_and_scale(20, 3)
                    .unwrap(),
            ),
            vec![Some("12.345"), Some("-0.005"), Some("0.000")],
        ),
    ]);
}

#[test]
fn a_uuid_and_a_nested_column_are_labels() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "u.parquet");
    let value = ByteArray::from((0..16).map(|i| i * 17).collect::<Vec<u8>>());
    let schema = "message m { required fixed_len_byte_array(16) text.x (UUID); }";
    write_typed::<FixedLenByteArrayType>(&file, schema, &[value.into()], None);
    let listed = crate::testing::listed(&file);
    // The file has no text column, so that its source is built by hand.
    let source = Source {
        rows: 1,
        row_groups: vec![crate::RowGroup {
            rows: 1,
            text_bytes: 0,
            total_bytes: 0,
            stored_bytes: 0,
        }],
        schema: String::new(),
        fingerprint: 0,
        listed,
    };
    let expected = [Some("00112233-4455-6677-8899-aabbccddeeff".to_owned())];
    assert_eq!(labels(&source, "text.x"), expected);

    let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
    let field = arrow_schema::Field::new("id", ids.data_type().clone(), true);
    let valid = vec![true, false];
    let meta = StructArray::new(vec![field].into(), vec![ids], Some(valid.into()));
    let source = source_of(&dir, Arc::new(meta));
    assert_eq!(labels(&source, "c.id"), [Some("7".to_owned()), None]);
    let file = source.listed.path.display();
    assert_eq!(
        check_label_column(&source, "c").unwrap_err().to_string(),
        format!(
            "column `c` of `{file}` is struct<id: int64> (group), expected a column of single \
             values (not a list, map or struct); name another column in the manifest"
        )
    );
    assert_eq!(
        check_label_column(&source, "d").unwrap_err().to_string(),
        format!("column `d` not found in `{file}`; its columns are `text`, `c.id`")
    );
}

#[test]
fn rank_columns_of_other_types_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let float: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let stamp: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1]));
    for (column, kind, found, expected) in [
        (
            &flag,
            RankKind::Best,
            "bool (BOOLEAN)",
            "an integer, float or decimal column",
        ),
        (
            &stamp,
            RankKind::Best,
            "timestamp[ns] (INT64)",
            "an integer, float or decimal column",
        ),
        (
            &flag,
            RankKind::Earliest,
            "bool (BOOLEAN)",
            "a timestamp, date or integer column",
        ),
        (
            &float,
            RankKind::Earliest,
            "double (DOUBLE)",
            "a timestamp, date or integer column",
        ),
    ] {
        let source = source_of(&dir, Arc::clone(column));
        let error = rank_class(&source, "c", kind).unwrap_err();
        assert!(error.refused());
        let file = source.listed.path.display();
        assert_eq!(
            error.to_string(),
            format!(
                "column `c` of `{file}` is {found}, expected {expected}; name another column in \
                 the manifest"
            )
        );
        assert!(RankReader::open(&source, "c", kind).is_err());
    }
    let source = source_of(&dir, stamp);
    let class = |column, kind| rank_class(&source, column, kind);
    assert_eq!(class("c", RankKind::Earliest).unwrap(), "timestamp");
    let source = source_of(&dir, Arc::new(Int8Array::from(vec![1])));
    assert_eq!(
        rank_class(&source, "c", RankKind::Earliest).unwrap(),
        "integer"
    );
    assert_eq!(rank_class(&source, "c", RankKind::Best).unwrap(), "number");
}

#[test]
fn timestamps_of_all_units_and_dates_compare_in_utc() {
    let dir = tempfile::tempdir().unwrap();
    let earliest = |column: ArrayRef| keys(&source_of(&dir, column), "c", RankKind::Earliest);
    let days = earliest(Arc::new(Date32Array::from(vec![
        Some(-1),
        Some(0),
        Some(1),
        None,
    ])));
    let millis = TimestampMillisecondArray::from(vec![-86_400_000, 0, 86_400_000, i64::MAX]);
    let millis = earliest(Arc::new(millis.with_timezone("Asia/Tokyo")));
    let nanos = TimestampNanosecondArray::from(vec![-1, 0, 1, i64::MIN]);
    let nanos = earliest(Arc::new(nanos));
    assert_eq!(days[..3], millis[..3]);
    assert_eq!(days[3], [u64::MAX, u64::MAX]);
    assert!(millis[3] < days[3]);
    assert_eq!(nanos[1], days[1]);
    assert!(days[0] < nanos[0] && nanos[0] < nanos[1] && nanos[1] < nanos[2]);
    assert!(nanos[2] < days[2] && nanos[3] < days[0]);
}

#[test]
fn int96_orders_and_labels_beyond_the_range_of_nanoseconds() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "i.parquet");
    let day = |days: i64, nanoseconds: u64| {
        let mut value = Int96::new();
        let julian = (days + 2_440_588) as u32;
        value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, julian);
        value
    };
    // 9999-12-31, far beyond 2262.
    let values = [
        day(0, 0),
        day(-1, 86_399_999_999_999),
        day(2_932_896, 5),
        day(1, 0),
    ];
    let schema = "message m { optional int96 c; }";
    write_typed::<Int96Type>(&file, schema, &values, Some(&[1, 1, 1, 0, 1]));
    let group = crate::RowGroup {
        rows: 5,
        text_bytes: 0,
        total_bytes: 0,
        stored_bytes: 0,
    };
    let source = Source {
        listed: crate::testing::listed(&file),
        rows: 5,
        row_groups: vec![group],
        schema: String::new(),
        fingerprint: 0,
    };
    let keys = keys(&source, "c", RankKind::Earliest);
    assert!(keys[1] < keys[0] && keys[0] < keys[4] && keys[4] < keys[2] && keys[2] < keys[3]);
    let labels = labels(&source, "c");
    let expected = [
        Some("1970-01-01T00:00:00"),
        Some("1969-12-31T23:59:59.999999999"),
        Some("9999-12-31T00:00:00.000000005"),
        None,
        Some("1970-01-02T00:00:00"),
    ];
    let labels: Vec<Option<&str>> = labels.iter().map(Option::as_deref).collect();
    assert_eq!(labels, expected);
    // The same instants as timestamps have the same keys.
    let stamps = TimestampNanosecondArray::from(vec![0, -1, 0, 0, 86_400_000_000_000]);
    let stamps = self::keys(&source_of(&dir, Arc::new(stamps)), "c", RankKind::Earliest);
    assert_eq!(
        [keys[0], keys[1], keys[4]],
        [stamps[0], stamps[1], stamps[4]]
    );
}

/// Checks that keys of columns of several types fall as their values rise.
fn assert_falling(keys: &[(&str, [u64; 2])]) {
    for pair in keys.windows(2) {
        assert!(pair[0].1 > pair[1].1, "{} and {}", pair[0].0, pair[1].0);
    }
}

#[test]
fn best_compares_integers_floats_and_decimals_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let best = |column: ArrayRef| keys(&source_of(&dir, column), "c", RankKind::Best);
    let whole = best(Arc::new(Int64Array::from(vec![
        Some((1 << 53) - 1),
        Some(1 << 53),
        Some((1 << 53) + 1),
        Some(i64::MAX - 1),
        Some(i64::MAX),
        Some(i64::MIN),
        None,
        Some(0),
    ])));
    let natural = best(Arc::new(UInt64Array::from(vec![
        1 << 63,
        (1 << 63) + 1,
        u64::MAX,
    ])));
    let two = |exponent: i32| 2_f64.powi(exponent);
    let real = best(Arc::new(Float64Array::from(vec![
        Some(two(53)),
        Some(two(53) + 2.0),
        Some(two(63)),
        Some(two(64)),
        Some(f64::NAN),
        Some(-0.0),
        Some(0.0),
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        Some(5e-324),
        Some(-5e-324),
        None,
    ])));
    let single = best(Arc::new(Float32Array::from(vec![0.1, 0.0])));
    let decimal = Decimal128Array::from(vec![1, 1 << 57, (1 << 57) + 1]);
    let decimal = best(Arc::new(decimal.with_precision_and_scale(30, 1).unwrap()));
    let double = best(Arc::new(Float64Array::from(vec![
        0.1,
        2_f64.powi(57) / 10.0,
    ])));
    assert_falling(&[
        ("-inf", real[8]),
        ("i64::MIN", whole[5]),
        ("-5e-324", real[10]),
        ("0", whole[7]),
        ("5e-324", real[9]),
        ("decimal 0.1", decimal[0]),
        ("double 0.1, a little more", double[0]),
        ("float 0.1, more still", single[0]),
        ("2^53 - 1", whole[0]),
        ("2^53", whole[1]),
        ("2^53 + 1", whole[2]),
        ("2^53 + 2 as a double", real[1]),
        ("2^57 / 10", decimal[1]),
        ("(2^57 + 1) / 10", decimal[2]),
        ("i64::MAX - 1", whole[3]),
        ("i64::MAX", whole[4]),
        ("2^63", natural[0]),
        ("2^63 + 1", natural[1]),
        ("u64::MAX", natural[2]),
        ("2^64", real[3]),
        ("inf", real[7]),
    ]);
    assert_eq!(whole[1], real[0]);
    assert_eq!(natural[0], real[2]);
    assert!(real[5] == real[6] && real[5] == whole[7] && real[5] == single[1]);
    let last = [u64::MAX, u64::MAX];
    assert_eq!([real[4], real[11], whole[6]], [last; 3]);
}

#[test]
fn equal_decimals_of_any_scale_and_storage_have_equal_keys() {
    let dir = tempfile::tempdir().unwrap();
    let values = [0_i128, 1, 7, 10, 123_456_789, 99_999_999];
    let mut all = Vec::new();
    for (precision, shift) in [(9, 0), (18, 6), (38, 15)] {
        let shifted = values
            .iter()
            .flat_map(|v| [v * 10_i128.pow(shift), -v * 10_i128.pow(shift)]);
        let array = Decimal128Array::from_iter_values(shifted)
            .with_precision_and_scale(precision, 2 + shift as i8)
            .unwrap();
        all.push(keys(&source_of(&dir, Arc::new(array)), "c", RankKind::Best));
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
}

#[test]
fn decimals_of_any_width_are_ordered_like_their_values() {
    // The order of i128 at one scale is known; the bytes are as FIXED_LEN_BYTE_ARRAY(16) has them.
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed >> 11
    };
    let mut values: Vec<i128> = vec![0, 1, -1, 10, i128::from(i64::MIN), 10_i128.pow(30)];
    for _ in 0..400 {
        // At most 105 bits: within the 32 digits that are exact.
        let wide = (i128::from(random()) << 52 | i128::from(random())) >> (random() % 100);
        let value = if random() % 2 == 0 { wide } else { -wide };
        values.extend([value, value + 1, value * 10]);
    }
    values.retain(|value| value.unsigned_abs() < 1 << 105);
    values.sort_unstable();
    values.dedup();
    for scale in [0, 2, 10, 31] {
        let pairs: Vec<(f64, f64)> = values
            .iter()
            .map(|value| {
                let decimal = Decimal::from_bytes(&value.to_be_bytes(), scale).unwrap();
                if scale == 0 {
                    assert_eq!(decimal.to_string(), value.to_string());
                }
                let pair = decimal.to_double();
                assert!(pair.1.abs() <= 0.5, "{value} {pair:?}");
                pair
            })
            .collect();
        for (pair, value) in pairs.windows(2).zip(&values) {
            assert!(pair[0] < pair[1], "{value} e-{scale}: {pair:?}");
        }
    }
}

#[test]
fn decimals_from_integers_and_bytes_agree() {
    for value in [
        0,
        1,
        -1,
        127,
        -128,
        255,
        -256,
        1 << 40,
        i64::MAX,
        i64::MIN,
        -(1 << 32),
    ] {
        let wide = i128::from(value).to_be_bytes();
        let from_bytes = Decimal::from_bytes(&wide, 4).unwrap();
        assert_eq!(from_bytes, Decimal::from_int(value, 4));
        assert_eq!(
            Decimal::from_bytes(&value.to_be_bytes(), 4).unwrap(),
            from_bytes
        );
        assert_eq!(Decimal::from_int(value, 0).to_string(), value.to_string());
    }
    assert_eq!(Decimal::from_int(-5, 3).to_string(), "-0.005");
    assert_eq!(Decimal::from_bytes(&[], 2).unwrap().to_string(), "0.00");
    assert_eq!(Decimal::from_bytes(&[0x7f; 65], 0), None);
    assert_eq!(Decimal::from_bytes(&[1], i32::MAX), None);
    assert!(Decimal::from_bytes(&[0xff; 100], 0).is_some());
    let widest = Decimal::from_bytes(&[0x7f; 64], 100).unwrap().to_double();
    assert!(widest.0.is_finite() && widest.1.abs() <= 0.5, "{widest:?}");
}

#[test]
fn half_precision_is_exact() {
    for (bits, value) in [
        (0x3c00_u16, 1.0),
        (0xc000, -2.0),
        (0x7bff, 65_504.0),
        (0x0001, 2_f64.powi(-24)),
        (0x03ff, 1023.0 * 2_f64.powi(-24)),
        (0x0400, 2_f64.powi(-14)),
        (0x3555, 0.333_251_953_125),
        (0x7c00, f64::INFINITY),
        (0xfc00, f64::NEG_INFINITY),
        (0x8000, 0.0),
    ] {
        assert_eq!(half(bits.to_le_bytes()), value, "{bits:x}");
    }
    assert!(half(0x7e00_u16.to_le_bytes()).is_nan());
}

#[test]
fn the_hard_timestamps_rank_and_label() {
    let Some(hard) = shared("hard/int96_timestamps.parquet") else {
        return;
    };
    let source = inspected(&hard, "text");
    let schema = source
        .schema
        .lines()
        .find(|line| line.contains("INT96"))
        .unwrap();
    let name = schema
        .trim()
        .trim_end_matches(';')
        .rsplit(' ')
        .next()
        .unwrap();
    let labels = labels(&source, name);
    let keys = keys(&source, name, RankKind::Earliest);
    let mut pairs: Vec<_> = keys.iter().zip(labels.iter().flatten()).collect();
    assert!(pairs.len() > 200);
    pairs.sort_by_key(|(key, _)| **key);
    // ISO 8601 sorts as text.
    assert!(pairs.windows(2).all(|pair| pair[0].1 <= pair[1].1));
}
