//! Every sub-ensemble answers as many rows rightly as by definition.

use divisi_modelless::accuracy::{
    AccuracyEstimate, ClassRule, MemberSet, PairedRows, ReferenceRows, RuleError, ScoreTable,
    ScoreTableError, SubEnsembleCounts, TooManyMembers, count_chains,
};
use proptest::prelude::*;

/// Counts all sub-ensembles in comparison with the whole ensemble.
fn count_all(table: &ScoreTable, rule: &ClassRule) -> Result<SubEnsembleCounts, TooManyMembers> {
    let whole = ReferenceRows::classify(table, rule)?;
    divisi_modelless::accuracy::count_all(table, rule, &whole)
}

/// The class of a row by the definition of serving: in float64, from the beginning.
fn class_of(table: &ScoreTable, rule: &ClassRule, set: MemberSet, row: usize) -> usize {
    let classes = table.classes();
    let (mut votes, mut sums) = (vec![0.0; classes], vec![0.0; classes]);
    for member in set.members() {
        let scores = table.scores(member, row);
        let weight = match rule {
            ClassRule::WeightedAverage(weights) => weights[member],
            _ => 1.0,
        };
        for (sum, score) in sums.iter_mut().zip(scores) {
            *sum += weight * f64::from(*score);
        }
        let likeliest = (0..classes)
            .rev()
            .max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        let likeliest = likeliest.expect("classes");
        votes[likeliest] += match rule {
            ClassRule::MajorityVote => 1.0,
            ClassRule::ClassWeightedVote(weights) => weights[member][likeliest],
            _ => 0.0,
        };
    }
    let key = |class: &usize| (votes[*class], sums[*class]);
    let best = (0..classes).rev();
    best.max_by(|a, b| key(a).partial_cmp(&key(b)).expect("numbers"))
        .expect("classes")
}

fn right_by_definition(table: &ScoreTable, rule: &ClassRule, set: MemberSet) -> u32 {
    let rows = 0..table.rows();
    rows.filter(|row| class_of(table, rule, set, *row) == table.label(*row))
        .count() as u32
}

/// Scores in sixteenths: sums are exact and ties are many.
fn tables() -> impl Strategy<Value = ScoreTable> {
    (1..6_usize, 2..5_usize, 1..12_usize).prop_flat_map(|(members, classes, rows)| {
        let scores = prop::collection::vec(0..=16_u8, members * classes * rows);
        let labels = prop::collection::vec(0..classes as u32, rows);
        (scores, labels).prop_map(move |(scores, labels)| {
            let scores = scores.into_iter().map(|s| f32::from(s) / 16.0).collect();
            ScoreTable::new(members, classes, scores, labels).expect("a table")
        })
    })
}

/// Every rule, with weights that are sums of powers of two and at most 1.
fn rules(table: &ScoreTable) -> [ClassRule; 4] {
    let weights = (0..table.members())
        .map(|m| [1.0, 0.5, 0.75][m % 3])
        .collect();
    let row = |member: usize| {
        let classes = 0..table.classes();
        classes
            .map(|class| [1.0, 0.25, 0.5][(member + class) % 3])
            .collect()
    };
    [
        ClassRule::Average,
        ClassRule::WeightedAverage(weights),
        ClassRule::MajorityVote,
        ClassRule::ClassWeightedVote(
            // The greatest weight is 1, so that dividing by it changes none.
            std::iter::once(vec![1.0; table.classes()])
                .chain((1..table.members()).map(row))
                .collect(),
        ),
    ]
}

