import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { completeProgram } from "../../src/cli/program.ts";
import { operationIds, operations } from "../../src/contract/operations.ts";

const [, page = ""] = readFileSync(new URL("../../docs/design/commands.md", import.meta.url), "utf8").split(
  "## What the API can, the command line can",
);
const rows = [...page.matchAll(/^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \|$/gm)].map(([, id, request, command]) => ({
  id,
  request,
  command,
}));
const reasons = (page.split("The remaining commands").at(1) ?? "").split("\n").filter((line) => line.startsWith("| "));
const ownWords = reasons.flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, words = ""]) => words));

/** The words of every command that does something; nouns that only hold others do nothing by themselves. */
const pathsOf = (command: Command, path: string[] = []): string[] => [
  ...(path.length > 0 && Reflect.get(command, "_actionHandler") ? [path.join(" ")] : []),
  ...command.commands.flatMap((child) => pathsOf(child, [...path, child.name()])),
];

test("the page on commands names a command for every operation, with its request as it is", () => {
  expect(rows.map(({ id, request }) => `${id} ${request}`)).toEqual(
    operationIds.map((id) => `${id} ${operations[id].method} ${operations[id].path}`),
  );
});

test("the page says of every command which operation it calls, or why it has none, and never both", async () => {
  const called = new Set(rows.map(({ command }) => command ?? ""));
  expect([...called, ...ownWords].toSorted()).toEqual(pathsOf(await completeProgram()).toSorted());
});
