//! Credentials that expire and are issued again.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use reqwest::header::HeaderValue;
use tokio::sync::Mutex;
use zarr_spec::BoxError;

/// Credentials are issued again before they expire: this time before, or when a third of their time is left.
const EARLY: Duration = Duration::from_secs(300);

/// The time until another attempt to issue credentials again, while the old ones are valid.
const ANOTHER_ATTEMPT: Duration = Duration::from_secs(30);

/// A source of temporary credentials.
#[async_trait]
pub(super) trait Issuer: Debug + Send + Sync + 'static {
    /// Requests credentials.
    ///
    /// # Errors
    ///
    /// If the source has none for this program. The message names the profile, and contains no secret.
    async fn issue(&self) -> Result<Temporary, BoxError>;
}

/// Credentials and the time when they expire, if they do.
#[derive(Debug)]
pub(super) struct Temporary {
    credential: Arc<AwsCredential>,
    expires: Option<SystemTime>,
}

impl Temporary {
    /// # Errors
    ///
    /// If the credentials cannot be sent in headers, or have expired.
    pub(super) fn new(credential: AwsCredential, expires: Option<SystemTime>) -> Result<Self, BoxError> {
        let is_header = |text: &str| HeaderValue::from_str(text).is_ok();
        if !is_header(&credential.key_id) || !credential.token.as_deref().is_none_or(is_header) {
            return Err("the credentials contain characters that a header cannot have".into());
        }
        if expires.is_some_and(|time| time <= SystemTime::now()) {
            return Err("the credentials have already expired; compare the clock of this machine".into());
        }
        Ok(Self { credential: Arc::new(credential), expires })
    }
}

/// Returns the time that a text in the form of RFC 3339 states. Old tools write `UTC` instead of `Z`.
pub(super) fn time(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix("UTC").map_or_else(|| text.to_owned(), |text| format!("{text}Z"));
    DateTime::parse_from_rfc3339(&text).ok().map(SystemTime::from)
}

/// Remembers credentials until shortly before they expire.
#[derive(Debug)]
pub(super) struct Issued<I> {
    issuer: I,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    issued: Option<Temporary>,
    /// When the credentials are issued again, if they expire.
    renewal: Option<SystemTime>,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Failure {
    message: String,
    ended: Instant,
}

impl<I> Issued<I> {
    pub(super) fn new(issuer: I) -> Self {
        Self { issuer, last: Mutex::default() }
    }
}

impl Last {
    /// Returns the credentials if they need not be issued again.
    fn fresh(&self, now: SystemTime) -> Option<Arc<AwsCredential>> {
        let issued = self.issued.as_ref()?;
        self.renewal.is_none_or(|time| now < time).then(|| Arc::clone(&issued.credential))
    }

    /// Returns the credentials if they are valid, and postpones the next attempt.
    fn still_valid(&mut self, now: SystemTime) -> Option<Arc<AwsCredential>> {
        let issued = self.issued.as_ref()?;
        issued.expires.is_none_or(|time| now < time).then(|| {
            self.renewal = Some(now + ANOTHER_ATTEMPT);
            Arc::clone(&issued.credential)
        })
    }

    fn remember(&mut self, issued: Temporary, now: SystemTime) -> Arc<AwsCredential> {
        let early = |expires: SystemTime| {
            let lifetime = expires.duration_since(now).unwrap_or_default();
            expires - EARLY.min(lifetime / 3)
        };
        let credential = Arc::clone(&issued.credential);
        *self = Self { renewal: issued.expires.map(early), issued: Some(issued), failure: None };
        credential
    }
}

#[async_trait]
impl<I: Issuer> CredentialProvider for Issued<I> {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        let now = SystemTime::now();
        if let Some(credential) = last.fresh(now) {
            return Ok(credential);
        }
        // A failure counts for all requests that waited for the same credentials.
        if let Some(failure) = last.failure.as_ref().filter(|failure| failure.ended > asked) {
            return Err(failed(&failure.message));
        }
        match self.issuer.issue().await {
            Ok(issued) => Ok(last.remember(issued, now)),
            Err(error) => last.still_valid(now).ok_or_else(|| {
                let message = error.to_string();
                let error = failed(&message);
                last.failure = Some(Failure { message, ended: Instant::now() });
                error
            }),
        }
    }
}

