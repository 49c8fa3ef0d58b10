//! The choice of precisions against its definition, on small random cases.

use divisi_engine::search::precisions::{
    AccuracyLoss, ENOUGH_SAMPLES, FASTER, MemberVariant, PrecisionChoice, UnevenAnswers,
    VariantAnswers, VariantFate, choose_precisions,
};
use divisi_model::ensemble::{Combination, MemberPrecision, RuleKind, label_of};
use divisi_runtime::device::MemberIndex;
use proptest::prelude::*;

const PRECISIONS: [&str; 3] = ["f32", "bf16", "int8"];

/// Answers of an ensemble of two classes: of each member and precision its scores of the second
/// class, and its seconds.
#[derive(Clone, Debug)]
struct Case {
    labels: Vec<usize>,
    members: Vec<Vec<(Vec<f32>, f64)>>,
    allowed: AccuracyLoss,
}

fn precision(at: usize) -> MemberPrecision {
    PRECISIONS[at].parse().expect("a precision")
}

fn rows(scores: &[f32]) -> Vec<f32> {
    scores
        .iter()
        .flat_map(|second| [1.0 - second, *second])
        .collect()
}

fn points(points: f64) -> AccuracyLoss {
    AccuracyLoss::new(points).expect("in range")
}

impl Case {
    fn answers(&self) -> VariantAnswers {
        let variants = self.members.iter().map(|variants| {
            let variants = variants.iter().enumerate();
            let variants = variants.map(|(at, (scores, seconds))| MemberVariant {
                precision: precision(at),
                rows: rows(scores),
                seconds: *seconds,
            });
            variants.collect()
        });
        let rule = Combination::equal_weights(RuleKind::Average, self.members.len()).build(2);
        let answers = VariantAnswers::new(rule, 2, self.labels.clone(), variants.collect());
        answers.expect("even")
    }

    fn choose(&self) -> PrecisionChoice {
        choose_precisions(&self.answers(), self.allowed)
    }

    /// Samples of these that the mean of the members answers right.
    fn right(&self, choice: &[usize], samples: &[usize]) -> usize {
        let is_right = |sample: &&usize| {
            let share = 1.0 / self.members.len() as f32;
            let mut mean = [0.0; 2];
            for (variants, at) in self.members.iter().zip(choice) {
                let second = variants[*at].0[**sample];
                mean[0] += share * (1.0 - second);
                mean[1] += share * second;
            }
            label_of(&mean) == Some(self.labels[**sample])
        };
        samples.iter().filter(is_right).count()
    }

    /// Answers lost, as a choice is made over `samples`.
    fn lost(&self, choice: &[usize], samples: &[usize]) -> f64 {
        let float32 = self.right(&vec![0; choice.len()], samples);
        float32 as f64 - self.right(choice, samples) as f64
    }

    fn holds(&self, choice: &[usize], samples: &[usize]) -> bool {
        let most = self.allowed.get() / 100.0 * samples.len() as f64;
        self.lost(choice, samples) <= most + 1e-9
    }

