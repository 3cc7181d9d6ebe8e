import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { freshSecrets } from "../../src/config/init.ts";
import { signAnchor } from "../../src/domain/audit/anchor.ts";
import { auditLines } from "../../src/domain/audit/audit-link.ts";
import { auditHash, auditKey } from "../../src/domain/audit/seal.ts";
import { Fault } from "../../src/domain/fault.ts";
import { signMessage } from "../../src/outgoing/sign.ts";
import { Random } from "../ledger/sequencer/random.ts";
import { openTestTenant, AUDIT_SECRET as TENANT_AUDIT_SECRET } from "../support/tenant.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import {
  ADMIN_KEY,
  AUDIT_SECRET,
  everyEndpoint,
  JWT_SECRET,
  PUBLIC_KEY,
  TENANT,
  WEBHOOK_SECRET,
} from "./support/harness.ts";

const SAMPLES = new URL("../../docs/guides/samples/", import.meta.url).pathname;
/** As `init` and `demo` make it. */
const MADE_SECRET = String(freshSecrets("acme").ACME_WEBHOOK_SECRET);
const tenant = tenantOfTests({ webhookSecrets: everyEndpoint(WEBHOOK_SECRET, MADE_SECRET) });
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp("/tmp/pmctl-samples-");
  await tenant.openMarket("mkt_1");
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const has = (program: string, argument: string) => spawnSync(program, [argument]).status === 0;
const python = has("python3", "--version");
const go = has("go", "version");
const NO_PYTHON = "this machine has no python3";

const run = (program: string, args: string[], env: Record<string, string> = {}) =>
  execa(program, args, {
    reject: false,
    timeout: 120_000,
    env: {
      PREDICT_URL: tenant.url,
      PUBLIC_API_KEY: PUBLIC_KEY,
      JWT_SECRET,
      TENANT,
      WEBHOOK_SECRET: MADE_SECRET,
      ...env,
    },
  });

describe("the integrator's samples", () => {
  test("report a check and a deposit; a repeat of both changes nothing", async ({ skip }) => {
    skip(!python, NO_PYTHON);
    const text = "a provider's secret of 32 bytes or more, and no base64";
    for (const env of [{}, {}, { SCHEME: "v1" }, { SCHEME: "v1", WEBHOOK_SECRET }]) {
      const { stdout, exitCode } = await run("python3", [`${SAMPLES}webhook-in.py`, "alice", "tx_1"], env);
      expect([exitCode, stdout.match(/200 {"received":true}/g)]).toEqual([0, Array(2).fill('200 {"received":true}')]);
    }
    expect(await tenant.balance("wallet:alice")).toBe(100_000_000n);
    const refused = await run("python3", [`${SAMPLES}webhook-in.py`, "alice", "tx_1"], { WEBHOOK_SECRET: text });
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^\/kyc\/inbound\/acme 401 SIGNATURE_INVALID: Invalid signature \(req_/),
    ]);
  });

  test("ask the address of the guide's demo, and say in one line that no server is there or a setting lacks", async ({
    skip,
  }) => {
    skip(!python, NO_PYTHON);
    const samples = [
      ["python3", "webhook-in.py"],
      ["python3", "sign-in.py"],
      ["node", "sign-in.mjs"],
    ] as const;
    for (const [program, file] of samples) {
      expect(await readFile(SAMPLES + file, "utf8")).toContain('"http://127.0.0.1:8080"');
      const away = await run(program, [SAMPLES + file, "alice", "tx_1"], { PREDICT_URL: "http://127.0.0.1:9" });
      expect([away.exitCode, away.stderr]).toEqual([
        1,
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:9 does not answer: .*$/),
      ]);
      const unset = await run(program, [SAMPLES + file, "alice", "tx_1"], { JWT_SECRET: "", WEBHOOK_SECRET: "" });
      expect([unset.exitCode, unset.stderr]).toEqual([1, expect.stringMatching(/^Set .*$/)]);
    }
  });

  const samples: [program: string, args: string[], there: boolean][] = [
    ["node", ["sign-in.mjs"], true],
    ["python3", ["sign-in.py"], python],
    ["go", ["run", "sign-in.go"], go],
  ];
  for (const [program, args, there] of samples)
    test(`${args.at(-1)} signs a token and trades; another secret says USER_REQUIRED`, async ({ skip }) => {
      skip(!there, `this machine has no ${program}`);
      const words = args.map((word) => (word.startsWith("sign-in") ? SAMPLES + word : word));
      const user = `usr_${program}`;
      await verified(user);
      const traded = await run(program, [...words, user]);
      expect([traded.stderr, traded.exitCode]).toEqual(["", 0]);
      expect(traded.stdout).toMatch(new RegExp(`^${user} bought [\\d.]+ YES shares for \\$5: trd_`));
      const refused = await run(program, [...words, user], { JWT_SECRET: `not ${JWT_SECRET}` });
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/^401 USER_REQUIRED: .* \(req_/)]);
    });

  async function verified(user: string) {
    const api = localApi(tenant.services.handlers, { actor: "provider:test" });
    const verifiedAt = new Date().toISOString() as never;
    await api.receiveKyc({ tenantId: TENANT, userId: user, status: "passed", provider: "idv", verifiedAt });
    await tenant.deposit(user, 100);
  }
});

