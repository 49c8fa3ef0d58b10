//! Calibration: the ranges of a network's values, against plain definitions; corrections, layers
//! that are kept, files, and members that name them.

mod files;
mod networks;
mod observers;
