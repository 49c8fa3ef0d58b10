//! The screen as a terminal would show it: moves, clearing and text; no colours.

/// The signs written so far, in their places.
pub struct Cells {
    rows: Vec<Vec<char>>,
    at: (usize, usize),
    /// Bytes that wait for the rest of their sequence.
    left: Vec<u8>,
}

impl Cells {
    pub fn new(columns: u16, rows: u16) -> Self {
        Cells {
            rows: vec![vec![' '; usize::from(columns)]; usize::from(rows)],
            at: (0, 0),
            left: Vec::new(),
        }
    }

    pub fn lines(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.iter().collect()).collect()
    }

    /// Some line has `text`.
    pub fn show(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    pub fn take(&mut self, bytes: &[u8]) {
        self.left.extend(bytes);
        let bytes = std::mem::take(&mut self.left);
        let whole = std::str::from_utf8(&bytes).map_or_else(|e| e.valid_up_to(), str::len);
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            if first != '\u{1b}' {
                self.put(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) else {
                break;
            };
            self.code(&rest[2.min(end)..=end]);
            rest = &rest[end + 1..];
        }
        self.left = [rest.as_bytes(), &bytes[whole..]].concat();
    }

    fn put(&mut self, sign: char) {
        let (row, column) = self.at;
        match sign {
            '\r' => self.at.1 = 0,
            '\n' => self.at.0 += 1,
            sign => {
                if let Some(cell) = self.rows.get_mut(row).and_then(|r| r.get_mut(column)) {
                    *cell = sign;
                }
                self.at.1 += 1;
            }
        }
    }

    fn code(&mut self, code: &str) {
        if let Some(place) = code.strip_suffix('H') {
            let numbers = place.split(';').map(|n| n.parse::<usize>().unwrap_or(1));
            let mut numbers = numbers.map(|n| n.saturating_sub(1));
            self.at = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        } else if code == "2J" || code == "?1049h" || code == "?1049l" {
            self.rows.iter_mut().for_each(|row| row.fill(' '));
            self.at = (0, 0);
        }
    }
}
