//! `….algorithm`: one of Intel's functions by its name, or a CRC of the controller's own, with seed and rotation.

use hopwright_ir::hash_object::{Crc, Function, HashObject};

use super::Changed;
use crate::failure::{Result, invalid, unimplemented};
use crate::proto::{DataField, TableData, TableEntry, data_field::Value, update::Type as Kind};
use crate::schema::{Action, Field, Table, Ty, field};
use crate::value::{Data, field as data_field, numeric};

/// Ids of the data of the actions.
const NAME: u32 = 1;
const REVERSE: u32 = 1;
const POLYNOMIAL: u32 = 2;
const INITIAL: u32 = 3;
const FINAL_XOR: u32 = 4;
const WIDTH: u32 = 5;

/// The functions that are no CRC, and the CRCs of [`CRCS`] in the same order.
const NAMES: &[&str] = &[
    "IDENTITY",
    "RANDOM",
    "XOR",
    "CRC_8",
    "CRC_8_DARC",
    "CRC_8_I_CODE",
    "CRC_8_ITU",
    "CRC_8_MAXIM",
    "CRC_8_ROHC",
    "CRC_8_WCDMA",
    "CRC_16",
    "CRC_16_BYPASS",
    "CRC_16_DDS_110",
    "CRC_16_DECT",
    "CRC_16_DECT_R",
    "CRC_16_DECT_X",
    "CRC_16_DNP",
    "CRC_16_EN_13757",
    "CRC_16_GENIBUS",
    "CRC_16_MAXIM",
    "CRC_16_MCRF4XX",
    "CRC_16_RIELLO",
    "CRC_16_T10_DIF",
    "CRC_16_TELEDISK",
    "CRC_16_USB",
    "X_25",
    "XMODEM",
    "MODBUS",
    "KERMIT",
    "CRC_CCITT_FALSE",
    "CRC_AUG_CCITT",
    "CRC_32",
    "CRC_32_BZIP2",
    "CRC_32C",
    "CRC_32D",
    "CRC_32_MPEG",
    "POSIX",
    "CRC_32Q",
    "JAMCRC",
    "XFER",
    "CRC_64",
    "CRC_64_GO_ISO",
    "CRC_64_WE",
    "CRC_64_JONES",
];

/// Width, polynomial, whether it is reflected, initial value and final exclusive or.
type Parameters = (u32, u64, bool, u64, u64);

/// The CRCs as Intel's drivers have them. Some names mean other parameters elsewhere.
const CRCS: &[Parameters] = &[
    (8, 0x07, false, 0, 0),
    (8, 0x39, true, 0, 0),
    (8, 0x1d, false, 0xfd, 0),
    (8, 0x07, false, 0x55, 0x55),
    (8, 0x31, true, 0, 0),
    (8, 0x07, true, 0xff, 0),
    (8, 0x9b, true, 0, 0),
    (16, 0x8005, true, 0, 0),
    (16, 0x8005, false, 0, 0),
    (16, 0x8005, false, 0x800d, 0),
    (16, 0x0589, false, 1, 1),
    (16, 0x0589, false, 0, 1),
    (16, 0x0589, false, 0, 0),
    (16, 0x3d65, true, 0, 0xffff),
    (16, 0x3d65, false, 0, 0xffff),
    (16, 0x1021, false, 0xffff, 0xffff),
    (16, 0x8005, true, 0, 0xffff),
    (16, 0x1021, true, 0xffff, 0),
    (16, 0x1021, true, 0xb2aa, 0),
    (16, 0x8bb7, false, 0, 0),
    (16, 0xa097, false, 0, 0),
    (16, 0x8005, true, 0xffff, 0xffff),
    (16, 0x1021, true, 0xffff, 0xffff),
    (16, 0x1021, false, 0, 0),
    (16, 0x8005, true, 0xffff, 0),
    (16, 0x1021, true, 0, 0),
    (16, 0x1021, false, 0xffff, 0),
    (16, 0x1021, false, 0x1d0f, 0),
    (32, 0x04c1_1db7, true, 0xffff_ffff, 0xffff_ffff),
    (32, 0x04c1_1db7, false, 0xffff_ffff, 0xffff_ffff),
    (32, 0x1edc_6f41, true, 0xffff_ffff, 0xffff_ffff),
    (32, 0xa833_982b, true, 0xffff_ffff, 0xffff_ffff),
    (32, 0x04c1_1db7, false, 0xffff_ffff, 0),
    (32, 0x04c1_1db7, false, 0, 0xffff_ffff),
    (32, 0x8141_41ab, false, 0, 0),
    (32, 0x04c1_1db7, true, 0xffff_ffff, 0),
    (32, 0x0000_00af, false, 0, 0),
    (64, 0x42f0_e1eb_a9ea_3693, false, 0, 0),
    (64, 0x1b, true, u64::MAX, u64::MAX),
    (64, 0x42f0_e1eb_a9ea_3693, false, u64::MAX, u64::MAX),
    (64, 0xad93_d235_94c9_35a9, true, u64::MAX, 0),
];

