//! The words for NaN and infinities in the JSON of requests. JSON has none, but Python writes some
//! and RapidJSON reads them, while `serde_json` refuses them. Refused text is read again with
//! strings in their place, which only floating-point tensors accept.

/// The words and their values.
const WORDS: [(&str, f64); 3] = [
    ("-Infinity", f64::NEG_INFINITY),
    ("Infinity", f64::INFINITY),
    ("NaN", f64::NAN),
];

/// The byte that the replacement strings consist of. Text that contains it is not changed.
const MARK: u8 = 0x7f;

/// JSON with words replaced by strings of marks.
#[derive(Debug)]
pub(super) struct MarkedJson {
    /// The text. Its length is unchanged, so that positions stay valid.
    pub text: Vec<u8>,
    /// The number of replaced words.
    pub words: usize,
}

impl MarkedJson {
    /// Replaces the words outside of strings, or returns `None` if there are none.
    pub(super) fn replace_words(json: &[u8]) -> Option<Self> {
        if json.contains(&MARK) {
            return None;
        }
        let mut marked: Option<MarkedJson> = None;
        let mut at = 0;
        while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
            at += match (rest[0], word_at(rest)) {
                (b'"', _) => string_length(rest),
                (_, None) => 1,
                (_, Some(length)) => {
                    let marked = marked.get_or_insert_with(|| MarkedJson {
                        text: json.to_vec(),
                        words: 0,
                    });
                    marked.mark(at, length);
                    length
                }
            };
        }
        marked
    }

    fn mark(&mut self, at: usize, length: usize) {
        let word = &mut self.text[at..at + length];
        word.fill(MARK);
        word[0] = b'"';
        word[length - 1] = b'"';
        self.words += 1;
    }
}

/// Returns the length of the word at the start of a text.
fn word_at(text: &[u8]) -> Option<usize> {
    // Few bytes can start a word.
    if !matches!(text.first(), Some(b'-' | b'I' | b'N')) {
        return None;
    }
    let words = WORDS.iter().map(|(word, _)| word.as_bytes());
    let mut found = words.filter(|word| text.starts_with(word));
    found.next().map(<[u8]>::len)
}

/// Returns the length of the string at the start of a text, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the contents of the string that replaces a word.
fn marks(word: &str) -> String {
    char::from(MARK).to_string().repeat(word.len() - 2)
}

/// Returns the word that a string replaces, and its value.
pub(super) fn value_of(string: &str) -> Option<(&'static str, f64)> {
    let is_marks = string.bytes().all(|byte| byte == MARK);
    let mut words = WORDS.into_iter().filter(|_| is_marks);
    words.find(|(word, _)| word.len() == string.len() + 2)
}

/// Returns the text of an error with words instead of marks.
pub(super) fn unmarked(error: &str) -> String {
    // The longest strings of marks come first.
    WORDS.into_iter().fold(error.to_owned(), |text, (word, _)| {
        let marks = marks(word);
        text.replace(&format!("string {marks:?}"), word)
            .replace(&marks, word)
    })
}
