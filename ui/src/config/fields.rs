//! The options of `config.toml`, as one table.

use std::time::Duration;

use divisi_runtime::words;
use divisi_session::Terms;
use toml::de::DeTable;

use super::source::{ConfigError, ConfigSource, unknown};
use super::themes::theme_names;
use super::values::{ConfigValue, ExpectedValue};
use crate::layout::PanelLayout;

/// The characters that the console draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Unicode if the locale is UTF-8.
    #[default]
    Auto,
    /// Unicode.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// The engine's behaviour when the terminal closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HangUp {
    /// Answer the requests in progress and stop.
    Stop,
    /// Keep serving; `divisi attach` reopens the console.
    #[default]
    Background,
}

impl HangUp {
    /// Returns the text for the screen.
    pub fn hint(self) -> &'static str {
        match self {
            HangUp::Stop => "if this terminal closes: stops serving",
            HangUp::Background => "if this terminal closes: keeps serving",
        }
    }
}

/// The default format of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFormat {
    #[default]
    /// Plain text.
    Text,
    /// JSON.
    Json,
}

/// The options.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `auto`, or a theme's name.
    pub theme: String,
    /// The characters to draw with.
    pub glyphs: Glyphs,
    /// Whether the console uses the mouse.
    pub mouse: bool,
    /// The maximum number of frames per second.
    pub frames: u32,
    /// The name of the initial layout, or empty for the first one.
    pub layout: String,
    /// The behaviour when the terminal closes.
    pub hang_up: HangUp,
    /// The format of reports.
    pub format: ReportFormat,
    /// The time between summaries in linear mode.
    pub every: Duration,
    /// Whether the terminal's bell sounds when an incident begins.
    pub bell: bool,
    /// Whether the terminal shows a notification when an incident begins.
    pub notification: bool,
    /// The command that runs when an incident begins, or empty.
    pub incident_command: String,
    /// Whether every setup is applied on probation, after asking for its terms.
    pub on_probation: bool,
    /// The default terms of a probation.
    pub terms: Terms,
    /// The user's own layouts (`[[layouts]]`).
    pub layouts: Vec<PanelLayout>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            theme: "auto".into(),
            glyphs: Glyphs::Auto,
            mouse: true,
            frames: 30,
            layout: String::new(),
            hang_up: HangUp::Background,
            format: ReportFormat::Text,
            every: Duration::from_secs(5),
            bell: true,
            notification: true,
            incident_command: String::new(),
            on_probation: false,
            terms: Terms {
                lasts: Duration::from_secs(60),
                p99: Some(1.5),
                failures: Some(0.01),
                accuracy: Some(0.02),
            },
            layouts: Vec::new(),
        }
    }
}

/// One option.
#[derive(Debug)]
pub(crate) struct ConfigField {
    /// The table of the option.
    pub section: &'static str,
    pub key: &'static str,
    pub help: &'static str,
    pub expects: ExpectedValue,
    /// Returns its value in a configuration.
    pub get: fn(&Config) -> ConfigValue,
    set: fn(&mut Config, ConfigValue),
}

fn text(value: ConfigValue) -> String {
    match value {
        ConfigValue::Text(text) => text,
        other => other.to_string(),
    }
}

fn number(value: &ConfigValue) -> f64 {
    if let ConfigValue::Number(number) = value {
        *number
    } else {
        0.0
    }
}

fn time(value: &ConfigValue) -> Duration {
    if let ConfigValue::Time(time) = value {
        *time
    } else {
        Duration::ZERO
    }
}

fn flag(value: &ConfigValue) -> bool {
    *value == ConfigValue::Flag(true)
}

/// Returns a limit; 0 means none.
fn limit(value: &ConfigValue) -> Option<f64> {
    Some(number(value)).filter(|n| *n > 0.0)
}