/// The functions in front of the CRCs.
const OTHERS: usize = 3;

/// The data whatever the action.
pub(crate) fn settings() -> Vec<Field> {
    vec![
        Field::new(field::HASH_ROTATE, "rotate", Ty::Uint(32)),
        Field::new(field::HASH_SEED, "seed", Ty::Uint(32)),
        Field::new(field::HASH_MSB, "msb", Ty::Bool),
        Field::new(field::HASH_EXTEND, "extend", Ty::Bool),
    ]
}

/// The actions of the table.
pub(crate) fn actions() -> Vec<Action> {
    let action = |id, name: &str, data| Action { id, name: name.into(), scope: "TableAndDefault", data };
    let number = |id, name: &str| Field::new(id, name, Ty::Uint(64));
    vec![
        action(field::HASH_PRE_DEFINED, "pre_defined", vec![Field::new(NAME, "algorithm_name", Ty::Text(NAMES))]),
        action(
            field::HASH_USER_DEFINED,
            "user_defined",
            vec![
                Field::new(REVERSE, "reverse", Ty::Bool),
                number(POLYNOMIAL, "polynomial").mandatory(),
                number(INITIAL, "init"),
                number(FINAL_XOR, "final_xor"),
                number(WIDTH, "hash_bit_width"),
            ],
        ),
    ]
}

