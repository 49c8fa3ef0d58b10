//! The cases of questions, planned as the engine would plan them.

use divisi_engine::search::evacuate;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::{EditPreview, Refusal, SessionRefusal, Setup, WhatIf};

use super::super::engine_session::EngineSession;
use super::case::{Case, CaseKind};
use super::state::Facts;

impl EngineSession {
    /// Returns the case of a question.
    ///
    /// # Errors
    /// There is no such device, member or change.
    pub(super) fn case(&mut self, question: &WhatIf, facts: &Facts) -> Result<Case, Refusal> {
        match question {
            WhatIf::Apply(setup) => Ok(self.case_of_setup(setup)),
            WhatIf::Undo => {
                let setup = self.changes.undo_setup()?;
                Ok(self.case_of_setup(&setup))
            }
            WhatIf::Redo => {
                let setup = self.changes.redo_setup()?;
                Ok(self.case_of_setup(&setup))
            }
            WhatIf::LoseDevice(device) => self.case_of_loss(*device, facts),
            WhatIf::AllIn(precision) => {
                let members = MemberIndex::all(facts.running.precisions.len());
                let setup = members.fold(facts.running.clone(), |setup, member| {
                    setup.with_precision(member, *precision)
                });
                let case = self.case_of_setup(&setup);
                Ok(self.staging(case))
            }
            WhatIf::Rate(factor) => {
                let kind = CaseKind::Rate(factor.get());
                Ok(Case::of(facts.running.clone(), kind))
            }
            WhatIf::OneMoreDevice(device) => {
                self.device(*device)?;
                let kind = CaseKind::OneMore(*device);
                Ok(Case::of(facts.running.clone(), kind))
            }
            WhatIf::WithoutMember(member) => self.case_without(*member, facts),
        }
    }

    /// Returns the case in which a setup is applied.
    fn case_of_setup(&mut self, setup: &Setup) -> Case {
        match self.preview(setup) {
            Ok(preview) => Case {
                said: preview.remarks.clone(),
                preview: Some(Box::new(preview)),
                ..Case::of(self.planned(setup), CaseKind::Setup)
            },
            Err(why) => Case::unserved(why.to_string(), CaseKind::Setup),
        }
    }

    /// Returns the setup as the engine would run it, with the precisions of its devices.
    pub(super) fn planned(&self, setup: &Setup) -> Setup {
        let plan = self.engine.plan(setup);
        plan.map_or_else(|_| setup.clone(), |plan| plan.new_setup().clone())
    }

    /// Returns the case with its setup to stage, if it changes anything.
    fn staging(&self, case: Case) -> Case {
        let changed = case.setup.clone().ok();
        let changed = changed.filter(|setup| *setup != self.engine.setup());
        Case {
            stages: changed.map(Box::new),
            ..case
        }
    }

    /// Returns the case in which a device fails. Its work moves by the rule of lost devices.
    fn case_of_loss(&mut self, device: DeviceIndex, facts: &Facts) -> Result<Case, Refusal> {
        self.device(device)?;
        let kind = CaseKind::Lost(device);
        if facts.lost.contains(&device) {
            return Ok(Case::unserved("the device is already lost".into(), kind));
        }
        let lost = [facts.lost.as_slice(), &[device]].concat();
        if lost.len() >= facts.devices.names().len() {
            let why = "no other device is left to serve the members";
            return Ok(Case::unserved(why.into(), kind));
        }
        let moved = evacuate(
            &facts.running.matrix,
            &lost,
            &facts.devices,
            &facts.footprints,
        );
        let case = match moved {
            Ok(matrix) => self.case_of_setup(&facts.running.with_matrix(matrix)),
            Err(why) => Case::unserved(why.to_string(), kind),
        };
        let mut case = self.staging(case);
        case.said.extend(case.preview.as_deref().map(moves));
        Ok(Case { kind, ..case })
    }

    fn case_without(&mut self, member: MemberIndex, facts: &Facts) -> Result<Case, Refusal> {
        let members = facts.running.precisions.len();
        if member.get() >= members {
            let last = MemberIndex::new(members.saturating_sub(1));
            let found = member;
            return Err(SessionRefusal::UnknownMember { found, last }.into());
        }
        let kind = CaseKind::Without(member);
        let single = self.engine.catalogue().single_ensemble();
        if !single.is_some_and(|single| single.is_combined()) || members < 2 {
            let why = "only an ensemble of several members can have fewer";
            return Ok(Case::unserved(why.into(), kind));
        }
        let combination = &facts.running.combination;
        let silent = combination.with_vote(member, false).ok();
        let stages = silent.filter(|silent| silent != combination);
        let stages = stages.map(|combination| Setup {
            combination,
            ..facts.running.clone()
        });
        let note =
            "removed from the manifest; staging it only turns off its vote, and it still runs";
        Ok(Case {
            stages: stages.map(Box::new),
            said: vec![note.into()],
            ..Case::of(facts.running.clone(), kind)
        })
    }
}

/// Returns the workers that start in words.
fn moves(preview: &EditPreview) -> String {
    let started = preview.difference.changed();
    let started = started
        .filter(|entry| entry.change.starts().is_some())
        .count();
    match started {
        0 => "all its members have other workers, which take its work".into(),
        1 => "a member with no other worker starts one elsewhere".into(),
        n => format!("{n} members with no other worker start one elsewhere"),
    }
}
