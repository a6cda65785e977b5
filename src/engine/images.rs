//! Images: built from folders in the order of their FROM lines, and only when their inputs changed.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bollard::query_parameters::{BuildImageOptionsBuilder, CreateImageOptionsBuilder};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;

use super::agent_image;
use super::context::{Context, parents, pin_parents};
use super::explain::explain;
use super::lock::Lock;
use super::{Engine, IMAGE_LABEL};
use crate::agent::binary::AgentBinary;
use crate::error::{Error, Result};
use crate::ui::Ui;

/// Where the base comes from if a registry answers.
const BASE_BY_NAME: &str = "debian:trixie-slim";
/// A registry that cannot be reached is given up after so long without a sign of life.
const PULL_PATIENCE: Duration = Duration::from_secs(20);
/// How much of a failed build is shown.
const LAST_LINES: usize = 20;
/// The script that makes the base where no registry answers.
const ROOTFS: &str = "rootfs.sh";

/// Files by their path in a build context.
type Files = Vec<(String, Vec<u8>)>;

/// An image that is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// What it is of: `adapters/express`, `docker/run`, `agent`.
    pub source: String,
    /// Repository and tag; the tag is a digest of the inputs.
    pub tag: String,
    /// The engine's id for it.
    pub id: String,
    /// Its size as the engine reports it.
    pub size_bytes: u64,
    /// The digests of its layers, from the lowest: what images share are the first of them.
    pub layers: Vec<String>,
}

/// Builds a kit's images, each at most once.
pub struct Images<'a> {
    engine: &'a Engine,
    root: PathBuf,
    ui: &'a Ui,
    done: BTreeMap<String, Image>,
}

impl<'a> Images<'a> {
    /// For the kit whose folders are below `root`.
    pub fn new(engine: &'a Engine, root: &Path, ui: &'a Ui) -> Self {
        Self {
            engine,
            root: root.to_owned(),
            ui,
            done: BTreeMap::new(),
        }
    }

    /// The image of `adapters/NAME` with its workloads' data, built if its inputs changed, after those
    /// that it starts from. Exit 4 with the last lines of its output if it cannot be built.
    pub async fn adapter(&mut self, name: &str, data: Files) -> Result<Image> {
        Box::pin(self.folder(&format!("adapters/{name}"), data, &mut Vec::new())).await
    }

    async fn folder(&mut self, source: &str, data: Files, path: &mut Vec<String>) -> Result<Image> {
        if let Some(image) = self.done.get(source) {
            return Ok(image.clone());
        }
        if path.iter().any(|above| above == source) {
            return Err(Error::usage(format!(
                "{source}/Dockerfile starts from itself: {}",
                path.join(" -> ")
            ))
            .next(
                "name another image in one of their FROM lines: a build image, or shootout/run",
            ));
        }
        let mut context = Context::read(&self.root.join(source))?;
        context.add(data)?;
        if context.text(ROOTFS).is_some() && context.text("Dockerfile").is_none() {
            let image = self.current_or(source, &context, async |images, tag| {
                images.make_base(source, tag).await
            });
            return image.await;
        }
        let Some(dockerfile) = context.text("Dockerfile").map(str::to_owned) else {
            return Err(Error::usage(format!("{source} has no Dockerfile"))
                .next("write one: adapters/README.md says what it must hold"));
        };
        path.push(source.to_owned());
        let mut tags = BTreeMap::new();
        for parent in parents(&dockerfile) {
            let source = format!("docker/{parent}");
            let image = Box::pin(self.folder(&source, vec![], path)).await?;
            tags.insert(parent, image.tag);
        }
        path.pop();
        context.replace(
            "Dockerfile",
            pin_parents(&dockerfile, |parent| tags[parent].clone()),
        );
        let build = async |images: &mut Self, tag: &str| images.build(source, tag, &context).await;
        self.current_or(source, &context, build).await
    }

