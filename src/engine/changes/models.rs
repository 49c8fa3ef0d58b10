//! Changes of the models that callers wait for, and those that an operator plans first.

use std::sync::Arc;
use std::thread;

use crate::deployment::{
    CatalogueChange, ChangePlan, Deployment, DeploymentError, Handover, ModelOverride,
    ServingNumber,
};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::{ModelCopy, NewEntry};

use super::control::{Changes, RequestedAs};
use super::event::{ChangeOrigin, ChangeRefusal, WatchedBy};
use super::goals::GoalEvidence;
use super::judge::Terms;
use super::outcomes::ChangeMade;
use super::requests::{ModelChangeState, ModelsChanged, refused};

/// How a policy that follows the load makes a change.
#[derive(Clone, Debug, Default)]
pub struct PolicyChange {
    /// The number of what served when the policy decided, or `None` if the change suits any setup.
    pub decided_on: Option<ServingNumber>,
    /// The affected queries before and since the change, or `None` for no probation.
    pub watch: Option<GoalEvidence>,
    /// Whether the change is judged together with the policy's change on probation.
    pub continues: bool,
    /// Why the policy rolls back its last change, or `None` for a new change.
    pub rolls_back: Option<String>,
}

/// How often a change is planned again because something else changed meanwhile.
const MOST_PLANS: usize = 64;

impl Changes {
    /// Loads a model, or its current versions, and waits until it serves.
    ///
    /// # Errors
    /// The model is unknown, cannot be read, or does not fit next to the running ones. The running
    /// models stay.
    pub fn load(&self, name: &str) -> Result<(), ChangeRefusal> {
        self.load_as(name, &ModelOverride::default())
    }

    /// Loads a model with an overridden configuration or files, until it is loaded again.
    ///
    /// # Errors
    /// See [`Changes::load`]. After an error the previous override is in place again.
    pub fn load_as(&self, name: &str, by: &ModelOverride) -> Result<(), ChangeRefusal> {
        let _turn = self.turn.lock();
        let take_back = self.deployment().override_model(name, by)?;
        let loaded = self.make_in_turn(&CatalogueChange::Load(name.to_owned()));
        if loaded.is_err() {
            // The running models stay, and the next read of the source detects this.
            take_back();
        }
        loaded.map(drop)
    }

    /// Unloads a model, with `dependents` also the pipelines that use it, and waits until it is
    /// unloaded.
    ///
    /// # Errors
    /// The model is not served, or a pipeline uses it and `dependents` is false.
    pub fn unload(&self, name: &str, dependents: bool) -> Result<(), ChangeRefusal> {
        let name = name.to_owned();
        let change = CatalogueChange::Unload { name, dependents };
        self.make_change(&change).map(drop)
    }

    /// Reads the source again and serves its new and changed models, without the removed ones.
    /// Versions that were rolled back stay out.
    ///
    /// # Errors
    /// The models do not fit next to the running ones. The running models stay.
    pub fn refresh(&self) -> Result<(), ChangeRefusal> {
        self.make_change(&CatalogueChange::Refresh).map(drop)
    }

    /// Serves `entries`, placed by `matrix`, for a policy that follows the load. Waits until they
    /// serve. Returns the number of what serves then, or `None` if these models already run with this
    /// matrix.
    ///
    /// # Errors
    /// The models do not form a catalogue, the matrix does not match them, they do not fit next to
    /// the running models, or something else runs than when the policy decided. The running models
    /// stay.
    pub fn serve(
        &self,
        entries: &[NewEntry],
        matrix: &Matrix,
        change: PolicyChange,
    ) -> Result<Option<ServingNumber>, ChangeRefusal> {
        let _turn = self.turn.lock();
        let plan = |deployment: &Deployment, _: &[ModelCopy]| {
            let plan = deployment.plan_served(entries.to_vec(), matrix.clone())?;
            // Checked after the plan: a later change makes the plan stale.
            let serving = deployment.running().serving();
            match change.decided_on.is_none_or(|known| known == serving) {
                true => Ok(plan),
                false => Err(DeploymentError::Stale),
            }
        };
        let origin = match &change.rolls_back {
            Some(why) => ChangeOrigin::RolledBack(why.clone()),
            None => ChangeOrigin::Policy,
        };
        let watch = change.watch.clone().map(|evidence| WatchedBy::Goals {
            evidence: Box::new(evidence),
            continues: change.continues,
        });
        let made = self.make_planned(plan, RequestedAs { watch, origin })?;
        Ok(made.map(|made| made.serving))
    }

