//! How things look: themes from data, colours that can be read, ASCII, pictures.

use crossterm::event::KeyCode;
use divisi_console::config::{BUILT_IN, ConfigSource, Settings, built_in};
use divisi_console::console::{
    Colour, Colours, ConsoleEvent, Effect, Paint, Rgb, Role, TerminalLook, Theme, picture,
};
use ratatui::style::{Color, Modifier};
use std::path::Path;

use crate::fake::{Bench, search};

const FULL: TerminalLook = TerminalLook {
    colours: Colours::True,
    ascii: false,
};

/// Returns the contrast of two colours, 1 to 21 (as defined by WCAG 2).
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance((r, g, b): Rgb) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        match part <= 0.04045 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/// How well a role's text can be read where it stands.
fn contrast_of(theme: &Theme, role: Role) -> f64 {
    let ground = theme.background.rgb().unwrap_or(theme.ground);
    let paint = theme.paint(role);
    let front = paint.front().and_then(Colour::rgb).unwrap_or(theme.ink);
    let behind = paint.behind().and_then(Colour::rgb).unwrap_or(ground);
    contrast(front, behind)
}

fn theme(name: &str) -> Theme {
    built_in(name).expect(name)
}

#[test]
fn roles_stand_in_their_order() {
    for (place, (role, ..)) in Role::ALL.iter().enumerate() {
        assert_eq!(*role as usize, place, "{role:?}");
    }
}

#[test]
fn themes_state_every_role() {
    for (name, text) in BUILT_IN {
        let said = |role: &str| text.lines().any(|l| l.starts_with(&format!("{role} = ")));
        assert!(Role::ALL.iter().all(|(_, role, _)| said(role)), "{name}");
        assert_eq!(theme(name).name, name);
    }
}

#[test]
fn text_can_be_read_in_every_theme() {
    // Frames and what only joins signs may be fainter.
    let text = Role::ALL.iter().filter(|(role, ..)| *role != Role::Border);
    for (role, name, _) in text {
        for (of, least) in [("dark", 4.5), ("light", 4.5), ("high-contrast", 7.0)] {
            // Spans are areas, not text: 3 to 1 as graphics need.
            let span = matches!(role, Role::ComputeOther) && of != "high-contrast";
            let least = if span { 3.0 } else { least };
            let found = contrast_of(&theme(of), *role);
            assert!(found >= least, "{of}: {name} has {found:.1}");
        }
    }
    assert!(contrast_of(&theme("high-contrast"), Role::Border) >= 7.0);
}

#[test]
fn dark_can_be_read_on_black_and_light_on_white() {
    for (name, ground) in [("dark", (0, 0, 0)), ("light", (255, 255, 255))] {
        let mut on = theme(name);
        on.ground = ground;
        for role in [Role::Dim, Role::Accent, Role::Good, Role::Warn, Role::Bad] {
            assert!(contrast_of(&on, role) >= 4.5, "{name} {role:?}");
        }
    }
}

#[test]
fn colours_are_as_many_as_the_terminal_has() {
    let paint: Paint = "#56a5e0".parse().unwrap();
    let seen = |colours| paint.style(colours).fg;
    assert_eq!(seen(Colours::True), Some(Color::Rgb(0x56, 0xa5, 0xe0)));
    assert_eq!(seen(Colours::Indexed), Some(Color::Indexed(74)));
    assert_eq!(seen(Colours::Sixteen), Some(Color::LightBlue));
    assert_eq!(seen(Colours::None), None);
    let stated: Paint = "#56a5e0 indexed:32 ansi:cyan bold".parse().unwrap();
    assert_eq!(stated.style(Colours::Indexed).fg, Some(Color::Indexed(32)));
    assert_eq!(stated.style(Colours::Sixteen).fg, Some(Color::Cyan));
    assert_eq!(stated.to_string(), "#56a5e0 indexed:32 ansi:cyan bold");
    assert!("blu".parse::<Paint>().unwrap_err().contains("expected"));
}

#[test]
fn a_theme_may_set_the_ground_or_leave_it() {
    let mut bench = Bench::with(80, 24, false, FULL);
    let corner = |bench: &Bench| bench.buffer()[(79, 23)].bg;
    assert_eq!(corner(&bench), Color::Reset);
    bench.console.configure(worn("high-contrast", FULL));
    assert_eq!(corner(&bench), Color::Rgb(0, 0, 0));
}

fn worn(name: &str, look: TerminalLook) -> Settings {
    let mut settings = Settings::default().seen_with(look);
    settings.choose(name).unwrap();
    settings
}

#[test]
fn a_theme_is_chosen_while_it_is_seen() {
    let mut bench = Bench::with(80, 24, false, FULL);
    let theme = |bench: &Bench| bench.console.model().settings.theme.name.clone();
    bench.console.configure(worn("dark", FULL));
    bench.keys(":theme");
    bench.press(KeyCode::Enter);
    bench.press(KeyCode::Down);
    assert_eq!(theme(&bench), "light");
    screen!("themes", bench);
    bench.press(KeyCode::Esc);
    assert_eq!(theme(&bench), "dark");
    bench.keys(":theme");
    bench.press(KeyCode::Enter);
    bench.keys("jj");
    bench.press(KeyCode::Enter);
    assert_eq!(theme(&bench), "high-contrast");
    assert!(bench.text().contains("theme = \"high-contrast\""));
}