    /// The image of this program, for the agents.
    pub async fn agent(&mut self, binary: &AgentBinary) -> Result<Image> {
        let context = agent_image::context(binary)?;
        let build = async |images: &mut Self, tag: &str| images.build("agent", tag, &context).await;
        self.current_or("agent", &context, build).await
    }

    /// All that were asked for so far, by source.
    pub fn done(&self) -> impl Iterator<Item = &Image> {
        self.done.values()
    }

    /// The image tagged with the digest of its inputs; made if there is none.
    async fn current_or(
        &mut self,
        source: &str,
        context: &Context,
        make: impl AsyncFnOnce(&mut Self, &str) -> Result<()>,
    ) -> Result<Image> {
        let tag = format!("{}:{}", repository(source), &context.digest()[..16]);
        let image = match self.engine.image(source, &tag).await? {
            Some(image) => image,
            None => {
                let waiting = || {
                    self.ui
                        .step("another run is building images: waiting for it")
                };
                let lock = Lock::take("build", waiting).await;
                let _lock = lock
                    .map_err(|e| Error::unexpected(format!("cannot take the build lock: {e}")))?;
                // Somebody may have built it while we waited.
                if self.engine.image(source, &tag).await?.is_none() {
                    let start = Instant::now();
                    make(self, &tag).await?;
                    self.ui.step(&format!(
                        "built {source} in {:.0} s",
                        start.elapsed().as_secs_f64()
                    ));
                }
                let image = self.engine.image(source, &tag).await?;
                image.ok_or_else(|| {
                    Error::unexpected(format!("{source} was built, but {tag} is not there"))
                })?
            }
        };
        self.done.insert(source.to_owned(), image.clone());
        Ok(image)
    }

    async fn build(&self, source: &str, tag: &str, context: &Context) -> Result<()> {
        let options = BuildImageOptionsBuilder::default()
            .t(tag)
            .rm(true)
            .forcerm(true)
            .build();
        let tar = bollard::body_full(Bytes::from(context.tar()?));
        let mut output = Output::new(self.ui, source);
        let mut steps = self.engine.docker.build_image(options, None, Some(tar));
        let mut failed = None;
        while let Some(step) = steps.next().await {
            match step {
                Ok(info) => {
                    output.take(&info.stream.unwrap_or_default());
                    failed = failed.or(info.error_detail.and_then(|detail| detail.message));
                }
                Err(bollard::errors::Error::DockerStreamError { error }) => failed = Some(error),
                Err(error) => return Err(explain(&format!("build {source}"), error)),
            }
        }
        match failed {
            Some(message) => Err(output.failed(&message)),
            None => Ok(()),
        }
    }

    /// The base: by name where a registry answers, else made from Debian's packages.
    async fn make_base(&self, source: &str, tag: &str) -> Result<()> {
        if self.pull_base().await {
            let dockerfile = format!("FROM {BASE_BY_NAME}\nLABEL {IMAGE_LABEL}=base\n");
            let file = super::context::File {
                path: "Dockerfile".into(),
                executable: false,
                bytes: dockerfile.into_bytes(),
            };
            return self.build(source, tag, &Context::of(vec![file])).await;
        }
        self.ui
            .step("no registry answers: making the base from Debian's packages");
        self.import_base(source, tag).await
    }

    async fn pull_base(&self) -> bool {
        let (name, tag) = BASE_BY_NAME.split_once(':').expect("the base has a tag");
        let options = CreateImageOptionsBuilder::default()
            .from_image(name)
            .tag(tag)
            .build();
        let mut steps = self.engine.docker.create_image(Some(options), None, None);
        self.ui
            .now(&format!("looking for {BASE_BY_NAME} in a registry"));
        loop {
            match tokio::time::timeout(PULL_PATIENCE, steps.next()).await {
                Ok(Some(Ok(info))) => self.ui.now(&format!(
                    "pulling {BASE_BY_NAME}: {}",
                    info.status.unwrap_or_default()
                )),
                Ok(None) => return true,
                Ok(Some(Err(_))) | Err(_) => return false,
            }
        }
    }

