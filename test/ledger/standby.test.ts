import { randomUUID } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { confirmLog } from "../../src/ledger/confirm-log.ts";
import { connect } from "../../src/postgres/connect.ts";
import { OutcomeUnknown, openPool } from "../../src/postgres/pool.ts";
import { readAuditHead } from "../../src/queries/audit.ts";
import { readVerifiedPoint } from "../../src/services/anchors/known-anchors.ts";
import { DurabilityWatch } from "../../src/services/tenant/durability-watch.ts";
import { withoutVainWrites } from "../../src/services/tenant/standby-guards.ts";
import { newOperator, type Operator, postWebhook, type ServerProcess } from "../support/operator.ts";
import { openPair, type Pair } from "../support/replica.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { userToken } from "../support/user-token.ts";

let pair: Pair;
let operator: Operator;
let server: ServerProcess;
let secrets: Record<string, string>;
let token: string;
let marketId: string;

/** Changes that make no entry in the log. */
const CHANGES_BESIDE_THE_LOG: readonly [method: string, path: string, body: object][] = [
  ["POST", "/v1/webhooks/deliveries/evt_1/replay", {}],
  ["POST", "/v1/webhooks/receivers/shop/enable", {}],
];

/** Trades that were answered 200. */
const acknowledged = new Set<string>();

beforeAll(async () => {
  pair = await openPair();
  operator = await newOperator({ cluster: "none" });
  await operator.run("init", "acme");
  await operator.edit("acme", (text) =>
    `${withRateLimit(text, 1000)}\ndatabase: { url: { env: ACME_DATABASE_URL } }\nkyc: { required: false }\n`.replace(
      '["US"]',
      "[]",
    ),
  );
  await appendFile(join(operator.directory, ".env"), `ACME_DATABASE_URL=${pair.url("acme")}\n`);
  const applied = await operator.run("apply", "acme");
  expect(applied.exitCode, applied.stderr).toBe(0);
  const created = await operator.run(
    ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", "cpmm", "--p0", "0.5"],
    ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "-o", "json"],
  );
  marketId = (JSON.parse(created.stdout) as { id: string }).id;
  secrets = await operator.secrets();
  token = await userToken("usr_1", secrets);
  server = await operator.serve("acme", "--no-sweep");
  const deposit = { event: "deposit.completed", userId: "usr_1", amountUsd: 500, txRef: "tx_1" };
  expect(
    (await postWebhook(server.url, "/payments/inbound/acme", secrets.ACME_WEBHOOK_SECRET ?? "", deposit)).status,
  ).toBe(200);
}, 120_000);

afterAll(async () => {
  await server?.kill("SIGKILL");
  await operator?.close();
  await pair?.close();
});

async function trade(key: string): Promise<{ status: number; code: string | null; tradeId: string | undefined }> {
  const response = await fetch(`${server.url}/v1/trade`, {
    method: "POST",
    headers: {
      "x-api-key": secrets.ACME_PUBLIC_KEY ?? "",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ marketId, selection: { side: "yes" }, amount: 1 }),
  });
  const { tradeId } = (await response.json()) as { tradeId?: string };
  if (tradeId !== undefined) acknowledged.add(tradeId);
  return { status: response.status, code: response.headers.get("error-code"), tradeId };
}

/** Ends every wait for the standby, as an operator does who wants his primary to go on. Returns how many there were. */
async function cancelWaits(): Promise<number> {
  const rows = await pair.primary.ask(
    "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
  );
  return rows.length;
}

async function cancelUntil(answered: Promise<unknown>): Promise<void> {
  let over = false;
  void answered.finally(() => {
    over = true;
  });
  while (!over) {
    await cancelWaits();
    await delay(20);
  }
}

async function tradesIn(replica: Pair["primary"]): Promise<Set<string>> {
  const rows = await replica.ask("select id from trade", "acme");
  return new Set(rows.map(({ id }) => String(id)));
}

/** What the operations listener says of the database, once it is as expected. */
async function expectDatabase(expected: object): Promise<void> {
  await vi.waitFor(async () => expect(await readiness()).toMatchObject({ ok: true, database: expected }), WAIT);
}

