//! `timestamptz` as jiff's timestamp. sqlx knows chrono and time only.

use jiff::Timestamp;
use sqlx::{
    Decode, Encode, Postgres, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef},
};

/// A point in time, to the microsecond, as PostgreSQL has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PgTime(pub(super) Timestamp);

/// 2000-01-01, from which PostgreSQL counts, in microseconds since 1970.
const EPOCH: i64 = 946_684_800_000_000;

impl Type<Postgres> for PgTime {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("timestamptz")
    }
}

impl PgHasArrayType for PgTime {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("_timestamptz")
    }
}

impl Encode<'_, Postgres> for PgTime {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<'_, Postgres>>::encode(self.0.as_microsecond() - EPOCH, buffer)
    }
}

impl Decode<'_, Postgres> for PgTime {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        if value.format() == PgValueFormat::Text {
            return Err("timestamps are only read in binary".into());
        }
        let micros = <i64 as Decode<'_, Postgres>>::decode(value)?;
        // The largest value stands for infinity, the smallest for minus infinity.
        let time = Timestamp::from_microsecond(micros.saturating_add(EPOCH));
        Ok(Self(time.unwrap_or(if micros < 0 { Timestamp::MIN } else { Timestamp::MAX })))
    }
}