/// Every option, in the order of the default file.
#[rustfmt::skip]
pub(crate) static FIELDS: &[ConfigField] = &[
    ConfigField { section: "console", key: "theme", help: "The theme. auto: light if the terminal reports a light background, else dark.", expects: ExpectedValue::Theme, get: |c| ConfigValue::Text(c.theme.clone()), set: |c, v| c.theme = text(v) },
    ConfigField { section: "console", key: "glyphs", help: "The characters to draw. auto: Unicode if the locale is UTF-8.", expects: ExpectedValue::Words(&["auto", "unicode", "ascii"]), get: |c| name(&GLYPHS, &c.glyphs), set: |c, v| c.glyphs = named(&GLYPHS, v) },
    ConfigField { section: "console", key: "mouse", help: "Use the mouse. false: the terminal can select text (the key m switches).", expects: ExpectedValue::Flag, get: |c| ConfigValue::Flag(c.mouse), set: |c, v| c.mouse = flag(&v) },
    ConfigField { section: "console", key: "frames", help: "Maximum frames per second.", expects: ExpectedValue::Whole(1, 60), get: |c| ConfigValue::Number(f64::from(c.frames)), set: |c, v| c.frames = number(&v) as u32 },
    ConfigField { section: "console", key: "layout", help: "The initial layout. Empty: the first one.", expects: ExpectedValue::Text("the name of a layout"), get: |c| ConfigValue::Text(c.layout.clone()), set: |c, v| c.layout = text(v) },
    ConfigField { section: "console", key: "hang_up", help: "The engine's behaviour when its terminal closes (a closed window, a lost connection). background: keep serving; `divisi attach` reopens the console and `divisi stop` stops the server. stop: answer the requests in progress and stop.", expects: ExpectedValue::Words(&["background", "stop"]), get: |c| name(&HANG_UPS, &c.hang_up), set: |c, v| c.hang_up = named(&HANG_UPS, v) },
    ConfigField { section: "reports", key: "format", help: "The format of `divisi report` without --format.", expects: ExpectedValue::Words(&["text", "json"]), get: |c| name(&FORMATS, &c.format), set: |c, v| c.format = named(&FORMATS, v) },
    ConfigField { section: "linear", key: "every", help: "Minimum interval between summaries in linear mode.", expects: ExpectedValue::Time(0.1, 3600.0), get: |c| ConfigValue::Time(c.every), set: |c, v| c.every = time(&v) },
    ConfigField { section: "incidents", key: "bell", help: "Ring the terminal's bell when an incident begins.", expects: ExpectedValue::Flag, get: |c| ConfigValue::Flag(c.bell), set: |c, v| c.bell = flag(&v) },
    ConfigField { section: "incidents", key: "notification", help: "Ask the terminal for a desktop notification when an incident begins (OSC 9; other terminals ignore it).", expects: ExpectedValue::Flag, get: |c| ConfigValue::Flag(c.notification), set: |c, v| c.notification = flag(&v) },
    ConfigField { section: "incidents", key: "command", help: "A shell command to run when an incident begins. DIVISI_INCIDENT holds its text. Empty: no command.", expects: ExpectedValue::Text("a shell command"), get: |c| ConfigValue::Text(c.incident_command.clone()), set: |c, v| c.incident_command = text(v) },
    ConfigField { section: "probation", key: "on", help: "Apply every change on probation: y in a comparison asks for its terms first, like g.", expects: ExpectedValue::Flag, get: |c| ConfigValue::Flag(c.on_probation), set: |c, v| c.on_probation = flag(&v) },
    ConfigField { section: "probation", key: "lasts", help: "The duration of a probation.", expects: ExpectedValue::Time(1.0, 86_400.0), get: |c| ConfigValue::Time(c.terms.lasts), set: |c, v| c.terms.lasts = time(&v) },
    ConfigField { section: "probation", key: "p99", help: "Roll back if p99 exceeds this multiple of its earlier value. 0 turns the check off.", expects: ExpectedValue::Number(0.0, 1000.0), get: |c| ConfigValue::Number(c.terms.p99.unwrap_or(0.0)), set: |c, v| c.terms.p99 = limit(&v) },
    ConfigField { section: "probation", key: "failures", help: "Roll back if the share of failed requests rises by more than this. 0 turns the check off.", expects: ExpectedValue::Number(0.0, 1.0), get: |c| ConfigValue::Number(c.terms.failures.unwrap_or(0.0)), set: |c, v| c.terms.failures = limit(&v) },
    ConfigField { section: "probation", key: "accuracy", help: "Roll back if accuracy falls by more than this. 0 turns the check off.", expects: ExpectedValue::Number(0.0, 1.0), get: |c| ConfigValue::Number(c.terms.accuracy.unwrap_or(0.0)), set: |c, v| c.terms.accuracy = limit(&v) },
];

