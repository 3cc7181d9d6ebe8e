import { createHmac } from "node:crypto";
import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AnchorLine } from "../../src/domain/audit/anchor.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { administer } from "../../src/postgres/database.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { quoted } from "../../src/postgres/embedded/connection.ts";
import { dropDatabase } from "../support/database-copy.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";

const OWN_LINES = "kyc: { required: false }";
const WITHIN_MS = 10_000;

interface Status {
  verified: boolean;
  count: number;
  problem: { kind: string; seq: number; text: string } | null;
  anchor: { seq: number } | null;
}

/** A tenant of its own directory, with what a test does to its database. */
class Scene {
  readonly operator: Operator;
  readonly tenant: string;
  #secrets: Record<string, string> = {};

  private constructor(operator: Operator, tenant: string) {
    this.operator = operator;
    this.tenant = tenant;
  }

  static async open(operator: Operator, tenant: string, change = (text: string) => text): Promise<Scene> {
    const scene = new Scene(operator, tenant);
    await operator.run("init", tenant);
    await operator.edit(tenant, (text) => {
      return change(`${withRateLimit(text.replace('blocked: ["US"]', "blocked: []"), 100_000)}${OWN_LINES}\n`);
    });
    const applied = await operator.run("apply", tenant);
    if (applied.exitCode !== 0) throw new Error(applied.stderr);
    scene.#secrets = await operator.secrets();
    return scene;
  }

  secret(name: string): string {
    return this.#secrets[`${this.tenant.toUpperCase()}_${name}`] ?? "";
  }

  run(...args: string[]) {
    return this.operator.run("-t", this.tenant, ...args);
  }

  /** Writes `count` entries straight to the database. */
  async write(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const { exitCode, stderr } = await this.run("--via", "db", "reconcile");
      if (exitCode !== 0) throw new Error(stderr);
    }
  }

  async request(server: ServerProcess, path: string, method = "GET") {
    const response = await fetch(server.url + path, {
      method,
      headers: { "x-api-key": this.secret("ADMIN_KEY"), "content-type": "application/json" },
      ...(method === "GET" ? {} : { body: "{}" }),
    });
    return { status: response.status, code: response.headers.get("error-code"), body: await response.json() };
  }

  async status(server: ServerProcess): Promise<Status> {
    return (await this.request(server, "/v1/audit/status")).body as Status;
  }

  get connection() {
    return embeddedCluster(this.operator.directory).connection(this.tenant);
  }

  async sql<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    const sql = connect(this.connection, { name: "test", max: 1 });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 5 });
    }
  }

  /** Copies the database, as a snapshot of a disk does. The database must have no connections. */
  snapshot(name: string): Promise<void> {
    return this.#copy(this.tenant, name);
  }

  /** Replaces the database by the copy, and ends the connections to it. */
  async restore(name: string): Promise<void> {
    await dropDatabase(this.connection, this.tenant);
    await this.#copy(name, this.tenant);
  }

  async #copy(from: string, to: string): Promise<void> {
    const statement = `create database ${quoted(to)} template ${quoted(from)}`;
    // A backend that is ending is still connected for a moment.
    for (let attempt = 1; ; attempt++) {
      try {
        await administer(this.connection, (sql) => sql.unsafe(statement));
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== "55006" || attempt === 200) throw error;
        await delay(50);
      }
    }
  }

  async lines(): Promise<AnchorLine[]> {
    // The first is written off the way of requests, a moment after the start.
    return parseLines(await readFile(this.anchors, "utf8").catch(() => ""));
  }

  get anchors(): string {
    return join(this.operator.directory, ".pmctl", "anchors", `${this.tenant}.ndjson`);
  }
}

function parseLines(text: string): AnchorLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AnchorLine);
}

/** Asks until the answer is as wanted; ten seconds are what the contract allows. */
async function soon<Answer>(ask: () => Promise<Answer>, isWanted: (answer: Answer) => boolean): Promise<Answer> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer) || performance.now() > deadline) return answer;
    await delay(100);
  }
}

