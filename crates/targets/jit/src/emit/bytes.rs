//! Loads and stores of bit fields in memory, most significant bit first, by byte-swapped accesses in the fewest pieces.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type as ClifType, Value, types};

use crate::emit::Emitter;
use crate::emit::layout::limbs;

/// The bytes around a field that may be read, relative to its base address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub from: i32,
    pub to: i32,
}

pub(crate) fn int(bytes: u32) -> ClifType {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

impl Emitter<'_> {
    /// 1, 2, 4 or 8 bytes as a big-endian number.
    fn load_power(&mut self, flags: MemFlagsData, base: Value, at: i32, bytes: u32) -> Value {
        if let Some(v) = self.loaded(base, at, bytes) {
            return v;
        }
        let v = match bytes {
            1 => self.b.ins().uload8(types::I64, flags, base, at),
            _ => {
                let raw = self.load_number(flags, base, at, bytes);
                let swapped = self.b.ins().bswap(raw);
                if bytes == 8 { swapped } else { self.b.ins().ushr_imm_u(swapped, 64 - 8 * i64::from(bytes)) }
            }
        };
        self.keep_loaded(base, at, bytes, v);
        v
    }

    /// 2, 4 or 8 bytes as a little-endian number.
    pub(crate) fn load_number(&mut self, flags: MemFlagsData, base: Value, at: i32, bytes: u32) -> Value {
        match bytes {
            2 => self.b.ins().uload16(types::I64, flags, base, at),
            4 => self.b.ins().uload32(flags, base, at),
            _ => self.b.ins().load(types::I64, flags, base, at),
        }
    }

    /// Loads 1 to 8 bytes as a big-endian number. If `dirty`, bits beyond `bytes` may be arbitrary.
    fn load_bytes(
        &mut self,
        flags: MemFlagsData,
        base: Value,
        at: i32,
        bytes: u32,
        window: Window,
        dirty: bool,
    ) -> Value {
        if bytes.is_power_of_two() {
            return self.load_power(flags, base, at, bytes);
        }
        let size = bytes.next_power_of_two();
        // A single larger load that stays within the window.
        let start = at.min(window.to - size as i32);
        if start >= window.from {
            let v = self.load_power(flags, base, start, size);
            let behind = (start + size as i32) - (at + bytes as i32);
            let v = if behind > 0 { self.b.ins().ushr_imm_u(v, i64::from(behind) * 8) } else { v };
            return if dirty { v } else { self.mask(v, bytes * 8) };
        }
        let first = size / 2;
        let high = self.load_power(flags, base, at, first);
        let rest = bytes - first;
        let low = self.load_bytes(flags, base, at + first as i32, rest, Window { from: at, ..window }, false);
        let high = self.b.ins().ishl_imm_u(high, i64::from(rest) * 8);
        self.b.ins().bor(high, low)
    }

    /// Loads at most 64 bits from bit `offset` on.
    fn load_limb(
        &mut self,
        flags: MemFlagsData,
        base: Value,
        at: i32,
        offset: u32,
        width: u32,
        window: Window,
    ) -> Value {
        let first = offset / 8;
        let last = (offset + width - 1) / 8;
        let behind = 7 - (offset + width - 1) % 8;
        let bytes = last - first + 1;
        let whole = window.to - window.from;
        if matches!(whole, 2 | 4 | 8) && (width + behind != bytes * 8 || behind > 0 || !bytes.is_power_of_two()) {
            // If one load covers the whole header, load all of it: its other fields are probably needed, too.
            let all = self.load_power(flags, base, window.from, whole as u32);
            let behind = (window.to - at - last as i32 - 1) as u32 * 8 + behind;
            let v = if behind > 0 { self.b.ins().ushr_imm_u(all, i64::from(behind)) } else { all };
            return self.mask(v, width);
        }
        let v = if bytes == 9 {
            let high = self.load_power(flags, base, at + first as i32, 8);
            let low = self.load_power(flags, base, at + last as i32, 1);
            let high = self.b.ins().ishl_imm_u(high, i64::from(8 - behind));
            let low = self.b.ins().ushr_imm_u(low, i64::from(behind));
            self.b.ins().bor(high, low)
        } else {
            let whole = behind == 0 && width == bytes * 8;
            let v = self.load_bytes(flags, base, at + first as i32, bytes, window, !whole);
            if whole {
                return v;
            }
            let v = if behind > 0 { self.b.ins().ushr_imm_u(v, i64::from(behind)) } else { v };
            // A load that begins exactly at the field has no bits above it.
            if bytes.is_power_of_two() && width + behind == bytes * 8 {
                return v;
            }
            v
        };
        self.mask(v, width)
    }

    /// `width` bits from bit `offset` behind byte `at` on, as limbs.
    pub(crate) fn load_bits(
        &mut self,
        flags: MemFlagsData,
        base: Value,
        at: i32,
        offset: u32,
        width: u32,
        window: Window,
    ) -> Vec<Value> {
        if width == 0 {
            return vec![self.c64(0)];
        }
        let end = offset + width;
        (0..limbs(width) as u32)
            .map(|k| {
                let to = end - 64 * k;
                let bits = (width - 64 * k).min(64);
                self.load_limb(flags, base, at, to - bits, bits, window)
            })
            .collect()
    }

    /// Stores the lowest `bytes` bytes of a value, most significant first.
    pub(crate) fn store_bytes(&mut self, flags: MemFlagsData, base: Value, at: i32, bytes: u32, value: &[Value]) {
        for (k, &limb) in value.iter().enumerate() {
            let k = k as u32;
            if 8 * k >= bytes {
                break;
            }
            let count = (bytes - 8 * k).min(8);
            // This limb's bytes end here.
            let end = at + (bytes - 8 * k) as i32;
            self.store_limb(flags, base, end - count as i32, count, limb);
        }
    }

    fn store_limb(&mut self, flags: MemFlagsData, base: Value, at: i32, bytes: u32, limb: Value) {
        let mut done = 0;
        while done < bytes {
            let left = bytes - done;
            let size = if left.is_power_of_two() { left } else { left.next_power_of_two() / 2 };
            let behind = i64::from(left - size) * 8;
            let v = if behind > 0 { self.b.ins().ushr_imm_u(limb, behind) } else { limb };
            let v = if size < 8 { self.b.ins().ireduce(int(size), v) } else { v };
            let v = if size > 1 { self.b.ins().bswap(v) } else { v };
            self.b.ins().store(flags, v, base, at + done as i32);
            done += size;
        }
    }

    /// Stores the lowest `width` bits of a value from bit `offset` behind byte `at` on. Other bits are preserved.
    pub(crate) fn store_bits(
        &mut self,
        flags: MemFlagsData,
        base: Value,
        at: i32,
        offset: u32,
        width: u32,
        value: &[Value],
    ) {
        let end = offset + width;
        let (first, last) = (offset / 8, (end - 1) / 8);
        let (before, behind) = (offset % 8, (8 - end % 8) % 8);
        if first == last {
            let shifted = self.b.ins().ishl_imm_u(value[0], i64::from(behind));
            return self.merge_byte(flags, base, at + first as i32, (0xff >> before) & (0xff << behind), shifted);
        }
        let mut from = first;
        if before > 0 {
            // The most significant bits share a byte with the preceding bits.
            let bits = 8 - before;
            let high = self.wide_shr(value, width - bits, 1, None)[0];
            self.merge_byte(flags, base, at + first as i32, 0xff >> before, high);
            from += 1;
        }
        let mut to = last + 1;
        let mut rest = value.to_vec();
        if behind > 0 {
            let bits = 8 - behind;
            let low = self.b.ins().ishl_imm_u(value[0], i64::from(behind));
            self.merge_byte(flags, base, at + last as i32, (0xff << behind) & 0xff, low);
            rest = self.wide_shr(value, bits, value.len(), None);
            to -= 1;
        }
        if to > from {
            self.store_bytes(flags, base, at + from as i32, to - from, &rest);
        }
    }

    /// Replaces the bits of a byte that are set in the mask.
    fn merge_byte(&mut self, flags: MemFlagsData, base: Value, at: i32, mask: u32, value: Value) {
        let new = self.b.ins().ireduce(types::I8, value);
        let new = if mask == 0xff {
            new
        } else {
            let old = self.b.ins().load(types::I8, flags, base, at);
            let old = self.b.ins().band_imm_u(old, i64::from(!mask & 0xff));
            let new = self.b.ins().band_imm_u(new, i64::from(mask));
            self.b.ins().bor(old, new)
        };
        self.b.ins().store(flags, new, base, at);
    }

    /// Copies a known number of bytes between places that do not overlap.
    pub(crate) fn copy_fixed(
        &mut self,
        to_flags: MemFlagsData,
        to: Value,
        from_flags: MemFlagsData,
        from: Value,
        bytes: u32,
    ) {
        let mut done = 0;
        let mut pieces = Vec::new();
        while done < bytes {
            let left = bytes - done;
            let size = if left >= 8 { 8 } else { 1 << left.ilog2() };
            // One overlapping access is cheaper than several small ones.
            let at = if left < 8 && bytes >= 8 { bytes - 8 } else { done };
            let size = if at == done { size } else { 8 };
            let v = self.b.ins().load(int(size), from_flags, from, at as i32);
            pieces.push((v, at));
            done = at + size;
        }
        for (v, at) in pieces {
            self.b.ins().store(to_flags, v, to, at as i32);
        }
    }
}