    /// Plans a change of the models: the resulting models, columns and memory. Changes nothing.
    ///
    /// # Errors
    /// The change is not possible, even if the running engine ends first.
    pub fn plan_change(&self, change: &CatalogueChange) -> Result<ChangePlan, ChangeRefusal> {
        let planned = self.deployment().plan_models(change, &self.held_off());
        Ok(planned?)
    }

    /// Makes a planned change and waits for its end.
    ///
    /// # Errors
    /// Something else runs than when the plan was made, another change is under way, the engines do
    /// not fit side by side, or the new engine does not start. The previous setup serves.
    pub fn make(
        &self,
        plan: ChangePlan,
        handover: Handover,
    ) -> Result<ModelsChanged, ChangeRefusal> {
        let origin = match plan.change() {
            Some(change) => ChangeOrigin::Models(change.clone()),
            None => ChangeOrigin::Applied,
        };
        let made = self.make_for(RequestedAs::unwatched(origin), plan, handover)?;
        Ok(made.changed)
    }

    fn make_for(
        &self,
        how: RequestedAs,
        plan: ChangePlan,
        handover: Handover,
    ) -> Result<ChangeMade, ChangeRefusal> {
        let number = self.begin(plan, handover, how)?;
        Ok(self.driver.outcomes.wait(number)?)
    }

    /// Makes a change of the models and waits for its end. Returns `None` if the models are already
    /// served.
    fn make_change(&self, change: &CatalogueChange) -> Result<Option<ChangeMade>, ChangeRefusal> {
        let _turn = self.turn.lock();
        self.make_in_turn(change)
    }

    fn make_in_turn(&self, change: &CatalogueChange) -> Result<Option<ChangeMade>, ChangeRefusal> {
        let plan =
            |deployment: &Deployment, held: &[ModelCopy]| deployment.plan_models(change, held);
        let origin = ChangeOrigin::Models(change.clone());
        self.make_planned(plan, RequestedAs::unwatched(origin))
    }

    /// Plans and makes a change. Plans again if something else changes meanwhile.
    fn make_planned(
        &self,
        plan: impl Fn(&Deployment, &[ModelCopy]) -> Result<ChangePlan, DeploymentError>,
        how: RequestedAs,
    ) -> Result<Option<ChangeMade>, ChangeRefusal> {
        let mut refused = ChangeRefusal::UnderWay;
        for _ in 0..MOST_PLANS {
            let held = self.held_off();
            let plan = plan(self.deployment(), &held)?;
            let made = match plan.is_empty() {
                true => self.settle(plan, &held).map(|()| None),
                false => {
                    let made = self.make_for(how.clone(), plan, Handover::Beside);
                    made.map(Some)
                }
            };
            match made {
                Err(refusal) if refusal.is_for_now() => {
                    self.wait_for_change_under_way();
                    refused = refusal;
                }
                made => return made,
            }
        }
        Err(refused)
    }

    fn held_off(&self) -> Vec<ModelCopy> {
        self.driver.machine.lock().held_off().to_vec()
    }

    fn wait_for_change_under_way(&self) {
        let number = self.driver.machine.lock().number_under_way();
        // The caller plans again, whatever the outcome.
        let _ = number.map(|number| self.driver.outcomes.wait(number));
    }

    /// Records the names of a change that leaves the served models as they are.
    fn settle(&self, plan: ChangePlan, held: &[ModelCopy]) -> Result<(), ChangeRefusal> {
        if plan.of_running_models().is_none() {
            self.driver.machine.lock().check_free()?;
            let settled = self
                .deployment()
                .apply(plan, Handover::Beside, held, &mut |_| {});
            settled.map_err(ChangeRefusal::from)?;
        }
        Ok(())
    }
}

