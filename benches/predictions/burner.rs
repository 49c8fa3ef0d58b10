//! A program that takes half of a core.

use std::hint::black_box;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// The argument with which this program computes half of the time.
pub const ARGUMENT: &str = "burn";

/// The time of computing, and of resting after it.
const HALF: Duration = Duration::from_millis(50);

/// The other program, which ends with this value.
pub struct Burner(Child);

impl Burner {
    pub fn start() -> Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Burner(Command::new(program).arg(ARGUMENT).spawn()?))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Computes half of the time until the program that started this one ends.
pub fn burn() -> ! {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        let began = Instant::now();
        let mut sum = 0_u64;
        while began.elapsed() < HALF {
            for i in 0..1000_u64 {
                sum = sum.wrapping_mul(31).wrapping_add(black_box(i));
            }
        }
        black_box(sum);
        thread::sleep(HALF);
    }
    std::process::exit(0)
}
