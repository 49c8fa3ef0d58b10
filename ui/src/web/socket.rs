//! A page's WebSocket: its introduction, its bounds, and the messages of its console.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use divisi_door::keys::Keys;
use divisi_session::remote::Viewer;
use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::access::{PageRights, rights};
use super::message::{FromPage, Hello, MESSAGE, ToPage};
use super::options::{JoinSession, WebLimits, WebOptions};
use super::rate::MessageRate;
use super::viewer;

/// The number of events that may wait for a page's console.
const EVENTS: usize = 512;
/// The number of messages that may wait for a page. Frames are bounded further.
const MESSAGES: usize = 32;
/// The longest wait for a page that does not read.
const UNREAD: Duration = Duration::from_secs(10);
/// The time for a last message.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The parts that all pages share.
pub(super) struct PageServer {
    keys: Option<Arc<Keys>>,
    limits: WebLimits,
    viewers: Arc<Semaphore>,
    join: JoinSession,
}

impl PageServer {
    /// Creates a server without pages.
    pub(super) fn new(options: &WebOptions, join: JoinSession) -> Self {
        PageServer {
            keys: options.keys.clone(),
            limits: options.limits,
            viewers: Arc::new(Semaphore::new(options.limits.viewers)),
            join,
        }
    }
}

/// The reason why a page is disconnected.
struct PageRefusal {
    why: String,
    /// Whether another key may help.
    key: bool,
}

impl PageRefusal {
    fn because(why: impl Into<String>) -> Self {
        let why = why.into();
        PageRefusal { why, key: false }
    }
}

/// Serves a page until it leaves, its user quits, or it breaks a bound.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    server: &Arc<PageServer>,
    from: IpAddr,
    place: Arc<OwnedSemaphorePermit>,
) {
    let config = WebSocketConfig::default()
        .read_buffer_size(8 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE))
        .max_frame_size(Some(MESSAGE));
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let mut page = PageSocket { socket };
    let Ok(Some(hello)) = timeout(server.limits.greeting, page.hello()).await else {
        return;
    };
    let ended = match admit(server, &hello) {
        Ok((rights, viewer)) => {
            // The page has a place among the viewers.
            drop(place);
            let ended = page.attend(server, hello, rights, from).await;
            drop(viewer);
            ended
        }
        Err(refused) => Err(refused),
    };
    page.end(ended).await;
}

/// Returns a page's rights and its place among the viewers.
fn admit(
    server: &PageServer,
    hello: &Hello,
) -> Result<(PageRights, OwnedSemaphorePermit), PageRefusal> {
    let rights = rights(server.keys.as_ref(), hello.key.as_deref());
    let rights = rights.map_err(|why| PageRefusal { why, key: true })?;
    let place = Arc::clone(&server.viewers).try_acquire_owned();
    let place = place.map_err(|_| PageRefusal::because("too many pages are connected"))?;
    Ok((rights, place))
}

