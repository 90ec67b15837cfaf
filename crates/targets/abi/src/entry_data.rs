//! The data of an entry: the arguments of its action, which follow the header and the lead words.
//!
//! ```text
//! arguments of at most 8, 16 and 32 bits, in 1, 2 and 4 bytes | image | padding to a word | the others, in limbs
//! ```
//!
//! Every argument is stored as a number in the machine's byte order, in the smallest size that fits. Lookups thus read
//! little memory, and generated code can test several small arguments with one load.
//!
//! Consecutive arguments that consist of whole bytes are also stored as an *image*: their bytes in packet order,
//! without gaps. Traces copy from the image to packets without swapping bytes.

use hopwright_ir::{Action, Type};
use num_bigint::BigUint;

use crate::limbs_of;

/// The minimum size of an image in bytes.
const MIN_IMAGE_BYTES: u32 = 8;

/// The parameters in an action's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Image {
    /// Index of the first parameter.
    first: usize,
    /// Number of parameters.
    count: usize,
    /// Size in bytes.
    bytes: u32,
}

impl Image {
    /// Returns the longest run of consecutive parameters of at least two whole bytes each, if there are several and
    /// they are long enough.
    fn of(action: &Action) -> Option<Image> {
        let mut best: Option<Image> = None;
        let mut at = 0;
        while at < action.params.len() {
            let run = action.params[at..].iter().map_while(|p| bytes_of(p.ty));
            let (count, bytes) = run.fold((0, 0), |(count, bytes), b| (count + 1, bytes + b));
            if count > 1 && bytes >= MIN_IMAGE_BYTES.max(best.map_or(0, |best| best.bytes + 1)) {
                best = Some(Image { first: at, count, bytes });
            }
            at += count.max(1);
        }
        best
    }
}

fn bytes_of(ty: Type) -> Option<u32> {
    match ty {
        Type::Bits(width) if width >= 16 && width.is_multiple_of(8) => Some(width / 8),
        _ => None,
    }
}

/// The size of a parameter's number in bytes: 1, 2, 4, or that of its limbs.
fn number_bytes(ty: Type) -> u32 {
    match ty.width() {
        0 => 0,
        width @ 1..=32 => width.div_ceil(8).next_power_of_two(),
        width => 8 * limbs_of(width) as u32,
    }
}

/// The position of an argument's number in an action's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentPlace {
    /// Offset in bytes.
    pub at: u32,
    /// Size in bytes: 1, 2, 4, or 8 for each limb; 0 for parameters of width 0.
    pub bytes: u32,
}

/// The layout of an action's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLayout {
    /// Positions of the numbers, by parameter.
    numbers: Vec<ArgumentPlace>,
    /// Index of the image's first parameter, and offset and size in bytes of each parameter in the image.
    image: (usize, Vec<(u32, u32)>),
    words: usize,
}

impl DataLayout {
    /// Computes the layout for an action.
    pub fn of(action: &Action) -> DataLayout {
        let mut numbers: Vec<ArgumentPlace> =
            action.params.iter().map(|p| ArgumentPlace { at: 0, bytes: number_bytes(p.ty) }).collect();
        let mut at = 0;
        let mut place = |sizes: &dyn Fn(u32) -> bool, at: &mut u32| {
            for number in numbers.iter_mut().filter(|number| sizes(number.bytes)) {
                number.at = *at;
                *at += number.bytes;
            }
        };
        for size in [1, 2, 4] {
            place(&|bytes| bytes == size, &mut at);
        }
        let mut image = (0, Vec::new());
        if let Some(Image { first, count, .. }) = Image::of(action) {
            image.0 = first;
            for param in &action.params[first..first + count] {
                let bytes = bytes_of(param.ty).unwrap_or(0);
                image.1.push((at, bytes));
                at += bytes;
            }
        }
        at = at.next_multiple_of(8);
        place(&|bytes| bytes >= 8, &mut at);
        DataLayout { numbers, image, words: at as usize / 8 }
    }

    /// Size of the data in words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The positions of the arguments' numbers, by parameter.
    pub fn numbers(&self) -> &[ArgumentPlace] {
        &self.numbers
    }

    /// The offset of a parameter's bytes in packet order, if the image contains it.
    pub fn in_image(&self, param: usize) -> Option<u32> {
        let (first, places) = &self.image;
        Some(places.get(param.checked_sub(*first)?)?.0)
    }

    /// Appends the data of these arguments. Excess high bits are dropped; callers check widths.
    pub fn push(&self, words: &mut Vec<u64>, args: &[BigUint]) {
        let begin = words.len();
        words.resize(begin + self.words, 0);
        let data = &mut words[begin..];
        for (ArgumentPlace { at, bytes }, arg) in self.numbers.iter().zip(args) {
            for (at, digit) in (*at..at + bytes).step_by(8).zip(arg.iter_u64_digits()) {
                put(data, at, digit, *bytes);
            }
        }
        let (first, places) = &self.image;
        for ((at, bytes), arg) in places.iter().zip(args.iter().skip(*first)) {
            // The last bytes hold the least significant digit.
            let mut end = at + bytes;
            for digit in arg.iter_u64_digits() {
                let some = (end - at).min(8);
                if some > 0 {
                    end -= some;
                    put(data, end, digit.swap_bytes() >> (64 - 8 * some), some);
                }
            }
        }
    }