test("readiness and doctor tell which standbys each change is on, although the server's role may not see them itself", async () => {
  const standby = { name: "standby", state: "streaming", sync: "sync", lagBytes: expect.any(Number) };
  const kept = { waits: true, strict: true, synchronousStandbys: 1, standbys: [standby] };
  // Without fsync, as this pair runs, not even two machines keep anything.
  await expectDatabase({ ...kept, host: expect.stringMatching(/^\/.*:5501$/), fsync: false, survives: "none" });
  await pair.primary.ask("alter system set fsync = on");
  await pair.primary.ask("select pg_reload_conf()");
  const unarchived = { mode: "off", lastArchivedAt: null, lastFailedAt: null, failed: 0 };
  await expectDatabase({
    ...{ ...kept, survives: "machine", required: 0, fsync: true, synchronousCommit: "on", walLevel: "replica" },
    ...{ synchronousStandbyNames: "standby", archive: unarchived, lastBackupAt: null },
  });
  const metrics = await shownMetrics();
  expect(metrics).toMatch(/^pmctl_database_synchronous_standbys 1$/m);
  expect(metrics).toMatch(/^pmctl_database_failovers_total 0$/m);
  expect(metrics).toMatch(/^pmctl_database_connections ([3-9]|1[0-6])$/m);
  expect(metrics).toMatch(/^pmctl_replication_lag_bytes\{standby="standby"\} \d+$/m);
  const examinedWell = { status: "ok", found: expect.stringContaining("standby streaming, sync") };
  expect(await examined("replication")).toMatchObject(examinedWell);
  // Whatever everybody else's commits wait for: pmctl's own wait for the disk and the standby.
  await set("set synchronous_commit = off");
  for (let turn = 0; turn < 3; turn++) await expectDatabase({ synchronousCommit: "on", survives: "machine" });
  expect(await examined("durability")).toMatchObject({ status: "ok" });
  expect(await examined("replication")).toMatchObject(examinedWell);
  await set("set synchronous_commit = remote_apply");
  await expectDatabase({ synchronousCommit: "remote_apply", survives: "machine" });
  await set("reset synchronous_commit");
  await pair.standby.kill("SIGINT");
  await expectDatabase({ waits: true, strict: true, synchronousStandbys: 0, standbys: [], survives: "crash" });
  expect(await examined("replication")).toMatchObject({ status: "warn" });
  await pair.standby.start();
  await expectDatabase(kept);
  await pair.primary.ask("alter system set fsync = off");
  await pair.primary.ask("select pg_reload_conf()");
});

test("without the standbys that the file requires changes are refused and not written, and a server does not start", async () => {
  // PostgreSQL is told to stop waiting, so it is pmctl alone that refuses.
  await operator.edit("acme", (text) =>
    text.replace("database: { ", "database: { require: { synchronousStandbys: 1 }, "),
  );
  const required = await operator.serve("acme", "--no-sweep", "--port", "0", "--ops-port", "0");
  const [before, at] = [server, required];
  server = at;
  try {
    expect(await trade(randomUUID())).toMatchObject({ status: 200 });
    await pair.standby.kill("SIGINT");
    await pair.primary.ask("alter system set synchronous_standby_names = ''");
    await pair.primary.ask("select pg_reload_conf()");
    await vi.waitFor(async () => expect(await readiness()).toMatchObject({ ok: true, writes: false }), WAIT);
    const written = await tradesIn(pair.primary);
    expect(await trade(randomUUID())).toMatchObject({ status: 500, code: "STANDBY_REQUIRED" });
    expect(await tradesIn(pair.primary)).toEqual(written);
    for (const [method, path, body] of CHANGES_BESIDE_THE_LOG) {
      const headers = { "x-api-key": secrets.ACME_ADMIN_KEY ?? "", "content-type": "application/json" };
      const answer = await fetch(`${at.url}${path}`, { method, headers, body: JSON.stringify(body) });
      expect([path, answer.headers.get("error-code")]).toEqual([path, "STANDBY_REQUIRED"]);
    }
    const out = await fetch(`${at.url}/v1/session`, {
      method: "DELETE",
      headers: {
        "x-api-key": secrets.ACME_PUBLIC_KEY ?? "",
        authorization: `Bearer ${await userToken("usr_2", secrets)}`,
      },
    });
    expect(out.headers.get("error-code")).toBe("STANDBY_REQUIRED");
    for (const words of [
      ["db", "migrate", "-t", "acme"],
      ["apply", "acme"],
    ])
      expect(await operator.run(...words)).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("standby") });
    const read = await fetch(`${at.url}/v1/markets/${marketId}`, {
      headers: { "x-api-key": secrets.ACME_PUBLIC_KEY ?? "" },
    });
    expect(read.status).toBe(200);
    const refused = await operator.run("serve", "acme", "--port", "0", "--ops-port", "0");
    expect(refused).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("synchronous standby") });
    expect(await examined("replication")).toMatchObject({ status: "fail" });
    await pair.primary.ask("alter system set synchronous_standby_names = 'standby'");
    await pair.primary.ask("select pg_reload_conf()");
    // Now commits would wait for the standby. What pmctl only notes for itself goes on, and no session waits.
    await vi.waitFor(async () => expect(await readiness()).toMatchObject({ database: { waits: true } }), WAIT);
    const noted = await notes();
    await vi.waitFor(async () => {
      await fetch(`${at.url}/v1/markets/${marketId}`, { headers: { "x-api-key": "sk_unknown" } });
      const later = await notes();
      for (const [note, value] of Object.entries(noted)) expect([note, later[note] > value]).toEqual([note, true]);
    }, WAIT);
    // The first server, which requires no standby, may be confirming the log meanwhile.
    const waiting = await pair.primary.ask(
      "select query from pg_stat_activity where wait_event = 'SyncRep' and query not like '%pg_logical_emit_message%'",
    );
    expect(waiting).toEqual([]);
    await pair.standby.start();
    await vi.waitFor(async () => expect(await readiness()).toMatchObject({ ok: true, writes: true }), WAIT);
    expect(await trade(randomUUID())).toMatchObject({ status: 200 });
  } finally {
    server = before;
    await at.kill("SIGKILL");
  }
});

