import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EXIT } from "../../src/cli/errors.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { FAULT_CODES, faultFacts } from "../../src/domain/fault.ts";

const ROOT = new URL("../../", import.meta.url);
const runbook = readFileSync(new URL("docs/runbook.md", ROOT), "utf8");

test("every command and flag of pmctl in the runbook exists", async () => {
  const program = await completeProgram();
  const code = [...runbook.matchAll(/```\n([^`]*)```|`([^`]*)`/g)].map(([, block, inline]) => block ?? inline ?? "");
  const lines = [...code.join("\n").matchAll(/(?:^|&& )pmctl ((?:[\w./$-]+|"[^"]*"| )+)/gm)];
  expect(lines.length).toBeGreaterThan(40);
  const strange = lines.flatMap(([line, text = ""]) => {
    const words = text.match(/"[^"]*"|\S+/g) ?? [];
    let command = program;
    for (const word of words) {
      const child = command.commands.find((each) => each.name() === word);
      if (!child) break;
      command = child;
    }
    const known = [...command.options, ...program.options, ...program.createHelp().visibleOptions(program)];
    const flags = words.filter((word) => word.startsWith("--"));
    const isWhole = command !== program && (command.commands.length === 0 || command.parent === program);
    return isWhole && flags.every((flag) => known.some(({ long }) => long === flag)) ? [] : [line];
  });
  expect(strange).toEqual([]);
});

test("the runbook says of each metric of ours and each exit code what it means", () => {
  const names = ["metrics.ts", "request-metrics.ts"].flatMap((file) => [
    ...readFileSync(new URL(`src/server/observe/${file}`, ROOT), "utf8").matchAll(/"(pmctl_[a-z_]+)"/g),
  ]);
  // What is of interest as a course and not at a level: sizes of batches, trades, the newest anchor.
  const courses = ["pmctl_sequencer_batch_commands", "pmctl_trades_total", "pmctl_audit_anchor_seq"];
  const untold = names
    .map(([, name = ""]) => name)
    .filter((name) => !runbook.includes(name) && !courses.includes(name));
  expect(untold).toEqual([]);
  const exits = new Set([...FAULT_CODES.map((code) => faultFacts(code).exit), ...Object.values(EXIT)]);
  expect([...exits].filter((exit) => exit !== 0 && !runbook.includes(`\n| ${exit} | `))).toEqual([]);
});
