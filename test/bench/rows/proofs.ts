import type { Report } from "../report.ts";
import type { Stage } from "../stage.ts";

/** Whatever ran before: the books are exact, and the log verifies from its first entry on. */
export async function proveBooks({ run }: Stage, report: Report): Promise<void> {
  for (const command of [["reconcile"], ["audit", "verify"]]) {
    const { exitCode, stdout, stderr } = await run(...command, "--via", "db");
    if (exitCode === 0) report.note(`${command.join(" ")}: holds`);
    else report.trouble(`${command.join(" ")} ended with ${exitCode}: ${stdout} ${stderr}`);
  }
}
