//! stub until merge
pub struct Options { pub read_only: bool, pub mouse: bool, pub title: String }
pub async fn run(_s: Box<dyn divisi::session::Session>, _o: Options) -> anyhow::Result<()> { Ok(()) }
