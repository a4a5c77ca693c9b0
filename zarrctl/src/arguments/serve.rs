//! Arguments of `serve`.

use std::net::IpAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Address to listen at; `0.0.0.0` and `::` accept clients from other machines
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) address: IpAddr,
    /// Port to listen at; 0 chooses a free one
    #[arg(long, default_value_t = 8000)]
    pub(crate) port: u16,
    /// Origin of the web pages that may read the store, such as `https://example.org`; `*` is any
    #[arg(long, default_value = "*")]
    pub(crate) origin: String,
}
