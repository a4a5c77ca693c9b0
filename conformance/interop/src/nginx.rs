//! nginx, a real HTTP server, on loopback.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skip;

/// How often to choose another port if a program took the chosen one.
const TRIES: usize = 5;

/// How long nginx may take to start.
const START: Duration = Duration::from_secs(20);

/// A running nginx, which serves a folder under several paths. Dropping this value stops it.
///
/// | path | behaviour |
/// |---|---|
/// | `/plain/` | ranges, entity tags, no listings |
/// | `/gzip/` | compresses for clients that accept it |
/// | `/encoded/` | sends `NAME.gz` as `NAME`, with `Content-Encoding: gzip`, to every client |
/// | `/moved/`, `/gone/` | a temporary and a permanent redirect to `/plain/` |
/// | `/whole/` | ignores ranges |
/// | `/listed/` | an HTML page for each folder |
/// | `/locked/` | 403 |
/// | `/failing/` | 501 |
#[derive(Debug)]
pub struct Nginx {
    process: Child,
    folder: TempDir,
    port: u16,
}

impl Nginx {
    /// Returns the URL without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.host())
    }

    /// Returns the address with the port.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the requests so far, one a line: the status, the requested range, the number of bytes of the answer, and
    /// the path.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The exit status does not matter any more.
        let _killed = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// Starts nginx with the files of `folder`; returns `None` after a visible skip if the machine does not have it.
///
/// # Panics
///
/// If nginx is installed and does not start.
#[must_use]
pub fn nginx(folder: &Path) -> Option<Nginx> {
    // Debian installs it where only the administrator's path leads.
    let programs = ["nginx", "/usr/sbin/nginx"];
    let is_installed = |program: &&&str| {
        let version = Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    let Some(program) = programs.iter().find(is_installed) else {
        skip("nginx is not installed (Debian: nginx-light)");
        return None;
    };
    for _ in 0..TRIES {
        if let Some(nginx) = start(program, folder) {
            return Some(nginx);
        }
    }
    panic!("{program} did not start");
}

#[expect(clippy::unwrap_used, reason = "a panic must fail the test")]
fn start(program: &str, served: &Path) -> Option<Nginx> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nginx.conf"), configuration(port, served)).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
    let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut nginx = Nginx { process, folder, port };
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let begun = Instant::now();
    while begun.elapsed() < START && nginx.process.try_wait().unwrap().is_none() {
        if TcpStream::connect(address).is_ok() {
            return Some(nginx);
        }
        sleep(Duration::from_millis(20));
    }
    println!("{}", fs::read_to_string(nginx.folder.path().join("error.log")).unwrap_or_default());
    None
}

/// One process serves everything, so that killing it leaves none.
fn configuration(port: u16, served: &Path) -> String {
    let served = served.display();
    let location =
        |path: &str, settings: &str| format!("    location /{path}/ {{ alias \"{served}/\"; {settings} }}\n");
    let locations = [
        location("plain", ""),
        location("gzip", "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;"),
        location("encoded", "gzip_static always;"),
        location("whole", "max_ranges 0;"),
        location("listed", "autoindex on;"),
        location("locked", "deny all;"),
    ];
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
events {{}}
http {{
  log_format requests '$status \"$http_range\" $body_bytes_sent $uri';
  access_log access.log requests;
  client_body_temp_path temporary; proxy_temp_path temporary; fastcgi_temp_path temporary;
  uwsgi_temp_path temporary; scgi_temp_path temporary;
  default_type application/octet-stream;
  server {{
    listen 127.0.0.1:{port};
{}    location /moved/ {{ rewrite ^/moved/(.*)$ /plain/$1 redirect; }}
    location /gone/ {{ rewrite ^/gone/(.*)$ /plain/$1 permanent; }}
    location /failing/ {{ return 501; }}
  }}
}}
",
        locations.concat()
    )
}
