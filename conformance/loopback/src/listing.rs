//! Listings and their XML.

use std::io;

use crate::bucket::Bucket;
use crate::date;
use crate::http::{Answer, Request, percent_encoded};
use crate::objects::{Entry, Wanted};
use crate::xml;

/// Returns a page of a listing in the format of `ListObjectsV2`. The continuation token is the last name of the
/// preceding page.
pub(crate) fn page(bucket: &Bucket, request: &Request) -> io::Result<Answer> {
    let delimiter = request.asked("delimiter").unwrap_or_default();
    if !matches!(delimiter, "" | "/") {
        return Ok(xml::error(501, "NotImplemented", "the only delimiter is `/`", delimiter));
    }
    let most = request.asked("max-keys").and_then(|most| most.parse().ok()).unwrap_or(bucket.page);
    let wanted = Wanted {
        prefix: request.asked("prefix").unwrap_or_default(),
        is_by_folder: !delimiter.is_empty(),
        after: request.asked("continuation-token").or(request.asked("start-after")).unwrap_or_default(),
        most: most.min(bucket.page),
    };
    let entries = bucket.objects.list(&wanted)?;
    let is_encoded = request.asked("encoding-type") == Some("url");
    Ok(xml::document(200, &text(&wanted, &entries, is_encoded)))
}

fn text(wanted: &Wanted<'_>, entries: &[Entry], is_encoded: bool) -> String {
    let is_truncated = entries.len() > wanted.most;
    let entries = &entries[..entries.len().min(wanted.most)];
    let name = |name: &str| if is_encoded { percent_encoded(name) } else { xml::escaped(name) };
    let mut text = format!(
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{}</Name>\
         <Prefix>{}</Prefix><KeyCount>{}</KeyCount><MaxKeys>{}</MaxKeys><IsTruncated>{is_truncated}</IsTruncated>",
        crate::BUCKET,
        name(wanted.prefix),
        entries.len(),
        wanted.most,
    );
    if is_encoded {
        text.push_str("<EncodingType>url</EncodingType>");
    }
    if let Some(last) = entries.last().filter(|_| is_truncated) {
        let token = xml::escaped(&last.name);
        text.push_str(&format!("<NextContinuationToken>{token}</NextContinuationToken>"));
    }
    for entry in entries {
        let name = name(&entry.name);
        text.push_str(&match &entry.state {
            None => format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"),
            Some(state) => format!(
                "<Contents><Key>{name}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size>\
                 <StorageClass>STANDARD</StorageClass></Contents>",
                date::of_listing(state.modified),
                xml::escaped(&state.tag),
                state.size
            ),
        });
    }
    text.push_str("</ListBucketResult>");
    text
}
