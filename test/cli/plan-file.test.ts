import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPlans } from "../../src/cli/config/plan-file.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pmctl-plan-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const saved = (plans: unknown) => JSON.stringify({ format: "pmctl-plan-v1", plans });

test.each([
  ["nothing", ""],
  ["half of one", saved([{ tenant: "acme", items: [] }]).slice(0, -5)],
  ["another format", saved([{ tenant: "acme", items: [] }]).replace("v1", "v0")],
  ["no plan in it", saved([])],
  ["null in place of a plan", saved([null])],
  ["a plan of nobody", saved([{ items: [] }])],
  ["a plan without items", saved([{ tenant: "acme" }])],
  ["targets that are none", saved([{ tenant: "acme", items: [], settings: [], targets: [1] }])],
  ["an item that is none", saved([{ tenant: "acme", items: [null] }])],
])("a saved plan of %s is no plan, and the file is named", async (_name, text) => {
  const file = join(directory, "plan.json");
  await writeFile(file, text);
  expect(() => readPlans(file)).toThrow(
    expect.objectContaining({ code: "USAGE", message: expect.stringContaining(file) }),
  );
});
