//! Clearing up: what carries this kit's labels and belongs to nobody alive. Nothing else is touched.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bollard::models::{ContainerSummary, ImageSummary};
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, RemoveContainerOptionsBuilder,
    RemoveImageOptionsBuilder,
};

use super::explain::explain;
use super::lock::Lock;
use super::{Engine, IMAGE_LABEL, RUN_LABEL};
use crate::error::Result;

/// A container that somebody else is removing is waited for so long.
const REMOVAL_BY_OTHERS: Duration = Duration::from_secs(10);

/// What was found (and removed, unless it was only a look).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Containers of runs that ended, and of builds that broke off.
    pub containers: Vec<String>,
    /// Containers of runs that are still going on: left alone.
    pub alive: Vec<String>,
    /// Images, where they were asked for.
    pub images: Vec<String>,
}

impl Engine {
    /// Removes the containers that earlier runs and builds left behind.
    pub async fn sweep(&self) -> Result<Swept> {
        let swept = self.leftovers().await?;
        for container in &swept.containers {
            self.remove_container(container).await?;
        }
        Ok(swept)
    }

    /// What [`Engine::sweep`] and [`Engine::remove_images`] would remove.
    pub async fn leftovers(&self) -> Result<Swept> {
        let mut swept = Swept::default();
        for container in self.labelled_containers(RUN_LABEL).await? {
            let run = label(&container, RUN_LABEL).unwrap_or_default();
            let name = name(&container);
            if Lock::is_held(&format!("run/{run}")) {
                swept.alive.push(name);
            } else {
                swept.containers.push(name);
            }
        }
        // A build's containers carry their image's label alone. While somebody builds they are his, so
        // nobody may begin to between the question and the list.
        if let Ok(Some(_nobody_builds)) = Lock::try_take("build") {
            let building = self.labelled_containers(IMAGE_LABEL).await?;
            let left = building.iter().filter(|container| {
                label(container, RUN_LABEL).is_none() && is_of_a_build(container)
            });
            swept.containers.extend(left.map(name));
        }
        swept.images = self
            .labelled_images()
            .await?
            .into_iter()
            .flat_map(|image| image_names(&image))
            .collect();
        Ok(swept)
    }

    /// Removes every image that carries the kit's label, under each of its names; those in use stay.
    pub async fn remove_images(&self) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        loop {
            let before = removed.len();
            for name in self.labelled_images().await?.iter().flat_map(image_names) {
                if self.remove_image(&name).await.is_ok() {
                    removed.push(name);
                }
            }
            // One that others were built on goes once they are gone.
            if removed.len() == before {
                return Ok(removed);
            }
        }
    }

    pub(super) async fn remove_image(&self, name: &str) -> Result<()> {
        let options = RemoveImageOptionsBuilder::default().force(false).build();
        let removed = self.docker.remove_image(name, Some(options), None).await;
        removed
            .map(drop)
            .map_err(|e| explain(&format!("remove the image {name}"), e))
    }

    /// Removes a container, running or not, and returns once it is gone; false if there was none any more.
    pub(super) async fn remove_container(&self, name: &str) -> Result<bool> {
        use bollard::errors::Error::DockerResponseServerError;
        let options = RemoveContainerOptionsBuilder::default()
            .force(true)
            .v(true)
            .build();
        let patience = Instant::now() + REMOVAL_BY_OTHERS;
        let mut was_there = false;
        loop {
            let removed = self.docker.remove_container(name, Some(options.clone()));
            match removed.await {
                Ok(()) => return Ok(true),
                Err(DockerResponseServerError {
                    status_code: 404, ..
                }) => return Ok(was_there),
                // It is being removed at this moment, perhaps for a request of ours that was interrupted.
                Err(DockerResponseServerError {
                    status_code: 409, ..
                }) if Instant::now() < patience => {
                    was_there = true;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => {
                    return Err(explain(&format!("remove the container {name}"), error));
                }
            }
        }
    }

    async fn labelled_containers(&self, label: &str) -> Result<Vec<ContainerSummary>> {
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&only(label))
            .build();
        let found = self.docker.list_containers(Some(options)).await;
        found.map_err(|e| explain("list containers", e))
    }

    async fn labelled_images(&self) -> Result<Vec<ImageSummary>> {
        let options = ListImagesOptionsBuilder::default()
            .filters(&only(IMAGE_LABEL))
            .build();
        let found = self.docker.list_images(Some(options)).await;
        found.map_err(|e| explain("list images", e))
    }
}