const ready = async ({ opsUrl }: ServerProcess) => {
  const response = await fetch(`${opsUrl}/readyz`);
  return { status: response.status, ...((await response.json()) as { integrity: string }) };
};
const metric = async ({ opsUrl }: ServerProcess, name: string) => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1]);
};

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
});
afterAll(() => operator.close());

describe("a log that was set back", () => {
  let scene: Scene;
  let server: ServerProcess;
  beforeAll(async () => {
    scene = await Scene.open(operator, "back");
    await scene.write(4);
    await scene.snapshot("back_early");
    server = await operator.serve("back");
    for (let index = 0; index < 5; index++)
      expect((await scene.request(server, "/v1/reconcile", "POST")).status).toBe(200);
  });

  test("under a running server stops changes at once, and reads go on", async () => {
    const before = await scene.status(server);
    expect(before).toMatchObject({ verified: true, problem: null });
    await scene.restore("back_early");
    const refused = await soon(
      () => scene.request(server, "/v1/reconcile", "POST"),
      ({ code }) => code === "INTEGRITY",
    );
    expect(refused).toMatchObject({ status: 500, code: "INTEGRITY" });
    expect((refused.body as { error: string }).error).toBe("Changes are refused: the audit log was set back");
    const status = await scene.status(server);
    expect(status.problem?.text).not.toContain("/");
    expect(status).toMatchObject({
      verified: false,
      count: before.count - 5,
      problem: { kind: "set-back", seq: before.count - 4 },
      anchor: { seq: before.count },
    });
    expect((await scene.request(server, "/v1/markets")).status).toBe(200);
    expect(await scene.sql((sql) => sql`select seq::int from head`)).toMatchObject([{ seq: before.count - 5 }]);
    const unready = await soon(
      () => ready(server),
      ({ status: code }) => code === 503,
    );
    expect(unready).toMatchObject({ status: 503, integrity: "set-back" });
    expect(await metric(server, "pmctl_integrity_ok")).toBe(0);
  });

  test("is found by every command, over the server and at the database, which refuses changes too", async () => {
    for (const via of ["http", "db"]) {
      const status = await scene.run("--via", via, "audit", "status", "-o", "json");
      if (via === "http") expect(status.exitCode).toBe(8);
      expect((await scene.run("--via", "http", "audit", "verify", "-o", "json")).exitCode).toBe(8);
    }
  });

  test("is remembered by the directory, with the entry that only this server knew; its end anchors nothing", async () => {
    const { anchor } = await scene.status(server);
    const lines = await soon(
      () => scene.lines(),
      (found) => found.at(-1)?.seq === anchor?.seq,
    );
    expect(lines.at(-1)?.seq).toBe(anchor?.seq);
    const anchored = lines.length;
    await server.kill("SIGTERM");
    expect((await scene.lines()).length).toBe(anchored);
  });

  test("behind an anchor of the directory: serve does not listen, the database's door refuses, doctor and verify exit 8", async () => {
    // The server wrote down what it alone knew when it found it gone, so its end has not made the log whole.
    const newest = (await scene.lines()).at(-1);

    const served = await scene.run("serve", "back", "--port", "0", "--ops-port", "0", "-o", "json");
    expect(served).toMatchObject({ exitCode: 8, stdout: "" });
    const changed = await scene.run("reconcile", "-o", "json");
    expect(changed).toMatchObject({ exitCode: 8, stdout: "" });
    expect(JSON.parse(changed.stderr)).toMatchObject({ code: "INTEGRITY" });
    const explained = await scene.run("reconcile", "--explain", "-o", "json");
    expect(explained.exitCode).toBe(8);
    expect(JSON.parse(explained.stdout)).toMatchObject({ ok: true, discrepancy: 0, checkedAt: null });
    const saved = await scene.run("db", "backup", join(operator.directory, "set-back.gz"));
    expect(saved.exitCode).toBe(0);
    expect(saved.stderr).toContain("set-back, the log was set back");
    expect((await scene.run("market", "list")).exitCode).toBe(0);
    const status = await scene.run("audit", "status", "-o", "json");
    expect(status.exitCode).toBe(8);
    expect(JSON.parse(status.stdout)).toMatchObject({ problem: { kind: "set-back" }, anchor: { seq: newest?.seq } });
    const verified = await scene.run("audit", "verify", "-o", "json");
    expect(verified.exitCode).toBe(8);
    expect(JSON.parse(verified.stdout)).toMatchObject({ verified: false, broken: { kind: "set-back" } });
    const doctor = await scene.run("doctor", "-o", "json");
    expect(doctor.exitCode).toBe(8);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; status: string }[] };
    expect(checks).toContainEqual(expect.objectContaining({ check: "anchors", status: "fail" }));
  });

  describe("accept-rollback", () => {
    test("wants a reason, a confirmation, and the database's own door", async () => {
      const accept = (...args: string[]) => scene.run("audit", "accept-rollback", ...args);
      expect((await accept("--yes")).exitCode).toBe(6);
      expect((await accept("--reason", "lost disk")).exitCode).toBe(6);
      expect((await accept("--reason", "lost disk", "--yes", "--via", "http")).exitCode).toBe(6);
      expect((await accept("--reason", "lost disk", "--yes", "--url", "http://127.0.0.1:1")).exitCode).toBe(6);
    });

    test("puts what is given up on record, and everything goes on", async () => {
      const anchor = (await scene.lines()).reduce((high, line) => (line.seq > high.seq ? line : high));
      const [head] = await scene.sql((sql) => sql`select seq::int, hash from head`);
      const accepted = await scene.run("audit", "accept-rollback", "--reason", "lost disk", "--yes", "-o", "json");
      expect(accepted.exitCode).toBe(0);
      const lost = anchor.seq - head?.seq;
      expect(JSON.parse(accepted.stdout)).toEqual({
        anchor: { seq: anchor.seq, hash: anchor.hash },
        head: { seq: head?.seq, hash: head?.hash },
        lost,
        seq: head?.seq + 1,
      });
      const [entry] = JSON.parse((await scene.run("audit", "list", "--limit", "1", "-o", "json")).stdout).entries;
      expect(entry).toMatchObject({ type: "rollback.accepted", seq: head?.seq + 1 });
      expect(entry.actor).toMatch(/^cli:/);
      expect(entry.payload).toEqual({
        anchorSeq: anchor.seq,
        anchorHash: anchor.hash,
        headSeq: head?.seq,
        headHash: head?.hash,
        lost,
        reason: "lost disk",
      });
      const sound = await scene.run("audit", "status", "-o", "json");
      expect(JSON.parse(sound.stdout)).toMatchObject({ verified: true, anchor: { seq: head?.seq + 1 } });
      expect((await scene.run("audit", "verify")).exitCode).toBe(0);
      expect((await scene.run("audit", "verify", "--anchor", scene.anchors)).exitCode).toBe(0);
      expect((await scene.run("reconcile")).exitCode).toBe(0);
      // The branch that goes on reaches the number that was given up: the file then holds two lines of one entry.
      await scene.write(lost - 2);
      const running = await operator.serve("back");
      await running.kill("SIGTERM");
      expect((await scene.lines()).filter(({ seq }) => seq === anchor.seq)).toHaveLength(2);
      expect((await scene.run("audit", "verify", "--anchor", scene.anchors)).exitCode).toBe(0);
    });

    test("of a log that was not set back changes nothing, and says so", async () => {
      const [before] = await scene.sql((sql) => sql`select seq::int from head`);
      const accepted = await scene.run("audit", "accept-rollback", "--reason", "again", "--yes", "-o", "json");
      expect(accepted.exitCode).toBe(0);
      expect(JSON.parse(accepted.stdout)).toMatchObject({ anchor: null, lost: 0, seq: null });
      expect(await scene.sql((sql) => sql`select seq::int from head`)).toMatchObject([{ seq: before?.seq }]);
    });

    test("of a chain that does not hold is refused", async () => {
      const [row] = await scene.sql((sql) => sql`select payload from audit where seq = 2`);
      await scene.sql((sql) => sql`update audit set payload = '{}' where seq = 2`);
      const refused = await scene.run("audit", "accept-rollback", "--reason", "why", "--yes");
      await scene.sql((sql) => sql`update audit set payload = ${row?.payload} where seq = 2`);
      expect(refused.exitCode).toBe(8);
    });

    test("lets running servers go on within ten seconds", async () => {
      await scene.snapshot("back_later");
      const running = await operator.serve("back");
      for (let index = 0; index < 3; index++) await scene.request(running, "/v1/reconcile", "POST");
      await scene.restore("back_later");
      await soon(
        () => ready(running),
        ({ integrity }) => integrity === "set-back",
      );
      // What only this server had acknowledged comes into the directory, so that it can be given up.
      const { anchor } = await scene.status(running);
      await soon(
        () => scene.lines(),
        (found) => found.at(-1)?.seq === anchor?.seq,
      );
      expect((await scene.run("audit", "accept-rollback", "--reason", "again lost", "--yes")).exitCode).toBe(0);
      expect(
        await soon(
          () => ready(running),
          ({ status }) => status === 200,
        ),
      ).toMatchObject({ status: 200, integrity: "ok" });
      expect((await scene.request(running, "/v1/reconcile", "POST")).status).toBe(200);
      expect(await metric(running, "pmctl_integrity_ok")).toBe(1);
      expect(await scene.status(running)).toMatchObject({ verified: true, problem: null });
      await running.kill("SIGTERM");
    });
  });
});

