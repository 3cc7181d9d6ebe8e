import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { acceptedBy, withAccepted } from "../../src/cli/config/plan-choices.ts";
import { readPlans, savePlans } from "../../src/cli/config/plan-file.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pmctl-plan-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const saved = (plans: unknown) => JSON.stringify({ format: "pmctl-plan-v2", plans });

test.each([
  ["nothing", ""],
  ["half of one", saved([{ tenant: "acme", items: [] }]).slice(0, -5)],
  ["another format", saved([{ tenant: "acme", items: [] }]).replace("v2", "v0")],
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

test("what was accepted of a plan counts for this plan alone: one that was changed afterwards is refused", async () => {
  const file = join(directory, "bound.json");
  const item = { field: "policy.feeBps", kind: "change", base: 100, desired: 50, live: 100, mark: "LOOSENS" } as const;
  const plan = {
    tenant: "acme",
    fileSha256: "f",
    liveVersion: 3,
    empty: false,
    settings: [],
    warnings: [],
    overrides: [],
  };
  savePlans(file, [{ ...plan, items: [item], accepted: { onDrift: "adopt", loosening: false, rules: [] } }]);
  const text = await readFile(file, "utf8");
  expect(readPlans(file)).toMatchObject([{ accepted: { onDrift: "adopt", loosening: false } }]);
  for (const [from, to] of [
    ['"onDrift": "adopt"', '"onDrift": "overwrite"'],
    ['"loosening": false', '"loosening": true'],
    ['"rules": []', '"rules": ["cheap"]'],
    ['"desired": 50', '"desired": 0'],
    ['"liveVersion": 3', '"liveVersion": 4'],
  ] as const) {
    await writeFile(file, text.replace(from, to));
    expect(() => readPlans(file), to).toThrow(
      expect.objectContaining({ code: "REFUSED", message: expect.stringContaining("was changed after it was made") }),
    );
  }
});

test("what becomes of drift is as the maker of a plan said, unless the apply says otherwise", () => {
  const accepted = acceptedBy({ onDrift: "overwrite" });
  expect(withAccepted({}, accepted)).toMatchObject({ onDrift: "overwrite" });
  expect(withAccepted({ onDrift: "fail" }, accepted).onDrift).toBe("fail");
  expect(withAccepted({}, acceptedBy({}))).not.toHaveProperty("onDrift");
});