test("a standby that is frozen under a commit is not there: changes are refused, and go on with the commit once it does", async () => {
  // `wal_sender_timeout` is a minute: PostgreSQL itself goes on counting it as there.
  const required = await operator.serve("acme", "--no-sweep", "--port", "0", "--ops-port", "0");
  const [before, at] = [server, required];
  server = at;
  try {
    expect(await trade(randomUUID())).toMatchObject({ status: 200 });
    await pair.standby.freeze();
    const underWay = trade(randomUUID());
    await vi.waitFor(async () => expect(await readiness()).toMatchObject({ writes: false }), WAIT);
    const standbys = [{ name: "standby", sync: "sync" }];
    expect(await readiness()).toMatchObject({ database: { waits: true, synchronousStandbys: 0, standbys } });
    expect(await trade(randomUUID())).toMatchObject({ status: 500, code: "STANDBY_REQUIRED" });
    await pair.standby.thaw();
    expect(await underWay).toMatchObject({ status: 200 });
    await expect.poll(async () => (await trade(randomUUID())).status, WAIT).toBe(200);
    expect([...(await tradesIn(pair.primary))].filter((id) => !acknowledged.has(id))).toEqual([]);
  } finally {
    server = before;
    await pair.standby.thaw();
    await at.kill("SIGKILL");
  }
});

/** How far the notes have come that no caller is promised. */
async function notes(): Promise<postgres.Row> {
  const [row] = await pair.primary.ask(
    `select (select max(until) from lease)::float8 as leases, (select sum(requests + window_start) from request_count)::float8 as requests,
            (select coalesce(sum(count), 0) from security_event)::float8 as refusals`,
    "acme",
  );
  if (!row) throw new Error("A statement without tables answers one row");
  return row;
}

async function shownMetrics(): Promise<string> {
  return (await fetch(`${server.opsUrl}/metrics`)).text();
}

const WAIT = { timeout: 60_000, interval: 100 };

async function readiness(): Promise<unknown> {
  const response = await fetch(`${server.opsUrl}/readyz`);
  expect(response.status).toBe(200);
  return response.json();
}

async function examined(group: "durability" | "replication"): Promise<unknown> {
  const { stdout } = await operator.run("doctor", "acme", "-o", "json");
  const { checks } = JSON.parse(stdout) as { checks: { check: string }[] };
  return checks.find(({ check }) => check === group);
}

async function set(...settings: string[]): Promise<void> {
  for (const setting of settings) await pair.primary.ask(`alter system ${setting}`);
  await pair.primary.ask("select pg_reload_conf()");
}

test("a trade is on the disk when it is acknowledged, although commits stopped to wait for it while the server ran", async () => {
  expect(await trade(randomUUID())).toMatchObject({ status: 200 });
  // What waits for no disk stays in the server's memory for long.
  await set("set wal_writer_delay = '10s'", "set wal_writer_flush_after = '512MB'", "set synchronous_commit = off");
  for (let turn = 0; turn < 5; turn++) expect(await trade(randomUUID())).toMatchObject({ status: 200 });
  await pair.primary.kill("SIGKILL");
  await pair.primary.start();
  const there = await tradesIn(pair.primary);
  expect([...acknowledged].filter((id) => !there.has(id))).toEqual([]);
  await set("reset wal_writer_delay", "reset wal_writer_flush_after", "reset synchronous_commit");
  await expect.poll(async () => (await trade(randomUUID())).status, WAIT).toBe(200);
});

test("a trade whose wait for the standby is cancelled waits all the same, and is answered when the standby is back", async () => {
  expect(await trade(randomUUID())).toMatchObject({ status: 200 });
  const known = acknowledged.size;
  await pair.standby.kill("SIGINT");
  const before = (await tradesIn(pair.primary)).size;
  const answer = trade(randomUUID());
  let cancelled = 0;
  while (cancelled === 0) cancelled = await cancelWaits();
  // It is committed on the primary, for everybody to see, and not acknowledged.
  while ((await tradesIn(pair.primary)).size === before) await delay(10);
  expect(acknowledged.size).toBe(known);
  await pair.standby.start();
  expect(await answer).toMatchObject({ status: 200 });
  const there = await tradesIn(pair.standby);
  expect([...acknowledged].filter((id) => !there.has(id))).toEqual([]);
});