    /// All choices that differ from one in a single member, which is faster, and hold.
    fn changes(&self, choice: &[usize], samples: &[usize]) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        for (member, variants) in self.members.iter().enumerate() {
            for at in 1..variants.len() {
                let mut changed = choice.to_vec();
                changed[member] = at;
                let is_faster = variants[at].1 < FASTER * variants[choice[member]].1;
                if is_faster && self.holds(&changed, samples) {
                    found.push(changed);
                }
            }
        }
        found
    }

    fn seconds(&self, choice: &[usize]) -> f64 {
        let chosen = self.members.iter().zip(choice);
        chosen.map(|(variants, at)| variants[*at].1).sum()
    }

    /// The definition: the change that saves most for each answer lost, until there is none.
    fn defined(&self, samples: &[usize]) -> Vec<usize> {
        let mut choice = vec![0; self.members.len()];
        loop {
            let worth = |changed: &Vec<usize>| {
                let saved = self.seconds(&choice) - self.seconds(changed);
                let lost = self.lost(changed, samples) - self.lost(&choice, samples);
                match lost > 0.0 {
                    true => (0, saved / lost),
                    false => (1, saved),
                }
            };
            let changes = self.changes(&choice, samples).into_iter();
            let best = changes.max_by(|a, b| {
                let (a, b) = (worth(a), worth(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            });
            let Some(best) = best else { return choice };
            choice = best;
        }
    }
}

fn chosen(found: &PrecisionChoice) -> Vec<usize> {
    let number = |own: &MemberPrecision| (0..3).find(|at| precision(*at) == *own);
    let numbers = found.precisions.iter().map(number);
    numbers.map(|at| at.expect("one of them")).collect()
}

fn cases(samples: impl Strategy<Value = usize>) -> impl Strategy<Value = Case> {
    let sized = (samples, 1..4_usize, 0.0..40.0_f64);
    sized.prop_flat_map(|(samples, members, allowed)| {
        let labels = prop::collection::vec(0..2_usize, samples);
        let variant = (prop::collection::vec(0.0..1.0_f32, samples), 1.0..9.0_f64);
        let variants = prop::collection::vec(variant, 3);
        let members = prop::collection::vec(variants, members);
        (labels, members).prop_map(move |(labels, members)| Case {
            labels,
            members,
            allowed: points(allowed),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn of_few_samples_the_choice_is_that_of_the_definition(case in cases(1..30_usize)) {
        let all: Vec<usize> = (0..case.labels.len()).collect();
        let found = case.choose();
        let choice = chosen(&found);
        prop_assert!(case.holds(&choice, &all));
        prop_assert_eq!(case.changes(&choice, &all), Vec::<Vec<usize>>::new());
        prop_assert_eq!(&choice, &case.defined(&all));
        prop_assert_eq!(found.all.chosen, case.right(&choice, &all));
        prop_assert_eq!((found.unseen, found.refused_by_all), (None, 0));
    }

    #[test]
    fn of_many_half_decide_and_all_hold(case in cases(ENOUGH_SAMPLES..ENOUGH_SAMPLES + 20)) {
        let all: Vec<usize> = (0..case.labels.len()).collect();
        let (deciding, others): (Vec<usize>, Vec<usize>) = all.iter().partition(|at| *at % 2 == 0);
        let found = case.choose();
        let choice = chosen(&found);
        prop_assert!(case.holds(&choice, &all));
        prop_assert!(found.all.is_within(case.allowed));
        let Some(unseen) = found.unseen else {
            prop_assert!(found.refused_by_all > 0);
            return Ok(());
        };
        prop_assert_eq!(&choice, &case.defined(&deciding));
        prop_assert_eq!(unseen.samples, others.len());
        prop_assert_eq!(unseen.chosen, case.right(&choice, &others));
    }

    #[test]
    fn every_variant_has_its_figures_and_its_reason(case in cases(1..30_usize)) {
        let all: Vec<usize> = (0..case.labels.len()).collect();
        let found = case.choose();
        let choice = chosen(&found);
        prop_assert_eq!(found.variants.len(), 2 * case.members.len());
        for variant in &found.variants {
            let (member, at) = (variant.member.get(), chosen_as(variant.precision));
            let mut alone = vec![0; choice.len()];
            alone[member] = at;
            prop_assert_eq!(variant.alone.chosen, case.right(&alone, &all));
            let mut instead = choice.clone();
            instead[member] = at;
            let is_faster = case.members[member][at].1 < FASTER * case.members[member][choice[member]].1;
            match variant.fate {
                VariantFate::Chosen => prop_assert_eq!(choice[member], at),
                VariantFate::NotFaster => prop_assert!(!is_faster),
                VariantFate::LosesTooMuch(lost) => {
                    prop_assert!(is_faster && !case.holds(&instead, &all));
                    let expected = 100.0 * case.lost(&instead, &all) / all.len() as f64;
                    prop_assert!((lost - expected).abs() < 1e-9);
                }
                VariantFate::RefusedByAll => prop_assert!(false, "none is"),
            }
        }
    }
}

fn chosen_as(own: MemberPrecision) -> usize {
    (0..3)
        .find(|at| precision(*at) == own)
        .expect("one of them")
}

/// One member that answers `wrong` of its samples wrong in int8 and none in float32.
fn one_member(samples: usize, wrong: &[usize], allowed: f64) -> Case {
    let right = vec![0.9; samples];
    let mut int8 = right.clone();
    wrong.iter().for_each(|at| int8[*at] = 0.1);
    Case {
        labels: vec![1; samples],
        members: vec![vec![(right.clone(), 3.0), (right, 2.0), (int8, 1.0)]],
        allowed: points(allowed),
    }
}

#[test]
fn a_bound_is_met_exactly() {
    // 0.7 points of 1000 samples are 7, half of them among those that decide.
    let wrong = [0, 1, 2, 3, 4, 5, 6];
    let found = one_member(1000, &wrong, 0.8).choose();
    assert_eq!(chosen(&found), [2]);
    assert_eq!(found.all.lost_points(), 0.7);
    let (seen, unseen) = (
        one_member(1000, &wrong, 0.7).choose(),
        found.unseen.expect("enough"),
    );
    // Four of the 500 that decide are more than 0.7 points of them.
    assert_eq!(chosen(&seen), [1]);
    assert_eq!((unseen.samples, unseen.lost_points()), (500, 0.6));
}

#[test]
fn what_loses_too_much_on_the_other_samples_is_refused() {
    let wrong: Vec<usize> = (0..40).map(|at| 2 * at + 1).collect();
    let found = one_member(1000, &wrong, 1.0).choose();
    assert_eq!(chosen(&found), [1], "bf16 costs nothing");
    assert_eq!((found.refused_by_all, found.unseen), (1, None));
    assert_eq!(found.variants[1].fate, VariantFate::RefusedByAll);
}

#[test]
fn answers_that_are_not_numbers_are_wrong() {
    let mut case = one_member(10, &[], 5.0);
    case.members[0][2].0[3] = f32::NAN;
    let found = case.choose();
    assert_eq!(chosen(&found), [1]);
    assert_eq!(found.variants[1].fate, VariantFate::LosesTooMuch(10.0));
}

#[test]
fn uneven_answers_are_refused() {
    let rule = || Combination::equal_weights(RuleKind::Average, 1).build(2);
    let none = VariantAnswers::new(rule(), 2, vec![0], vec![Vec::new()]);
    assert_eq!(
        none.err(),
        Some(UnevenAnswers::NoVariant(MemberIndex::new(0)))
    );
    let short = MemberVariant {
        precision: precision(0),
        rows: vec![0.5],
        seconds: 1.0,
    };
    let short = VariantAnswers::new(rule(), 2, vec![0], vec![vec![short]]);
    let said = short.err().expect("too short").to_string();
    assert_eq!(said, "member 0 in f32: expected 2 numbers, found 1");
}

#[test]
fn points_are_from_0_to_100() {
    for outside in [-0.1, 100.5, f64::NAN] {
        assert!(AccuracyLoss::new(outside).is_err(), "{outside}");
    }
}