    /// Returns the limbs of the arguments in an action's data.
    pub fn limbs(&self, data: &[u64]) -> Vec<u64> {
        let limbs = |place: &ArgumentPlace| {
            let bytes = place.bytes;
            (place.at..place.at + bytes).step_by(8).map(move |at| get(data, at, bytes))
        };
        self.numbers.iter().flat_map(limbs).collect()
    }
}

/// Returns the lowest `bytes` bytes of a number, at most eight, and their count.
fn cut(number: u64, bytes: u32) -> (u64, u32) {
    let bytes = bytes.min(8);
    (number & u64::MAX >> (64 - 8 * bytes), bytes)
}

/// Writes the lowest `bytes` bytes of a number at a byte offset. The memory there must be zero.
fn put(words: &mut [u64], at: u32, number: u64, bytes: u32) {
    let (number, bytes) = cut(number, bytes);
    let (word, by) = (at as usize / 8, 8 * (at % 8));
    words[word] |= number << by;
    if by + 8 * bytes > 64 {
        words[word + 1] |= number >> (64 - by);
    }
}

/// Reads a number of `bytes` bytes at a byte offset.
fn get(words: &[u64], at: u32, bytes: u32) -> u64 {
    let (word, by) = (at as usize / 8, 8 * (at % 8));
    let low = words[word] >> by;
    let number = if by + 8 * bytes.min(8) > 64 { low | words[word + 1] << (64 - by) } else { low };
    cut(number, bytes).0
}

/// Size of an action's data in words.
pub fn data_words(action: &Action) -> usize {
    DataLayout::of(action).words()
}

#[cfg(test)]
mod tests {
    use hopwright_ir::{Param, Span};

    use super::*;
    use crate::push_limbs;

    fn action(types: &[Type]) -> Action {
        let param = |(i, ty): (usize, &Type)| Param { name: format!("p{i}"), ty: *ty };
        let params = types.iter().enumerate().map(param).collect();
        Action { name: "a".into(), id: None, params, body: Vec::new(), span: Span::none() }
    }

    #[test]
    fn an_image_is_of_the_longest_run_of_whole_bytes() {
        let none = action(&[Type::Bits(48), Type::Bits(9), Type::Bits(32)]);
        assert_eq!(Image::of(&none), None, "no two of them follow one another");
        assert_eq!(Image::of(&action(&[Type::Bits(16), Type::Bits(16)])), None, "too few bytes");
        let types = [16, 48, 9, 48, 32, 16, 8].map(Type::Bits);
        let some = action(&types);
        assert_eq!(Image::of(&some), Some(Image { first: 3, count: 3, bytes: 12 }));
        let layout = DataLayout::of(&some);
        assert_eq!([2, 3, 4, 6].map(|param| layout.in_image(param)), [None, Some(11), Some(17), None]);
    }

    #[test]
    fn numbers_are_as_small_as_they_can_be() {
        let some = action(&[Type::Bits(33), Type::Bits(9), Type::Bool, Type::Bits(0), Type::Bits(17), Type::Int(8)]);
        let layout = DataLayout::of(&some);
        let places: Vec<_> = layout.numbers().iter().map(|place| (place.at, place.bytes)).collect();
        assert_eq!(places, [(8, 8), (2, 2), (0, 1), (0, 0), (4, 4), (1, 1)]);
        assert_eq!(layout.words(), 2);
        assert_eq!(data_words(&action(&[])), 0);
        assert_eq!(data_words(&action(&[Type::Bits(1)])), 1);
    }

    #[test]
    fn the_image_is_between_small_numbers_and_limbs() {
        let some = action(&[Type::Bits(1), Type::Bits(48), Type::Bits(72)]);
        let args = [1u128, 0x1122_3344_5566, 0x77_0000_0000_0000_0088].map(BigUint::from);
        let mut words = vec![9];
        DataLayout::of(&some).push(&mut words, &args);
        let image =
            [[1, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77], [0, 0, 0, 0, 0, 0, 0, 0x88]].map(u64::from_ne_bytes);
        assert_eq!(words, [9, image[0], image[1], 0x1122_3344_5566, 0x88, 0x77]);
        assert_eq!(words.len(), 1 + data_words(&some));
    }

    #[test]
    fn arguments_come_out_as_they_went_in() {
        let widths = [32, 8, 16, 7, 64, 24, 1, 128, 33, 9, 65];
        let some = action(&widths.map(Type::Bits));
        let ones = widths.map(hopwright_ir::bits::mask);
        let zeros = widths.map(|_| BigUint::ZERO);
        let mixed = std::array::from_fn(|i| if i % 2 == 0 { ones[i].clone() } else { zeros[i].clone() });
        for args in [&ones, &zeros, &mixed] {
            let mut words = Vec::new();
            DataLayout::of(&some).push(&mut words, args);
            let mut limbs = Vec::new();
            widths.iter().zip(args).for_each(|(width, arg)| push_limbs(&mut limbs, arg, limbs_of(*width)));
            assert_eq!(DataLayout::of(&some).limbs(&words), limbs);
        }
    }
}
