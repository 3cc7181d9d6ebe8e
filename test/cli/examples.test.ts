import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXAMPLES, examplesOf } from "../../src/cli/output/examples/examples.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { ExampleTenant, NOWHERE, reasonNotToRun } from "./support/examples.ts";
import { leavesOf } from "./support/leaves.ts";

const lines = EXAMPLES.map(({ line }) => line);
const leaves = leavesOf(await completeProgram());

let tenant: ExampleTenant;
beforeAll(async () => {
  tenant = await ExampleTenant.open();
});
afterAll(() => tenant?.close());

describe("every command", () => {
  test("has two examples", () => {
    const few = leaves.map(({ path }) => path.join(" ")).filter((path) => examplesOf(path, []).length < 2);
    expect(few).toEqual([]);
  });

  test("has them in 80 columns", () => {
    const wide = lines.flatMap((line) => `  $ pmctl ${line}`.split("\n")).filter((line) => line.length > 80);
    expect(wide).toEqual([]);
  });
});

describe("an example of the help", () => {
  test.each(lines.filter((line) => reasonNotToRun(line) === undefined))("runs: pmctl %s", async (line) => {
    const { code, stdout, stderr } = await tenant.run(line);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    if (!/ -o (?!json)| > /.test(line)) JSON.parse(stdout);
  });

  const unrun = lines.flatMap((line) => {
    const reason = reasonNotToRun(line);
    return reason === undefined ? [] : [[line, reason] as const];
  });
  test.each(unrun)("is read and not run: pmctl %s (%s)", async (line) => {
    const { code, stderr } = await tenant.read(line);
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining(`${NOWHERE} is not a directory`) });
  });
});
