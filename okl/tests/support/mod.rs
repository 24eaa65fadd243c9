//! What the tests share: random cases and streams, plain configurations, functions written out in double precision.

pub mod cases;
pub mod functions;
pub mod plain;
