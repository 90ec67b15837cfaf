//! The data of an entry, as generated code and the data plane both see it: the arguments of its action in limbs, and
//! before them, where several that lie side by side in packets follow one another, an *image*: their bytes in the order
//! of packets, which hot paths copy as they are. Does not live here: the header and what lies before the data ([`crate::abi`]).

use hopwright_ir::{Action, Type};
use num_bigint::BigUint;

use crate::limbs::{limbs_of, push_limbs};

/// Bytes that an image has at least.
const LEAST: u32 = 8;

/// Parameters whose bytes are in an entry in the order of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The first of them.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Bytes of all.
    pub bytes: u32,
}

impl Image {
    /// The most bytes that parameters of an action have that follow one another and are whole numbers of at least two
    /// bytes each, if they are several.
    pub fn of(action: &Action) -> Option<Image> {
        let mut best: Option<Image> = None;
        let mut at = 0;
        while at < action.params.len() {
            let run = action.params[at..].iter().map_while(|p| bytes_of(p.ty));
            let (count, bytes) = run.fold((0, 0), |(count, bytes), b| (count + 1, bytes + b));
            if count > 1 && bytes >= LEAST.max(best.map_or(0, |best| best.bytes + 1)) {
                best = Some(Image { first: at, count, bytes });
            }
            at += count.max(1);
        }
        best
    }

    /// Words that it takes.
    pub fn words(&self) -> usize {
        self.bytes.div_ceil(8) as usize
    }

    /// Where in it the bytes of a parameter are, and how many.
    pub fn place(&self, action: &Action, param: usize) -> Option<(u32, u32)> {
        let within = (self.first..self.first + self.count).contains(&param);
        let bytes = |p: &hopwright_ir::Param| bytes_of(p.ty).unwrap_or(0);
        let before = action.params.get(self.first..param).filter(|_| within)?.iter().map(bytes).sum();
        Some((before, bytes(&action.params[param])))
    }
}

fn bytes_of(ty: Type) -> Option<u32> {
    match ty {
        Type::Bits(width) if width >= 16 && width.is_multiple_of(8) => Some(width / 8),
        _ => None,
    }
}

/// Words of the image of an action.
pub fn image_words(action: &Action) -> usize {
    Image::of(action).map_or(0, |image| image.words())
}

/// Words of the data of an action.
pub fn data_words(action: &Action) -> usize {
    image_words(action) + action.params.iter().map(|p| limbs_of(p.ty.width())).sum::<usize>()
}

/// Adds the data of an action with these arguments.
pub fn push_data(words: &mut Vec<u64>, action: &Action, args: &[BigUint]) {
    if let Some(image) = Image::of(action) {
        let mut bytes = Vec::with_capacity(8 * image.words());
        for (param, arg) in action.params.iter().zip(args).skip(image.first).take(image.count) {
            let given = arg.to_bytes_be();
            let count = bytes_of(param.ty).unwrap_or(0) as usize;
            bytes.extend(std::iter::repeat_n(0, count.saturating_sub(given.len())));
            bytes.extend(&given[given.len().saturating_sub(count)..]);
        }
        bytes.resize(8 * image.words(), 0);
        let (chunks, _) = bytes.as_chunks::<8>();
        words.extend(chunks.iter().map(|chunk| u64::from_ne_bytes(*chunk)));
    }
    for (param, arg) in action.params.iter().zip(args) {
        push_limbs(words, arg, limbs_of(param.ty.width()));
    }
}

#[cfg(test)]
mod tests {
    use hopwright_ir::{Param, Span};

    use super::*;

    fn action(types: &[Type]) -> Action {
        let param = |(i, ty): (usize, &Type)| Param { name: format!("p{i}"), ty: *ty };
        let params = types.iter().enumerate().map(param).collect();
        Action { name: "a".into(), params, body: Vec::new(), span: Span::none() }
    }

    #[test]
    fn an_image_is_of_the_longest_run_of_whole_bytes() {
        let none = action(&[Type::Bits(48), Type::Bits(9), Type::Bits(32)]);
        assert_eq!(Image::of(&none), None, "no two of them follow one another");
        assert_eq!(Image::of(&action(&[Type::Bits(16), Type::Bits(16)])), None, "too few bytes");
        let types = [16, 48, 9, 48, 32, 16, 8].map(Type::Bits);
        let some = action(&types);
        assert_eq!(Image::of(&some), Some(Image { first: 3, count: 3, bytes: 12 }));
        let image = Image::of(&some).expect("an image");
        assert_eq!(image.place(&some, 4), Some((6, 4)));
        assert_eq!(image.place(&some, 2), None);
        assert_eq!(image.place(&some, 6), None);
    }

    #[test]
    fn the_data_are_the_image_and_limbs() {
        let some = action(&[Type::Bits(1), Type::Bits(48), Type::Bits(72)]);
        let args = [1u128, 0x1122_3344_5566, 0x77_0000_0000_0000_0088].map(BigUint::from);
        let mut words = vec![9];
        push_data(&mut words, &some, &args);
        let image =
            [[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0], [0, 0, 0, 0, 0, 0, 0x88, 0]].map(u64::from_ne_bytes);
        assert_eq!(words, [9, image[0], image[1], 1, 0x1122_3344_5566, 0x88, 0x77]);
        assert_eq!(words.len(), 1 + data_words(&some));
        assert_eq!(image_words(&some), 2);
    }
}