proptest! {
    #[test]
    fn every_sub_ensemble_counts_as_by_definition(table in tables()) {
        for rule in rules(&table) {
            let counts = count_all(&table, &rule).expect("few members");
            prop_assert_eq!(counts.iter().count(), (1 << table.members()) - 1);
            for (set, right) in counts.iter() {
                prop_assert_eq!(right, right_by_definition(&table, &rule, set), "{} {}", rule.name(), set);
            }
        }
    }

    #[test]
    fn sub_ensembles_are_compared_with_the_reference_row_by_row(table in tables()) {
        let rule = ClassRule::Average;
        let all = MemberSet::first(table.members());
        let is_right = |set, row| class_of(&table, &rule, set, row) == table.label(row);
        for (set, paired) in count_all(&table, &rule).expect("few members").compared() {
            let rows = 0..table.rows();
            let both = rows.filter(|row| is_right(set, *row) && is_right(all, *row)).count();
            let expected = PairedRows {
                rows: table.rows() as u32,
                whole: right_by_definition(&table, &rule, all),
                right: right_by_definition(&table, &rule, set),
                both: both as u32,
            };
            prop_assert_eq!(paired, expected, "{}", set);
        }
    }

    #[test]
    fn chains_count_as_all_do(table in tables()) {
        for rule in rules(&table) {
            let all = count_all(&table, &rule).expect("few members");
            let whole = ReferenceRows::classify(&table, &rule).expect("weights that fit");
            let chains = count_chains(&table, &rule, &whole).expect("weights that fit");
            let compared: Vec<_> = all.compared().collect();
            for pair in chains.compared() {
                prop_assert!(compared.contains(&pair), "{} {:?}", rule.name(), pair);
            }
            for (set, right) in chains.iter() {
                prop_assert_eq!(Some(right), all.right(set), "{} {}", rule.name(), set);
            }
            let sizes = 1..=table.members();
            for size in sizes {
                prop_assert!(chains.iter().any(|(set, _)| set.len() == size), "none of {}", size);
            }
        }
    }

    #[test]
    fn the_interval_holds_the_accuracy_and_stays_a_fraction(rows in 1..10_000_u32, part in 0.0..=1.0) {
        let right = (f64::from(rows) * part) as u32;
        let estimate = AccuracyEstimate::counted(right, rows).expect("a count");
        let interval = estimate.interval().expect("counted");
        prop_assert!(interval.low <= estimate.value() && estimate.value() <= interval.high);
        // The roots of Wilson's equation (p - x)^2 = z^2 x (1 - x) / n.
        for end in [interval.low.get(), interval.high.get()] {
            let p = estimate.value().get();
            let z2 = 1.959_963_984_540_054_f64.powi(2);
            let off = (p - end).powi(2) - z2 * end * (1.0 - end) / f64::from(rows);
            prop_assert!(off.abs() < 1e-12, "{off}");
        }
    }
}

fn paired(rows: u32, whole: u32, right: u32, both: u32) -> PairedRows {
    PairedRows {
        rows,
        whole,
        right,
        both,
    }
}

fn promised(paired: PairedRows, voters: usize) -> f64 {
    let estimate = AccuracyEstimate::selected(paired, voters).expect("possible counts");
    100.0 * estimate.value().get()
}

#[test]
fn a_selected_sub_ensemble_promises_less_than_it_counted() {
    // Of 300 rows, the whole ensemble errs on 3. The best of 63 sub-ensembles errs on 1 of these.
    let best = paired(300, 297, 299, 297);
    let estimate = AccuracyEstimate::selected(best, 6).expect("possible counts");
    assert_eq!(
        estimate.counted_value().map(|a| a.get()),
        Some(299.0 / 300.0)
    );
    // 99 % + 2 / 302 - 1.2816 * sqrt(4 / 302 - (2 / 302)^2) / sqrt(302)), computed by hand.
    assert!(
        (promised(best, 6) - 98.815).abs() < 0.002,
        "{}",
        promised(best, 6)
    );
    assert!(
        promised(best, 12) < promised(best, 6),
        "more members, more candidates"
    );
}

#[test]
fn more_rows_bring_the_promise_nearer_to_the_count() {
    let loss = |rows: u32| {
        let [whole, right, both] = [99, 98, 98].map(|percent| rows / 100 * percent);
        98.0 - promised(paired(rows, whole, right, both), 6)
    };
    assert!(
        loss(300) > 0.7 && loss(3000) < 0.4 && loss(300_000) < 0.03,
        "{}",
        loss(3000)
    );
}

#[test]
fn impossible_counts_are_refused() {
    let cases = [
        paired(0, 0, 0, 0),
        paired(10, 11, 5, 5),
        paired(10, 5, 11, 5),
        paired(10, 5, 5, 6),
        // 8 and 8 of 10 rows share at least 6.
        paired(10, 8, 8, 5),
    ];
    for counts in cases {
        assert!(AccuracyEstimate::selected(counts, 6).is_err(), "{counts:?}");
    }
}