test("while the standby is away a trade is OUTCOME_UNKNOWN, and with its key the same trade once it is back", async () => {
  await pair.standby.kill("SIGINT");
  const key = randomUUID();
  const answer = trade(key);
  await cancelUntil(answer);
  expect(await answer).toMatchObject({ status: 500, code: "OUTCOME_UNKNOWN" });
  const known = await tradesIn(pair.primary);
  const [unknown] = [...known].filter((id) => !acknowledged.has(id));
  expect(unknown).toBeDefined();
  // What was committed can be seen, and is on one machine: it is not acknowledged by reading it, nor signed for.
  const pool = openPool((max) => connect({ url: pair.url("acme") }, { name: "test", max }), {
    max: 1,
    deadlineMs: 30_000,
  });
  // Background work sends no commit into a wait that has no end: its sessions would pile up.
  const watch = new DurabilityWatch({ reader: pool, placeOf: () => "", required: 0 });
  const patient = withoutVainWrites(pool, () => watch.waitsInVain());
  const head = await pool.read(readAuditHead);
  await expect(confirmLog(patient, head)).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  const confirmed = confirmLog(pool, head).catch((error: unknown) => error);
  await cancelUntil(confirmed);
  expect(await confirmed).toBeInstanceOf(OutcomeUnknown);
  const kept = await readVerifiedPoint(operator.directory, "acme");
  const commands = [
    ["audit", "verify", "--via", "db"],
    ["audit", "verify", "--via", "http"],
    ["db", "backup"],
  ];
  for (const command of commands) {
    const done = operator.run(...command);
    await cancelUntil(done);
    expect(await done).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("the database does not confirm") });
  }
  expect(await readVerifiedPoint(operator.directory, "acme")).toEqual(kept);
  const repeated = trade(key);
  await cancelUntil(repeated);
  expect((await repeated).status).not.toBe(200);
  await pair.standby.start();
  await confirmLog(pool, head);
  await vi.waitFor(() => confirmLog(patient, head), WAIT);
  await pool.end({ timeout: 1 });
  let repeat = await trade(key);
  for (let turn = 0; turn < 100 && repeat.status !== 200; turn++) {
    await delay(50);
    repeat = await trade(key);
  }
  expect(repeat).toMatchObject({ status: 200, tradeId: unknown });
  expect((await tradesIn(pair.primary)).size).toBe(known.size);
});

test("after a failover every acknowledged trade is there, the log holds, and the same server trades on at the new primary", async () => {
  for (let turn = 0; turn < 5; turn++) expect((await trade(randomUUID())).status).toBe(200);
  await pair.standby.kill("SIGINT");
  const lost = Array.from({ length: 8 }, () => trade(randomUUID()).catch(() => undefined));
  let cancelled = 0;
  while (cancelled < 3) {
    cancelled += await cancelWaits();
    await delay(5);
  }
  await pair.primary.kill("SIGKILL");
  await pair.standby.start();
  await pair.standby.ask("select pg_promote()");
  // Waits for the primary where it has to: without a restart, and without a refusal that another attempt would hide.
  expect(await trade(randomUUID())).toMatchObject({ status: 200, code: null });
  await Promise.all(lost);
  const survived = await tradesIn(pair.standby);
  expect(acknowledged.size).toBeGreaterThanOrEqual(8);
  expect([...acknowledged].filter((id) => !survived.has(id))).toEqual([]);
  await vi.waitFor(async () => expect(await shownMetrics()).toMatch(/^pmctl_database_failovers_total 1$/m), WAIT);
  expect(await operator.run("audit", "verify", "--via", "db")).toMatchObject({ exitCode: 0 });
});

test("the server trades again by itself after its primary took no changes, and after all its sessions were ended", async () => {
  await pair.standby.ask("alter system set default_transaction_read_only = on");
  await pair.standby.ask("select pg_reload_conf()");
  const readOnly = () => trade(randomUUID());
  await expect.poll(readOnly).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" });
  await pair.standby.ask("alter system reset default_transaction_read_only");
  await pair.standby.ask("select pg_reload_conf()");
  await expect.poll(async () => (await trade(randomUUID())).status).toBe(200);
  await pair.standby.ask("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pmctl%'");
  await expect.poll(async () => (await trade(randomUUID())).status).toBe(200);
  const names = await pair.standby.ask(
    "select distinct application_name as name from pg_stat_activity where datname = 'acme'",
  );
  expect(names.filter(({ name }) => !String(name).startsWith("pmctl"))).toEqual([]);
});
