//! Meters: their messages, and the program's meters and bands.

use std::time::Instant;

use hopwright_dataplane::Count;
use hopwright_ir::meter::Rates;

use super::program::BandAction;
use super::{Datapath, Removed};
use crate::codec::reply::{MeterView, Removal};
use crate::codec::request::{Band, BandKind, MeterCommand, MeterMod, meter_flag};
use crate::codec::{METER_ALL, METER_MAX, Refusal};

/// Bands of a meter: the program's meters have three colours.
pub(crate) const BANDS: usize = 2;
/// Bytes that a meter lets pass at once without a burst size of its own, at least: some of the longest packets.
const LEAST_BYTES: u64 = 4 * 9216;

#[derive(Debug)]
pub(super) struct Meter {
    flags: u16,
    bands: Vec<Band>,
    /// Its number in the program.
    pub slot: u16,
    created: Instant,
    /// What its number had counted before.
    base: Count,
    band_bases: [Count; BANDS],
}

/// Rates of the program's meter, and what happens to yellow and to red packets.
fn program_of(flags: u16, bands: &[Band]) -> (Rates, [Option<BandAction>; BANDS]) {
    let by_packets = flags & meter_flag::PKTPS != 0;
    let rate = |band: &Band| u64::from(band.rate) * if by_packets { 1 } else { 125 };
    let burst = |band: &Band| {
        let given = u64::from(band.burst) * if by_packets { 1 } else { 125 };
        let least = if by_packets { 1 } else { LEAST_BYTES };
        // A quarter of a second, where the controller leaves it to the switch.
        if flags & meter_flag::BURST != 0 && given != 0 { given } else { (rate(band) / 4).max(least) }
    };
    let action = |band: &Band| match band.kind {
        BandKind::Drop => BandAction::Drop,
        BandKind::Remark(levels) => BandAction::Remark(levels),
    };
    match bands {
        [one] => {
            let (rate, burst) = (rate(one), burst(one));
            (Rates { cir: rate, cburst: burst, pir: rate, pburst: burst }, [None, Some(action(one))])
        }
        [one, other] => {
            // The band of the highest rate that the packets exceed counts (section 5.7.1).
            let (low, high) = if one.rate <= other.rate { (one, other) } else { (other, one) };
            let rates = Rates { cir: rate(low), cburst: burst(low), pir: rate(high), pburst: burst(high) };
            (rates, [Some(action(low)), Some(action(high))])
        }
        _ => (Rates { cir: u64::MAX, cburst: u64::MAX, pir: u64::MAX, pburst: u64::MAX }, [None, None]),
    }
}

/// Which counter of the program is that of a band: 0 for yellow, 1 for red packets.
fn color_of(bands: &[Band], at: usize) -> usize {
    match bands {
        [one, other] if (one.rate <= other.rate) == (at == 0) => 0,
        _ => 1,
    }
}

fn check(request: &MeterMod) -> Result<(), Refusal> {
    let MeterMod { flags, bands, .. } = request;
    let known = meter_flag::KBPS | meter_flag::PKTPS | meter_flag::BURST | meter_flag::STATS;
    if flags & !known != 0 || flags & meter_flag::KBPS != 0 && flags & meter_flag::PKTPS != 0 {
        return Err(Refusal::METER_FLAGS);
    }
    if bands.len() > BANDS {
        return Err(Refusal::METER_OUT_OF_BANDS);
    }
    if bands.iter().any(|band| band.rate == 0) {
        return Err(Refusal::METER_RATE);
    }
    if bands.iter().any(|band| matches!(band.kind, BandKind::Remark(0 | 4..))) {
        return Err(Refusal::METER_BAND_VALUE);
    }
    Ok(())
}

