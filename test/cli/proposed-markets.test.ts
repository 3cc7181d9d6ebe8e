import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

const RAIN = `key: rain
question: Will it rain?
category: weather
kind: cpmm
p0: 0.5
closeAt: 2090-01-01T00:00:00Z
resolutionRef: by hand
meta: {}
`;

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  const folder = join(operator.directory, "tenants", "acme", "markets");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "rain.yaml"), RAIN);
  await operator.edit("acme", (text) => `${text}\nresolution: { approvals: 2 }\n`);
});
afterAll(() => operator?.close());

const run = (line: string, ...more: string[]) => operator.run(...line.split(" "), ...more);

test("a market that a proposal suspends is no drift: nothing is planned, listed, resumed or refused until it is decided", async () => {
  const done = async (line: string, ...more: string[]) => {
    const { exitCode, stdout, stderr } = await run(line, ...more, "-o", "json");
    expect([line, exitCode, stderr]).toEqual([line, 0, expect.any(String)]);
    return JSON.parse(stdout);
  };
  const statusOf = async () => (await done("market show rain")).status;
  await done("apply acme --yes");
  const { proposalId } = await done("market settle rain --outcome yes --yes --early --reason r");
  expect(await statusOf()).toBe("suspended");
  expect(await done("plan acme")).toMatchObject([{ empty: true, items: [], warnings: [] }]);
  expect(await done("drift acme")).toEqual([]);
  const { stdout } = await run("inbox -o json");
  const kinds = JSON.parse(stdout).map(({ kind }: { kind: string }) => kind);
  expect(kinds).toContain("market.proposed");
  expect(kinds).not.toContain("drift");
  for (const onDrift of ["fail", "overwrite"])
    expect(await done(`apply acme --yes --accept-loosening --on-drift ${onDrift}`)).toMatchObject([{ changed: false }]);
  expect(await statusOf()).toBe("suspended");
  await done(`proposal reject ${proposalId} --yes`, "--reason", "It did not rain");
  // It stays suspended until a person resumes it, and a plan says so again.
  expect((await run("plan acme")).stderr).toContain("markets.rain");
  await done("market resume rain --yes");
  expect(await done("plan acme")).toMatchObject([{ empty: true }]);
});
