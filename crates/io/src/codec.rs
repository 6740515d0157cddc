//! What parts of columnar files are compressed with, by decoders that end at the length that is expected.

use std::io::Read;

use crate::error::Problem;

/// How many times longer than itself a part of a file may become, beyond the limit of a record.
const GROWTH: usize = 100;

/// What a part is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    #[cfg(feature = "parquet")]
    None,
    #[cfg(feature = "parquet")]
    Snappy,
    #[cfg(feature = "parquet")]
    Gzip,
    /// A block without a frame.
    #[cfg(feature = "parquet")]
    Lz4Block,
    #[cfg(feature = "arrow")]
    Lz4Frame,
    Zstd,
}

/// Bytes that a part of so many may become; `limit` is that of a record.
pub(crate) fn room(bytes: usize, limit: usize) -> usize {
    bytes.saturating_mul(GROWTH).saturating_add(limit)
}

/// What `bytes` become, of which the file says that it is `length` bytes. That is no more than [`room`], which the caller has seen to.
pub(crate) fn decompress(
    codec: Codec,
    bytes: &[u8],
    length: usize,
    kind: &'static str,
) -> Result<Vec<u8>, Problem> {
    let damaged = |what: &dyn std::fmt::Display| Problem::Damaged { kind, what: what.to_string() };
    let out = match codec {
        #[cfg(feature = "parquet")]
        Codec::None => bytes.to_vec(),
        #[cfg(feature = "parquet")]
        Codec::Snappy => {
            let claimed = snap::raw::decompress_len(bytes).map_err(|error| damaged(&error))?;
            let mut out = vec![0; if claimed == length { length } else { 0 }];
            if claimed == length {
                snap::raw::Decoder::new().decompress(bytes, &mut out).map_err(|error| damaged(&error))?;
            }
            out
        }
        #[cfg(feature = "parquet")]
        Codec::Gzip => read_all(flate2::bufread::MultiGzDecoder::new(bytes), length, damaged)?,
        #[cfg(feature = "parquet")]
        Codec::Lz4Block => {
            let mut out = vec![0; length];
            let found = lz4_flex::block::decompress_into(bytes, &mut out).map_err(|error| damaged(&error))?;
            out.truncate(found);
            out
        }
        #[cfg(feature = "arrow")]
        Codec::Lz4Frame => read_all(lz4_flex::frame::FrameDecoder::new(bytes), length, damaged)?,
        Codec::Zstd => {
            // A window is what the decoder keeps; that of the highest levels of compression is 8 MiB, of a single segment all of it.
            let window = length.max(8 << 20) as u64;
            let mut rest = bytes;
            let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(&mut rest, window);
            read_all(decoder.map_err(|error| damaged(&error))?, length, damaged)?
        }
    };
    if out.len() == length {
        return Ok(out);
    }
    Err(damaged(&format_args!("compressed bytes that do not become the {length} that they should")))
}

/// All of it, and at most a byte more than is expected.
fn read_all(
    decoder: impl Read,
    length: usize,
    damaged: impl Fn(&dyn std::fmt::Display) -> Problem,
) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    let read = decoder.take((length as u64).saturating_add(1)).read_to_end(&mut out);
    read.map_err(|error| damaged(&error))?;
    Ok(out)
}
