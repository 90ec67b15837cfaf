//! Reasons for which messages are refused, with the type and code that each version gives them.

/// A reason, as `(type, code)` of 1.0 and of 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    v10: (u16, u16),
    v13: (u16, u16),
}

impl Refusal {
    const fn new(v10: (u16, u16), v13: (u16, u16)) -> Refusal {
        Refusal { v10, v13 }
    }

    pub(crate) fn of(self, version: super::Version) -> (u16, u16) {
        match version {
            super::Version::V10 => self.v10,
            super::Version::V13 => self.v13,
        }
    }
}

macro_rules! refusals {
    ($($name:ident = $v10:expr, $v13:expr;)*) => {
        impl Refusal {
            $(pub(crate) const $name: Refusal = Refusal::new($v10, $v13);)*
        }
    };
}

// Where 1.0 has no such code, the nearest one.
refusals! {
    INCOMPATIBLE = (0, 0), (0, 0);
    BAD_VERSION = (1, 0), (1, 0);
    BAD_TYPE = (1, 1), (1, 1);
    BAD_MULTIPART = (1, 2), (1, 2);
    BAD_EXPERIMENTER = (1, 3), (1, 3);
    BAD_LEN = (1, 6), (1, 6);
    BUFFER_UNKNOWN = (1, 8), (1, 8);
    BAD_TABLE_ID = (1, 2), (1, 9);
    IS_SLAVE = (1, 5), (1, 10);
    BAD_PORT = (1, 2), (1, 11);
    BUFFER_OVERFLOW = (1, 6), (1, 13);
    ACTION_TYPE = (2, 0), (2, 0);
    ACTION_LEN = (2, 1), (2, 1);
    ACTION_EXPERIMENTER = (2, 2), (2, 2);
    ACTION_PORT = (2, 4), (2, 4);
    ACTION_ARGUMENT = (2, 5), (2, 5);
    ACTION_TOO_MANY = (2, 7), (2, 7);
    ACTION_QUEUE = (2, 8), (2, 8);
    ACTION_GROUP = (2, 5), (2, 9);
    ACTION_INCONSISTENT = (2, 5), (2, 10);
    ACTION_SET_TYPE = (2, 0), (2, 13);
    ACTION_SET_LEN = (2, 1), (2, 14);
    ACTION_SET_ARGUMENT = (2, 5), (2, 15);
    INSTRUCTION_UNKNOWN = (3, 5), (3, 0);
    INSTRUCTION_UNSUPPORTED = (3, 5), (3, 1);
    INSTRUCTION_TABLE = (3, 5), (3, 2);
    INSTRUCTION_EXPERIMENTER = (3, 5), (3, 5);
    INSTRUCTION_LEN = (3, 5), (3, 7);
    MATCH_TYPE = (1, 6), (4, 0);
    MATCH_LEN = (1, 6), (4, 1);
    MATCH_FIELD = (1, 6), (4, 6);
    MATCH_VALUE = (1, 6), (4, 7);
    MATCH_MASK = (1, 6), (4, 8);
    MATCH_PREREQUISITE = (1, 6), (4, 9);
    MATCH_DUPLICATE = (1, 6), (4, 10);
    FLOW_TABLE_FULL = (3, 0), (5, 1);
    FLOW_TABLE = (3, 5), (5, 2);
    FLOW_OVERLAP = (3, 1), (5, 3);
    FLOW_EMERGENCY = (3, 5), (5, 5);
    FLOW_COMMAND = (3, 4), (5, 6);
    FLOW_FLAGS = (3, 5), (5, 7);
    GROUP_EXISTS = (1, 1), (6, 0);
    GROUP_INVALID = (1, 1), (6, 1);
    GROUP_FULL = (1, 1), (6, 3);
    GROUP_BUCKETS = (1, 1), (6, 4);
    GROUP_LOOP = (1, 1), (6, 7);
    GROUP_UNKNOWN = (1, 1), (6, 8);
    GROUP_CHAINED = (1, 1), (6, 9);
    GROUP_TYPE = (1, 1), (6, 10);
    GROUP_COMMAND = (1, 1), (6, 11);
    GROUP_BUCKET = (1, 1), (6, 12);
    GROUP_WATCH = (1, 1), (6, 13);
    PORT_MOD_PORT = (4, 0), (7, 0);
    PORT_MOD_ADDRESS = (4, 1), (7, 1);
    PORT_MOD_CONFIG = (4, 0), (7, 2);
    TABLE_MOD_TABLE = (1, 1), (8, 0);
    TABLE_MOD_CONFIG = (1, 1), (8, 1);
    QUEUE_PORT = (5, 0), (9, 0);
    QUEUE_QUEUE = (5, 1), (9, 1);
    SWITCH_CONFIG_FLAGS = (1, 1), (10, 0);
    ROLE_STALE = (1, 5), (11, 0);
    ROLE_BAD = (1, 5), (11, 2);
    METER_EXISTS = (1, 1), (12, 1);
    METER_INVALID = (1, 1), (12, 2);
    METER_UNKNOWN = (1, 1), (12, 3);
    METER_COMMAND = (1, 1), (12, 4);
    METER_FLAGS = (1, 1), (12, 5);
    METER_RATE = (1, 1), (12, 6);
    METER_BAND = (1, 1), (12, 8);
    METER_BAND_VALUE = (1, 1), (12, 9);
    METER_OUT_OF_METERS = (1, 1), (12, 10);
    METER_OUT_OF_BANDS = (1, 1), (12, 11);
    TABLE_FEATURES_EPERM = (1, 5), (13, 5);
}