/// What a write of the algorithm makes of a hash. Without an action it changes seed and rotation.
pub(crate) fn algorithm(
    table: &Table,
    hash: &HashObject,
    before: &Changed,
    kind: Kind,
    entry: &TableEntry,
) -> Result<Changed> {
    let mut next = before.clone();
    match kind {
        Kind::Insert | Kind::Modify | Kind::InsertOrModify => {}
        Kind::Delete | Kind::Reset => {
            (next.configuration.function, next.configuration.seed, next.configuration.rotate) = (None, None, 0);
            (next.msb, next.user_defined) = (false, false);
            return Ok(next);
        }
        _ => return Err(unimplemented(format!("{} is not supported in `{}`", kind.as_str_name(), table.name))),
    }
    let id = entry.data.as_ref().map_or(0, |data| data.action_id);
    let action = table.actions.iter().find(|action| action.id == id);
    if action.is_none() && id != 0 {
        return Err(invalid(format!("`{}` has no action with id {id}", table.name)));
    }
    let known = action.into_iter().flat_map(|action| &action.data).chain(&table.data);
    let data = Data::new(entry.data.as_ref(), known, &table.name)?;
    let number = |id, name: &str, bits| data.small(id, name, bits);
    let (rotate, seed) = (number(field::HASH_ROTATE, "rotate", 32)?, number(field::HASH_SEED, "seed", 32)?);
    if action.is_none() {
        if data.has(field::HASH_MSB) || data.has(field::HASH_EXTEND) {
            return Err(invalid("`msb` and `extend` are given with an action"));
        }
        next.configuration.rotate = rotate.unwrap_or(before.configuration.rotate);
        next.configuration.seed = seed.or(before.configuration.seed);
        return Ok(next);
    }
    let extended = truth(&data, field::HASH_EXTEND, "extend")?;
    next.msb = truth(&data, field::HASH_MSB, "msb")?;
    next.user_defined = id == field::HASH_USER_DEFINED;
    let function = if next.user_defined {
        let width = number(WIDTH, "hash_bit_width", 64)?.unwrap_or(hash.width.into());
        let polynomial = number(POLYNOMIAL, "polynomial", 64)?.ok_or_else(|| invalid("`polynomial` is missing"))?;
        let initial = number(INITIAL, "init", 64)?.unwrap_or(0);
        let xor = number(FINAL_XOR, "final_xor", 64)?.unwrap_or(0);
        if !(1..=64).contains(&width) {
            return Err(invalid("`hash_bit_width` is 1 to 64"));
        }
        if polynomial & 1 == 0 {
            return Err(invalid("`polynomial` is odd"));
        }
        // The highest bit may be written or not.
        if polynomial.checked_shr(width as u32).is_some_and(|above| above > 1) {
            return Err(invalid(format!("`polynomial` has more than {width} bits")));
        }
        if let Some((name, _)) =
            [("init", initial), ("final_xor", xor)].into_iter().find(|(_, value)| *value > u64::MAX >> (64 - width))
        {
            return Err(invalid(format!("`{name}` has more than {width} bits")));
        }
        let reflected = truth(&data, REVERSE, "reverse")?;
        Function::Crc(Crc { width: width as u32, polynomial, initial, xor, reflected, extended })
    } else {
        let name = text(entry, NAME).ok_or_else(|| invalid("`algorithm_name` is missing"))?;
        named(name, hash.width, extended).ok_or_else(|| invalid(format!("there is no hash algorithm `{name}`")))?
    };
    next.configuration.function = Some(function);
    next.configuration.rotate = rotate.unwrap_or(0);
    next.configuration.seed = seed;
    Ok(next)
}

fn truth(data: &Data<'_>, id: u32, name: &str) -> Result<bool> {
    let value = data.number(&Field::new(id, name, Ty::Bool))?;
    Ok(value.is_some_and(|value| value.bits() > 0))
}

fn text(entry: &TableEntry, id: u32) -> Option<&str> {
    let mut fields = entry.data.iter().flat_map(|data| &data.fields);
    fields.find_map(|given| match &given.value {
        Some(Value::StrVal(text)) if given.field_id == id => Some(text.as_str()),
        _ => None,
    })
}

/// A function by its name, in capitals or in small letters.
fn named(name: &str, width: u32, extended: bool) -> Option<Function> {
    let at = NAMES.iter().position(|known| *known == name || known.to_lowercase() == name)?;
    Some(match at.checked_sub(OTHERS) {
        Some(at) => {
            let (width, polynomial, reflected, initial, xor) = CRCS[at];
            Function::Crc(Crc { width, polynomial, initial, xor, reflected, extended })
        }
        None if at == 0 => Function::Identity,
        None if at == 1 => Function::Random,
        None => Function::Xor(width),
    })
}

/// The name of a function, if it has one.
fn name_of(function: Function) -> Option<&'static str> {
    match function {
        Function::Identity => Some(NAMES[0]),
        Function::Random => Some(NAMES[1]),
        Function::Xor(_) => Some(NAMES[2]),
        Function::Crc(Crc { width, polynomial, initial, xor, reflected, .. }) => {
            let same = |known: &Parameters| *known == (width, polynomial, reflected, initial, xor);
            CRCS.iter().position(same).map(|at| NAMES[at + OTHERS])
        }
    }
}

