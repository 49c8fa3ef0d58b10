//! INFaaS's figures again, in virtual time.
//!
//! *published*: a number of the paper or its code. *made up*: by a law that is written where the
//! number is. *fitted*: chosen so that a figure comes out. All others are predicted. Numbers are means
//! and standard deviations over five seeds of arrivals.

mod architectures;
mod beds;
mod figure1;
mod figure5;
mod figure6;
mod figure7;
mod figure8;
mod resnet50;
mod seeds;

pub use architectures::ARCHITECTURES;
pub use beds::{CPU, GPU, INFERENTIA, catalog, stream, task};

/// Prints the figures that were asked for, or all.
pub fn print(wanted: impl Fn(&str) -> bool) {
    let figures: [(&str, fn()); 5] = [
        ("figure1", figure1::print),
        ("figure5", figure5::print),
        ("figure6", figure6::print),
        ("figure7", figure7::print),
        ("figure8", figure8::print),
    ];
    for (name, print) in figures.iter().filter(|(name, _)| wanted(name)) {
        println!("\n## {name}\n");
        print();
    }
}
