//! How things look: themes, what was configured, pictures of the screen.

use super::follow_up::FollowUp;
use crate::config::{ConfigError, Settings};
use crate::dialogs::{Dialog, Form, Help, Palette, Themes};
use crate::model::{Effect, Model};

/// Shows all commands.
pub(super) fn help() -> FollowUp {
    Dialog::Help(Help::default()).into()
}

/// Opens the palette.
pub(super) fn palette() -> FollowUp {
    Dialog::Palette(Palette::default()).into()
}

/// Takes the mouse, or leaves it to the terminal.
pub(super) fn mouse(model: &mut Model) -> FollowUp {
    model.mouse = !model.mouse;
    let text = match model.mouse {
        true => "mouse on: click to focus, wheel to scroll",
        false => "mouse off: the terminal has it, text can be selected",
    };
    model.say(text, false);
    Effect::Mouse(model.mouse).into()
}

/// Opens the choice of themes.
pub(super) fn theme(model: &Model) -> FollowUp {
    Dialog::Themes(Themes::new(&model.settings)).into()
}

/// Asks what the layout that is shown is to be called.
pub(super) fn save_layout(model: &Model) -> FollowUp {
    Dialog::Form(Form::layout(model.arrangement.name())).into()
}

/// Takes what is configured now; what is wrong is said and what was stays.
pub(crate) fn configured(model: &mut Model, settings: Result<Box<Settings>, ConfigError>) {
    match settings {
        Ok(settings) => {
            let (asked, worn) = (&model.settings.config.theme, &model.settings.theme.name);
            // A theme that was chosen here is kept as long as the file says no other.
            let kept = (*asked == settings.config.theme).then(|| worn.clone());
            model.configure(*settings);
            if let Some(worn) = kept {
                // One that is gone is not missed: the configured one is there.
                let _ = model.settings.choose(&worn);
            }
            model.say("configuration read again", false);
        }
        Err(wrong) => model.say(format!("{} (kept as it was)", wrong.brief()), true),
    }
}

/// Writes the screen as it is to files.
pub(super) fn picture() -> FollowUp {
    Effect::Picture.into()
}