#[test]
fn accuracies_that_differ_by_less_than_a_row_rank_equal() {
    let selected = AccuracyEstimate::selected(paired(300, 297, 297, 297), 6).expect("counts");
    let counted = |right| AccuracyEstimate::counted(right, 300).expect("a count");
    assert!(counted(295).value() < selected.value(), "295.2 of 300 rows");
    assert!(selected.cmp_rows(counted(295)).is_eq());
    assert!(selected.cmp_rows(counted(296)).is_lt());
}

proptest! {
    #[test]
    fn a_promise_is_a_share_and_at_most_the_count(
        both in 0..500_u32,
        lost in 0..100_u32,
        gained in 0..100_u32,
        neither in 1..100_u32,
        voters in 0..65_usize,
    ) {
        let rows = both + lost + gained + neither;
        let counts = paired(rows, both + lost, both + gained, both);
        let estimate = AccuracyEstimate::selected(counts, voters).expect("possible counts");
        prop_assert!(Some(estimate.value()) <= estimate.counted_value());
        let interval = estimate.interval().expect("counted");
        prop_assert!(interval.low <= estimate.value() && estimate.value() <= interval.high);
    }
}

#[test]
fn wilsons_interval_is_that_of_the_textbook() {
    // Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263.
    let interval = AccuracyEstimate::counted(81, 263)
        .expect("a count")
        .interval();
    let interval = interval.expect("counted");
    assert!((interval.low.get() - 0.2553).abs() < 5e-5, "{interval:?}");
    assert!((interval.high.get() - 0.3662).abs() < 5e-5, "{interval:?}");
}

#[test]
fn the_majority_of_three_that_err_together_errs_with_them() {
    // Two members are wrong on the same row; independence would promise better.
    let right = [0.9, 0.1];
    let wrong = [0.2, 0.8];
    let members = [[right, wrong], [right, wrong], [right, right]];
    let scores = members.concat().concat();
    let table = ScoreTable::new(3, 2, scores, vec![0, 0]).expect("a table");
    let counts = count_all(&table, &ClassRule::MajorityVote).expect("few members");
    assert_eq!(counts.right(MemberSet::first(3)), Some(1));
    assert_eq!(counts.right(MemberSet::from_bits(0b100)), Some(2));
    let most = counts.iter().map(|(_, right)| right).max();
    assert_eq!(
        most,
        Some(2),
        "no set is better than the third member alone"
    );
}

#[test]
fn tables_that_do_not_fit_are_refused_by_what_does_not() {
    let table = |members, classes, scores: Vec<f32>, labels: Vec<u32>| {
        ScoreTable::new(members, classes, scores, labels).map(drop)
    };
    use ScoreTableError as E;
    let cases = [
        (table(0, 2, vec![], vec![0]), E::Members(0)),
        (table(1, 1, vec![1.0], vec![0]), E::Classes(1)),
        (table(1, 2, vec![], vec![]), E::Rows(0)),
        (
            table(1, 2, vec![0.0; 3], vec![0]),
            E::Shape {
                members: 1,
                rows: 1,
                classes: 2,
                expected: 2,
                found: 3,
            },
        ),
        (
            table(1, 2, vec![0.0; 4], vec![0, 2]),
            E::Label {
                row: 1,
                last: 1,
                found: 2,
            },
        ),
        (
            table(2, 2, vec![0.0, 0.0, 0.0, f32::INFINITY], vec![0]),
            E::Score {
                member: 1,
                row: 0,
                class: 1,
                found: f32::INFINITY,
            },
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, Err(expected));
    }
    assert!(table(1, 2, vec![0.0, f32::NAN], vec![0]).is_err());
}

#[test]
fn rules_that_do_not_fit_are_refused() {
    let table = ScoreTable::new(2, 2, vec![0.5; 4], vec![0]).expect("a table");
    let counted = |rule: ClassRule| count_all(&table, &rule).map(drop);
    let members = RuleError::Members {
        expected: 2,
        found: 1,
    };
    assert_eq!(
        counted(ClassRule::WeightedAverage(vec![1.0])),
        Err(members.into())
    );
    let weight = RuleError::Weight {
        member: 1,
        found: 0.0,
    };
    assert_eq!(
        counted(ClassRule::WeightedAverage(vec![1.0, 0.0])),
        Err(weight.into())
    );
    let many = ScoreTable::new(13, 2, vec![0.5; 26], vec![0]).expect("a table");
    let found = count_all(&many, &ClassRule::Average);
    assert_eq!(found.map(drop), Err(TooManyMembers::Members(13)));
}