fn failed(message: &str) -> object_store::Error {
    object_store::Error::Generic { store: "credentials", source: message.into() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Issues credentials that contain the number of the call.
    #[derive(Debug, Default)]
    struct Counting {
        calls: AtomicUsize,
        lifetime: Option<Duration>,
        /// The number of calls that succeed.
        successes: usize,
        wait: Duration,
    }

    #[async_trait]
    impl Issuer for Counting {
        async fn issue(&self) -> Result<Temporary, BoxError> {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(self.wait).await;
            if call >= self.successes {
                return Err(format!("refused {call}").into());
            }
            let credential =
                AwsCredential { key_id: format!("id{call}"), secret_key: String::new(), token: None };
            Temporary::new(credential, self.lifetime.map(|lifetime| SystemTime::now() + lifetime))
        }
    }

    fn run<T>(task: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
    }

    async fn id(issued: &Issued<Counting>) -> Result<String, String> {
        let credential = issued.get_credential().await;
        credential.map(|credential| credential.key_id.clone()).map_err(|error| error.to_string())
    }

    fn remembered(now: SystemTime, seconds: Option<u64>) -> Last {
        let mut last = Last::default();
        let credential =
            Arc::new(AwsCredential { key_id: String::new(), secret_key: String::new(), token: None });
        let expires = seconds.map(|seconds| now + Duration::from_secs(seconds));
        last.remember(Temporary { credential, expires }, now);
        last
    }

    #[test]
    fn credentials_are_fresh_until_shortly_before_they_expire() {
        let now = SystemTime::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        for (lifetime, renewal) in [(3600, 3300), (900, 600), (60, 40)] {
            let last = remembered(now, Some(lifetime));
            assert!(last.fresh(after(renewal - 1)).is_some() && last.fresh(after(renewal)).is_none());
        }
        assert!(remembered(now, None).fresh(after(1 << 32)).is_some());
    }

    #[test]
    fn valid_credentials_are_used_for_a_while_if_no_others_are_issued() {
        let now = SystemTime::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut last = remembered(now, Some(3600));
        assert!(last.still_valid(after(3500)).is_some());
        assert!(last.fresh(after(3529)).is_some() && last.fresh(after(3530)).is_none());
        assert!(last.still_valid(after(3600)).is_none());
    }

    #[test]
    fn credentials_are_issued_again_when_it_is_time_for_it() {
        let lifetime = Some(Duration::from_secs(3600));
        let issued = Issued::new(Counting { lifetime, successes: 2, ..Counting::default() });
        run(async {
            for expected in ["id0", "id0"] {
                assert_eq!(id(&issued).await.unwrap(), expected);
            }
            for expected in ["id1", "id1"] {
                issued.last.lock().await.renewal = Some(SystemTime::now());
                assert_eq!(id(&issued).await.unwrap(), expected);
            }
        });
        assert_eq!(issued.issuer.calls.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_failure_counts_for_the_requests_that_waited_for_it() {
        let issued = Issued::new(Counting { wait: Duration::from_millis(100), ..Counting::default() });
        run(async {
            let all = futures_util::future::join_all((0..5).map(|_| id(&issued))).await;
            assert!(all.iter().all(|one| one.as_ref().unwrap_err().contains("refused 0")), "{all:?}");
            assert!(id(&issued).await.unwrap_err().contains("refused 1"));
        });
    }

    #[test]
    fn expired_and_unprintable_credentials_are_refused() {
        let keys = |id: &str| AwsCredential { key_id: id.to_owned(), secret_key: String::new(), token: None };
        let expired = Temporary::new(keys("id"), Some(SystemTime::now())).unwrap_err().to_string();
        assert!(expired.contains("already expired"), "{expired}");
        let strange = Temporary::new(keys("i\nd"), None).unwrap_err().to_string();
        assert!(strange.contains("header"), "{strange}");
    }

    #[test]
    fn times_have_the_suffix_of_new_and_of_old_tools() {
        let seconds = |text| time(text).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap());
        let expected = Some(Duration::from_secs(1_592_388_128));
        assert_eq!(seconds("2020-06-17T10:02:08Z"), expected);
        assert_eq!(seconds("2020-06-17T10:02:08UTC"), expected);
        assert_eq!(seconds("2020-06-17T12:02:08+02:00"), expected);
        assert_eq!(seconds("soon"), None);
    }
}
