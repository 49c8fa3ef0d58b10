//! The screen as a drawing: grounds, drawn signs, and runs of text with their places.

use std::collections::BTreeMap;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::glyph::{self, CELL, GlyphKind, n};
use super::{rows, signs};
use crate::look::{Rgb, Styles, looks};
use crate::text::format;

/// Room around the screen.
const MARGIN: f64 = 12.0;
/// From a row's top to the line that letters stand on.
const BASE: f64 = 13.6;

/// How a run looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ink {
    front: Rgb,
    modifiers: Modifier,
}

/// The shapes drawn, grouped by colour so that the file stays small.
#[derive(Default)]
struct Drawing {
    grounds: BTreeMap<Rgb, String>,
    drawn: BTreeMap<(Rgb, GlyphKind), String>,
    texts: String,
}

/// The screen as an SVG file, on the theme's ground.
pub fn svg(screen: &Buffer, styles: &Styles) -> String {
    let mut drawing = Drawing::default();
    for (y, row) in rows(screen).enumerate() {
        drawing.row(row, u16::try_from(y).unwrap_or(u16::MAX), styles);
    }
    let width = f64::from(screen.area.width) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(screen.area.height) * CELL.1 + 2.0 * MARGIN;
    let (w, h, ground) = (n(width), n(height), hex(styles.ground));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n\
         <g transform=\"translate({m} {m})\" font-family=\"ui-monospace,SFMono-Regular,Menlo,\
         Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" xml:space=\"preserve\">\n\
         {}</g>\n</svg>\n",
        drawing.finish(),
        m = n(MARGIN),
    )
}

impl Drawing {
    fn row(&mut self, row: &[Cell], y: u16, styles: &Styles) {
        let placed: Vec<(u16, &Cell)> = signs(row).collect();
        let mut at = 0;
        while let Some(&(x, cell)) = placed.get(at) {
            let (ink, behind) = inks(cell, styles);
            let alike = |(_, other): &&(u16, &Cell)| {
                inks(other, styles) == (ink, behind) && joins(cell.symbol(), other.symbol())
            };
            let count = placed[at..].iter().take_while(alike).count().max(1);
            let run = &placed[at..at + count];
            let columns: u16 = run
                .iter()
                .map(|(_, c)| format::width(c.symbol()).max(1))
                .sum();
            if behind != styles.ground {
                let path = glyph::path('█', x, y, columns).map(|(_, path)| path);
                self.grounds
                    .entry(behind)
                    .or_default()
                    .push_str(&path.unwrap_or_default());
            }
            let text: String = run.iter().map(|(_, c)| c.symbol()).collect();
            self.run(&text, x, y, columns, ink);
            at += count;
        }
    }

    fn run(&mut self, text: &str, x: u16, y: u16, columns: u16, ink: Ink) {
        if text.trim().is_empty() && !ink.modifiers.contains(Modifier::UNDERLINED) {
            return;
        }
        let mut signs = text.chars();
        let first = signs.next().unwrap_or(' ');
        if let Some((kind, path)) = glyph::path(first, x, y, columns)
            && signs.all(|c| c == first)
        {
            let key = (ink.front, kind);
            return self.drawn.entry(key).or_default().push_str(&path);
        }
        // What stands before and after counts for nothing.
        let blank = text.chars().take_while(|c| *c == ' ').count() as u16;
        let text = text.trim_matches(' ');
        let left = f64::from(x + blank) * CELL.0;
        let base = f64::from(y) * CELL.1 + BASE;
        let long = f64::from(format::width(text)) * CELL.0;
        self.texts += &format!(
            "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{}>{}</text>\n",
            n(left),
            n(base),
            n(long),
            hex(ink.front),
            attributes(ink.modifiers),
            escaped(text),
        );
    }

    fn finish(self) -> String {
        let mut text = String::new();
        for (colour, path) in self.grounds {
            text += &format!("<path fill=\"{}\" d=\"{path}\"/>\n", hex(colour));
        }
        for ((colour, kind), path) in self.drawn {
            let colour = hex(colour);
            text += &match kind {
                GlyphKind::Fill(100) => format!("<path fill=\"{colour}\" d=\"{path}\"/>\n"),
                GlyphKind::Fill(share) => format!(
                    "<path fill=\"{colour}\" fill-opacity=\"{}\" d=\"{path}\"/>\n",
                    n(f64::from(share) / 100.0)
                ),
                GlyphKind::Line => {
                    format!("<path fill=\"none\" stroke=\"{colour}\" d=\"{path}\"/>\n")
                }
                GlyphKind::Dots => format!(
                    "<path stroke=\"{colour}\" stroke-width=\"2.6\" stroke-linecap=\"round\" d=\"{path}\"/>\n"
                ),
            };
        }
        text + &self.texts
    }
}

/// Whether two signs belong to one run: a drawn one only to its like, and what is not
/// ASCII stands alone, for it may come from a font of another width.
fn joins(first: &str, next: &str) -> bool {
    first == next || first.is_ascii() && next.is_ascii()
}

fn inks(cell: &Cell, styles: &Styles) -> (Ink, Rgb) {
    let front = looks(cell.fg).unwrap_or(styles.ink);
    let behind = looks(cell.bg).unwrap_or(styles.ground);
    let modifiers = cell.modifier - Modifier::REVERSED;
    match cell.modifier.contains(Modifier::REVERSED) {
        true => (
            Ink {
                front: behind,
                modifiers,
            },
            front,
        ),
        false => (Ink { front, modifiers }, behind),
    }
}

fn attributes(modifiers: Modifier) -> String {
    let all = [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::DIM, " opacity=\".6\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
    ];
    let set = all.iter().filter(|(m, _)| modifiers.contains(*m));
    set.map(|(_, text)| *text).collect()
}

fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
