//! Cases small enough to be right by reading.

use super::*;

/// The candidates as a list.
fn pairs(signed: &[Option<Signed>], bands: u32, rows: u32, anchors: u32) -> Vec<(u64, u64)> {
    let band = Band { bands, rows };
    candidates(signed, &band, anchors).into_iter().collect()
}

#[test]
fn no_documents_have_no_clusters() {
    let truth = run(&[], &pipeline());
    assert_eq!((truth.clusters, truth.kept), (vec![], vec![]));
}

#[test]
fn the_settings_of_sign_reach_the_shingles() {
    let documents = [text("one, two three four"), text("ONE two\tthree four")];
    let mut pipeline = pipeline();
    assert_eq!(run(&documents, &pipeline).clusters, []);
    pipeline.sign.strip_punctuation = true;
    let truth = run(&documents, &pipeline);
    assert_eq!(groups(&truth), [[0, 1]]);
    assert_eq!(truth.clusters[0].members[1].kind, "exact");
    for unit in [Unit::Char, Unit::Auto] {
        pipeline.sign.unit = unit;
        assert_eq!(groups(&run(&documents, &pipeline)), [[0, 1]], "{unit}");
    }

    let of = |scheme, k, seed| {
        let sign_settings = Sign {
            scheme,
            k,
            seed,
            ..pipeline.sign.clone()
        };
        sign(&documents, &sign_settings)[0]
            .clone()
            .unwrap()
            .signature
    };
    assert_eq!(of(Scheme::Fss, 7, 1).len(), 7);
    assert_ne!(of(Scheme::Fss, 7, 1), of(Scheme::Fss, 7, 2));
    assert_ne!(of(Scheme::Fss, 7, 1), of(Scheme::Universal, 7, 1));
}

#[test]
fn a_bucket_is_one_key_of_one_band() {
    // 0 and 1 share the first band of two slots, 1 and 2 the second; 2's first band holds the
    // slots of the others' second, which is another bucket; 3 shares a slot but no band.
    let signed = signatures(&[[1, 2, 3, 4], [1, 2, 5, 6], [5, 6, 5, 6], [1, 9, 5, 9]]);
    assert_eq!(pairs(&signed, 2, 2, 256), [(0, 1), (1, 2)]);
    assert_eq!(pairs(&signed, 1, 2, 256), [(0, 1)]);
    // Slots beyond the bands belong to none.
    assert_eq!(pairs(&signed, 1, 1, 256), [(0, 1), (0, 3), (1, 3)]);
}

#[test]
fn anchors_are_the_first_documents_of_a_bucket() {
    let signed = signatures(&[[7], [8], [7], [7], [7]]);
    assert_eq!(pairs(&signed, 1, 1, 1), [(0, 2), (0, 3), (0, 4)]);
    let two = [(0, 2), (0, 3), (0, 4), (2, 3), (2, 4)];
    assert_eq!(pairs(&signed, 1, 1, 2), two);
    assert_eq!(pairs(&signed, 1, 1, 3), [&two[..], &[(3, 4)]].concat());
    assert_eq!(pairs(&signed, 1, 1, 4), pairs(&signed, 1, 1, 3));
}

/// A hub that shares a bucket with all, but is like none: as the only anchor it parts documents
/// that are alike, unless they also meet in a bucket without it.
#[test]
fn a_hub_as_the_only_anchor_parts_the_others() {
    let signed = signatures(&[
        [1, 90, 91, 92],
        [1, 20, 30, 40],
        [1, 21, 30, 40],
        [1, 51, 60, 70],
        [1, 51, 60, 71],
    ]);
    let documents = alike(5);
    let mut pipeline = pipeline();
    assert_eq!(
        groups(&decide(&documents, &signed, &pipeline)),
        [[1, 2], [3, 4]]
    );
    pipeline.join.anchors = 1;
    let truth = decide(&documents, &signed, &pipeline);
    assert_eq!(groups(&truth), [[3, 4]]);
    assert_eq!(kept(&truth), [0, 1, 2, 3]);
    pipeline.join.anchors = 2;
    assert_eq!(
        groups(&decide(&documents, &signed, &pipeline)),
        [[1, 2], [3, 4]]
    );
    pipeline.join.anchors = 1;
    pipeline.join.verify = Verify::None;
    assert_eq!(
        groups(&decide(&documents, &signed, &pipeline)),
        [[0, 1, 2, 3, 4]]
    );
}