struct PageSocket<S> {
    socket: WebSocketStream<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> PageSocket<S> {
    /// Returns the page's introduction, or `None` if it sends something else.
    async fn hello(&mut self) -> Option<Hello> {
        let message = self.socket.next().await?.ok()?;
        serde_json::from_str(message.to_text().ok()?).ok()
    }

    /// Passes messages between the page and its console.
    async fn attend(
        &mut self,
        server: &Arc<PageServer>,
        hello: Hello,
        rights: PageRights,
        from: IpAddr,
    ) -> Result<(), PageRefusal> {
        let (events, queue) = sync_channel(EVENTS);
        let (out, mut messages) = mpsc::channel(MESSAGES);
        let key = hello.key.clone();
        let console = PageConsole {
            hello,
            rights: rights.clone(),
            from,
        };
        console.start(Arc::clone(&server.join), queue, out)?;
        let mut heard = PageMessages::new(events);
        let mut signs = interval(server.limits.ping);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                text = messages.recv() => match text {
                    Some(text) => self.send(Message::text(text)).await?,
                    None => return Ok(()),
                },
                message = self.socket.next() => match message {
                    Some(Ok(Message::Close(_))) | None => return Ok(()),
                    Some(message) => heard.take(message.map_err(|_| PageRefusal::because(INVALID))?)?,
                },
                _ = signs.tick() => {
                    heard.check(server.limits.silence)?;
                    check_key(server, key.as_deref(), &rights)?;
                    self.send(Message::Ping(Bytes::new())).await?;
                }
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), PageRefusal> {
        let sent = timeout(UNREAD, self.socket.send(message)).await;
        let gone = || PageRefusal::because("the page does not read");
        sent.map_err(|_| gone())?.map_err(|_| gone())
    }

    /// Sends the reason of the end, and closes the connection.
    async fn end(&mut self, ended: Result<(), PageRefusal>) {
        let last = async {
            if let Err(PageRefusal { why, key }) = ended {
                let text = ToPage::Refused { why: &why, key }.text();
                self.socket.send(Message::text(text)).await?;
            }
            self.socket.close(None).await
        };
        // A page that does not read gets no reason.
        let _ = timeout(LAST_WORD, last).await;
    }
}

/// The reason for messages that cannot be decoded.
const INVALID: &str = "invalid or too long message";

/// Disconnects a page whose key was removed or has another role now.
fn check_key(
    server: &PageServer,
    key: Option<&str>,
    before: &PageRights,
) -> Result<(), PageRefusal> {
    match rights(server.keys.as_ref(), key) {
        Ok(now) if now == *before => Ok(()),
        _ => Err(PageRefusal {
            why: "the key has changed".to_owned(),
            key: true,
        }),
    }
}

/// The messages of a page, within their bounds.
struct PageMessages {
    events: SyncSender<FromPage>,
    rate: MessageRate,
    began: Instant,
    last: Instant,
}

impl PageMessages {
    fn new(events: SyncSender<FromPage>) -> Self {
        let now = Instant::now();
        PageMessages {
            events,
            rate: MessageRate::new(),
            began: now,
            last: now,
        }
    }

    /// Passes a message to the console.
    fn take(&mut self, message: Message) -> Result<(), PageRefusal> {
        self.last = Instant::now();
        if !self.rate.admit(message.len(), self.began.elapsed()) {
            return Err(PageRefusal::because("too many messages"));
        }
        match message {
            Message::Text(text) => {
                let event =
                    serde_json::from_str(&text).map_err(|_| PageRefusal::because(INVALID))?;
                self.pass(event)
            }
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            _ => Err(PageRefusal::because(INVALID)),
        }
    }

    /// Queues an event. The mouse skips events while the console is busy.
    fn pass(&self, event: FromPage) -> Result<(), PageRefusal> {
        match self.events.try_send(event) {
            // If the console has ended, its last messages follow.
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(FromPage::Mouse(_))) => Ok(()),
            Err(TrySendError::Full(_)) => Err(PageRefusal::because("too many waiting messages")),
        }
    }

    fn check(&self, silence: Duration) -> Result<(), PageRefusal> {
        match self.last.elapsed() > silence {
            true => Err(PageRefusal::because(
                "the page has been silent for too long",
            )),
            false => Ok(()),
        }
    }
}

/// The console of a page, before it has begun.
struct PageConsole {
    hello: Hello,
    rights: PageRights,
    from: IpAddr,
}

impl PageConsole {
    /// Starts the console in a thread, since sessions block.
    fn start(
        self,
        join: JoinSession,
        events: Receiver<FromPage>,
        out: Sender<String>,
    ) -> Result<(), PageRefusal> {
        let work = move || self.run(&join, &events, out);
        let thread = thread::Builder::new().name("page".into()).spawn(work);
        thread
            .map(drop)
            .map_err(|_| PageRefusal::because("the server has no room for another page"))
    }

    fn run(self, join: &JoinSession, events: &Receiver<FromPage>, out: Sender<String>) {
        let PageRights { name, edits } = self.rights;
        let joined = join(Viewer {
            name: format!("{name}@{}", self.from),
            read_only: !edits,
        });
        match joined {
            Ok(session) => viewer::show(session, &self.hello, edits, events, out),
            Err(why) => {
                let (why, key) = (why.to_string(), false);
                // The page may have left.
                let _ = out.try_send(ToPage::Refused { why: &why, key }.text());
            }
        }
    }
}
