import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { completeProgram } from "../../src/cli/program.ts";
import { operationIds, operations } from "../../src/contract/operations.ts";

const [, page = ""] = readFileSync(new URL("../../docs/commands.md", import.meta.url), "utf8").split(
  "## What the API can, the command line can",
);
const rows = [...page.matchAll(/^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \|$/gm)].map(([, id, request, command]) => ({
  id,
  request,
  command,
}));
const ownWords = [...(page.split("The other way round").at(1) ?? "").matchAll(/`([^`]+)`/g)].map(([, words]) => words);

/** Nouns too: some do something without a verb. */
const pathsOf = (command: Command, path: string[] = []): string[] => [
  path.join(" "),
  ...command.commands.flatMap((child) => pathsOf(child, [...path, child.name()])),
];

test("the page on commands names a command for every operation, with its request as it is", () => {
  expect(rows.map(({ id, request }) => `${id} ${request}`)).toEqual(
    operationIds.map((id) => `${id} ${operations[id].method} ${operations[id].path}`),
  );
});

test("every command that the page names is one", async () => {
  const paths = pathsOf(await completeProgram());
  const named = [...rows.map(({ command }) => command), ...ownWords];
  expect(named.filter((words) => !paths.includes(words ?? ""))).toEqual([]);
  expect(ownWords.filter((words) => rows.some(({ command }) => command === words))).toEqual([]);
});
