//! Sockets of servers: whose they are, who removes them, and others that lie there.

use std::fs;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use divisi_session::remote::{BoundSocket, Hub, PlaceError, RemoteError, RemoteSession, probe};
use divisi_session::{Command, Session};

use crate::common::until;
use crate::folder::Folder;
use crate::transport::{Puppet, name, serve, viewer};
use crate::wait::wait_until;

/// Stops a server, and waits until it has ended.
fn ends(hub: Hub) {
    hub.stopper()();
    let ended = thread::spawn(move || hub.join());
    wait_until("the server ends", || ended.is_finished());
}

fn is_taken(path: &Path) -> bool {
    let door = BoundSocket::open_at(path, &name());
    matches!(door, Err(PlaceError::Taken(name)) if name == "digits")
}

#[test]
fn a_server_ends_without_its_socket() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("joins");
    until(&mut ann, |s| s.audience.viewers == 1);
    fs::remove_file(&path).expect("removed");
    ends(hub);
    wait_until("she is told", || ann.is_over());
}

#[test]
fn a_server_ends_where_another_socket_took_the_place_of_its_own() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    fs::remove_file(&path).expect("removed");
    let _other = UnixListener::bind(&path).expect("bound");
    ends(hub);
    assert!(UnixStream::connect(&path).is_ok(), "the other's stays");
}

#[test]
fn a_server_that_lost_its_lock_keeps_its_socket() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let lock = path.with_extension("lock");
    fs::remove_file(&lock).expect("removed");
    assert!(is_taken(&path));
    assert!(!lock.exists(), "who may not serve leaves nothing");
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("it serves on");
    until(&mut ann, |s| s.audience.viewers == 1);
    ends(hub);
    assert!(!path.exists());
}

#[test]
fn what_listens_without_a_lock_is_left_alone() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    let alien = UnixListener::bind(&path).expect("bound");
    assert!(is_taken(&path));
    assert!(UnixStream::connect(&path).is_ok(), "it still listens");
    drop(alien);
    assert!(BoundSocket::open_at(&path, &name()).is_ok(), "it is dead");
}

#[test]
fn a_socket_of_another_kind_is_left_alone() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    let there = UnixDatagram::bind(&path).expect("bound");
    let error = BoundSocket::open_at(&path, &name()).expect_err("another kind");
    assert!(matches!(error, PlaceError::Occupied(_)), "{error}");
    let from = UnixDatagram::unbound().expect("a socket");
    assert!(from.send_to(b"still there", &path).is_ok());
    drop(there);
}

#[test]
fn who_goes_leaves_what_another_put_in_its_place() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    let first = BoundSocket::open_at(&path, &name()).expect("a door");
    for file in [&path, &path.with_extension("lock")] {
        fs::remove_file(file).expect("removed");
    }
    let second = BoundSocket::open_at(&path, &name()).expect("nobody is there");
    drop(first);
    assert!(UnixStream::connect(&path).is_ok(), "its socket is there");
    assert!(is_taken(&path), "and its lock");
    drop(second);
    let left = fs::read_dir(folder.join("")).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn who_says_nothing_is_said_to_say_nothing() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    let silent = UnixListener::bind(&path).expect("bound");
    let error = RemoteSession::join(&path, viewer("ann"))
        .err()
        .expect("silence");
    assert!(matches!(error, RemoteError::Silent(_)), "{error}");
    assert_eq!(error.to_string(), "no answer came within 5s");
    drop(silent);
}

#[test]
#[cfg(target_os = "linux")]
fn nobody_waits_where_as_many_wait_as_may() {
    let folder = Folder::new();
    let path = folder.join("digits.sock");
    let busy = UnixListener::bind(&path).expect("bound");
    rustix::net::listen(&busy, 0).expect("it listens");
    let _waiting = UnixStream::connect(&path).expect("the one that may wait");
    assert!(probe(&path).is_ok(), "somebody listens");
    assert!(is_taken(&path));
}

#[test]
fn a_viewer_shows_a_lost_server_as_lost_and_attaches_to_its_successor() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let ann = RemoteSession::join(&path, viewer("ann")).expect("joins");
    let mut ann = ann.returning();
    until(&mut ann, |s| s.audience.viewers == 1 && !s.audience.lost);
    ends(hub);
    until(&mut ann, |s| s.audience.lost);
    let lost = ann.snapshot();
    assert_eq!(lost.throughput.samples_per_s, 0.0);
    assert!(lost.under_way.is_empty() && !lost.audience.you_edit);
    assert!(ann.command(Command::Undo).is_err());
    let (_successor, _) = serve(Box::new(Puppet::new()), &folder);
    until(&mut ann, |s| !s.audience.lost && s.audience.connection == 1);
    ann.command(Command::TakeEditing(true)).expect("accepted");
}
