//! Deleting many keys with one request.

use std::io;

use crate::bucket::Bucket;
use crate::http::{Answer, Request};
use crate::objects::{Conditions, Refusal};
use crate::xml;

/// Maximum number of keys in a request, as in S3.
const MOST: usize = 1000;

impl Bucket {
    /// Deletes the keys of a request. A key with an ETag is deleted only if its object has this ETag. A key without an
    /// ETag is deleted in any case.
    pub(crate) fn delete_many(&self, request: &Request) -> io::Result<Answer> {
        let text = String::from_utf8_lossy(&request.body);
        let objects = xml::elements(&text, "Object");
        if objects.is_empty() || objects.len() > MOST {
            return Ok(xml::error(400, "MalformedXML", "expected 1 to 1000 objects", ""));
        }
        let is_quiet = xml::text_of(&text, "Quiet").is_some_and(|quiet| quiet == "true");
        let mut answer = String::from("<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
        for object in objects {
            let key = xml::text_of(object, "Key").unwrap_or_default();
            let name = xml::escaped(&key);
            let conditions =
                self.applied(Conditions { if_match: xml::text_of(object, "ETag"), ..Conditions::default() });
            let code = match self.objects.remove(&key, &conditions)? {
                Ok(()) if is_quiet => continue,
                Ok(()) => {
                    answer.push_str(&format!("<Deleted><Key>{name}</Key></Deleted>"));
                    continue;
                }
                Err(Refusal::Missing | Refusal::WithoutGeneration) => "NoSuchKey",
                Err(Refusal::Changed) => "PreconditionFailed",
            };
            answer.push_str(&format!(
                "<Error><Key>{name}</Key><Code>{code}</Code><Message>the value has changed</Message></Error>"
            ));
        }
        answer.push_str("</DeleteResult>");
        Ok(xml::document(200, &answer))
    }
}
