//! Answers to what-if questions: the setup that would run (`case`), its figures, which a thread
//! computes (`desk`, `figures`), its accuracy (`accuracy`), and the errors of earlier answers
//! (`outcomes`).
//!
//! The load and the conditions are read once for a few questions, so that their answers are
//! comparable and a changing load does not start them again and again.

mod accuracy;
mod case;
mod cases;
mod desk;
mod figures;
mod learning;
mod load;
mod outcomes;
pub(super) mod state;

use std::time::Duration;

use divisi_engine::search::{PredictedFigure, Question};

use crate::{
    CostOutlook, Outlook, P99Outlook, Refusal, SessionRefusal, WhatIf, WhatIfAnswer, WhatIfReply,
};

use super::engine_session::EngineSession;
use case::Case;
use figures::{CaseWork, Figures};
use load::{LoadNow, OVER};
use state::Facts;

/// The time after which the load is read again.
const READ_EVERY: Duration = Duration::from_secs(5);

impl EngineSession {
    /// Returns the answer to a question, or that it is being computed.
    ///
    /// # Errors
    /// There is no such device, member or change, or no model is served.
    pub(super) fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        if self.engine.catalogue().entries().is_empty() {
            return Err(SessionRefusal::NothingServed.into());
        }
        let facts = self.facts()?;
        let case = self.case(question, &facts)?;
        let running = Case::running(&facts);
        let before = self.figures(None, &running, &facts)?;
        let after = self.figures(Some(question), &case, &facts)?;
        let (Some(before), Some(after)) = (before, after) else {
            return Ok(WhatIfReply::Computing);
        };
        let answer = self.answer(&facts, (&running, &before), (case, &after));
        Ok(WhatIfReply::Answer(Box::new(answer)))
    }

    /// Returns the facts, read again if they are old and no answer is being computed, or if another
    /// setup runs.
    fn facts(&mut self) -> Result<Facts, SessionRefusal> {
        let (now, running) = (self.engine.telemetry().now(), self.engine.setup());
        let lost = self.engine.faults().lost();
        let is_busy = self.what_ifs.desk.is_busy();
        let is_fresh = |facts: &&Facts| {
            let is_young = is_busy || now.saturating_sub(facts.at) < READ_EVERY;
            is_young && facts.running == running && facts.lost == lost
        };
        if let Some(facts) = self.what_ifs.facts.as_ref().filter(is_fresh) {
            return Ok(facts.clone());
        }
        let facts = Facts {
            at: now,
            demand: self.demand()?,
            conditions: self.conditions()?,
            load: self.load_now(),
            devices: self.engine.devices().clone(),
            footprints: self.engine.footprints(),
            running,
            lost,
        };
        self.what_ifs.number += 1;
        self.what_ifs.facts = Some(facts.clone());
        Ok(facts)
    }

    /// Returns the figures of a case, or `None` while they are being computed.
    fn figures(
        &mut self,
        question: Option<&WhatIf>,
        case: &Case,
        facts: &Facts,
    ) -> Result<Option<Figures>, SessionRefusal> {
        let setup = match &case.setup {
            Ok(setup) => setup,
            Err(_) => return Ok(Some(Figures::default())),
        };
        if let Some(known) = self.what_ifs.desk.known(self.what_ifs.number, question) {
            return Ok(known);
        }
        let accuracies = self.accuracies_for(setup, &facts.running);
        let grounds = match self.forecast.grounds(setup) {
            Ok(Some(grounds)) => grounds,
            Ok(None) => return Ok(Some(Figures::default())),
            Err(why) => return Ok(Some(Figures::unknown(why.to_string()))),
        };
        let work = case.work(facts, grounds, self.engine.telemetry().capacity());
        let work = CaseWork { accuracies, ..work };
        let begun = self.what_ifs.desk.begin(question.cloned(), work);
        begun.map_err(SessionRefusal::Thread)?;
        Ok(None)
    }

    /// Returns the load of the last seconds.
    fn load_now(&self) -> LoadNow {
        let telemetry = self.engine.telemetry();
        let now = telemetry.reading();
        let before = telemetry.reading_before(now.at.saturating_sub(OVER));
        let period = now.since(&before.unwrap_or_default());
        let built_in = self.load.lock().view();
        let built_in = built_in.pattern.filter(|_| !built_in.resting);
        LoadNow::from_period(&period, built_in)
    }

    fn answer(
        &mut self,
        facts: &Facts,
        before: (&Case, &Figures),
        after: (Case, &Figures),
    ) -> WhatIfAnswer {
        let (case, figures) = after;
        let about = self.forecast.grounds(&facts.running).ok().flatten();
        let error = |figure: PredictedFigure| {
            let about = about.as_ref()?;
            let question = Question {
                figure,
                ..about.about
            };
            about.book.typical_error(&question)
        };
        let (throughput_error, p99_error) = (
            error(PredictedFigure::Throughput),
            error(PredictedFigure::P99),
        );
        let outlook = |case: &Case, figures: &Figures| outlook(case, figures, facts);
        WhatIfAnswer {
            load: facts.load.assumed.clone(),
            before: outlook(before.0, before.1),
            after: case.setup.clone().map(|_| outlook(&case, figures)),
            accuracy: self.accuracy(&case, figures, facts),
            notes: case.notes(figures),
            stages: case.stages,
            preview: case.preview,
            throughput_error,
            p99_error,
        }
    }
}

fn outlook(case: &Case, figures: &Figures, facts: &Facts) -> Outlook {
    let unknown = || P99Outlook::Unknown("it is not predicted".into());
    let devices = case.devices(facts);
    Outlook {
        cost: case.cost(facts).map(|per_hour| CostOutlook {
            per_hour,
            per_million: figures.per_million(per_hour),
        }),
        throughput: match &figures.throughput {
            Some(throughput) => throughput.clone(),
            None => Err("it is not predicted".into()),
        },
        p99: figures.p99.clone().unwrap_or_else(unknown),
        devices: figures.devices(&devices),
    }
}