/// A build runs its steps on layers by their id. What somebody started by hand from an image of ours
/// names the image, carries its label too, and is none of our business.
fn is_of_a_build(container: &ContainerSummary) -> bool {
    let image = container.image.as_deref().unwrap_or_default();
    let id = image.strip_prefix("sha256:").unwrap_or(image);
    id.len() >= 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn only(label: &str) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![label.to_owned()])])
}

fn label<'a>(container: &'a ContainerSummary, name: &str) -> Option<&'a str> {
    container.labels.as_ref()?.get(name).map(String::as_str)
}

fn name(container: &ContainerSummary) -> String {
    let name = container.names.iter().flatten().next();
    let name = name.map(|name| name.trim_start_matches('/').to_owned());
    name.or_else(|| container.id.clone()).unwrap_or_default()
}

/// Its tags, or its id if it has none.
fn image_names(image: &ImageSummary) -> Vec<String> {
    let tags = image.repo_tags.iter().filter(|tag| *tag != "<none>:<none>");
    let tags: Vec<String> = tags.cloned().collect();
    if tags.is_empty() {
        vec![image.id.clone()]
    } else {
        tags
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::thread::JoinHandle;

    use bollard::{API_DEFAULT_VERSION, Docker};

    use super::*;

    #[test]
    fn containers_that_somebody_started_by_hand_are_not_a_builds() {
        let of = |image: &str| ContainerSummary {
            image: Some(image.into()),
            ..ContainerSummary::default()
        };
        for id in ["sha256:9e181ea501433a16", "9e181ea50143", &"ab".repeat(32)] {
            assert!(is_of_a_build(&of(id)), "{id}");
        }
        for name in [
            "shootout/adapters/express:ef2f81e16f405d24",
            "debian",
            "cafe",
            "",
        ] {
            assert!(!is_of_a_build(&of(name)), "{name}");
        }
    }

    /// An engine whose answers are these statuses, one after the other.
    fn answering(socket: &Path, statuses: &'static [u16]) -> (Engine, JoinHandle<()>) {
        let listener = UnixListener::bind(socket).unwrap();
        let answers = std::thread::spawn(move || {
            for status in statuses {
                let (mut peer, _) = listener.accept().unwrap();
                assert!(peer.read(&mut [0; 4096]).unwrap() > 0);
                let body = r#"{"message":"so it is"}"#;
                write!(
                    peer,
                    "HTTP/1.1 {status} So\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                )
                .unwrap();
            }
        });
        let socket = socket.to_str().unwrap();
        let engine = Engine {
            docker: Docker::connect_with_unix(socket, 5, API_DEFAULT_VERSION).unwrap(),
            version: String::new(),
            api: String::new(),
            cgroup_driver: String::new(),
            cgroup_version: String::new(),
            storage: String::new(),
        };
        (engine, answers)
    }

    #[test]
    fn a_container_that_others_are_removing_is_waited_for() {
        let table: [(&[u16], Option<bool>); 4] = [
            (&[404], Some(false)),
            (&[409, 409, 404], Some(true)),
            (&[409, 200], Some(true)),
            (&[409, 500], None),
        ];
        for (statuses, was_there) in table {
            let dir = tempfile::tempdir().unwrap();
            let (engine, answers) = answering(&dir.path().join("engine"), statuses);
            let runtime = crate::runtime().unwrap();
            let removed = runtime.block_on(engine.remove_container("x"));
            answers.join().unwrap();
            assert_eq!(removed.ok(), was_there, "{statuses:?}");
        }
    }
}