describe.each([
  [process.execPath, "webhook-out.mjs", true],
  ["python3", "webhook-out.py", python],
] as const)("the receiver of events (%s %s)", (program, file, there) => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  let child: ChildProcess | undefined;
  afterAll(async () => {
    if (!child) return;
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });

  test("takes a signed event once, and answers 401 to one whose body or time was changed", async ({ skip }) => {
    skip(!there, NO_PYTHON);
    const env = { ...process.env, EVENTS_SECRET: secret, PORT: "0" };
    child = spawn(program, [SAMPLES + file], { env, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface(child.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]();
    const port = String((await lines.next()).value).split(" ")[1] ?? "";
    const body = JSON.stringify({ type: "market.settled", data: { sequence: 7 } });
    const post = async (text: string, headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: text })).status;
    const headers = signMessage("evt_7", body, Date.now(), [secret]);
    const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
    expect(await post(body, headers)).toBe(204);
    expect(await post(body, signMessage("evt_7", body, Date.now(), [other, secret]))).toBe(204);
    expect(await post(body.replace("7", "8"), headers)).toBe(401);
    expect(await post(body, { ...headers, "webhook-timestamp": "1" })).toBe(401);
    expect(await post(body, signMessage("evt_8", body, Date.now() - 400_000, [secret]))).toBe(401);
    expect(await post(body, signMessage("evt_8", body, Date.now(), [other]))).toBe(401);
    expect(await post(body, {})).toBe(401);
    const anchor = JSON.stringify({ type: "audit.anchored", data: { seq: 8 } });
    expect(await post(anchor, signMessage("anc_8", anchor, Date.now(), [secret]))).toBe(204);
    expect((await lines.next()).value).toBe("market.settled 7");
    expect((await lines.next()).value).toMatch(/^audit\.anchored/);
  });
});

