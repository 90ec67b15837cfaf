//! Compressed pages, for clients that ask for it (RFC 9110, 12.5.3).

use std::io::Write;

use axum::http::{HeaderMap, header};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Whether a client takes pages that are compressed by gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let accepted = fields.flat_map(|field| field.split(',')).filter_map(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=")?.trim().parse::<f32>().ok()?;
        Some((name.trim().to_ascii_lowercase(), weight > 0.0))
    });
    let accepted: Vec<_> = accepted.collect();
    // What names gzip itself counts more than what stands for any coding.
    let of = |name: &str| accepted.iter().find(|(coding, _)| coding == name).map(|(_, accepted)| *accepted);
    of("gzip").or_else(|| of("*")).unwrap_or(false)
}

/// Compresses a page by gzip (RFC 1952), fast rather than small.
pub fn gzip(page: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(page.len() / 8), Compression::fast());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(page);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn who_gets_what() {
        let accepts = |text: &'static str| {
            accepts_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, text.parse().unwrap())]))
        };
        for text in ["gzip", "deflate, GZIP;q=0.5", "zstd, gzip", "*", "br;q=1, *;q=0.1"] {
            assert!(accepts(text), "{text}");
        }
        for text in ["", "identity", "gzip;q=0", "zstd", "gzip;q=0, *", "gzip;q=x"] {
            assert!(!accepts(text), "{text}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn pages_become_smaller() {
        let page = "hopwright_dropped_packets_total{interface=\"141\"} 7\n".repeat(1000);
        let compressed = gzip(page.as_bytes());
        assert!(compressed.len() * 20 < page.len());
        let mut again = String::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_string(&mut again).unwrap();
        assert_eq!(again, page);
    }
}
