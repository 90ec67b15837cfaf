//! The page's files.

use hopwright_host::http::axum::Router;
use hopwright_host::http::axum::http::header;
use hopwright_host::http::axum::routing::get;

/// Name, content type and text of each file.
const FILES: [(&str, &str, &str); 15] = [
    ("/page.css", CSS, include_str!("../assets/page.css")),
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/dom.js", SCRIPT, include_str!("../assets/dom.js")),
    ("/plot.js", SCRIPT, include_str!("../assets/plot.js")),
    ("/graph.js", SCRIPT, include_str!("../assets/graph.js")),
    ("/source.js", SCRIPT, include_str!("../assets/source.js")),
    ("/steps.js", SCRIPT, include_str!("../assets/steps.js")),
    ("/overview.js", SCRIPT, include_str!("../assets/overview.js")),
    ("/program.js", SCRIPT, include_str!("../assets/program.js")),
    ("/profile.js", SCRIPT, include_str!("../assets/profile.js")),
    ("/router.js", SCRIPT, include_str!("../assets/router.js")),
    ("/tables.js", SCRIPT, include_str!("../assets/tables.js")),
    ("/trace.js", SCRIPT, include_str!("../assets/trace.js")),
    ("/switch.js", SCRIPT, include_str!("../assets/switch.js")),
    ("/playground.js", SCRIPT, include_str!("../assets/playground.js")),
];

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// A page's document at `/`, with all files.
pub(crate) fn pages(document: &'static str) -> Router {
    let files = FILES.into_iter().chain([("/", HTML, document)]);
    files.fold(Router::new(), |pages, (path, kind, text)| {
        pages.route(path, get(move || std::future::ready(([(header::CONTENT_TYPE, kind)], text))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content security policy forbids what these would need.
    #[test]
    fn files_have_no_inline_scripts_and_make_no_markup_of_text() {
        let documents = [include_str!("../assets/switch.html"), include_str!("../assets/playground.html")];
        for text in documents {
            assert_eq!(text.matches("<script").count(), text.matches("<script type=\"module\" src=\"/").count());
            assert!(!text.contains("style=") && !text.contains("<style") && !text.contains("http"), "{text}");
            assert!(!text.contains(" on"), "an attribute with a script?");
        }
        for (name, kind, text) in FILES {
            if kind == SCRIPT {
                for word in [
                    "innerHTML",
                    "outerHTML",
                    "insertAdjacentHTML",
                    "document.write",
                    "eval(",
                    "Function(",
                    "srcdoc",
                    "DOMParser",
                ] {
                    assert!(!text.contains(word), "{name}: {word}");
                }
            }
            assert!(!text.replace("http://www.w3.org/", "").contains("http"), "{name} needs another server");
        }
    }
}
