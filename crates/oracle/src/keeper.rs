//! Which document of a cluster stays.

use std::cmp::Ordering;

use records::settings::{Cluster, Keep};

use crate::Document;

/// A value of the column that the keep rule ranks by. All values of a column have one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rank {
    /// An integer, or a timestamp in UTC in the unit of its column.
    Int(i64),
    /// A float. NaN counts as [`Rank::Null`]; the two zeros are equal.
    Float(f64),
    /// Null. It ranks last, whichever end of the column is best.
    Null,
}

/// The keeper among `docs`: the first by the keep rule, then by id. Where `column` is not set,
/// all documents rank alike by it, and so the smallest id stays.
///
/// # Panics
/// Where `docs` is empty, or two ranks have two types.
pub(crate) fn of(docs: &[u64], documents: &[Document], cluster: &Cluster) -> u64 {
    let better = |a: &u64, b: &u64| {
        let (one, two) = (&documents[*a as usize], &documents[*b as usize]);
        let by_rule = match cluster.keep {
            Keep::Longest => bytes(two).cmp(&bytes(one)),
            Keep::Earliest | Keep::Best if cluster.column.is_none() => Ordering::Equal,
            Keep::Earliest => nulls_last(one.rank, two.rank, ascending),
            Keep::Best => nulls_last(one.rank, two.rank, |x, y| ascending(y, x)),
        };
        by_rule.then(a.cmp(b))
    };
    let first = docs.iter().copied().min_by(better);
    first.unwrap_or_else(|| panic!("a cluster has no documents"))
}

/// Bytes of the raw text.
fn bytes(document: &Document) -> usize {
    document.text.as_deref().unwrap_or_default().len()
}

/// The order of two ranks by `order`, where both have a value.
fn nulls_last(
    one: Option<Rank>,
    two: Option<Rank>,
    order: impl Fn(Rank, Rank) -> Ordering,
) -> Ordering {
    match (value(one), value(two)) {
        (Some(one), Some(two)) => order(one, two),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// The rank, if it has a place in an order.
fn value(rank: Option<Rank>) -> Option<Rank> {
    match rank? {
        Rank::Null => None,
        Rank::Float(float) if float.is_nan() => None,
        value => Some(value),
    }
}

fn ascending(one: Rank, two: Rank) -> Ordering {
    let order = match (one, two) {
        (Rank::Int(one), Rank::Int(two)) => Some(one.cmp(&two)),
        (Rank::Float(one), Rank::Float(two)) => one.partial_cmp(&two),
        _ => None,
    };
    order.unwrap_or_else(|| panic!("a column has one type, but here are {one:?} and {two:?}"))
}