#[test]
fn a_chain_is_one_cluster_and_similarity_is_to_the_keeper() {
    // Neighbours have three slots of four in common, 0 and 2 only two, 0 and 3 one.
    let signed = signatures(&[[1, 2, 3, 4], [1, 2, 3, 9], [1, 2, 8, 9], [1, 7, 8, 9]]);
    let truth = decide(&alike(4), &signed, &pipeline());
    let member = |doc, kind, similarity| Member {
        doc,
        kind,
        similarity,
    };
    let cluster = Cluster {
        id: 0,
        keeper: 0,
        members: vec![
            member(0, "keeper", 1.0),
            member(1, "near", 0.75),
            member(2, "near", 0.5),
            member(3, "near", 0.25),
        ],
    };
    assert_eq!(
        truth,
        Truth {
            clusters: vec![cluster],
            kept: vec![true, false, false, false]
        }
    );

    let edges = edges(&signed, &pipeline());
    assert_eq!(
        edges.into_iter().collect::<Vec<_>>(),
        [(0, 1), (1, 2), (2, 3)]
    );
}

#[test]
fn the_threshold_is_the_least_share_that_passes() {
    let signed = signatures(&[[1, 2, 3, 4], [1, 2, 3, 9]]);
    let mut pipeline = pipeline();
    for (threshold, found) in [(0.5, 1), (0.75, 1), (0.76, 0), (1.0, 0)] {
        pipeline.join.threshold = threshold;
        let edges = edges(&signed, &pipeline);
        assert_eq!(edges.len(), found, "{threshold}");
    }
    pipeline.join.verify = Verify::None;
    assert_eq!(edges(&signed, &pipeline).len(), 1);
}

#[test]
fn alike_documents_that_share_no_bucket_do_not_meet() {
    let mut pipeline = pipeline();
    pipeline.band = Band { bands: 1, rows: 1 };
    let signed = signatures(&[[1, 2, 3, 4], [9, 2, 3, 4]]);
    assert_eq!(decide(&alike(2), &signed, &pipeline).clusters, []);
    pipeline.band.bands = 2;
    assert_eq!(groups(&decide(&alike(2), &signed, &pipeline)), [[0, 1]]);
}

#[test]
fn exact_copies_join_their_representative_and_take_no_place_in_a_bucket() {
    let mut signed = signatures(&[[1, 9, 9, 8], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 5]]);
    let copy = signed[1].clone();
    signed[2] = copy.clone();
    signed.push(copy);
    assert_eq!(
        representatives(&signed),
        [Some(0), Some(1), Some(1), Some(3), Some(1)]
    );
    assert_eq!(pairs(&signed, 1, 1, 256), [(0, 1), (0, 3), (1, 3)]);
    // With three anchors, the third is 3, as the copy 2 takes no place.
    let mut longer = signed.clone();
    longer.extend(signatures(&[[0; 4], [0; 4], [0; 4], [0; 4], [1, 0, 0, 0]]).split_off(4));
    let all = [(0, 1), (0, 3), (0, 5), (1, 3), (1, 5), (3, 5)];
    assert_eq!(pairs(&longer, 1, 1, 3), all);
    assert_eq!(pairs(&longer, 1, 1, 2), all[..5]);

    let truth = decide(&alike(5), &signed, &pipeline());
    assert_eq!(groups(&truth), [[1, 2, 3, 4]]);
    let kinds: Vec<_> = truth.clusters[0]
        .members
        .iter()
        .map(|member| (member.kind, member.similarity))
        .collect();
    assert_eq!(
        kinds,
        [
            ("keeper", 1.0),
            ("exact", 1.0),
            ("near", 0.75),
            ("exact", 1.0)
        ]
    );
}

#[test]
fn exact_is_relative_to_the_keeper() {
    let mut signed = signatures(&[[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 5]]);
    let copy = signed[0].clone();
    signed[1] = copy;
    let documents = [text("short"), text("short"), text("the longest")];
    let truth = decide(&documents, &signed, &pipeline());
    let cluster = &truth.clusters[0];
    assert_eq!((cluster.id, cluster.keeper), (0, 2));
    let kinds: Vec<_> = cluster.members.iter().map(|member| member.kind).collect();
    assert_eq!(kinds, ["near", "near", "keeper"]);
    assert_eq!(kept(&truth), [2]);
}

