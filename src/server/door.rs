//! The network server of a session, which is started and stopped while models are served.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::{mem, thread};

use divisi_door::callers::{
    CallFigures, CallerName, CallersSeen, MOMENT, MOMENTS, ModelSeen, RATE_MOMENTS,
};
use divisi_door::{Addresses, InferenceServer, ServerOptions, StartError};
use divisi_engine::changes::Changes;
use divisi_inference::ensemble::EnsembleService;
use divisi_inference::service::ModelService;
use divisi_runtime::lock::{LockRank, Ranked, RankedGuard};
use divisi_session::{
    CallerFigures, CallerView, ClientDoor, DoorAddress, DoorProtocol, DoorView, ModelCallers,
    Refusal, SessionRefusal, VariantView,
};
use divisi_tasks::routing::LiveRouter;
use divisi_tasks::service::TaskService;
use divisi_tasks::views;

/// A protocol server that a session opens and closes while models are served.
pub struct OperatedDoor {
    models: Arc<Changes>,
    /// The router of tasks, if tasks are served.
    tasks: Option<Arc<LiveRouter>>,
    options: ServerOptions,
    state: Ranked<DoorRank, Listening>,
}

/// The rank of the door's lock, which is held while a server starts. Starting takes the engine's
/// lock.
#[derive(Debug)]
enum DoorRank {}

impl LockRank for DoorRank {
    const ORDER: u8 = 3;
    const NAME: &'static str = "the door";
}

/// The state of accepting connections.
#[derive(Default)]
enum Listening {
    #[default]
    Shut,
    Open(Box<InferenceServer>),
    /// Closed, with requests still under way.
    Ending(thread::JoinHandle<()>),
}

impl OperatedDoor {
    /// Creates a door to the models. It is open if the options name an address.
    ///
    /// # Errors
    /// An address cannot be used.
    pub fn new(
        models: &Arc<Changes>,
        tasks: Option<Arc<LiveRouter>>,
        options: ServerOptions,
    ) -> Result<Self, StartError> {
        let is_named = has_address(&options);
        let door = OperatedDoor {
            models: Arc::clone(models),
            tasks,
            options: match is_named {
                true => options,
                false => usual_addresses(options),
            },
            state: Ranked::default(),
        };
        if is_named {
            *door.state() = Listening::Open(Box::new(door.start()?));
        }
        Ok(door)
    }

    /// Returns the addresses that accept connections.
    pub fn addresses(&self) -> Addresses {
        match &*self.state() {
            Listening::Open(server) => server.addresses(),
            Listening::Shut | Listening::Ending(_) => Addresses::default(),
        }
    }

    fn start(&self) -> Result<InferenceServer, StartError> {
        let models = Arc::clone(&self.models);
        let service: Arc<dyn ModelService> = match &self.tasks {
            Some(router) => Arc::new(TaskService::new(Arc::clone(router))),
            None => Arc::new(EnsembleService::of_changes(models)),
        };
        InferenceServer::start(service, &self.options)
    }

    fn state(&self) -> RankedGuard<'_, Listening> {
        self.state.lock()
    }
}

impl Drop for OperatedDoor {
    /// Requests under way are answered first: the models end after the door.
    fn drop(&mut self) {
        if let Listening::Ending(ending) = mem::take(&mut *self.state()) {
            drop(ending.join());
        }
    }
}

/// Returns the options with Triton's usual addresses.
pub fn usual_addresses(options: ServerOptions) -> ServerOptions {
    let here = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    ServerOptions {
        http: here(8000),
        grpc: here(8001),
        metrics: here(8002),
        ..options
    }
}

fn has_address(options: &ServerOptions) -> bool {
    let addresses = [options.http, options.grpc, options.metrics];
    addresses.iter().any(Option::is_some)
}

