import { afterAll, beforeAll, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit(
    "acme",
    (text) =>
      `${text}\napprovals: { apply: { approvals: 2 }, key: { approvals: 2 }, credit: { aboveUsd: 100, approvals: 2 }, loosen: { approvals: 2 } }\nresolution: { approvals: 2 }\n`,
  );
});
afterAll(() => operator.close());

const words = (line: string) => line.split(" ");
const run = (line: string, ...more: string[]) => operator.run(...words(line), ...more);

test("the first apply needs no other actor, a later one does, and weaker rules loosen", async () => {
  expect((await run("apply acme --yes")).exitCode).toBe(0);
  await operator.edit("acme", (text) => text.replace("apply: { approvals: 2 }, ", ""));
  const plan = await run("plan acme -o json --out plan.json --accept-loosening");
  expect(plan.stdout).toContain("LOOSENS");
  // A pipeline learns from the plan that the apply would be refused.
  expect([plan.exitCode, plan.stderr]).toEqual([3, expect.stringContaining("2 actors, and 1 would agree")]);
  expect(plan.stderr).toContain("other actors agree with pmctl approve plan.json");
  expect(plan.stderr).not.toContain("gives keys");
  expect((await run("apply --plan plan.json --dry-run")).exitCode).toBe(3);
  const refused = await run("apply acme --yes --accept-loosening");
  expect(refused.exitCode).toBe(3);
  expect(refused.stderr).toContain("2 actors");
  const saved = await run("apply plan.json --yes");
  expect(saved.exitCode).toBe(3);
  const approved = await run("approve plan.json --yes -o json");
  expect(approved.exitCode).toBe(0);
  // Who agrees sees to what.
  expect(approved.stderr).toMatch(/remove approvals\.apply: .*LOOSENS/);
  // The same actor counts once.
  expect((await run("apply plan.json --yes")).exitCode).toBe(3);
});

test("a plan without a change needs no actor, and an apply of it neither", async () => {
  await operator.edit("acme", (text) => text.replace("approvals: { key", "approvals: { apply: { approvals: 2 }, key"));
  const plan = await run("plan acme");
  expect([plan.exitCode, plan.stderr]).toEqual([0, expect.not.stringContaining("actors")]);
  expect((await run("apply acme --yes")).exitCode).toBe(0);
});

test("a plan says who agrees: an apply by another actor than the approver's is refused no more", async () => {
  const { url, kill } = await operator.serve("acme");
  await operator.edit("acme", (text) => text.replace("feeBps: 100", "feeBps: 90"));
  expect((await run("plan acme --out other.json --via db")).exitCode).toBe(3);
  expect((await run("approve other.json --via db --yes")).exitCode).toBe(0);
  expect((await run("apply --plan other.json --dry-run --via db")).exitCode).toBe(3);
  const dry = await run("apply --plan other.json --dry-run --url", url);
  expect([dry.exitCode, dry.stderr]).toEqual([0, expect.not.stringContaining("would refuse")]);
  expect((await run("apply --plan other.json --yes --url", url)).exitCode).toBe(0);
  // In this command --key names the market, so another option chooses the admin key.
  const create = `market create --question Hail --category weather --kind cpmm --p0 0.5 --close-at 2090-01-01T00:00:00Z --resolution-ref x --key hail --url ${url} -o json`;
  const unknown = await run(`${create} --admin-key nobody`);
  expect([unknown.exitCode, unknown.stderr]).toEqual([6, expect.stringContaining("no admin key")]);
  expect((await run(`${create} --admin-key ops`)).exitCode).toBe(0);
  await kill("SIGTERM");
});

test("commands that become proposals print them and exit with 0", async () => {
  const market = JSON.parse(
    (
      await run(
        "market create --question Rain --category weather --kind cpmm --p0 0.5 --close-at 2090-01-01T00:00:00Z --resolution-ref x -o json",
      )
    ).stdout,
  );
  for (const line of [
    `market settle ${market.id} --outcome yes --yes --early --reason r --evidence page-3`,
    "funding credit --user ann --amount 500 --new-user --yes --reason r",
    "policy set maxTradeUsd=100000 --yes --accept-loosening --reason r",
    "key create second --type admin",
  ]) {
    const { exitCode, stdout, stderr } = await run(line, "-o", "json");
    expect([line, exitCode]).toEqual([line, 0]);
    expect(JSON.parse(stdout)).toMatchObject({ status: "pending", approvalsNeeded: 2 });
    expect(stderr).not.toMatch(/printed only this once|paid/);
  }
  const shown = await run(`market show ${market.id} -o table`);
  expect(shown.stderr).toMatch(/A proposal to settle this market waits: pmctl proposal show prp_/);
  const { stdout } = await run("inbox -o json");
  expect(JSON.parse(stdout).map(({ kind }: { kind: string }) => kind)).toEqual(
    expect.arrayContaining(["market.proposed", "proposal"]),
  );
  expect((await run("reconcile -o json")).exitCode).toBe(0);
  const [settlement] = JSON.parse((await run("proposal list --kind settle -o json")).stdout);
  expect(settlement.evidence).toBe("page-3");
  const table = await run("proposal list -o table");
  expect(table.stdout).toContain("settle");
});