describe("rows that the chain does not go through", () => {
  let scene: Scene;
  let server: ServerProcess;
  const FORGED = ["cli:mallory", '{"ok":true}', "2027-01-01T00:00:00.000Z", "ak_0", "f".repeat(64)] as const;
  beforeAll(async () => {
    scene = await Scene.open(operator, "rows");
    await scene.write(2);
    server = await operator.serve("rows");
  });
  afterAll(() => server.kill("SIGTERM"));

  /** Does a damage, holds what everybody says of it, undoes it, and holds that everybody is content again. */
  async function damaged(kind: string, damage: (sql: Sql) => Promise<unknown>, undo: (sql: Sql) => Promise<unknown>) {
    await scene.sql(damage);
    try {
      expect(await scene.status(server)).toMatchObject({ verified: false, problem: { kind } });
      const unready = () =>
        soon(
          () => ready(server),
          ({ integrity }) => integrity === kind,
        );
      expect(await unready()).toMatchObject({ status: 503, integrity: kind });
      for (const via of ["http", "db"]) {
        expect((await scene.run("--via", via, "audit", "status")).exitCode).toBe(8);
        const { exitCode, stdout } = await scene.run("--via", via, "audit", "verify", "-o", "json");
        expect([via, exitCode, JSON.parse(stdout).broken.kind]).toEqual([via, 8, kind]);
      }
      expect((await scene.run("doctor")).exitCode).toBe(8);
      expect((await scene.request(server, "/v1/markets")).status).toBe(200);
      // The background check and every request report the same problem, however often they run.
      expect(await scene.status(server)).toMatchObject({ verified: false, problem: { kind } });
    } finally {
      await scene.sql(undo);
    }
    const content = await soon(
      () => ready(server),
      ({ status }) => status === 200,
    );
    expect(content).toMatchObject({ status: 200, integrity: "ok" });
    expect(await scene.status(server)).toMatchObject({ verified: true, problem: null });
    const { stdout } = await scene.run(
      "--via",
      "http",
      "audit",
      "security",
      "--event",
      "integrity.failed",
      "-o",
      "json",
    );
    const told = JSON.parse(stdout).entries.filter(({ reason }: { reason: string }) => reason === kind);
    // Found in the background as well as by who asked.
    expect(told.map(({ address }: { address: string | null }) => address)).toContain(null);
  }

  test("a row after the head is told everywhere, and a change that meets it ends in INTEGRITY, with nothing written", async () => {
    const [head] = await scene.sql((sql) => sql`select seq::int from head`);
    const beyond = head?.seq + 1;
    await damaged(
      "beyond-head",
      async (sql) => {
        await sql`insert into audit (seq, type, actor, payload, ts, key_id, hash)
                  values (${beyond}, 'reconcile.run', ${FORGED[0]}, ${FORGED[1]}, ${FORGED[2]}, ${FORGED[3]}, ${FORGED[4]})`;
        const refused = await scene.request(server, "/v1/reconcile", "POST");
        expect(refused).toMatchObject({ status: 500, code: "INTEGRITY" });
        const atDatabase = await scene.run("--via", "db", "reconcile");
        expect(atDatabase.exitCode).toBe(8);
        expect(await sql`select seq::int from head`).toMatchObject([{ seq: head?.seq }]);
      },
      (sql) => sql`delete from audit where seq = ${beyond}`,
    );
    expect((await scene.request(server, "/v1/reconcile", "POST")).status).toBe(200);
  });

  test("a deleted entry is a gap, an altered one is broken", async () => {
    let row: Record<string, unknown> | undefined;
    await damaged(
      "gap",
      async (sql) => {
        [row] = await sql`delete from audit where seq = 2 returning *`;
      },
      (sql) => sql`insert into audit ${sql(row as never)}`,
    );
    await damaged(
      "broken",
      (sql) => sql`update audit set actor = actor || 'x' where seq = 2`,
      (sql) => sql`update audit set actor = left(actor, -1) where seq = 2`,
    );
  });

  test("without its head row nothing is changed, webhooks in included, and reads go on", async () => {
    let row: Record<string, unknown> | undefined;
    await damaged(
      "head-missing",
      async (sql) => {
        [row] = await sql`delete from head returning *`;
        const refused = await scene.request(server, "/v1/reconcile", "POST");
        expect(refused).toMatchObject({ status: 500, code: "INTEGRITY" });
        expect((await scene.run("--via", "db", "reconcile")).exitCode).toBe(8);
        const body = JSON.stringify({
          event: "payment.deposit",
          userId: "u1",
          amount: 5,
          currency: "USD",
          txRef: "t1",
        });
        const hook = await fetch(`${server.url}/payments/inbound/rows`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-signature": createHmac("sha256", scene.secret("WEBHOOK_SECRET")).update(body).digest("hex"),
          },
          body,
        });
        expect([hook.status, hook.headers.get("error-code")]).toEqual([500, "INTEGRITY"]);
      },
      (sql) => sql`insert into head ${sql(row as never)}`,
    );
    expect((await scene.request(server, "/v1/reconcile", "POST")).status).toBe(200);
  });

  test("a balance that no transfer explains is told everywhere once the ledger was compared, until it is mended", async () => {
    const shift = (micro: number) =>
      scene.sql((sql) => sql`update account set balance_micro = balance_micro + ${micro} where id = 'treasury'`);
    const reconciled = async () => (await scene.request(server, "/v1/reconcile?full=true", "POST")).body;
    await shift(1_000_000);
    expect(await reconciled()).toMatchObject({ ok: false, discrepancy: 1 });
    expect(await ready(server)).toMatchObject({ status: 503, integrity: "ledger" });
    expect(await metric(server, "pmctl_integrity_ok")).toBe(0);
    expect((await scene.run("reconcile", "--full")).exitCode).toBe(8);
    await shift(-1_000_000);
    expect(await reconciled()).toMatchObject({ ok: true, discrepancy: 0 });
    expect(await ready(server)).toMatchObject({ status: 200, integrity: "ok" });
    expect(await metric(server, "pmctl_integrity_ok")).toBe(1);
    expect(await metric(server, "pmctl_ledger_verified_age_seconds")).toBeLessThan(60);
  });

  test("a balance that the background of a server finds unexplained is logged, put on record and told, unasked", async () => {
    const shift = (micro: number) =>
      scene.sql((sql) => sql`update account set balance_micro = balance_micro + ${micro} where id = 'treasury'`);
    const newest = async () => {
      const [entry] = await scene.sql(
        (sql) => sql`select actor, payload from audit where type = 'reconcile.run' order by seq desc limit 1`,
      );
      return { actor: String(entry?.actor), payload: String(entry?.payload) };
    };
    await shift(1_000_000);
    const other = await operator.serve("rows");
    try {
      const recorded = await soon(newest, ({ payload }) => payload.includes("false"));
      expect(recorded).toEqual({ actor: "oracle", payload: '{"discrepancy":"1","ok":false}' });
      expect(await ready(other)).toMatchObject({ status: 503, integrity: "ledger" });
      expect(await metric(other, "pmctl_integrity_ok")).toBe(0);
      expect(other.errors()).toMatch(/"kind":"ledger","checks":\["accounts"\].*"THE LEDGER DOES NOT ADD UP"/);
    } finally {
      await other.kill("SIGTERM");
      await shift(-1_000_000);
    }
    expect((await scene.request(server, "/v1/reconcile", "POST")).body).toMatchObject({ ok: true });
  });

  test("an incremental verification counts the rows that it does not walk", async () => {
    expect((await scene.run("--via", "db", "audit", "verify")).exitCode).toBe(0);
    await scene.write(1);
    const [row] = await scene.sql((sql) => sql`delete from audit where seq = 2 returning *`);
    const verified = await scene.run("--via", "db", "audit", "verify", "--incremental", "-o", "json");
    await scene.sql((sql) => sql`insert into audit ${sql(row as never)}`);
    expect(verified.exitCode).toBe(8);
    expect(JSON.parse(verified.stdout)).toMatchObject({ broken: { kind: "gap", seq: 2 } });
  });
});

