//! Uploads in parts.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bucket::{Bucket, refused};
use crate::checksums;
use crate::http::{Answer, Request};
use crate::objects::NewValue;
use crate::xml;

/// The minimum size in bytes of every part but the last one, as in S3.
const LEAST_PART: usize = 5 << 20;
/// The maximum number of a part, as in S3.
const MOST_PARTS: u32 = 10_000;

/// The uploads that are neither complete nor aborted.
#[derive(Debug, Default)]
pub(crate) struct Uploads(Mutex<Begun>);

#[derive(Debug, Default)]
struct Begun {
    count: u64,
    /// The key and the parts of each upload.
    uploads: BTreeMap<String, (String, BTreeMap<u32, Vec<u8>>)>,
}

impl Uploads {
    fn lock(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bucket {
    /// Answers a request of an upload in parts.
    pub(crate) fn of_upload(&self, key: &str, request: &Request) -> io::Result<Answer> {
        if request.method == "POST" && request.asked("uploads").is_some() {
            return Ok(self.begin_upload(key));
        }
        let id = request.asked("uploadId").unwrap_or_default();
        if self.uploads.lock().uploads.get(id).is_none_or(|(of, _)| of != key) {
            return Ok(xml::error(
                404,
                "NoSuchUpload",
                "the upload does not exist, or was completed or aborted",
                key,
            ));
        }
        match request.method.as_str() {
            "PUT" => Ok(self.put_part(id, request)),
            "POST" => self.complete_upload(key, id, request),
            "DELETE" => {
                self.uploads.lock().uploads.remove(id);
                Ok(xml::empty(204))
            }
            _ => Ok(xml::error(501, "NotImplemented", "parts are not listed", key)),
        }
    }

    fn begin_upload(&self, key: &str) -> Answer {
        let mut begun = self.uploads.lock();
        begun.count += 1;
        let id = format!("upload-{}", begun.count);
        begun.uploads.insert(id.clone(), (key.to_owned(), BTreeMap::new()));
        let text = format!(
            "<InitiateMultipartUploadResult><Bucket>{}</Bucket><Key>{}</Key><UploadId>{id}</UploadId>\
             </InitiateMultipartUploadResult>",
            crate::BUCKET,
            xml::escaped(key)
        );
        xml::document(200, &text)
    }

    fn put_part(&self, id: &str, request: &Request) -> Answer {
        if let Err(refusal) = checksums::check(request) {
            return refusal;
        }
        let number = request.asked("partNumber").and_then(|number| number.parse().ok());
        let Some(number) = number.filter(|number| (1..=MOST_PARTS).contains(number)) else {
            return xml::error(400, "InvalidArgument", "the number of a part is 1 to 10000", &request.path);
        };
        if let Some((_, parts)) = self.uploads.lock().uploads.get_mut(id) {
            parts.insert(number, request.body.clone());
        }
        Answer { headers: vec![("ETag", checksums::tag(&request.body))], ..xml::empty(200) }
    }

    /// Joins the parts that a request names, and stores them under the conditions of the request.
    fn complete_upload(&self, key: &str, id: &str, request: &Request) -> io::Result<Answer> {
        let text = String::from_utf8_lossy(&request.body);
        let parts = match self.parts(id, &text) {
            Ok(parts) => parts,
            Err((code, message)) => return Ok(xml::error(400, code, message, key)),
        };
        let tag = checksums::tag_of_parts(parts.iter().map(Vec::as_slice));
        let value = NewValue { bytes: parts.concat(), tag };
        let state = match self.objects.put(key, value, &self.conditions(request))? {
            Ok(state) => state,
            Err(refusal) => return Ok(refused(refusal, key)),
        };
        self.uploads.lock().uploads.remove(id);
        let text = format!(
            "<CompleteMultipartUploadResult><Bucket>{}</Bucket><Key>{}</Key><ETag>{}</ETag>\
             </CompleteMultipartUploadResult>",
            crate::BUCKET,
            xml::escaped(key),
            xml::escaped(&state.tag)
        );
        let answer = xml::document(200, &text);
        let generation = vec![("x-goog-generation", state.generation.to_string())];
        Ok(Answer { headers: [answer.headers, generation].concat(), ..answer })
    }

    /// Returns the parts that the document of a request names, or the code and the message of an error.
    fn parts(&self, id: &str, text: &str) -> Result<Vec<Vec<u8>>, (&'static str, &'static str)> {
        let begun = self.uploads.lock();
        let Some((_, stored)) = begun.uploads.get(id) else {
            return Err(("NoSuchUpload", "the upload has ended"));
        };
        let mut parts: Vec<Vec<u8>> = Vec::new();
        let mut last = 0;
        for part in xml::elements(text, "Part") {
            let number = xml::text_of(part, "PartNumber").and_then(|number| number.trim().parse().ok());
            let number: u32 = number.ok_or(("MalformedXML", "a part does not have a number"))?;
            if number <= last {
                return Err(("InvalidPartOrder", "the parts are not in ascending order"));
            }
            if parts.last().is_some_and(|part| part.len() < LEAST_PART) {
                return Err(("EntityTooSmall", "a part that is not the last is smaller than 5 MiB"));
            }
            last = number;
            let tag = xml::text_of(part, "ETag").unwrap_or_default();
            let found = stored
                .get(&number)
                .filter(|part| checksums::tag(part).trim_matches('"') == tag.trim_matches('"'));
            parts.push(found.ok_or(("InvalidPart", "a part is missing, or has another ETag"))?.clone());
        }
        if parts.is_empty() { Err(("MalformedXML", "there are no parts")) } else { Ok(parts) }
    }
}
