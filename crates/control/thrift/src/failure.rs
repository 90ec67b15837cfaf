//! Failures of calls, with the codes of BMv2's exceptions. Clients see the code; the reason is in the log.

/// The result of a call.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// A failed call. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The exception that the method declares.
    #[error("{reason} ({code_name})")]
    Declared {
        /// The exception's code.
        code: i32,
        /// The code's name in BMv2.
        code_name: &'static str,
        /// For people.
        reason: String,
    },
    /// Thrift's own exception, for methods that declare none and for malformed calls.
    #[error("{reason}")]
    Application {
        /// Its type.
        kind: Application,
        /// For people; clients see it.
        reason: String,
    },
}

/// The types of Thrift's `TApplicationException`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Application {
    UnknownMethod = 1,
    InvalidMessageType = 2,
    InternalError = 6,
    ProtocolError = 7,
}

impl Application {
    pub(crate) fn because(self, reason: impl Into<String>) -> Failure {
        Failure::Application { kind: self, reason: reason.into() }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident { $($code:ident = $number:literal, $text:literal;)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) enum $name { $($code,)* }

            impl $name {
                /// A failure with this code.
                pub(crate) fn because(self, reason: impl std::fmt::Display) -> Failure {
                    let (code, code_name) = match self { $($name::$code => ($number, $text),)* };
                    Failure::Declared { code, code_name, reason: reason.to_string() }
                }
            }
        )*
    };
}

codes! {
    /// `TableOperationErrorCode`.
    TableCode {
        Full = 1, "TABLE_FULL";
        InvalidHandle = 2, "INVALID_HANDLE";
        ExpiredHandle = 3, "EXPIRED_HANDLE";
        CountersDisabled = 4, "COUNTERS_DISABLED";
        MetersDisabled = 5, "METERS_DISABLED";
        AgeingDisabled = 6, "AGEING_DISABLED";
        InvalidTableName = 7, "INVALID_TABLE_NAME";
        InvalidActionName = 8, "INVALID_ACTION_NAME";
        WrongTableType = 9, "WRONG_TABLE_TYPE";
        InvalidMember = 10, "INVALID_MBR_HANDLE";
        MemberStillUsed = 11, "MBR_STILL_USED";
        MemberAlreadyInGroup = 12, "MBR_ALREADY_IN_GRP";
        MemberNotInGroup = 13, "MBR_NOT_IN_GRP";
        InvalidGroup = 14, "INVALID_GRP_HANDLE";
        GroupStillUsed = 15, "GRP_STILL_USED";
        DuplicateEntry = 17, "DUPLICATE_ENTRY";
        BadMatchKey = 18, "BAD_MATCH_KEY";
        InvalidMeterOperation = 19, "INVALID_METER_OPERATION";
        DefaultEntryIsConst = 21, "DEFAULT_ENTRY_IS_CONST";
        InvalidProfileName = 23, "INVALID_ACTION_PROFILE_NAME";
        NoSelection = 24, "NO_ACTION_PROFILE_SELECTION";
        ImmutableEntries = 25, "IMMUTABLE_TABLE_ENTRIES";
        BadActionData = 26, "BAD_ACTION_DATA";
        NoTableKey = 27, "NO_TABLE_KEY";
        Error = 100, "ERROR";
    }
    /// `CounterOperationErrorCode`.
    CounterCode {
        InvalidName = 1, "INVALID_COUNTER_NAME";
        InvalidIndex = 2, "INVALID_INDEX";
        Error = 3, "ERROR";
    }
    /// `MeterOperationErrorCode`.
    MeterCode {
        InvalidName = 1, "INVALID_METER_NAME";
        InvalidIndex = 2, "INVALID_INDEX";
        BadRates = 3, "BAD_RATES_LIST";
        InvalidRate = 4, "INVALID_INFO_RATE_VALUE";
        InvalidBurst = 5, "INVALID_BURST_SIZE_VALUE";
        Error = 6, "ERROR";
    }
    /// `RegisterOperationErrorCode`.
    RegisterCode {
        InvalidName = 1, "INVALID_REGISTER_NAME";
        InvalidIndex = 2, "INVALID_INDEX";
        Error = 3, "ERROR";
    }
    /// `ParseVSetOperationErrorCode`.
    ValueSetCode {
        InvalidName = 1, "INVALID_PARSE_VSET_NAME";
        Error = 2, "ERROR";
    }
    /// `LearnOperationErrorCode`.
    LearnCode {
        InvalidListId = 1, "INVALID_LIST_ID";
        Error = 3, "ERROR";
    }
    /// `SwapOperationErrorCode`.
    SwapCode {
        Disabled = 1, "CONFIG_SWAP_DISABLED";
    }
    /// `DevMgrErrorCode`.
    PortCode {
        Error = 1, "ERROR";
    }
    /// `CrcErrorCode`, and `ToeplitzHashErrorCode`, whose numbers mean the same.
    HashCode {
        InvalidName = 1, "INVALID_CALCULATION_NAME";
        WrongType = 2, "WRONG_TYPE_CALCULATION";
        InvalidConfig = 3, "INVALID_CONFIG";
    }
    /// `IdLookupErrorCode`.
    IdCode {
        InvalidType = 0, "INVALID_RESOURCE_TYPE";
        InvalidName = 1, "INVALID_RESOURCE_NAME";
    }
    /// `McOperationErrorCode`.
    MulticastCode {
        InvalidGroup = 2, "INVALID_MGID";
        InvalidGroupHandle = 3, "INVALID_MGRP_HANDLE";
        InvalidNode = 4, "INVALID_L1_HANDLE";
        Error = 5, "ERROR";
    }
    /// `MirroringOperationErrorCode`.
    MirroringCode {
        NotFound = 1, "SESSION_NOT_FOUND";
    }
}
