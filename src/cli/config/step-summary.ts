import { appendFileSync } from "node:fs";
import { isErrno, stepSummaryFile } from "../../config/environment.ts";
import { replayMarkdown } from "../audit/replay-view.ts";
import { failureOf } from "../errors.ts";
import { markdownCell, markdownCode } from "../output/markdown.ts";
import type { Output } from "../output/output.ts";
import {
  actionOf,
  inForce,
  type JudgedPlan,
  refusalLines,
  restLines,
  type ShownPlan,
  shownValue,
} from "./plan-view.ts";

/**
 * Writes Markdown to the page that the build server shows; does nothing elsewhere. A report that cannot be written is
 * noted, and does not fail the command.
 */
export function writeStepSummary(output: Pick<Output, "note">, markdown: () => string): void {
  const file = stepSummaryFile();
  if (file === undefined) return;
  try {
    appendFileSync(file, `${markdown()}\n\n`);
  } catch (error) {
    if (!isErrno(error)) throw error;
    output.note(`The report was not written to GITHUB_STEP_SUMMARY: ${file} (${error.code})`);
  }
}

/** @param plan as planned, or as an apply carried it out; the latter has no refusals */
export function planMarkdown(plan: ShownPlan | JudgedPlan, title = `Plan for ${plan.tenant}`): string {
  const lines = [`### ${markdownCell(title)}`, ""];
  if (plan.items.length === 0) lines.push("No managed value differs from what is live.");
  else {
    lines.push("| Field | What | Live | File | Mark |", "| --- | --- | --- | --- | --- |");
    for (const item of inForce(plan)) {
      const { field, live, desired, mark } = item;
      lines.push(
        `| ${markdownCode(field)} | ${actionOf(item)} | ${code(live)} | ${code(desired)} | ${mark ? `**${mark}**` : ""} |`,
      );
    }
  }
  const refused = "refusals" in plan ? refusalLines(plan) : [];
  if (refused.length > 0)
    lines.push("", "**An apply would refuse this:**", "", ...refused.map((line) => `- ${markdownCell(line.trim())}`));
  const rest = restLines(plan);
  if (rest.length > 0) lines.push("", ...rest.map((line) => `- ${markdownCell(line)}`));
  if (plan.replay) lines.push("", replayMarkdown(plan));
  return lines.join("\n");
}

/** The reason why a tenant was not applied or planned. */
export function refusalMarkdown(tenant: string, error: unknown, done: "applied" | "planned" = "applied"): string {
  const { message = "" } = failureOf(error);
  // Indented, because a message could close a fence.
  return [`### ${markdownCell(tenant)}: not ${done}`, "", ...message.split("\n").map((line) => `    ${line}`)].join(
    "\n",
  );
}

function code(value: Parameters<typeof shownValue>[0]): string {
  return markdownCode(shownValue(value));
}
