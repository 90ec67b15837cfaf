//! Paths of files and `file:` URIs (RFC 8089).

use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stands in a path as it is (RFC 3986, `pchar` without sub-delimiters that some clients escape).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The path of a `file:` URI; `None` for other schemes.
pub(crate) fn to_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let path = percent_decode_str(&path[..end]).decode_utf8().ok()?;
    // `/C:/x` is a path of Windows.
    let windows = path.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    Some(PathBuf::from(if windows { &path[1..] } else { &path[..] }))
}

/// The URI of an absolute path.
pub(crate) fn of_path(path: &Path) -> Option<Uri> {
    let text = path.to_str()?.replace('\\', "/");
    let slash = if text.starts_with('/') { "" } else { "/" };
    Uri::from_str(&format!("file://{slash}{}", utf8_percent_encode(&text, ESCAPED))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_through_uris() {
        for path in ["/a/b.p4", "/a b/ü#%?.p4", "/x+(1)/~y"] {
            let uri = of_path(Path::new(path)).unwrap();
            assert_eq!(to_path(&uri).unwrap(), Path::new(path), "{}", uri.as_str());
        }
        let uri = |text| to_path(&Uri::from_str(text).unwrap());
        assert_eq!(uri("file:///tmp/a%20b.p4").unwrap(), Path::new("/tmp/a b.p4"));
        assert_eq!(uri("file://localhost/tmp/a.p4").unwrap(), Path::new("/tmp/a.p4"));
        assert_eq!(uri("untitled:Untitled-1"), None);
    }
}