describe.skipIf(!python)("the auditor's program (skipped without python3)", () => {
  let lines: string[];
  let anchor: string;
  beforeAll(async () => {
    await tenant.deposit("winner", 200);
    const api = localApi(tenant.services.handlers, { actor: "admin:ops", user: { id: "winner" }, reason: "a test" });
    await api.receiveKyc({
      tenantId: TENANT,
      userId: "winner",
      status: "passed",
      provider: "idv",
      verifiedAt: new Date().toISOString() as never,
    });
    await tenant.openMarket("mkt_2");
    const trade = { marketId: "mkt_2", selection: { side: "yes" } } as const;
    const { shares } = await api.placeTrade({ ...trade, amount: 50 });
    await api.placeTrade({ ...trade, selection: { side: "yes", action: "sell" }, shares: Math.floor(shares / 2) });
    await api.settleMarket({ marketId: "mkt_2", outcome: "yes" });
    const headers = { "x-api-key": ADMIN_KEY, accept: "application/x-ndjson" };
    lines = (await (await fetch(`${tenant.url}/v1/audit`, { headers })).text()).trimEnd().split("\n");
    const head = JSON.parse(lines.at(-1) ?? "");
    anchor = JSON.stringify(signAnchor(TENANT, head, auditKey(AUDIT_SECRET)));
    await writeFile(`${directory}/keys`, `${AUDIT_SECRET}\n`);
  });

  async function check(changed: string[], anchors: string[] = [anchor], name = TENANT) {
    await writeFile(`${directory}/export`, changed.map((line) => `${line}\n`).join(""));
    await writeFile(`${directory}/anchors`, anchors.map((line) => `${line}\n`).join(""));
    const files = ["export", "anchors"].map((file) => `${directory}/${file}`);
    const { exitCode, stdout, stderr } = await run("python3", [
      `${SAMPLES}verify-export.py`,
      ...files,
      name,
      `${directory}/keys`,
    ]);
    return [exitCode, exitCode === 0 ? stdout : stderr];
  }

  test("has at most 85 lines, and finds that an export and its anchor hold", async () => {
    expect((await readFile(`${SAMPLES}verify-export.py`, "utf8")).trimEnd().split("\n").length).toBeLessThanOrEqual(85);
    const settled = lines.filter((line) => line.includes('"type":"market.settled"')).length;
    expect(settled).toBe(1);
    const text = `It holds: ${lines.length} entries, 1 anchors, 1 settled markets.`;
    expect(await check(lines)).toEqual([0, expect.stringContaining(text)]);
  });

  test("finds every altered byte of an entry, a missing line, another order, and a log that was cut", async () => {
    const at = lines.length - 3;
    const line = lines[at] ?? "";
    const altered = (from: string | RegExp, to: string) => lines.with(at, line.replace(from, to));
    const entry = `entry ${at + 1} .* was altered`;
    const cases: [what: string[], says: string][] = [
      [altered(/"actor":"(.)/, '"actor":"#'), entry],
      [altered(/"payload":\{"(.*?)":"./, '"payload":{"$1":"#'), entry],
      [altered(/(payloadText":"\{\\"\w+\\":\\")./, "$1#"), entry],
      [altered(/"hash":"./, '"hash":"x'), entry],
      [altered(/"ts":"20/, '"ts":"21'), entry],
      [altered('"seq"', '"sek"'), `line ${at + 1} is not an entry`],
      [lines.toSpliced(at, 1), `line ${at + 1} holds entry ${at + 2}`],
      [lines.with(at, lines[at + 1] ?? "").with(at + 1, line), `line ${at + 1} holds entry ${at + 2}`],
      [lines.slice(0, -1), `entry ${lines.length} is not the one that its anchor names`],
    ];
    for (const [changed, says] of cases)
      expect(await check(changed)).toEqual([1, expect.stringMatching(new RegExp(`^DOES NOT HOLD: ${says}`))]);
  });

  test("agrees with random voids, fractions and corrections, and finds a sum that is another", async () => {
    const ended = await openTestTenant({ correctionHours: 24 });
    onTestFinished(() => ended.close());
    const random = new Random(11);
    for (const user of ["ann", "bob", "cyd"]) await ended.deposit(user, 50_000);
    const anyEnd = () => random.pick(["yes", "no", "void", { yes: random.int(1, 999_999) / 1e6 }] as const);
    for (let nth = 0; nth < 12; nth++) {
      const marketId = await ended.market({ kind: random.pick(["cpmm", "lmsr"] as const) });
      for (let trades = random.int(2, 12); trades > 0; trades--) {
        const api = ended.api(random.pick(["ann", "bob", "cyd"]));
        const side = random.pick(["yes", "no"] as const);
        const held = (await api.listPositions({})).find((each) => each.marketId === marketId && each.side === side);
        const sells = held !== undefined && random.chance(0.4);
        const shares = Math.floor((held?.shares ?? 0) * 1e6 * random.pick([0.3, 0.7, 1])) / 1e6;
        if (sells) await api.placeTrade({ marketId, selection: { side, action: "sell" }, shares });
        else await api.placeTrade({ marketId, selection: { side }, amount: random.int(1, 300) });
      }
      const reason = "The match was called off";
      const end = anyEnd();
      if (end === "void") await ended.api().voidMarket({ id: marketId, reason, maxTreasuryUsd: 10_000 });
      else await ended.api().settleMarket({ marketId, outcome: end });
      for (let corrections = random.int(0, 2); corrections > 0; corrections--)
        await ended
          .api()
          .correctMarket({ id: marketId, outcome: anyEnd(), reason })
          .catch((error: unknown) => {
            if (!(error instanceof Fault) || error.code !== "OUTCOME_UNCHANGED") throw error;
          });
    }
    const { entries } = await ended.api().listAudit({ after: 0, limit: 200 });
    const key = auditKey(TENANT_AUDIT_SECRET);
    await writeFile(`${directory}/keys`, `${AUDIT_SECRET}\n${TENANT_AUDIT_SECRET}\n`);
    const exported = entries.map((entry) => JSON.stringify(entry));
    expect(await check(exported, [])).toEqual([0, expect.stringContaining("12 settled markets")]);
    // Sealed anew from a wrong sum on, as the holder of the key could.
    for (const type of ["market.voided", "market.settled", "market.corrected"]) {
      const at = entries.findLastIndex((entry) => entry.type === type);
      let previous = entries[at - 1]?.hash ?? "";
      const forged = entries.slice(at).map((entry, index) => {
        const sum = type === "market.voided" ? "fromFees" : "paid";
        const more = { ...entry.payload, [sum]: String(Number(entry.payload[sum]) + 1) };
        const payload = index === 0 ? more : entry.payload;
        const payloadText = JSON.stringify(payload);
        const lines = auditLines({ ...entry, seq: BigInt(entry.seq), payloadText, keyId: key.id });
        previous = auditHash(key, previous, lines);
        return JSON.stringify({ ...entry, payload, payloadText, hash: previous });
      });
      const says = expect.stringMatching(new RegExp(`^DOES NOT HOLD: entry ${at + 1}: `));
      expect(await check([...exported.slice(0, at), ...forged], [])).toEqual([1, says]);
    }
  });

  test("takes no anchor of another tenant, nor one that is not signed", async () => {
    expect(await check(lines, [anchor], "zoe")).toEqual([1, expect.stringContaining("is not signed for zoe")]);
    const forged = anchor.replace(/"signature":"./, '"signature":"x');
    expect(await check(lines, [forged])).toEqual([1, expect.stringContaining("is not signed for acme")]);
  });
});