describe("the server writes anchors", () => {
  let scene: Scene;
  let posted: { headers: Record<string, unknown>; body: string }[];
  let answer = 200;
  const http = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => {
      body += chunk;
    });
    req.on("end", () => {
      posted.push({ headers: req.headers, body });
      res.writeHead(answer).end();
    });
  });
  const SECRET = `whsec_${Buffer.from("a secret of anchors, 24 bytes+").toString("base64")}`;
  const WATCHER_SECRET = `whsec_${Buffer.from("a secret of the watcher, 24 bytes+").toString("base64")}`;
  beforeAll(async () => {
    posted = [];
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const { directory } = operator;
    const program = join(directory, "take-anchor.sh");
    await writeFile(program, `cat >> ${join(directory, "taken.ndjson")}\n`);
    await appendFile(join(directory, ".env"), `KEPT_ANCHOR_SECRET=${SECRET}\nKEPT_WATCHER_SECRET=${WATCHER_SECRET}\n`);
    const targets = [
      "{ file: kept/anchors.ndjson }",
      `{ exec: [/bin/sh, ${program}] }`,
      `{ url: "${url}/anchor", secret: { env: KEPT_ANCHOR_SECRET } }`,
    ];
    const audit = `  anchors: [${targets.join(", ")}]\n  anchorEvery: { entries: 3, minutes: 60 }`;
    const receiver = `{ name: watcher, url: "${url}/event", events: [audit.anchored], secret: { env: KEPT_WATCHER_SECRET } }`;
    process.env.PMCTL_ALLOW_EXEC = "1";
    scene = await Scene.open(operator, "kept", (text) =>
      text
        .replace(/^audit:\n.*$/m, (section) => `${section}\n${audit}`)
        .replace(/^webhooks:$/m, `webhooks:\n  outbound: [${receiver}]`)
        .concat("network: { allowPrivate: [127.0.0.0/8] }\n"),
    );
  });
  afterAll(() => {
    delete process.env.PMCTL_ALLOW_EXEC;
    http.close();
  });

  test("at its start and its end and every few entries, to every place, all the same line", async () => {
    const server = await operator.serve("kept");
    await soon(
      () => scene.lines().catch(() => []),
      (lines) => lines.length === 1,
    );
    for (let index = 0; index < 3; index++) await scene.request(server, "/v1/reconcile", "POST");
    const second = await soon(
      () => scene.lines(),
      (lines) => lines.length === 2,
    );
    expect(second).toHaveLength(2);
    const [first, later] = second;
    expect((later?.seq ?? 0) - (first?.seq ?? 0)).toBe(3);
    const events = await soon(
      async () => posted.filter(({ body }) => body.includes("audit.anchored")),
      (found) => found.length >= 2,
    );
    await scene.request(server, "/v1/reconcile", "POST");
    await server.kill("SIGTERM");
    const lines = await scene.lines();
    expect(lines).toHaveLength(3);
    expect((await stat(scene.anchors)).mode & 0o777).toBe(0o600);

    for (const { tenant, seq, hash, ts, keyId, signature } of lines) {
      const text = ["pmctl-anchor-v1", tenant, seq, hash, ts, keyId].join("\n");
      expect(createHmac("sha256", scene.secret("AUDIT_KEY")).update(text).digest("hex")).toBe(signature);
      expect(await scene.sql((sql) => sql`select 1 from audit where seq = ${seq} and hash = ${hash}`)).toHaveLength(1);
    }
    const { directory } = operator;
    expect(parseLines(await readFile(join(directory, "tenants/kept/kept/anchors.ndjson"), "utf8"))).toEqual(lines);
    expect(parseLines(await readFile(join(directory, "taken.ndjson"), "utf8"))).toEqual(lines);
    const direct = posted.filter(({ body }) => !body.includes('"type"'));
    expect(direct.map(({ body }) => JSON.parse(body))).toEqual(lines);
    for (const { headers, body } of posted) {
      const secret = body.includes('"type"') ? WATCHER_SECRET : SECRET;
      new Webhook(secret).verify(body, headers as Record<string, string>);
    }
    expect(events.map(({ body }) => JSON.parse(body))).toEqual(
      lines.slice(0, 2).map((data) => ({ type: "audit.anchored", timestamp: data.ts, data })),
    );
  });

  test("a place that fails is counted and holds up nothing", async () => {
    answer = 503;
    const server = await operator.serve("kept");
    for (let index = 0; index < 4; index++) await scene.request(server, "/v1/reconcile", "POST");
    const failures = await soon(
      () => metric(server, 'pmctl_audit_anchor_failures_total{target="url"}'),
      (count) => count >= 1,
    );
    expect(failures).toBeGreaterThanOrEqual(1);
    expect((await scene.lines()).length).toBeGreaterThan(3);
    expect(await metric(server, "pmctl_audit_anchor_seq")).toBe((await scene.lines()).at(-1)?.seq);
    expect(await metric(server, "pmctl_audit_anchor_age_seconds")).toBeGreaterThanOrEqual(0);
    answer = 200;
    await server.kill("SIGTERM");
  });

  test("doctor verifies the chain with the audit key alone, whatever other secrets and programs it may not have", async () => {
    delete process.env.PMCTL_ALLOW_EXEC;
    const { stdout } = await scene.run("doctor", "-o", "json");
    process.env.PMCTL_ALLOW_EXEC = "1";
    const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; remedy: string }[] };
    expect(checks).toContainEqual(expect.objectContaining({ check: "audit chain", status: "ok" }));
    expect(checks).toContainEqual(expect.objectContaining({ check: "anchors", status: "ok" }));
    expect(checks.find(({ check }) => check.includes("anchors[1]"))?.remedy).toContain("--allow-exec");
  });
});
