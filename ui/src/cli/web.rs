//! The browser console of a server, as options of commands.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use divisi_door::ServerOptions;
use divisi_session::Session;
use divisi_session::remote::{RemoteSession, Viewer};

use super::listen::ListenAddress;
use crate::web::{JoinSession, WebListener, WebOptions};

/// The browser console.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Addresses")]
pub(crate) struct WebArgs {
    /// Show the console to browsers at this address, such as 127.0.0.1:8003
    #[arg(long, value_name = "ADDRESS")]
    web: Option<ListenAddress>,
    /// Accept browsers that reach --web under this host, such as gpu7:8003; repeatable
    #[arg(long, value_name = "HOST", requires = "web")]
    web_host: Vec<String>,
}

impl WebArgs {
    /// Takes the address, with the keys and the certificate of the server. Returns `None` without
    /// an address.
    ///
    /// # Errors
    /// The address cannot be used or is public without keys and TLS.
    pub(crate) fn bind(&self, server: &ServerOptions) -> Result<Option<WebListener>> {
        let Some(address) = self.web.and_then(ListenAddress::at) else {
            return Ok(None);
        };
        let listener = WebListener::bind(WebOptions {
            hosts: self.web_host.clone(),
            keys: server.keys.clone(),
            tls: server.tls.clone(),
            allow_remote: server.allow_remote,
            ..WebOptions::new(address)
        })?;
        Ok(Some(listener))
    }
}

/// Returns a function that attaches a page to the server at a socket.
pub(crate) fn join_at(socket: PathBuf) -> JoinSession {
    Arc::new(move |viewer: Viewer| {
        let session = RemoteSession::join(&socket, viewer)?;
        Ok(Box::new(session) as Box<dyn Session>)
    })
}