/// The algorithm as controllers read it.
pub(crate) fn read_algorithm(hash: &HashObject, changed: &Changed) -> TableData {
    let function = changed.function(hash);
    let number = |id, value: u64| numeric(id, Ty::Uint(64), &value.into());
    let seed = changed.seed(hash) & num_bigint::BigUint::from(u32::MAX);
    let extended = matches!(function, Function::Crc(crc) if crc.extended);
    let mut fields: Vec<DataField> = vec![
        numeric(field::HASH_ROTATE, Ty::Uint(32), &changed.configuration.rotate.into()),
        numeric(field::HASH_SEED, Ty::Uint(32), &seed),
        data_field(field::HASH_MSB, Value::BoolVal(changed.msb)),
        data_field(field::HASH_EXTEND, Value::BoolVal(extended)),
    ];
    let action_id = match (name_of(function).filter(|_| !changed.user_defined), function) {
        (None, Function::Crc(crc)) => {
            fields.push(data_field(REVERSE, Value::BoolVal(crc.reflected)));
            fields.push(number(POLYNOMIAL, crc.polynomial));
            fields.push(number(INITIAL, crc.initial));
            fields.push(number(FINAL_XOR, crc.xor));
            fields.push(number(WIDTH, crc.width.into()));
            field::HASH_USER_DEFINED
        }
        (name, _) => {
            fields.extend(name.map(|name| data_field(NAME, Value::StrVal(name.into()))));
            field::HASH_PRE_DEFINED
        }
    };
    TableData { action_id, fields }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the catalogue of parametrised CRC algorithms, for the usual nine digits.
    #[test]
    fn names_stand_for_their_crcs() {
        assert_eq!(NAMES.len(), CRCS.len() + OTHERS);
        for (name, check) in [
            ("crc_8", 0xf4u64),
            ("CRC_8_DARC", 0x15),
            ("CRC_8_I_CODE", 0x7e),
            ("CRC_8_MAXIM", 0xa1),
            ("CRC_8_ROHC", 0xd0),
            ("CRC_8_WCDMA", 0x25),
            ("crc_16", 0xbb3d),
            ("CRC_16_BYPASS", 0xfee8),
            ("CRC_16_DDS_110", 0x9ecf),
            ("CRC_16_DECT_R", 0x007e),
            ("CRC_16_DECT_X", 0x007f),
            ("CRC_16_DNP", 0xea82),
            ("CRC_16_EN_13757", 0xc2b7),
            ("CRC_16_GENIBUS", 0xd64e),
            ("CRC_16_MAXIM", 0x44c2),
            ("CRC_16_MCRF4XX", 0x6f91),
            ("CRC_16_T10_DIF", 0xd0db),
            ("CRC_16_TELEDISK", 0x0fb3),
            ("CRC_16_USB", 0xb4c8),
            ("X_25", 0x906e),
            ("XMODEM", 0x31c3),
            ("MODBUS", 0x4b37),
            ("KERMIT", 0x2189),
            ("CRC_CCITT_FALSE", 0x29b1),
            ("CRC_AUG_CCITT", 0xe5cc),
            ("crc_32", 0xcbf4_3926),
            ("CRC_32_BZIP2", 0xfc89_1918),
            ("CRC_32C", 0xe306_9283),
            ("CRC_32D", 0x8731_5576),
            ("CRC_32_MPEG", 0x0376_e6e7),
            ("POSIX", 0x765e_7680),
            ("CRC_32Q", 0x3010_bf7f),
            ("JAMCRC", 0x340b_c6d9),
            ("XFER", 0xbd0b_e338),
            ("CRC_64", 0x6c40_df5f_0b49_7347),
            ("CRC_64_GO_ISO", 0xb909_56c7_75a4_1001),
            ("CRC_64_WE", 0x62ec_59e3_f1a4_f00a),
        ] {
            let Some(Function::Crc(crc)) = named(name, 64, false) else { panic!("{name}") };
            assert_eq!(crc.of(b"123456789"), check, "{name}");
            assert_eq!(name_of(Function::Crc(crc)).map(str::to_lowercase), Some(name.to_lowercase()));
        }
        assert_eq!(named("xor", 12, false), Some(Function::Xor(12)));
        assert_eq!(named("Crc_8", 8, false), None);
    }
}