#[test]
fn equal_signatures_of_unlike_texts_are_near() {
    let truth = decide(
        &alike(2),
        &signatures(&[[1, 2, 3, 4], [1, 2, 3, 4]]),
        &pipeline(),
    );
    let member = &truth.clusters[0].members[1];
    assert_eq!((member.kind, member.similarity), ("near", 1.0));
}

/// Both the hash and the length make an exact copy.
#[test]
fn a_text_of_another_length_is_no_copy() {
    let mut signed = signatures(&[[1], [2], [3]]);
    for one in signed.iter_mut().flatten() {
        one.text_hash = 5;
    }
    signed[2].as_mut().unwrap().normalised_bytes = 10;
    assert_eq!(representatives(&signed), [Some(0), Some(0), Some(2)]);
}

#[test]
fn nothing_to_compare_meets_nothing() {
    let null = Document {
        text: None,
        rank: None,
    };
    let mut documents = vec![null.clone(), text(""), text(" \t\n"), text("..."), null];
    documents.extend([
        text("cat"),
        text("dog"),
        text(" Cat\n"),
        text(""),
        text("..."),
    ]);
    let mut pipeline = pipeline();
    pipeline.join.verify = Verify::None;
    pipeline.sign.strip_punctuation = true;
    let truth = run(&documents, &pipeline);
    assert_eq!(groups(&truth), [[5, 7]]);
    // " Cat\n" has more bytes.
    assert_eq!(kept(&truth), [0, 1, 2, 3, 4, 6, 7, 8, 9]);
    // A point is something, where punctuation counts.
    pipeline.sign.strip_punctuation = false;
    assert_eq!(groups(&run(&documents, &pipeline)), [[3, 9], [5, 7]]);
}

#[test]
fn components_carry_their_smallest_node() {
    assert_eq!(components(0, &[]).len(), 0);
    assert_eq!(components(3, &[]), [0, 1, 2]);
    let edges = [(5, 4), (4, 1), (1, 5), (2, 6), (3, 3)];
    assert_eq!(components(7, &edges), [0, 1, 2, 3, 1, 1, 2]);
    let chain: Vec<_> = (0..20_000).map(|i| (i + 1, i)).collect();
    assert_eq!(components(20_001, &chain), vec![0; 20_001]);
}

#[test]
fn jaccard_is_of_sets_and_never_of_absent_ones() {
    let mut config = shingle_config(&pipeline().sign);
    // ab bc cd against ab bx xd; of bc, only one counts.
    assert_eq!(exact_jaccard("a b c d", "a b x d", config), Some(0.2));
    assert_eq!(
        exact_jaccard("a b c b c d", "A  b\nc d", config),
        Some(0.75)
    );
    assert_eq!(exact_jaccard("a b", "a b", config), Some(1.0));
    assert_eq!(exact_jaccard("a b", "c d", config), Some(0.0));
    assert_eq!(exact_jaccard("a b", " ", config), None);
    assert_eq!(exact_jaccard("", "", config), None);
    config.unit = shingle::Unit::Char;
    assert_eq!(exact_jaccard("abc", "abd", config), Some(1.0 / 3.0));
}

#[test]
#[should_panic(expected = "one signature a document")]
fn lists_of_unequal_length_are_refused() {
    let _ = decide(&alike(2), &signatures(&[[1, 2, 3, 4]]), &pipeline());
}

#[test]
fn narrow_slots_agree_where_their_low_bits_do() {
    // One slot of four is equal, two more in their low byte: in 32 bits no edge at 0.75.
    let lists = signatures(&[[1, 2, 3, 4], [1, 258, 259, 5]]);
    let mut pipeline = pipeline();
    pipeline.join.threshold = 0.75;
    pipeline.band = records::settings::Band { bands: 4, rows: 1 };
    pipeline.sign.k = 4;
    assert!(edges(&lists, &pipeline).is_empty());
    pipeline.join.bits = 8;
    assert_eq!(edges(&lists, &pipeline), [(0, 1)].into());
}