/// The words of an option's values, the default first.
type NamedWords<T, const N: usize> = [(&'static str, T); N];

const GLYPHS: NamedWords<Glyphs, 3> = [
    ("auto", Glyphs::Auto),
    ("unicode", Glyphs::Unicode),
    ("ascii", Glyphs::Ascii),
];
const HANG_UPS: NamedWords<HangUp, 2> =
    [("background", HangUp::Background), ("stop", HangUp::Stop)];
const FORMATS: NamedWords<ReportFormat, 2> =
    [("text", ReportFormat::Text), ("json", ReportFormat::Json)];

/// Returns the value called `word`, or the default.
fn named<T: Copy, const N: usize>(words: &NamedWords<T, N>, word: ConfigValue) -> T {
    let word = text(word);
    let found = words.iter().find(|(name, _)| *name == word);
    found.unwrap_or(&words[0]).1
}

/// Returns the word for a value.
fn name<T: PartialEq, const N: usize>(words: &NamedWords<T, N>, value: &T) -> ConfigValue {
    let found = words.iter().find(|(_, named)| named == value);
    ConfigValue::Text(found.unwrap_or(&words[0]).0.to_owned())
}

/// Returns the name, the default and the meaning of every option.
pub fn options() -> impl Iterator<Item = [String; 3]> {
    let defaults = Config::default();
    FIELDS.iter().map(move |field| {
        let expects = field.expects.words(&theme_names());
        [
            format!("{}.{}", field.section, field.key),
            (field.get)(&defaults).to_string(),
            format!("{} Expects {expects}.", field.help),
        ]
    })
}

/// Returns the tables of the file, each once, in their order.
pub(crate) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = FIELDS.iter().map(|f| f.section).collect();
    sections.dedup();
    sections
}

impl Config {
    /// Reads `config.toml`. Missing options keep their defaults.
    ///
    /// # Errors
    /// The first error in the file, with line, column and key.
    pub fn read(source: &ConfigSource<'_>, themes: &[String]) -> Result<Self, ConfigError> {
        let mut config = Config::default();
        for (name, table) in source.tables()? {
            let section = name.get_ref().as_ref();
            if section == LAYOUTS {
                config.layouts = layouts(source, table.span())?;
                continue;
            }
            if !sections().contains(&section) {
                let known = sections().into_iter().chain([LAYOUTS]);
                return Err(source.error(name.span(), section, unknown(section, known)));
            }
            let Some(entries) = table.get_ref().as_table() else {
                let what = format!("expected a table: [{section}]");
                return Err(source.error(table.span(), section, what));
            };
            config.read_section(source, section, entries, themes)?;
        }
        Ok(config)
    }

    fn read_section(
        &mut self,
        source: &ConfigSource<'_>,
        section: &str,
        entries: &DeTable<'_>,
        themes: &[String],
    ) -> Result<(), ConfigError> {
        let fields = || FIELDS.iter().filter(|f| f.section == section);
        for (name, value) in entries {
            let key = name.get_ref().as_ref();
            let full = format!("{section}.{key}");
            let Some(field) = fields().find(|f| f.key == key) else {
                let what = unknown(key, fields().map(|f| f.key).collect::<Vec<_>>().into_iter());
                return Err(source.error(name.span(), &full, what));
            };
            let read = field.expects.read(value.get_ref(), themes);
            let read = read.map_err(|what| source.error(value.span(), &full, what))?;
            (field.set)(self, read);
        }
        Ok(())
    }
}

const LAYOUTS: &str = "layouts";

/// Reads the user's layouts.
fn layouts(
    source: &ConfigSource<'_>,
    span: std::ops::Range<usize>,
) -> Result<Vec<PanelLayout>, ConfigError> {
    let wrong = |what: &str| source.error(span.clone(), LAYOUTS, what);
    let whole: toml::Table =
        toml::from_str(source.text).map_err(|e| wrong(&words::plain(e.message())))?;
    let list = whole.get(LAYOUTS).cloned();
    let list = list.ok_or_else(|| wrong("expected tables: [[layouts]]"))?;
    let read: Vec<PanelLayout> = list
        .try_into()
        .map_err(|e: toml::de::Error| wrong(&words::plain(e.message())))?;
    for layout in &read {
        layout.check().map_err(|why| wrong(&why))?;
    }
    Ok(read)
}
