//! Unit tests of `src/door/background.rs`.

use std::panic::resume_unwind;
use std::thread;

use super::*;

#[tokio::test]
async fn large_work_alone_is_done_by_other_threads() -> io::Result<()> {
    let threads = BackgroundThreads::start(1)?;
    let here = thread::current().id();
    let background = threads.handle();
    for (bytes, is_here) in [(LARGE - 1, true), (LARGE, false)] {
        let done = background.run(bytes, move || Ok(thread::current().id() == here));
        assert_eq!(done.await, Ok(is_here), "{bytes} bytes");
    }
    Ok(())
}

#[tokio::test]
async fn work_that_breaks_off_is_an_error() -> io::Result<()> {
    let threads = BackgroundThreads::start(1)?;
    let background = threads.handle();
    let breaks_off = || -> Result<(), ServiceError> { resume_unwind(Box::new(())) };
    let done = background.run(LARGE, breaks_off).await;
    assert_eq!(done.map_err(|e| e.kind()), Err(ErrorKind::Internal));
    Ok(())
}
