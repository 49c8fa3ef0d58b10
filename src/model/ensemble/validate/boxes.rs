//! The boxes of members: their description in the manifest, and the positions of their numbers,
//! from the shapes of the network's outputs.

use crate::ensemble::answers_table::{
    BoxesTable, WrittenBackground, WrittenBoxForm, WrittenScores,
};
use crate::ensemble::{BoxForm, BoxOutputs, BoxScores, BoxStrides};
use divisi_runtime::network::{Graph, Shape};
use divisi_runtime::tensor::TensorSpec;

/// The number of coordinates of a box.
const CORNERS: usize = 4;

/// Returns the layout of a network's rows as boxes of this number of classes. Coordinates are in
/// pixels of `input`, or fractions of it, and are converted to pixels of `sample`.
pub(super) fn outputs(
    table: &BoxesTable,
    classes: usize,
    graph: &Graph,
    [input, sample]: [Shape; 2],
) -> Result<BoxOutputs, String> {
    let has = |background| table.background == Some(background);
    let object = usize::from(table.objectness.unwrap_or(false));
    let first = object + usize::from(has(WrittenBackground::First));
    let scores = first + classes + usize::from(has(WrittenBackground::Last));
    let places = places(graph, scores)?;
    let number = |at: usize| places.scores.number(at);
    let relative = table.relative.unwrap_or(false);
    let from = if relative { [1, 1] } else { sides(input) };
    let is_image = matches!(sample, Shape::Image { .. });
    Ok(BoxOutputs {
        candidates: small(places.candidates),
        classes: small(classes),
        form: match table.boxes.unwrap_or(WrittenBoxForm::Cxcywh) {
            WrittenBoxForm::Cxcywh => BoxForm::Centre,
            WrittenBoxForm::Xyxy => BoxForm::Corners,
        },
        scores: match (table.scores.unwrap_or_default(), table.background) {
            (WrittenScores::Probabilities, _) => BoxScores::Probabilities,
            (WrittenScores::Logits, None) => BoxScores::Sigmoid,
            (WrittenScores::Logits, Some(_)) => BoxScores::Softmax,
        },
        place: places.corners.strides(),
        of_classes: number(first),
        objectness: (object > 0).then(|| number(0)),
        background: match table.background {
            None => None,
            Some(WrittenBackground::First) => Some(number(object)),
            Some(WrittenBackground::Last) => Some(number(first + classes)),
        },
        // Coordinates stay unchanged if samples are not images.
        scale: if is_image {
            [from, sides(sample)]
        } else {
            [[1, 1]; 2]
        },
    })
}

/// Returns the width and height of images.
fn sides(shape: Shape) -> [u32; 2] {
    match shape {
        Shape::Image { height, width, .. } => [small(width), small(height)],
        _ => [1, 1],
    }
}

/// Shapes have at most 2²⁸ values.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The layout of candidates' numbers in a row.
#[derive(Clone, Copy)]
struct CandidateNumbers {
    first: usize,
    candidate: usize,
    number: usize,
}

impl CandidateNumbers {
    fn strides(self) -> BoxStrides {
        BoxStrides {
            first: small(self.first),
            candidate: small(self.candidate),
            number: small(self.number),
        }
    }

    /// Returns the layout of one number of each candidate.
    fn number(self, at: usize) -> BoxStrides {
        let first = self.first + at * self.number;
        CandidateNumbers { first, ..self }.strides()
    }
}

/// The layout of all candidates' boxes and scores in a row.
struct BoxPlaces {
    candidates: usize,
    corners: CandidateNumbers,
    scores: CandidateNumbers,
}

/// Returns the layout of boxes and scores in a network's outputs: in one output, grouped by
/// candidate or by number, or in two outputs.
fn places(graph: &Graph, scores: usize) -> Result<BoxPlaces, String> {
    let outputs = graph.signature().outputs;
    let dims: Vec<Vec<usize>> = outputs.iter().map(dims).collect();
    let all = CORNERS + scores;
    match &dims[..] {
        [single] => match single[..] {
            [candidates, numbers] if numbers == all => Some(in_one(candidates, [numbers, 1])),
            [numbers, candidates] if numbers == all => Some(in_one(candidates, [1, candidates])),
            _ => None,
        },
        [first, second] => {
            let names_box = |at: usize| outputs[at].name.to_ascii_lowercase().contains("box");
            // If both outputs could be boxes, the name decides.
            let swapped = names_box(1) && !names_box(0);
            let [straight, turned] = [[first, second], [second, first]];
            let orders = if swapped {
                [(turned, true), (straight, false)]
            } else {
                [(straight, false), (turned, true)]
            };
            orders
                .into_iter()
                .find_map(|(dims, swapped)| in_two(dims, scores, swapped))
        }
        _ => None,
    }
    .ok_or_else(|| {
        let found: Vec<String> = outputs.iter().map(ToString::to_string).collect();
        format!(
            "expected boxes as an output [n, {all}] or [{all}, n], or as two [n, {CORNERS}] and \
             [n, {scores}], found {}",
            found.join(", ")
        )
    })
}

/// Returns an output's dimensions without leading dimensions of 1.
fn dims(spec: &TensorSpec) -> Vec<usize> {
    let all: Vec<usize> = spec.dims.iter().filter_map(|d| d.size()).collect();
    let extra = all.len().saturating_sub(2);
    let ones = all.iter().take(extra).take_while(|d| **d == 1).count();
    all[ones..].to_vec()
}

fn in_one(candidates: usize, [candidate, number]: [usize; 2]) -> BoxPlaces {
    let numbers = |first: usize| CandidateNumbers {
        first,
        candidate,
        number,
    };
    BoxPlaces {
        candidates,
        corners: numbers(0),
        scores: numbers(CORNERS * number),
    }
}

/// Returns the layout for an output of boxes and an output of scores. The scores come first in a
/// row if the outputs are `swapped`.
fn in_two([boxes, of_scores]: [&Vec<usize>; 2], scores: usize, swapped: bool) -> Option<BoxPlaces> {
    let [candidates, CORNERS] = boxes[..] else {
        return None;
    };
    if *of_scores != [candidates, scores] {
        return None;
    }
    let [corners, scores_at] = match swapped {
        true => [candidates * scores, 0],
        false => [0, candidates * CORNERS],
    };
    let numbers = |first: usize, candidate: usize| CandidateNumbers {
        first,
        candidate,
        number: 1,
    };
    Some(BoxPlaces {
        candidates,
        corners: numbers(corners, CORNERS),
        scores: numbers(scores_at, scores),
    })
}