impl Datapath {
    /// Carries out a meter message.
    pub(crate) fn meter_mod(&mut self, request: &MeterMod) -> Result<Vec<Removed>, Refusal> {
        let MeterMod { command, meter, .. } = *request;
        if command == MeterCommand::Delete {
            let wanted: Vec<u32> = match meter {
                METER_ALL => self.meters.keys().copied().collect(),
                _ => vec![meter],
            };
            let mut removed = Vec::new();
            for meter in wanted.into_iter().filter(|meter| self.meters.contains_key(meter)).collect::<Vec<_>>() {
                let users = self.metered(meter);
                removed.extend(self.remove_all(users, Removal::Delete));
                self.forget_meter(meter);
            }
            return Ok(removed);
        }
        let known = self.meters.contains_key(&meter);
        match command {
            MeterCommand::Add if known => return Err(Refusal::METER_EXISTS),
            MeterCommand::Modify if !known => return Err(Refusal::METER_UNKNOWN),
            _ if meter == 0 || meter > METER_MAX => return Err(Refusal::METER_INVALID),
            _ => check(request)?,
        }
        let by_bytes = request.flags & meter_flag::PKTPS == 0;
        let old = self.meters.get(&meter).map(|old| (old.slot, old.created));
        let kept = old.map(|(slot, _)| slot).filter(|slot| (slot & 1 == 1) == by_bytes);
        let slot = match kept {
            Some(slot) => slot,
            None => self.program.take_meter(by_bytes).ok_or(Refusal::METER_OUT_OF_METERS)?,
        };
        let (rates, actions) = program_of(request.flags, &request.bands);
        if let Err(error) = self.program.put_meter(slot, rates, actions) {
            tracing::error!("a meter cannot be written: {error}");
            return Err(Refusal::METER_OUT_OF_METERS);
        }
        let (base, band_bases) = self.program.meter_counts(slot);
        let created = old.map_or_else(Instant::now, |(_, created)| created);
        let new = Meter { flags: request.flags, bands: request.bands.clone(), slot, created, base, band_bases };
        let old = self.meters.insert(meter, new);
        if let (None, Some(old)) = (kept, old) {
            // Flows have the number in themselves.
            let users = self.metered(meter);
            if let Err(refusal) = self.wanted(&users).and_then(|wanted| self.reinstall(wanted)) {
                self.forget_meter(meter);
                self.meters.insert(meter, old);
                return Err(refusal);
            }
            self.program.forget_meter(old.slot);
        }
        Ok(Vec::new())
    }

    fn metered(&self, meter: u32) -> Vec<u32> {
        self.flows.iter().filter(|(_, flow)| flow.instructions.meter == Some(meter)).map(|(id, _)| *id).collect()
    }

    pub(super) fn forget_meter(&mut self, meter: u32) {
        if let Some(old) = self.meters.remove(&meter) {
            self.program.forget_meter(old.slot);
        }
    }

    /// Number, flags and bands of each meter.
    pub(super) fn meter_settings(&self) -> impl Iterator<Item = (u32, u16, &[Band])> {
        self.meters.iter().map(|(number, meter)| (*number, meter.flags, &meter.bands[..]))
    }

    /// A meter, or all of them.
    pub(crate) fn meter_views(&self, meter: u32) -> Result<Vec<MeterView<'_>>, Refusal> {
        if meter != METER_ALL && !self.meters.contains_key(&meter) {
            return Err(Refusal::METER_UNKNOWN);
        }
        let wanted = self.meters.iter().filter(|(number, _)| meter == METER_ALL || **number == meter);
        let views = wanted.map(|(number, meter)| {
            let (count, bands) = self.program.meter_counts(meter.slot);
            let since = |now: Count, base: Count| (now.packets - base.packets, now.bytes - base.bytes);
            let band = |at: usize| {
                let color = color_of(&meter.bands, at);
                since(bands[color], meter.band_bases[color])
            };
            MeterView {
                meter: *number,
                flags: meter.flags,
                bands: &meter.bands,
                flows: self.metered(*number).len() as u32,
                age: meter.created.elapsed(),
                count: since(count, meter.base),
                band_counts: (0..meter.bands.len()).map(band).collect(),
            }
        });
        Ok(views.collect())
    }
}
