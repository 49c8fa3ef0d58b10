//! The user's folders for the program's files. Only this module finds them. A folder need not
//! exist.
//!
//! | files | on Linux |
//! |---|---|
//! | configuration | `$XDG_CONFIG_HOME/divisi`, else `~/.config/divisi` |
//! | registered tasks | `$XDG_DATA_HOME/divisi`, else `~/.local/share/divisi` |
//! | results of searches and profiles | `$XDG_CACHE_HOME/divisi`, else `~/.cache/divisi` |
//! | logs and reports of panics | `$XDG_STATE_HOME/divisi`, else `~/.local/state/divisi` |
//! | sockets of servers | `$XDG_RUNTIME_DIR/divisi`, else `divisi-UID` among temporary files |
//!
//! A variable without an absolute path is ignored. Other systems have their own folders for the
//! first three.

use std::env;
use std::path::PathBuf;

use directories::{BaseDirs, ProjectDirs};

/// The name of the program's folder in the system's folders.
const NAME: &str = "divisi";

fn of_program() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", NAME)
}

/// Returns the path in `variable`, or `None` if it is not an absolute path.
fn set(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// Returns the user's home, or `None` if there is no home.
pub fn home() -> Option<PathBuf> {
    BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// Returns the configuration folder, or `None` if there is no home.
pub fn config() -> Option<PathBuf> {
    of_program().map(|dirs| dirs.config_dir().to_owned())
}

/// Returns the folder of the user's data, or `None` if there is no home.
pub fn data() -> Option<PathBuf> {
    of_program().map(|dirs| dirs.data_dir().to_owned())
}

/// Returns the folder of files that can be computed again, or `None` if there is no home.
pub fn cache() -> Option<PathBuf> {
    of_program().map(|dirs| dirs.cache_dir().to_owned())
}

/// Returns the folder of logs and reports, or `None` if there is no home.
pub fn state() -> Option<PathBuf> {
    let states = set("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")))?;
    Some(states.join(NAME))
}

/// Returns the folder of the sockets of the user's programs, or `None` if there is none.
pub fn runtime() -> Option<PathBuf> {
    set("XDG_RUNTIME_DIR")
}

/// Returns the folder of the sockets of servers.
pub fn sockets() -> PathBuf {
    match runtime() {
        Some(runtime) => runtime.join(NAME),
        None => {
            let user = rustix::process::getuid().as_raw();
            env::temp_dir().join(format!("{NAME}-{user}"))
        }
    }
}
