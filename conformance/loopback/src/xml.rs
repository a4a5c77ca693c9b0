//! XML of answers and requests.

use std::io;

use crate::http::{Answer, Body};

/// Escapes a text for the content of an element.
pub(crate) fn escaped(text: &str) -> String {
    let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    plain.replace('"', "&quot;").replace('\'', "&apos;")
}

/// Returns the text of an escaped content.
fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#34;", "\"");
    text.replace("&apos;", "'").replace("&amp;", "&")
}

/// Returns the contents of all elements `name`, still escaped.
pub(crate) fn elements<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let begin = format!("<{name}>");
    let end = format!("</{name}>");
    text.split(&*begin).skip(1).filter_map(|rest| Some(rest.split_once(&*end)?.0)).collect()
}

/// Returns the text of the first element `name`.
pub(crate) fn text_of(text: &str, name: &str) -> Option<String> {
    elements(text, name).first().map(|content| plain(content))
}

/// Returns an answer without a body.
pub(crate) fn empty(status: u16) -> Answer {
    Answer { status, headers: Vec::new(), body: Body::empty() }
}

/// Returns an answer with a document.
pub(crate) fn document(status: u16, text: &str) -> Answer {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
    let headers = vec![("Content-Type", "application/xml".to_owned())];
    Answer { status, headers, body: Body::Bytes(text.into()) }
}

/// Returns the document of an error.
pub(crate) fn error(status: u16, code: &str, message: &str, resource: &str) -> Answer {
    let [message, resource] = [message, resource].map(escaped);
    let text = format!(
        "<Error><Code>{code}</Code><Message>{message}</Message><Resource>{resource}</Resource></Error>"
    );
    document(status, &text)
}

/// Returns the answer to an invalid request.
pub(crate) fn malformed(reason: &io::Error) -> Answer {
    error(400, "InvalidRequest", &reason.to_string(), "")
}

/// Returns an error as S3 uses it for this status.
pub(crate) fn refusal(status: u16) -> Answer {
    let code = match status {
        400 => "RequestTimeout",
        403 => "AccessDenied",
        409 => "ConditionalRequestConflict",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "SlowDown",
        _ => "Fault",
    };
    error(status, code, "a fault of the test", "")
}
