//! Internal consistency over random corpora.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Texts of a few words each; many are equal, more are alike.
fn any_text() -> impl Strategy<Value = Option<String>> {
    let base = "the quick brown fox jumps over a lazy dog while it rains in the old town";
    let edited = (0..16_usize, 0..16_usize, select(vec!["", "x", "y", "fox"])).prop_map(
        move |(cut, place, word)| {
            let mut words: Vec<&str> = base.split(' ').skip(cut / 8).collect();
            if let Some(old) = words.get_mut(place) {
                *old = word;
            }
            Some(words.join(" "))
        },
    );
    let short = select(vec!["", " ", "fox", "Fox", "dog", "猫", "the quick", "!"]);
    prop_oneof![
        8 => edited,
        2 => short.prop_map(|text| Some(text.to_owned())),
        1 => Just(None),
    ]
}

fn any_documents(most: usize) -> impl Strategy<Value = Vec<Document>> {
    let float = prop_oneof![Just(f64::NAN), Just(-0.0), (0..4_i8).prop_map(f64::from)];
    let rank = prop_oneof![
        Just(None),
        Just(Some(Rank::Null)),
        float.prop_map(|float| Some(Rank::Float(float))),
    ];
    let document = (any_text(), rank).prop_map(|(text, rank)| Document { text, rank });
    vec(document, 0..most)
}

prop_compose! {
    fn any_pipeline()(
        scheme in select(vec![Scheme::Fss, Scheme::Universal]),
        unit in select(vec![Unit::Word, Unit::Char, Unit::Auto]),
        (n, strip_punctuation) in (1..5_u32, any::<bool>()),
        (bands, rows, spare) in (1..6_u32, 1..4_u32, 0..4_u32),
        verify in select(vec![Verify::Estimate, Verify::Estimate, Verify::None]),
        threshold in select(vec![0.3, 0.5, 0.8, 1.0]),
        anchors in prop_oneof![1..4_u32, Just(256)],
        keep in select(vec![Keep::Longest, Keep::Earliest, Keep::Best]),
        seed in any::<u64>(),
    ) -> Pipeline {
        let mut all = pipeline();
        let k = bands * rows + spare;
        all.sign = Sign { scheme, k, seed, unit, n, char_n: 3, strip_punctuation };
        all.band = Band { bands, rows };
        all.join = Join { verify, threshold, bits: 32, anchors };
        all.cluster.keep = keep;
        all.cluster.column = (keep == Keep::Best).then(|| "column".to_owned());
        all
    }
}

/// The clusters without their order, as sets of what `name` makes of an id.
fn sets<T: Ord>(truth: &Truth, name: impl Fn(u64) -> T) -> BTreeSet<BTreeSet<T>> {
    let set = |docs: &Vec<u64>| docs.iter().map(|doc| name(*doc)).collect();
    groups(truth).iter().map(set).collect()
}

/// Whether each cluster of `fine` lies within one of `coarse`.
fn refines(fine: &Truth, coarse: &Truth) -> bool {
    let coarse = sets(coarse, |doc| doc);
    let within = |set: &BTreeSet<u64>| coarse.iter().any(|other| set.is_subset(other));
    sets(fine, |doc| doc).iter().all(within)
}

/// The candidates as DESIGN words them, pair by pair and band by band.
fn candidates_by_pairs(
    signed: &[Option<Signed>],
    band: &Band,
    anchors: u32,
) -> BTreeSet<(u64, u64)> {
    let stands = |doc: usize| {
        let one = signed[doc].as_ref()?;
        let copies = signed[..doc].iter().flatten();
        (!copies.clone().any(|other| other.same_text(one))).then_some(one)
    };
    let share = |a: usize, b: usize, index: usize| match (stands(a), stands(b)) {
        (Some(a), Some(b)) => {
            let rows = band.rows as usize;
            let slots = index * rows..(index + 1) * rows;
            a.signature[slots.clone()] == b.signature[slots]
        }
        _ => false,
    };
    let mut pairs = BTreeSet::new();
    for (a, b) in (0..signed.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        let candidate = (0..band.bands as usize).any(|index| {
            let before = |doc: usize| (0..doc).filter(|c| share(*c, doc, index)).count();
            let anchor = |doc: usize| before(doc) < anchors as usize;
            share(a, b, index) && (anchor(a) || anchor(b))
        });
        if candidate {
            pairs.insert((a as u64, b as u64));
        }
    }
    pairs
}

