//! Packets: most are long enough for all headers, made of easily recognised bytes.

use crate::Generator;

impl Generator {
    pub(crate) fn packets(&mut self) -> Vec<(u16, Vec<u8>)> {
        let headers: usize = self.headers.plain.iter().map(|h| h.bytes()).sum();
        let longest = headers + 40;
        (0..self.config.packets)
            .map(|_| {
                let length = match self.random.below(5) {
                    0 => self.random.below(longest),
                    _ => longest + self.random.below(30),
                };
                let plain = self.random.one_in(3);
                let bytes = (0..length)
                    .map(|_| match self.random.below(if plain { 4 } else { 12 }) {
                        0 => 0,
                        1 => 0xff,
                        2 => 1,
                        3 => 0x80,
                        _ => self.random.next() as u8,
                    })
                    .collect();
                (self.random.below(8) as u16, bytes)
            })
            .collect()
    }
}
