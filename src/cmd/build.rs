//! `build`: images, and nothing else.

use super::interrupts::Interrupts;
use super::{Context, print_json, swept_engine};
use crate::agent::binary::agent_binary;
use crate::engine::Images;
use crate::error::{Error, Exit, Result};
use crate::plan::{Adapter, Kit};

/// Builds the agent's image and the adapters'; a broken one does not stop the others. Exit 4 if one
/// could not be built.
pub fn build(context: &Context, names: &[String]) -> Result<()> {
    let kit = context.kit()?;
    let adapters = buildable(context, &kit, names)?;
    crate::runtime()?.block_on(async {
        let mut interrupts = Interrupts::listen()?;
        let engine = interrupts.unless(swept_engine()).await?;
        let mut images = Images::new(&engine, &kit.root, &context.ui);
        let building = every(context, &kit, &mut images, &adapters);
        let failed = interrupts.unless(building).await?;
        if context.json {
            print_json(&images.done().collect::<Vec<_>>())?;
        } else {
            context.ui.step(&format!(
                "{} of {} adapters are ready",
                adapters.len() - failed.len(),
                adapters.len()
            ));
        }
        match failed.is_empty() {
            true => Ok(()),
            false => Err(
                Error::incomplete(format!("could not be built: {}", failed.join(", ")))
                    .next("the last lines of each build are above"),
            ),
        }
    })
}

/// Builds the agent's image and each adapter's; the names of those that could not be built.
async fn every(
    context: &Context,
    kit: &Kit,
    images: &mut Images<'_>,
    adapters: &[Adapter],
) -> Result<Vec<String>> {
    images.agent(&agent_binary()?).await?;
    let mut failed = Vec::new();
    for adapter in adapters {
        match images.adapter(&adapter.name, kit.data(adapter)?).await {
            Ok(_) => {}
            Err(error) if error.exit == Exit::Incomplete => {
                context.ui.warn(&error.to_string());
                failed.push(adapter.name.clone());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(failed)
}

/// The adapters named, or all that can be built here. Naming one that cannot is exit 2.
pub(super) fn buildable(context: &Context, kit: &Kit, names: &[String]) -> Result<Vec<Adapter>> {
    let mut adapters = Vec::new();
    for name in names {
        let adapter = kit.adapter(name)?;
        if let Some(reason) = &adapter.not_built {
            return Err(
                Error::usage(format!("adapter {name} is not built here: {reason}"))
                    .next("`shootout list adapters` shows those that are"),
            );
        }
        adapters.push(adapter);
    }
    if names.is_empty() {
        for entry in kit.adapters()? {
            match entry.loaded {
                Ok(adapter) if adapter.not_built.is_none() => adapters.push(adapter),
                Ok(_) => {}
                Err(error) => context.ui.warn(&error.to_string()),
            }
        }
    }
    Ok(adapters)
}
