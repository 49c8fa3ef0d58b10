//! The trials and their figures.

use divisi_engine::search::Predicted;
use divisi_model::metrics::stats::median;

/// A matrix: its prediction and both measurements.
pub struct Trial {
    pub predicted: Predicted,
    pub measured: f64,
    pub repeated: f64,
}

impl Trial {
    pub fn new(predicted: Predicted) -> Self {
        Trial {
            predicted,
            measured: 0.0,
            repeated: 0.0,
        }
    }

    fn is_covered(&self) -> bool {
        (self.predicted.low..=self.predicted.high).contains(&self.measured)
    }

    fn half_width(&self) -> f64 {
        (self.predicted.high - self.predicted.low) / 2.0 / self.predicted.samples_per_s
    }

    fn error(&self) -> f64 {
        (self.predicted.samples_per_s / self.measured - 1.0).abs()
    }

    fn repeat_error(&self) -> f64 {
        (self.repeated / self.measured - 1.0).abs()
    }
}

pub fn print_trial(number: usize, trial: &Trial) {
    let Predicted {
        samples_per_s,
        low,
        high,
        errors,
        ..
    } = trial.predicted;
    let missed = if trial.is_covered() { "" } else { "  missed" };
    println!(
        "{:>3}  predicted {samples_per_s:>6.0} ({low:.0} … {high:.0}, {errors} errors)  measured {:>6.0}{missed}",
        number + 1,
        trial.measured
    );
}

pub fn print(trials: &[Trial]) {
    let percent = |figure: fn(&Trial) -> f64| {
        100.0 * median(&trials.iter().map(figure).collect::<Vec<f64>>())
    };
    let covered = trials.iter().filter(|trial| trial.is_covered()).count();
    let coverage = 100.0 * covered as f64 / trials.len().max(1) as f64;
    let (width, error) = (percent(Trial::half_width), percent(Trial::error));
    let repeat = percent(Trial::repeat_error);
    println!("\n{} matrices", trials.len());
    println!("coverage of the interval    {coverage:>5.1} %  (85 to 98 % expected)");
    println!("median half-width           {width:>5.1} %  (20 % at most)");
    println!(
        "median error                {error:>5.1} %  ({:.1} % at most)",
        (1.5 * repeat).max(10.0)
    );
    println!("median error of repetition  {repeat:>5.1} %");
}
