//! The only code that names bollard: a local Docker engine, what it builds and what it runs.

use std::os::unix::net::UnixStream;
use std::path::Path;

use bollard::{API_DEFAULT_VERSION, Docker};

mod agent_image;
mod containers;
mod context;
mod explain;
mod images;
mod lock;
mod sweep;

pub use containers::{Attached, Container, Ended, Limits, Network, Run, Spec};
pub use images::{Image, Images};
pub use sweep::Swept;

use crate::error::{Error, Result};
use explain::explain;

/// The label of every container of a run; its value is the run's name.
pub const RUN_LABEL: &str = "shootout.run";
/// The label of every image, and so of every container in which one is built.
pub const IMAGE_LABEL: &str = "shootout.image";

const DEFAULT_SOCKET: &str = "/var/run/docker.sock";
/// An engine busy with other people's builds can take its time; a dead one is noticed at once.
const TIMEOUT_S: u64 = 120;

/// A local Docker engine that answered.
pub struct Engine {
    docker: Docker,
    /// Its version, as in `20.10.24`.
    pub version: String,
    /// The API's version that both sides speak.
    pub api: String,
    /// Which program puts containers into cgroups.
    pub cgroup_driver: String,
    /// 1 or 2.
    pub cgroup_version: String,
    /// How images are stored, as in `overlay2`.
    pub storage: String,
}

impl Engine {
    /// Finds the engine: `DOCKER_HOST`, else the usual socket. Exit 3 if there is none that this kit
    /// can work with.
    pub async fn connect() -> Result<Self> {
        let host =
            std::env::var("DOCKER_HOST").unwrap_or_else(|_| format!("unix://{DEFAULT_SOCKET}"));
        let Some(socket) = host.strip_prefix("unix://") else {
            return Err(Error::machine(format!(
                "DOCKER_HOST is {host}: a remote engine's processes cannot be sampled from here"
            ))
            .next("run on the engine's own machine, with DOCKER_HOST unset or unix:///PATH"));
        };
        probe(Path::new(socket))?;
        let docker = Docker::connect_with_unix(&host, TIMEOUT_S, API_DEFAULT_VERSION);
        let docker = docker.map_err(|e| explain("connect to the engine", e))?;
        let docker = docker
            .negotiate_version()
            .await
            .map_err(|e| explain("agree on an API", e))?;
        let info = docker
            .info()
            .await
            .map_err(|e| explain("ask the engine about itself", e))?;
        let lower = |text: String| text.to_lowercase();
        Ok(Self {
            version: info.server_version.unwrap_or_default(),
            api: docker.client_version().to_string(),
            cgroup_driver: info
                .cgroup_driver
                .map(|d| lower(d.to_string()))
                .unwrap_or_default(),
            cgroup_version: info
                .cgroup_version
                .map(|v| v.to_string())
                .unwrap_or_default(),
            storage: info.driver.unwrap_or_default(),
            docker,
        })
    }
}

/// Whether anybody listens at the socket, said in words that help.
fn probe(socket: &Path) -> Result<()> {
    use std::io::ErrorKind;
    let Err(error) = UnixStream::connect(socket) else {
        return Ok(());
    };
    let at = socket.display();
    Err(match error.kind() {
        ErrorKind::PermissionDenied => Error::machine(format!("no permission to use the Docker engine at {at}"))
            .next("run as root, or join the socket's group: `sudo usermod -aG docker $USER`, then log in again"),
        _ => Error::machine(format!("no Docker engine answers at {at} ({error})"))
            .next("start one: `sh docker/engine.sh`; or point DOCKER_HOST at another one's socket"),
    })
}
