//! Which document stays.

use super::*;

/// The keeper of one cluster of documents with these texts and ranks, by id.
fn keeper(keep: Keep, column: bool, rows: &[(&str, Option<Rank>)]) -> u64 {
    let documents: Vec<Document> = rows
        .iter()
        .map(|(text, rank)| Document {
            text: Some((*text).to_owned()),
            rank: *rank,
        })
        .collect();
    let mut pipeline = pipeline();
    pipeline.cluster.keep = keep;
    pipeline.cluster.column = column.then(|| "column".to_owned());
    let signed = signatures(&vec![[1, 2, 3, 4]; rows.len()]);
    let truth = decide(&documents, &signed, &pipeline);
    assert_eq!(truth.clusters.len(), 1);
    assert_eq!(kept(&truth), [truth.clusters[0].keeper]);
    assert_eq!(truth.clusters[0].id, 0);
    truth.clusters[0].keeper
}

/// The keeper by a column.
fn by_column(keep: Keep, ranks: &[Rank]) -> u64 {
    let rows: Vec<_> = ranks.iter().map(|rank| ("text", Some(*rank))).collect();
    keeper(keep, true, &rows)
}

fn ints(values: &[i64]) -> Vec<Rank> {
    values.iter().copied().map(Rank::Int).collect()
}

fn floats(values: &[f64]) -> Vec<Rank> {
    values.iter().copied().map(Rank::Float).collect()
}

#[test]
fn longest_counts_the_bytes_of_the_raw_text() {
    let longest = |texts: &[&str]| {
        let rows: Vec<_> = texts.iter().map(|text| (*text, None)).collect();
        keeper(Keep::Longest, false, &rows)
    };
    assert_eq!(longest(&["a", "abc", "ab"]), 1);
    // Four bytes in two characters, against three.
    assert_eq!(longest(&["abc", "éé"]), 1);
    // Blanks count.
    assert_eq!(longest(&["abc", "ab   "]), 1);
    assert_eq!(longest(&["a", "ab", "cd"]), 1);
}

#[test]
fn longest_looks_at_no_column() {
    let rows = [("a", Some(Rank::Int(9))), ("ab", Some(Rank::Int(1)))];
    assert_eq!(keeper(Keep::Longest, true, &rows), 1);
}

#[test]
fn without_a_column_the_smallest_id_is_earliest() {
    let rows = [("a", Some(Rank::Int(9))), ("ab", Some(Rank::Int(1)))];
    assert_eq!(keeper(Keep::Earliest, false, &rows), 0);
    assert_eq!(keeper(Keep::Earliest, true, &rows), 1);
}

#[test]
fn earliest_is_the_lowest_value_and_best_the_highest() {
    let values = [0, i64::MAX, -5, i64::MIN, 3, i64::MIN, i64::MAX];
    assert_eq!(by_column(Keep::Earliest, &ints(&values)), 3);
    assert_eq!(by_column(Keep::Best, &ints(&values)), 1);
    let values = [0.5, 2.0, f64::INFINITY, -1.0, f64::NEG_INFINITY];
    assert_eq!(by_column(Keep::Earliest, &floats(&values)), 4);
    assert_eq!(by_column(Keep::Best, &floats(&values)), 2);
    // Integers that one f64 would stand for.
    let values = [1 << 60, (1 << 60) + 1];
    assert_eq!(by_column(Keep::Best, &ints(&values)), 1);
}

#[test]
fn null_and_nan_rank_last_at_either_end() {
    for keep in [Keep::Earliest, Keep::Best] {
        assert_eq!(by_column(keep, &[Rank::Null, Rank::Int(0)]), 1, "{keep}");
        let nan = [f64::NAN, -f64::NAN, f64::NEG_INFINITY];
        assert_eq!(by_column(keep, &floats(&nan)), 2, "{keep}");
        let nan = [f64::NAN, -f64::NAN, f64::INFINITY];
        assert_eq!(by_column(keep, &floats(&nan)), 2, "{keep}");
        let rows = [("a", None), ("b", Some(Rank::Int(-1)))];
        assert_eq!(keeper(keep, true, &rows), 1, "{keep}");
    }
}

#[test]
fn ties_go_to_the_smallest_id() {
    for keep in [Keep::Earliest, Keep::Best] {
        assert_eq!(by_column(keep, &ints(&[7, 7, 7])), 0, "{keep}");
        assert_eq!(by_column(keep, &floats(&[0.0, -0.0])), 0, "{keep}");
        assert_eq!(by_column(keep, &floats(&[-0.0, 0.0])), 0, "{keep}");
        let none = [Rank::Float(f64::NAN), Rank::Null, Rank::Float(-f64::NAN)];
        assert_eq!(by_column(keep, &none), 0, "{keep}");
        let none = [Rank::Null, Rank::Float(f64::NAN)];
        assert_eq!(by_column(keep, &none), 0, "{keep}");
    }
}

#[test]
#[should_panic(expected = "a column has one type, but here are")]
fn ranks_of_two_types_are_refused() {
    by_column(Keep::Best, &[Rank::Int(1), Rank::Float(2.0)]);
}
