//! ASCII substitutes for other characters.

/// Returns the substitute for a character of the program; ASCII stays. Wide and unknown characters
/// become a question mark, so that only ASCII is written.
pub(super) fn ascii(symbol: &str) -> Option<&'static str> {
    if symbol.is_ascii() {
        return None;
    }
    let mut signs = symbol.chars();
    let sign = signs.next()?;
    Some(match sign {
        '╭' | '╮' | '╰' | '╯' | '┏' | '┓' | '┗' | '┛' | '┌' | '┐' | '└' | '┘' | '┼' | '┴' | '├'
        | '┤' | '┬' => "+",
        '▄' | '─' | '╌' | '┄' | '╴' | '╶' | '−' | '–' | '—' | '‐' | '‑' => {
            "-"
        }
        '│' | '┃' | '╎' | '┆' | '┊' | '╵' | '╷' | '▏' | '▎' | '▍' | '▐' | '▕' => {
            "|"
        }
        '·' | '•' | '▁' | '▂' | '░' | '⋯' | '∙' => ".",
        '▃' | '▒' | '⋮' | '▖' | '▗' => ":",
        '▅' | '▌' | '▋' | '━' | '═' | '‖' | '≡' => "=",
        '▆' | '✓' | '✔' | '✚' => "+",
        '▇' | '●' | '◆' | '◉' | '★' | '⏺' => "*",
        '○' | '◇' | '◌' | '☆' => "o",
        '█' | '■' | '▉' | '▊' => "#",
        '▓' => "%",
        '▀' | '▔' | '▘' | '▝' | '′' | '’' | '‘' => "'",
        '×' | '✗' | '✘' | '✕' => "x",
        '…' | '≈' | '∼' => "~",
        '→' | '›' | '▸' | '▶' | '►' | '▷' | '»' | '⏵' | '≥' | '⟩' => ">",
        '←' | '‹' | '◂' | '◀' | '◄' | '◁' | '«' | '≤' | '⟨' => "<",
        '▴' | '↑' | '▲' | '△' => "^",
        '↓' | '▾' | '▼' | '▽' => "v",
        '↔' | '⇄' => "=",
        '↕' | '⏸' => "|",
        'µ' | 'μ' => "u",
        'σ' => "s",
        '∅' | '°' => "o",
        '∑' | 'Σ' => "S",
        'Δ' | '∆' => "d",
        '∞' => "8",
        '±' => "~",
        '÷' | '▞' => "/",
        '²' => "2",
        '“' | '”' | '″' => "\"",
        '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2007}' => " ",
        '\u{2800}'..='\u{28ff}' => braille(sign),
        _ => "?",
    })
}

/// Returns a character of similar darkness for Braille dots, at the height of most dots.
fn braille(sign: char) -> &'static str {
    let dots = (sign as u32) & 0xff;
    // The bits of the four rows, from the top.
    let rows = [0x09, 0x12, 0x24, 0xc0].map(|row| (dots & row).count_ones());
    let (upper, lower) = (rows[0] + rows[1], rows[2] + rows[3]);
    match (upper, lower) {
        (0, 0) => " ",
        (0, _) if rows[2] == 0 => "_",
        (0, _) => ".",
        (_, 0) if rows[1] == 0 => "`",
        (_, 0) => "'",
        (u, l) if u + l >= 6 => "#",
        (u, l) if u + l >= 4 => "|",
        _ => ":",
    }
}