    async fn import_base(&self, source: &str, tag: &str) -> Result<()> {
        let script = self.root.join(source).join(ROOTFS);
        let mut child = tokio::process::Command::new("sh")
            .arg(&script)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| Error::io("run", &script, &e))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let rootfs = stream::try_unfold(stdout, async |mut stdout| {
            let mut chunk = vec![0; 64 * 1024];
            let length = stdout.read(&mut chunk).await?;
            chunk.truncate(length);
            Ok::<_, std::io::Error>((length > 0).then_some((Bytes::from(chunk), stdout)))
        });
        let (repository, version) = tag.split_once(':').expect("a tag has a version");
        let options = CreateImageOptionsBuilder::default()
            .from_src("-")
            .repo(repository)
            .tag(version)
            .changes(vec![format!("LABEL {IMAGE_LABEL}=base")])
            .build();
        let body = bollard::body_try_stream(rootfs);
        let import = self
            .engine
            .docker
            .create_image(Some(options), Some(body), None)
            .try_collect::<Vec<_>>();
        let mut output = Output::new(self.ui, source);
        let (imported, ()) = futures_util::future::join(import, output.follow(stderr)).await;
        let status = child
            .wait()
            .await
            .map_err(|e| Error::io("run", &script, &e))?;
        if !status.success() {
            // A tar that broke off may have been imported all the same.
            let _ = self.engine.remove_image(tag).await;
            return Err(output.failed(&format!("sh {} ended with {status}", script.display())));
        }
        imported.map_err(|e| explain("import the base image", e))?;
        Ok(())
    }
}

impl Engine {
    /// The image with a tag, if there is one.
    async fn image(&self, source: &str, tag: &str) -> Result<Option<Image>> {
        use bollard::errors::Error::DockerResponseServerError;
        match self.docker.inspect_image(tag).await {
            Ok(found) => Ok(Some(Image {
                source: source.to_owned(),
                tag: tag.to_owned(),
                id: found.id.unwrap_or_default(),
                size_bytes: found.size.unwrap_or_default().unsigned_abs(),
                layers: found
                    .root_fs
                    .and_then(|root| root.layers)
                    .unwrap_or_default(),
            })),
            Err(DockerResponseServerError {
                status_code: 404, ..
            }) => Ok(None),
            Err(error) => Err(explain(&format!("look for the image {tag}"), error)),
        }
    }
}

/// `docker/run` -> `shootout/run`, `adapters/express` -> `shootout/adapters/express`.
fn repository(source: &str) -> String {
    format!(
        "shootout/{}",
        source.strip_prefix("docker/").unwrap_or(source)
    )
}

/// A build's output: shown as it comes, its end kept for a failure.
struct Output<'a> {
    ui: &'a Ui,
    source: &'a str,
    start: Instant,
    last: VecDeque<String>,
}

impl<'a> Output<'a> {
    fn new(ui: &'a Ui, source: &'a str) -> Self {
        Self {
            ui,
            source,
            start: Instant::now(),
            last: VecDeque::new(),
        }
    }

    fn take(&mut self, text: &str) {
        for line in text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
        {
            self.ui.detail(&format!("  {line}"));
            let seconds = self.start.elapsed().as_secs();
            self.ui
                .now(&format!("building {} ({seconds} s): {line}", self.source));
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            self.last.push_back(line.to_owned());
        }
    }

    async fn follow(&mut self, mut stderr: tokio::process::ChildStderr) {
        let mut chunk = vec![0; 4096];
        while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
            self.take(&String::from_utf8_lossy(&chunk[..length]));
        }
    }

    fn failed(&self, message: &str) -> Error {
        let lines: Vec<String> = self.last.iter().map(|line| format!("    {line}")).collect();
        let name = self.source.strip_prefix("adapters/").unwrap_or_default();
        Error::incomplete(format!(
            "{} could not be built: {}\n{}",
            self.source,
            message.trim(),
            lines.join("\n")
        ))
        .next(format!("see all of it with `shootout build {name} -v`").replace("  ", " "))
    }
}
