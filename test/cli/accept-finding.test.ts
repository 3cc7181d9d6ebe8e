import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => `${text.replace('blocked: ["US"]', "blocked: []")}kyc: { required: false }\n`);
  expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
});
afterAll(() => operator.close());

async function withSql<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
  const sql = connect(embeddedCluster(operator.directory).connection("acme"), { name: "test", max: 1 });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const fund = async (step: "credit" | "debit", amount: number, ...more: string[]) => {
  const wallet = ["--user", "bob", "--amount", String(amount), ...more];
  expect(await operator.run("funding", step, ...wallet, "--reason", "no", "--yes")).toMatchObject({ exitCode: 0 });
};

/** Lends a wallet what a debit then takes from it, and puts the row back. @returns the entry of the debit */
async function debitWhatWasLent(): Promise<number> {
  const add = (micro: number) =>
    withSql(async (sql) => {
      await sql`update account set balance_micro = balance_micro + ${micro} where id = 'wallet:bob'`;
      await sql`update head set epoch = epoch + 1`;
    });
  await add(50_000_000);
  await fund("debit", 80);
  const [head] = await withSql((sql) => sql`select seq::int from head`);
  await fund("credit", 100);
  await add(-50_000_000);
  return Number(head?.seq);
}

const accept = (seq: number, ...more: string[]) => operator.run("audit", "accept-finding", String(seq), ...more);
const WHY = ["--reason", "ticket 4711", "--yes", "-o", "json"];

test("what the recomputation finds in an entry is accepted at the database, with a reason, and the servers are ready again", async () => {
  await fund("credit", 60, "--new-user");
  const seq = await debitWhatWasLent();
  const server = await operator.serve("acme");
  try {
    const ready = async () => {
      const response = await fetch(`${server.opsUrl}/readyz`);
      const { integrity } = (await response.json()) as { integrity: string };
      return { status: response.status, integrity };
    };
    expect((await operator.run("reconcile", "--full")).exitCode).toBe(8);
    expect(await ready()).toEqual({ status: 503, integrity: "ledger" });

    expect((await accept(seq, "--yes")).exitCode).toBe(6);
    expect((await accept(seq, "--reason", "ticket 4711")).exitCode).toBe(6);
    expect((await accept(seq, ...WHY, "--via", "http")).exitCode).toBe(6);
    expect(await accept(seq - 1, ...WHY)).toMatchObject({ exitCode: 5, stdout: "" });
    expect((await operator.run("reconcile", "--full")).exitCode).toBe(8);

    const accepted = await accept(seq, ...WHY);
    expect(accepted).toMatchObject({ exitCode: 0 });
    const printed = JSON.parse(accepted.stdout) as { entry: number; findings: string[]; seq: number };
    expect(printed).toMatchObject({ entry: seq, findings: [expect.stringContaining("bob")] });
    const entry = JSON.parse((await operator.run("audit", "show", String(printed.seq), "-o", "json")).stdout);
    expect(entry).toMatchObject({
      type: "finding.accepted",
      actor: expect.stringMatching(/^cli:/),
      payload: { seq, findings: printed.findings, reason: "ticket 4711" },
      sentence: expect.stringContaining(`accepted entry ${seq} as it is`),
    });
    const reconciled = await operator.run("reconcile", "-o", "json");
    expect(JSON.parse(reconciled.stdout)).toMatchObject({ ok: true, discrepancy: 0 });
    expect(await ready()).toEqual({ status: 200, integrity: "ok" });
    expect((await operator.run("replay")).exitCode).toBe(0);
    // There is nothing to accept twice.
    expect((await accept(seq, ...WHY)).exitCode).toBe(5);
  } finally {
    await server.kill("SIGTERM");
  }
});
