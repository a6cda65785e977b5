//! A block of lines at a terminal's lower end that changes in place.
//!
//! What is drawn goes out in one piece, each line over the old one and then cleared to its end, so that
//! nothing flickers. The cursor stays visible and the terminal in its usual modes: however the program
//! ends, there is nothing to undo.

/// What is on the screen now, below everything that stays.
#[derive(Debug, Default)]
pub struct Block {
    /// The lengths of its lines.
    drawn: Vec<usize>,
}

impl Block {
    /// What puts `lines` in its place, on a terminal of so many columns. No line may be longer than that,
    /// or hold anything that moves the cursor.
    pub fn replace(&mut self, lines: &[String], columns: usize) -> String {
        let mut text = self.home(columns);
        for (index, line) in lines.iter().enumerate() {
            text += if index == 0 { "" } else { "\r\n" };
            text += &format!("{line}\x1b[K");
        }
        text += "\x1b[J";
        self.drawn = lines.iter().map(|line| line.chars().count()).collect();
        text
    }

    /// What takes it away.
    pub fn clear(&mut self, columns: usize) -> String {
        let text = match self.drawn[..] {
            [] => String::new(),
            _ => self.home(columns) + "\x1b[J",
        };
        self.drawn.clear();
        text
    }

    /// To its first column. Lines that were drawn on a wider terminal have been wrapped since.
    fn home(&self, columns: usize) -> String {
        let rows = |length: &usize| length.div_ceil(columns.max(1)).max(1);
        match self.drawn.iter().map(rows).sum() {
            0 | 1 => "\r".to_owned(),
            rows => format!("\r\x1b[{}A", rows - 1),
        }
    }
}

/// Text that stays, wrapped between words; further lines are indented more than the first.
pub fn folded(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.chars().count() <= columns {
            lines.push(line.to_owned());
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let mut current = " ".repeat(indent);
        let mut length = indent;
        for word in line.trim().split(' ') {
            let word_length = word.chars().count();
            let begun = length > indent;
            if begun && length + 1 + word_length > columns {
                lines.push(std::mem::replace(&mut current, " ".repeat(indent + 2)));
                length = indent + 2;
            } else if begun {
                current.push(' ');
                length += 1;
            }
            current += word;
            length += word_length;
        }
        lines.push(current);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As much of a terminal as this program uses; what scrolls off its upper end is kept.
    struct Terminal {
        rows: Vec<String>,
        row: usize,
        column: usize,
    }

    impl Terminal {
        fn new() -> Self {
            Self {
                rows: vec![String::new()],
                row: 0,
                column: 0,
            }
        }

        fn print(&mut self, text: &str) {
            let mut rest = text;
            while let Some(char) = rest.chars().next() {
                rest = &rest[char.len_utf8()..];
                match char {
                    '\r' => self.column = 0,
                    '\n' => {
                        (self.row, self.column) = (self.row + 1, 0);
                        if self.row == self.rows.len() {
                            self.rows.push(String::new());
                        }
                    }
                    '\x1b' => {
                        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                        self.control(&rest[1..=end]);
                        rest = &rest[end + 1..];
                    }
                    char => {
                        let row = &mut self.rows[self.row];
                        let before: String = row.chars().take(self.column).collect();
                        let after: String = row.chars().skip(self.column + 1).collect();
                        *row = format!("{before}{char}{after}");
                        self.column += 1;
                    }
                }
            }
        }

        fn control(&mut self, sequence: &str) {
            let row = &mut self.rows[self.row];
            let kept = row.chars().take(self.column).collect();
            match sequence {
                "K" => *row = kept,
                "J" => {
                    *row = kept;
                    self.rows.truncate(self.row + 1);
                }
                up => self.row -= up.strip_suffix('A').unwrap().parse::<usize>().unwrap(),
            }
        }
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_block_takes_the_place_of_the_last_one_whatever_their_heights() {
        let (mut terminal, mut block) = (Terminal::new(), Block::default());
        terminal.print("before\r\n");
        for text in ["one", "one longer\ntwo\nthree", "1\n2", "", "x\ny\nz"] {
            terminal.print(&block.replace(&lines(text), 80));
            let shown: Vec<&str> = terminal.rows.iter().map(String::as_str).collect();
            let mut expected = vec!["before"];
            expected.extend(text.split('\n'));
            assert_eq!(shown, expected);
        }
        terminal.print(&block.clear(80));
        assert_eq!(
            (terminal.rows, terminal.column),
            (lines("before\n\n").into_iter().take(2).collect(), 0)
        );
        assert_eq!(block.clear(80), "", "there is nothing to take away");
    }

    #[test]
    fn a_terminal_that_became_narrower_has_wrapped_what_was_drawn() {
        let mut block = Block::default();
        block.replace(&[80, 20].map(|length| "x".repeat(length)), 80);
        assert!(
            block.clear(30).starts_with("\r\x1b[3A"),
            "three rows and one"
        );
    }

    #[test]
    fn text_is_wrapped_between_words_and_words_stay_whole() {
        let table = [
            ("short", "short"),
            ("  one two three", "  one two\n    three"),
            (
                "a-long-word-that-is-longer b",
                "a-long-word-that-is-longer\n  b",
            ),
            ("two\n  lines", "two\n  lines"),
            ("kept  gap", "kept  gap"),
            ("kept  gap too", "kept  gap\n  too"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(folded(text, 10), expected);
        }
    }
}
