//! `repair`: repairs damage that `verify` finds.

use std::io::Write;

use zarr_kit::archive::{self, Checks, Finding, FindingKind, RepairChoices, RepairPlan};
use zarr_kit::json::{self, counted};
use zarr_kit::spec::printable;

use crate::arguments::Repair;
use crate::failure::Failure;
use crate::interrupt::{self, Left};
use crate::opening::{context, open_to_write};
use crate::printer::{stdout, write_json};
use crate::verbs::verify::{check, line};

pub(crate) fn run(arguments: &Repair) -> Result<(), Failure> {
    let context = context()?;
    let store = open_to_write(&arguments.store, &context)?;
    let report = check(&store, &context, Checks::new(arguments.level.level()), None)?;
    let choices = RepairChoices::default().quarantine_chunks(arguments.quarantine_chunks);
    let plan = archive::plan_repair(&store, &context, &report, choices)?;
    if arguments.json {
        write_json(&json::to_value(&plan)?, &mut stdout())?;
    } else {
        write(&plan)?;
    }
    if arguments.run {
        let left = "the repair is not complete; run it again to finish it".to_owned();
        interrupt::watch(Left::values(left))?;
        plan.run(&store, &context, &zarr_kit::Progress::new())?;
    }
    let is_done = plan.remaining.is_empty() && (arguments.run || plan.repairs.is_empty());
    if !arguments.json {
        writeln!(
            stdout(),
            "{}{}",
            summary(plan.repairs.len(), plan.remaining.len(), arguments.run),
            hint(&plan, arguments.quarantine_chunks)
        )?;
    }
    if is_done { Ok(()) } else { Err(Failure::Different) }
}

fn write(plan: &RepairPlan) -> Result<(), Failure> {
    let mut output = stdout();
    for repair in &plan.repairs {
        writeln!(output, "{}", printable(text(repair)))?;
    }
    for finding in &plan.remaining {
        writeln!(output, "not repairable: {}", printable(line(finding)))?;
    }
    Ok(())
}

fn summary(repairs: usize, remaining: usize, is_run: bool) -> String {
    if repairs == 0 && remaining == 0 {
        return "nothing to repair".to_owned();
    }
    let repaired = counted(repairs, "repair", "repairs");
    let remaining = match remaining {
        0 => String::new(),
        count => format!(", {} not repairable", counted(count, "finding", "findings")),
    };
    match (repairs, is_run) {
        (0, true) => format!("nothing repaired{remaining}"),
        (_, true) => format!("{repaired} done{remaining}"),
        (0, false) => format!("{repaired} planned{remaining}"),
        _ => format!("{repaired} planned{remaining}; --run repairs"),
    }
}

/// Names the option for damaged chunks that the plan leaves alone, and the verb for those that it cannot move.
fn hint(plan: &RepairPlan, moves_chunks: bool) -> &'static str {
    let is_chunk = |finding: &Finding| finding.chunk.is_some() && finding.kind != FindingKind::MissingChunk;
    match plan.remaining.iter().any(is_chunk) {
        true if moves_chunks => {
            "; `zarrctl copy --skip-unreadable` copies everything that can be read to a new store"
        }
        true => {
            "; --quarantine-chunks moves damaged chunks out of the hierarchy, and `zarrctl copy \
             --skip-unreadable` copies all others"
        }
        false => "",
    }
}

fn text(repair: &archive::Repair) -> String {
    match repair {
        archive::Repair::Quarantine { key, reason } => format!("move `{key}` to the quarantine: {reason}"),
        archive::Repair::RebuildIndex { path, key, .. } => {
            format!("rebuild the index of the shard `{key}` of {path}: its inner chunks are intact")
        }
        archive::Repair::CreateGroup { path, .. } => format!("create the missing group {path}"),
        archive::Repair::Consolidate { .. } => "write the consolidated metadata again".to_owned(),
        other => format!("{other:?}"),
    }
}