/// The members of a cluster, their order, kinds and similarities.
fn check_cluster(
    cluster: &Cluster,
    documents: &[Document],
    signed: &[Option<Signed>],
    truth: &Truth,
) -> Result<(), TestCaseError> {
    let members = &cluster.members;
    prop_assert!(members.len() >= 2);
    prop_assert_eq!(cluster.id, members[0].doc);
    prop_assert!(members.is_sorted_by(|a, b| a.doc < b.doc));
    let mut keepers = 0;
    let keeper = signed[cluster.keeper as usize].as_ref().unwrap();
    for member in members {
        let own = signed[member.doc as usize].as_ref().unwrap();
        prop_assert!(documents[member.doc as usize].text.is_some());
        let kept = truth.kept[member.doc as usize];
        keepers += usize::from(kept);
        prop_assert_eq!(kept, member.doc == cluster.keeper);
        prop_assert_eq!(kept, member.kind == "keeper");
        prop_assert_eq!(!kept && own.same_text(keeper), member.kind == "exact");
        if member.kind == "near" {
            prop_assert!((0.0..=1.0).contains(&member.similarity));
        } else {
            prop_assert_eq!(member.similarity, 1.0);
        }
    }
    prop_assert_eq!(keepers, 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn one_document_of_each_cluster_stays(
        documents in any_documents(40),
        pipeline in any_pipeline(),
    ) {
        let truth = run(&documents, &pipeline);
        let signed = sign(&documents, &pipeline.sign);
        let sizes = truth.clusters.iter().map(|cluster| cluster.members.len());
        let dropped: usize = sizes.map(|size| size - 1).sum();
        prop_assert_eq!(truth.kept.len(), documents.len());
        prop_assert_eq!(kept(&truth).len(), documents.len() - dropped);
        prop_assert!(truth.clusters.is_sorted_by(|a, b| a.id < b.id));
        let all = groups(&truth).concat();
        prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for cluster in &truth.clusters {
            check_cluster(cluster, &documents, &signed, &truth)?;
        }
    }

    #[test]
    fn candidates_are_the_pairs_with_an_anchor(
        documents in any_documents(16),
        pipeline in any_pipeline(),
    ) {
        let signed = sign(&documents, &pipeline.sign);
        let anchors = pipeline.join.anchors;
        prop_assert_eq!(
            candidates(&signed, &pipeline.band, anchors),
            candidates_by_pairs(&signed, &pipeline.band, anchors)
        );
    }

    #[test]
    fn copies_and_edges_lie_within_clusters(
        documents in any_documents(40),
        pipeline in any_pipeline(),
    ) {
        let truth = run(&documents, &pipeline);
        let signed = sign(&documents, &pipeline.sign);
        let mut cluster_of = vec![None; documents.len()];
        for cluster in &truth.clusters {
            for member in &cluster.members {
                cluster_of[member.doc as usize] = Some(cluster.id);
            }
        }
        for (a, b) in edges(&signed, &pipeline) {
            prop_assert!(a < b && cluster_of[a as usize].is_some());
            prop_assert_eq!(cluster_of[a as usize], cluster_of[b as usize]);
        }
        for (doc, representative) in representatives(&signed).into_iter().enumerate() {
            if let Some(representative) = representative.filter(|r| *r != doc as u64) {
                prop_assert!(cluster_of[doc].is_some());
                prop_assert_eq!(cluster_of[doc], cluster_of[representative as usize]);
            }
        }
    }

    /// With no fewer anchors than documents, no bucket depends on the order. The longest text's
    /// length does not either, though the document of that length may.
    #[test]
    fn the_order_of_documents_does_not_matter_where_all_are_anchors(
        (documents, order) in any_documents(40).prop_flat_map(|documents| {
            let order: Vec<u64> = (0..documents.len() as u64).collect();
            (Just(documents), Just(order).prop_shuffle())
        }),
        mut pipeline in any_pipeline(),
    ) {
        pipeline.join.anchors = 256;
        pipeline.cluster.keep = Keep::Longest;
        let shuffled: Vec<Document> =
            order.iter().map(|doc| documents[*doc as usize].clone()).collect();
        let (one, two) = (run(&documents, &pipeline), run(&shuffled, &pipeline));
        let old = |doc: u64| order[doc as usize];
        prop_assert_eq!(sets(&one, |doc| doc), sets(&two, old));
        let bytes = |doc: u64| documents[doc as usize].text.as_ref().unwrap().len();
        for cluster in &one.clusters {
            let same = two.clusters.iter().find(|other| {
                other.members.iter().any(|member| old(member.doc) == cluster.id)
            });
            prop_assert_eq!(bytes(cluster.keeper), bytes(old(same.unwrap().keeper)));
        }
    }

    #[test]
    fn more_anchors_and_a_lower_threshold_only_merge(
        documents in any_documents(30),
        mut pipeline in any_pipeline(),
        more in 1..4_u32,
    ) {
        let fine = run(&documents, &pipeline);
        pipeline.join.anchors += more;
        let anchored = run(&documents, &pipeline);
        prop_assert!(refines(&fine, &anchored));
        pipeline.join.threshold /= 2.0;
        let lower = run(&documents, &pipeline);
        prop_assert!(refines(&anchored, &lower));
        pipeline.join.verify = Verify::None;
        prop_assert!(refines(&lower, &run(&documents, &pipeline)));
    }

    #[test]
    fn components_join_exactly_what_is_connected(
        edges in vec((0..12_u64, 0..12_u64), 0..14),
    ) {
        // Reachability by the closure of the relation, cell by cell.
        let mut reach = [[false; 12]; 12];
        for (a, b) in edges.iter().copied().chain((0..12).map(|node| (node, node))) {
            reach[a as usize][b as usize] = true;
            reach[b as usize][a as usize] = true;
        }
        for through in 0..12 {
            for from in 0..12 {
                for to in 0..12 {
                    reach[from][to] |= reach[from][through] && reach[through][to];
                }
            }
        }
        let least = reach.iter().map(|row| row.iter().position(|r| *r).unwrap() as u64);
        prop_assert_eq!(components(12, &edges), least.collect::<Vec<_>>());
    }

    #[test]
    fn jaccard_is_symmetric_and_one_for_itself(a in any_text(), b in any_text()) {
        let config = shingle_config(&pipeline().sign);
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        let similarity = exact_jaccard(&a, &b, config);
        prop_assert_eq!(similarity, exact_jaccard(&b, &a, config));
        let empty = a.trim().is_empty() || b.trim().is_empty();
        prop_assert_eq!(similarity.is_none(), empty);
        prop_assert!(similarity.is_none_or(|s| (0.0..=1.0).contains(&s)));
        if !a.trim().is_empty() {
            prop_assert_eq!(exact_jaccard(&a, &a, config), Some(1.0));
        }
    }
}