impl ClientDoor for OperatedDoor {
    fn view(&self) -> DoorView {
        let counted = DoorView {
            connection_limit: self.options.limits.connections,
            window: MOMENT * MOMENTS as u32,
            rate_window: MOMENT * RATE_MOMENTS as u32,
            moment: MOMENT,
            ..DoorView::default()
        };
        match &*self.state() {
            Listening::Open(server) => of_server(server, counted),
            Listening::Shut | Listening::Ending(_) => counted,
        }
    }

    fn callers_of_models(&self) -> BTreeMap<(String, String), ModelCallers> {
        match &*self.state() {
            Listening::Open(server) => server.models_seen().into_iter().map(of_model).collect(),
            Listening::Shut | Listening::Ending(_) => BTreeMap::new(),
        }
    }

    fn variants_of_models(&self) -> BTreeMap<String, VariantView> {
        let router = self.tasks.as_ref();
        router.map_or_else(BTreeMap::new, |router| {
            views::variants(router, &self.models.running())
        })
    }

    fn open(&self) -> Result<(), Refusal> {
        let mut state = self.state();
        match mem::take(&mut *state) {
            Listening::Open(server) => {
                *state = Listening::Open(server);
                return Err(SessionRefusal::DoorOpen.into());
            }
            // Its addresses are free once it has ended.
            Listening::Ending(ending) if !ending.is_finished() => {
                *state = Listening::Ending(ending);
                let text = "the previous requests are still being answered; try again in a moment";
                return Err(SessionRefusal::NotListened(text.into()).into());
            }
            Listening::Ending(ending) => drop(ending.join()),
            Listening::Shut => {}
        }
        let started = self.start();
        let started = started.map_err(|e| SessionRefusal::NotListened(e.to_string()))?;
        *state = Listening::Open(Box::new(started));
        Ok(())
    }

    fn close(&self) -> Result<(), Refusal> {
        let mut state = self.state();
        match mem::take(&mut *state) {
            Listening::Open(server) => {
                let end = thread::Builder::new().name("door".into());
                let ending = end.spawn(move || drop(server));
                *state = ending.map_or(Listening::Shut, Listening::Ending);
                Ok(())
            }
            other => {
                *state = other;
                Err(SessionRefusal::DoorNotOpen.into())
            }
        }
    }
}

fn of_server(server: &InferenceServer, counted: DoorView) -> DoorView {
    let activity = server.activity();
    let CallersSeen { callers, others } = activity.seen;
    DoorView {
        addresses: addresses(server.addresses()),
        http_connections: activity.http,
        grpc_connections: activity.grpc,
        callers: caller_views(callers),
        other_callers: others.map(|(count, all)| (count, figures(all))),
        ..counted
    }
}

fn of_model(seen: ModelSeen) -> ((String, String), ModelCallers) {
    let callers = ModelCallers {
        callers: caller_views(seen.callers),
        others: seen.others.map(|(count, all)| (count, figures(all))),
    };
    ((seen.name, seen.version), callers)
}

fn addresses(at: Addresses) -> Vec<DoorAddress> {
    let all = [
        (DoorProtocol::Http, at.http),
        (DoorProtocol::Grpc, at.grpc),
        (DoorProtocol::Metrics, at.metrics),
    ];
    let listened = all
        .into_iter()
        .filter_map(|(protocol, address)| Some((protocol, address?)));
    listened
        .map(|(protocol, address)| DoorAddress {
            protocol,
            address,
            tls: at.tls,
            keys: at.keys,
        })
        .collect()
}

fn caller_views(callers: Vec<(CallerName, CallFigures)>) -> Vec<CallerView> {
    let views = callers.into_iter().map(|(name, calls)| CallerView {
        has_key: matches!(name, CallerName::Key(_)),
        name: name.to_string(),
        figures: figures(calls),
    });
    views.collect()
}

fn figures(calls: CallFigures) -> CallerFigures {
    CallerFigures {
        per_second: calls.per_second,
        calls: calls.calls,
        failed: calls.failed,
    }
}
