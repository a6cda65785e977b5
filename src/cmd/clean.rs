//! `clean`: removes what this kit's labels mark.

use super::{Context, print_folded, print_json};
use crate::engine::Engine;
use crate::error::Result;

/// Removes containers of runs that ended, and images; with `dry_run` only says which.
pub fn clean(context: &Context, dry_run: bool) -> Result<()> {
    let found = crate::runtime()?.block_on(async {
        let engine = Engine::connect().await?;
        if dry_run {
            return engine.leftovers().await;
        }
        let mut swept = engine.sweep().await?;
        swept.images = engine.remove_images().await?;
        Ok(swept)
    })?;
    if context.json {
        return print_json(&serde_json::json!({
            "dry_run": dry_run,
            "containers": found.containers,
            "images": found.images,
            "left_alone": found.alive,
        }));
    }
    let verb = if dry_run { "would remove" } else { "removed" };
    let containers = found
        .containers
        .iter()
        .map(|name| format!("{verb} container {name}\n"));
    let images = found
        .images
        .iter()
        .map(|name| format!("{verb} image {name}\n"));
    let alive = found
        .alive
        .iter()
        .map(|name| format!("left alone: {name} (its run goes on)\n"));
    let text: String = containers.chain(images).chain(alive).collect();
    let last = match (text.is_empty(), dry_run) {
        (true, _) => "nothing to remove\n",
        (false, true) => {
            "nothing was removed yet: `shootout clean` does it; images are built again when they are needed\n"
        }
        (false, false) => "",
    };
    print_folded(&(text + last))
}