impl Changes {
    /// Plans a change of the models in the background, without making it. The status shows the plan
    /// with its number.
    ///
    /// # Errors
    /// Another change of the models is planned or made.
    pub fn plan_models(self: &Arc<Self>, change: CatalogueChange) -> Result<(), ChangeRefusal> {
        let number = self.request(&change, ModelChangeState::Reading)?;
        self.spawn(number, move |changes| {
            match changes.plan_change(&change) {
                // All models stay the same; the deployment notes why a model cannot be read.
                Ok(plan) if plan.is_empty() => {
                    let state = match changes.settle(plan, &[]) {
                        Ok(()) => ModelChangeState::Nothing,
                        Err(refusal) => refused(refusal),
                    };
                    changes.end_request(number, &change, state);
                }
                Ok(plan) => changes.driver.requests.lock().planned(number, plan),
                Err(refusal) => changes.end_request(number, &change, refused(refusal)),
            }
        })
    }

    /// Makes the planned change of the models with this number in the background, on probation if
    /// there are terms.
    ///
    /// # Errors
    /// No change is planned under this number, something else changed since, or another change is
    /// under way.
    pub fn apply_models(
        &self,
        number: u64,
        handover: Handover,
        terms: Option<Terms>,
    ) -> Result<(), ChangeRefusal> {
        if let Some(terms) = &terms {
            terms.check().map_err(ChangeRefusal::Terms)?;
        }
        // Locked until the change is known, so that its end is not missed.
        let mut requests = self.driver.requests.lock();
        let state = ModelChangeState::UnderWay(handover);
        let (change, plan) = requests.take_plan(number, state)?;
        let how = RequestedAs {
            watch: terms.map(WatchedBy::Requests),
            origin: ChangeOrigin::Models(change.clone()),
        };
        match self.begin(plan.clone(), handover, how) {
            Ok(change) => requests.begun(change),
            // It can be applied later.
            Err(ChangeRefusal::UnderWay) => {
                requests.planned(number, plan);
                return Err(ChangeRefusal::UnderWay);
            }
            Err(refusal) => {
                let state = refused(refusal.clone());
                self.driver.log_request(&change, &state);
                requests.to(number, state);
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Drops the planned change of the models with this number.
    ///
    /// # Errors
    /// No change is planned under this number.
    pub fn drop_models(&self, number: u64) -> Result<(), ChangeRefusal> {
        let mut requests = self.driver.requests.lock();
        requests.take_plan(number, ModelChangeState::Dropped)?;
        Ok(())
    }

    /// Plans and makes a change of the models in the background.
    ///
    /// # Errors
    /// Another change of the models is planned or made.
    pub fn change_models(self: &Arc<Self>, change: CatalogueChange) -> Result<(), ChangeRefusal> {
        let number = self.request(&change, ModelChangeState::UnderWay(Handover::Beside))?;
        self.spawn(number, move |changes| {
            let state = match changes.make_change(&change) {
                Ok(Some(made)) => ModelChangeState::Done(made.changed),
                Ok(None) => ModelChangeState::Nothing,
                Err(refusal) => refused(refusal),
            };
            changes.end_request(number, &change, state);
        })
    }

    fn request(
        &self,
        change: &CatalogueChange,
        state: ModelChangeState,
    ) -> Result<u64, ChangeRefusal> {
        self.driver.requests.lock().begin(change.clone(), state)
    }

    /// Sets the state of a request that is over, and writes it to the log.
    fn end_request(&self, number: u64, change: &CatalogueChange, state: ModelChangeState) {
        self.driver.log_request(change, &state);
        self.driver.requests.lock().to(number, state);
    }

    fn spawn(
        self: &Arc<Self>,
        number: u64,
        work: impl FnOnce(&Self) + Send + 'static,
    ) -> Result<(), ChangeRefusal> {
        let changes = Arc::clone(self);
        let thread = thread::Builder::new().name("models".into());
        let spawned = thread.spawn(move || work(&changes));
        spawned.map(drop).map_err(|error| {
            let refusal = ChangeRefusal::NoThread(error.to_string());
            let mut requests = self.driver.requests.lock();
            requests.to(number, refused(refusal.clone()));
            refusal
        })
    }
}
