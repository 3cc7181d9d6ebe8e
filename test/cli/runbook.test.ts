import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EXIT } from "../../src/cli/errors.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { newOperator } from "../support/operator.ts";

const ROOT = new URL("../../", import.meta.url);
const runbook = readFileSync(new URL("docs/guides/runbook.md", ROOT), "utf8");

test("every command and flag of pmctl in the runbook exists", async () => {
  const program = await completeProgram();
  const code = [...runbook.matchAll(/```sh\n([^`]*)```|`([^`]*)`/g)].map(([, block, inline]) => block ?? inline ?? "");
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
  expect(Object.values(EXIT).filter((exit) => exit !== 0 && !runbook.includes(`\n| ${exit} | `))).toEqual([]);
});

/** The commands of a row of the table of secrets. */
function commandsOf(kind: string): string[][] {
  const row = runbook.split("\n").find((line) => line.startsWith(`| ${kind} |`)) ?? "";
  return [...row.matchAll(/`pmctl ([^`]*)`/g)]
    .map(([, line = ""]) => line.split(" "))
    .filter((words) => !words.includes("NAME"));
}

test("what the runbook says of the only admin key, rotated and leaked, is done with its lines against a server", async () => {
  const operator = await newOperator();
  try {
    const { directory, run } = operator;
    await run("init", "acme");
    expect(await run("apply", "acme")).toMatchObject({ exitCode: 0 });
    const server = await operator.serve("acme");
    const asked = (key = "", path = "/v1/keys") => fetch(server.url + path, { headers: { "x-api-key": key } });
    const adminKey = async () => (await operator.secrets()).ACME_ADMIN_KEY ?? "";
    for (const [kind, statusOfOld] of [
      ["admin and public keys", 200],
      ["leaked key", 401],
    ] as const) {
      const old = await adminKey();
      const stream = await asked(old, "/v1/stream");
      for (const words of commandsOf(kind)) {
        const { exitCode, stdout, stderr } = await run(...words, "-o", "json");
        expect([exitCode, words, stderr]).toEqual([0, words, expect.anything()]);
        if (!words.includes("rotate")) continue;
        const file = join(directory, ".env");
        await writeFile(file, (await readFile(file, "utf8")).replace(old, JSON.parse(stdout).key));
        await expect.poll(async () => (await asked(await adminKey())).status).toBe(200);
        await expect.poll(async () => (await asked(old)).status).toBe(statusOfOld);
      }
      // Left open, a stream goes on for as long as its key.
      if (statusOfOld === 401) expect(await stream.text()).toContain("credentials");
      else await stream.body?.cancel();
    }
    const { stdout } = await run("plan", "acme", "-o", "json");
    expect(JSON.parse(stdout)[0].items ?? []).toEqual([]);
    await server.kill("SIGTERM");
  } finally {
    await operator.close();
  }
});