/// Everything that can be opened, in ASCII.
#[test]
fn ascii_is_all_there_is() {
    let look = TerminalLook {
        colours: Colours::None,
        ascii: true,
    };
    for (width, height) in [(200, 60), (120, 40), (80, 24), (40, 12)] {
        for keys in [
            "", "1z", "2z", "3z", "4z", "5z", "6z", "7z", "?", ":", "e+", "e0", "e+a", "l", "p",
            "s", "u", "i", "S", "D", "M", "f", "Y", "O", "W", "L", "T",
        ] {
            let mut bench = Bench::with(width, height, false, look);
            bench.show(|s| s.search = Some(search()));
            bench.keys(keys);
            let text = bench.text();
            assert!(text.is_ascii(), "{keys} at {width}x{height}:\n{text}");
            assert!(!known_only(&text), "{keys} at {width}x{height}:\n{text}");
        }
    }
}

/// Whether a sign without a stand-in of its own was drawn: three question marks or more
/// beside each other never mean anything else.
fn known_only(text: &str) -> bool {
    text.contains("???")
}

#[test]
fn a_picture_is_written_three_times() {
    let mut bench = Bench::with(80, 24, false, FULL);
    let effects = bench.press(KeyCode::Char('P'));
    let endings: Vec<&str> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Write { path, replace, .. } => {
                assert!(!replace);
                path.extension().and_then(|e| e.to_str()).unwrap()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(endings, ["txt", "ans", "svg"]);
    bench
        .console
        .handle(ConsoleEvent::Wrote(Ok("a.svg".into())));
    assert!(bench.text().contains("wrote a.svg"));
}

#[test]
fn a_picture_shows_what_the_screen_shows() {
    let bench = Bench::with(120, 40, false, FULL);
    let screen = bench.buffer();
    let text = picture::text(&screen);
    assert_eq!(text.lines().count(), 40);
    assert!(text.contains("allocation"));
    let ansi = picture::ansi(&screen);
    assert_eq!(without_codes(&ansi).trim_end(), padded(&text).trim_end());
    let svg = picture::svg(&screen, &bench.console.model().settings.styles);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains(">allocation<") || svg.contains("allocation"));
    assert!(svg.len() < 200_000, "{}", svg.len());
    assert_eq!(
        svg.matches("<text ").count(),
        svg.matches("</text>").count()
    );
    // Frames, bars and curves are drawn, not set in some font.
    for sign in ['─', '│', '█', '⣀', '░'] {
        assert!(!svg.contains(sign), "{sign}");
    }
}

fn without_codes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    padded(&plain)
}

/// Lines without what is blank at their ends.
fn padded(text: &str) -> String {
    text.lines()
        .map(|l| format!("{}\n", l.trim_end()))
        .collect()
}

#[test]
fn wide_and_reserved_signs_keep_their_columns_in_a_picture() {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    let mut screen = Buffer::empty(Rect::new(0, 0, 12, 1));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    screen.set_string(0, 0, "a<界>b", bold);
    let styles = Settings::default().styles;
    let svg = picture::svg(&screen, &styles);
    assert!(svg.contains("a&lt;"), "{svg}");
    // The sign takes two columns; what follows begins in the fifth.
    assert!(
        svg.contains("x=\"16.8\" y=\"13.6\" textLength=\"16.8\""),
        "{svg}"
    );
    assert!(svg.contains("x=\"33.6\""), "{svg}");
    assert!(svg.contains("font-weight=\"bold\""));
}

#[test]
fn errors_of_themes_name_the_place() {
    let read = |text: &str| {
        let path = Path::new("mine.toml");
        let source = ConfigSource { path, text };
        divisi_console::config::read_theme(&source, "mine").map_err(|w| w.to_string())
    };
    let wrong = read("[roles]\naccnt = \"#ffffff\"").unwrap_err();
    assert_eq!(
        wrong,
        "mine.toml:2:1: roles.accnt: no such key; did you mean `accent`?"
    );
    let wrong = read("[roles]\naccent = \"blau\"").unwrap_err();
    assert!(
        wrong.starts_with("mine.toml:2:10: roles.accent: expected bold"),
        "{wrong}"
    );
    let mine = read("base = \"light\"\n[roles]\naccent = \"#ff0000\"").unwrap();
    assert_eq!(
        mine.paint(Role::Accent).front(),
        Some(Colour::Rgb((255, 0, 0)))
    );
    assert_eq!(mine.paint(Role::Good), theme("light").paint(Role::Good));
    let ground: Rgb = (255, 255, 255);
    assert_eq!(mine.ground, ground);
}

/// A colour as seen with a kind of colour blindness (Machado and others, 2009, at full severity).
const SEEN: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

/// Returns a colour in Oklab (Ottosson, 2020), in which distances are differences that people see.
fn oklab((r, g, b): Rgb, seen: &[[f64; 3]; 3]) -> [f64; 3] {
    let linear = [r, g, b].map(|part| {
        let part = f64::from(part) / 255.0;
        match part <= 0.04045 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    });
    let mix = |rows: &[[f64; 3]; 3], of: [f64; 3]| {
        rows.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum::<f64>())
    };
    let shown = mix(seen, linear).map(|part| part.clamp(0.0, 1.0));
    let cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ];
    let lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ];
    mix(&lab, mix(&cones, shown).map(f64::cbrt))
}

#[test]
fn hues_of_members_differ_for_every_kind_of_colour_blindness() {
    for name in ["dark", "light", "high-contrast"] {
        let theme = theme(name);
        let hues = (0..12).map(Role::for_member);
        let hues: Vec<Rgb> = hues
            .map(|role| theme.paint(role).front().and_then(Colour::rgb).unwrap())
            .collect();
        for seen in &SEEN {
            for (at, one) in hues.iter().enumerate() {
                for other in &hues[at + 1..] {
                    let (a, b) = (oklab(*one, seen), oklab(*other, seen));
                    let square = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                    // Two colours side by side are told apart from about 0.02 on.
                    assert!(square.sqrt() >= 0.055, "{name}: {one:?} {other:?}");
                }
            }
        }
    }
}
