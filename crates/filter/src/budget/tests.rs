//! Tests of the division of the budget.

use super::*;

const SMALL: Shape = Shape {
    group_bytes: 100 << 20,
    footer_bytes: 3 << 20,
    files_bytes: 2 << 20,
    groups: 40,
};

#[test]
fn too_small_a_budget_is_refused_with_one_that_does() {
    let error = Budget::new(8 * MIB, 2, SMALL).unwrap_err();
    assert!(error.refused());
    let Error::Memory { needed_bytes, .. } = error else {
        panic!("{error}");
    };
    let text = error.to_string();
    assert_eq!(
        text,
        format!(
            "a memory budget of 8388608 bytes is too small for `filter`; set run.memory = \"{}MiB\" or more",
            needed_bytes / MIB
        )
    );
    assert_eq!(Budget::new(needed_bytes, 2, SMALL).unwrap().threads, 1);
    assert!(Budget::new(needed_bytes - MIB, 2, SMALL).is_err());
}

#[test]
fn the_number_of_the_warning_holds_all_threads_and_no_less_does() {
    for wanted in [2, 3, 16, 64] {
        let budget = Budget::new(40 * MIB, wanted, SMALL).unwrap();
        assert_eq!(budget.threads, 1);
        let warning = budget.warning(wanted).unwrap();
        let start =
            format!("filter uses 1 of {wanted} threads: run.memory of 40 MiB holds no more; ");
        let rest = warning.strip_prefix(&start).unwrap();
        let holds: u64 = rest
            .strip_suffix(" MiB would hold all")
            .unwrap()
            .parse()
            .unwrap();
        let enough = Budget::new(holds * MIB, wanted, SMALL).unwrap();
        assert_eq!((enough.threads, enough.warning(wanted)), (wanted, None));
        let less = Budget::new((holds - 1) * MIB, wanted, SMALL).unwrap();
        assert!(less.threads < wanted);
    }
}

#[test]
fn the_number_of_a_refusal_lets_a_row_group_take_as_much() {
    for threads in [1, 2, 8, 64] {
        for bytes in [1, 20 * MIB + 1, 300 * MIB, 1 << 40] {
            let budget = Budget::new(32 * MIB, threads, SMALL).unwrap();
            let needed = budget.for_work(threads, bytes);
            let then = Budget::new(needed, threads, SMALL).unwrap();
            assert!(
                then.work_bytes() >= bytes,
                "{threads} threads, {bytes} bytes"
            );
        }
    }
}

#[test]
fn the_parts_are_the_budget() {
    for memory_bytes in [32 * MIB, 100_000_001, 1 << 30, 1 << 40] {
        for threads in [1, 2, 9] {
            let budget = Budget::new(memory_bytes, threads, SMALL).unwrap();
            let planned = budget.planned();
            let parts = planned.as_object().unwrap().values();
            let sum: u64 = parts.map(|part| part.as_u64().unwrap()).sum();
            assert_eq!(sum, memory_bytes, "{planned}");
        }
    }
}

#[test]
fn small_row_groups_need_less_and_open_files_bound_the_threads() {
    let tiny = Shape {
        group_bytes: 1000,
        footer_bytes: 10_000,
        ..SMALL
    };
    let threads = |shape| Budget::new(64 * MIB, 16, shape).unwrap().threads;
    assert!(threads(tiny) > threads(SMALL));
    assert_eq!(threads_of_files(128, 64), 24);
    assert_eq!(threads_of_files(128, 2), 2);
    assert_eq!(threads_of_files(10, 64), 1);
}
