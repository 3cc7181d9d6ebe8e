import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import { hashApiKey } from "../../src/domain/access/api-key.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { configInput } from "./support/config-input.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();

function send(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${tenant.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": ADMIN_KEY, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
const live = async () => (await (await send("/v1/config")).json()) as WireResult<"getConfig">;
const applied = () => tenant.audit("config.applied");

test("the live configuration names its tenant and version, and of keys no more than fingerprints", async () => {
  const config = await live();
  expect(config).toMatchObject({ tenant: "acme", version: expect.any(Number), policy: { feeBps: expect.any(Number) } });
  expect(config.keys.map(({ name, fingerprint }) => [name, fingerprint])).toContainEqual([
    "ops",
    `fp:${hashApiKey(ADMIN_KEY).slice(0, 8)}`,
  ]);
  for (const key of [ADMIN_KEY, PUBLIC_KEY]) {
    expect(JSON.stringify(config)).not.toContain(key);
    expect(JSON.stringify(config)).not.toContain(hashApiKey(key));
  }
});

test("an apply is one entry by the key's name with its reason and receipt, and its repeat is the first answer", async () => {
  const { version } = await live();
  const before = (await applied()).length;
  const body = configInput({ ifVersion: version, policy: { feeBps: 33 } });
  const headers = { "idempotency-key": "apply-1", "audit-reason": "by pipeline" };
  const first = await send("/v1/config", body, headers);
  const written = { changed: true, seq: Number(first.headers.get("audit-seq")) };
  expect([first.status, await first.json()]).toEqual([200, written]);
  expect(first.headers.get("audit-seq")).toMatch(/^\d+$/);
  const again = await send("/v1/config", body, headers);
  expect([again.status, await again.json()]).toEqual([200, written]);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  const entries = await applied();
  expect(entries).toHaveLength(before + 1);
  expect(entries.at(-1)).toMatchObject({ actor: "admin:ops", payload: { reason: "by pipeline" } });
  expect((await live()).policy.feeBps).toBe(33);
});

test("what was planned on another version, or for another tenant, is refused and writes nothing", async () => {
  const { version } = await live();
  const before = (await applied()).length;
  const stale = await send("/v1/config", configInput({ ifVersion: version - 1, policy: { feeBps: 44 } }));
  expect(await expectRefusal(stale, 400, "REFUSED")).toContain("stale");
  const other = await send("/v1/config", configInput({ tenant: "other", ifVersion: version, policy: { feeBps: 44 } }));
  expect(await expectRefusal(other, 400, "REFUSED")).toContain("acme");
  expect(await applied()).toHaveLength(before);
});

test("of two applies that were planned on the same version one wins", async () => {
  const { version } = await live();
  const answers = await Promise.all(
    [51, 52, 53].map((feeBps) => send("/v1/config", configInput({ ifVersion: version, policy: { feeBps } }))),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
  await Promise.all(answers.map((answer) => answer.body?.cancel()));
});

test("a key that an apply creates works with the next request, and one that it ends does not", async () => {
  const key = "sk_second-0123456789-abcdefghijklmnopqrstuvwxy";
  const sha256 = hashApiKey(key);
  const { version } = await live();
  const created = configInput({
    ifVersion: version,
    keys: [{ name: "second", type: "admin", sha256, expiresAt: null }],
  });
  expect((await send("/v1/config", created)).status).toBe(200);
  expect((await send("/v1/config", undefined, { "x-api-key": key })).status).toBe(200);
  const revoke = [{ name: "second", fingerprint: `fp:${sha256.slice(0, 8)}` }];
  const ending = configInput({ ifVersion: version + 1, revoke });
  expect((await send("/v1/config", ending)).status).toBe(200);
  await expectRefusal(await send("/v1/config", undefined, { "x-api-key": key }), 401, "KEY_INVALID");
});

test("an apply cannot end the very key that it came with", async () => {
  const { version, keys } = await live();
  const own = keys.find(({ name }) => name === "ops");
  const revoke = [{ name: "ops", fingerprint: own?.fingerprint ?? "" }];
  await expectRefusal(await send("/v1/config", configInput({ ifVersion: version, revoke })), 400, "KEY_IN_USE");
  expect((await live()).keys).toEqual(keys);
});

test("nor by any other way: another's name before its fingerprint, an expiry that has passed, or another type", async () => {
  const { version, keys } = await live();
  const sha256 = hashApiKey(ADMIN_KEY);
  const fingerprint = `fp:${sha256.slice(0, 8)}`;
  const ending = { name: "ops", type: "admin" as const, sha256, expiresAt: "2020-01-01T00:00:00Z" };
  for (const change of [
    { keys: [ending] },
    { keys: [{ ...ending, type: "public" as const, expiresAt: null }] },
    { keys: [{ ...ending, sha256: "e".repeat(64) }], revoke: [{ name: "ops", fingerprint }] },
  ])
    await expectRefusal(await send("/v1/config", configInput({ ifVersion: version, ...change })), 400, "KEY_IN_USE");
  const misnamed = configInput({ ifVersion: version, revoke: [{ name: "web", fingerprint }] });
  expect((await send("/v1/config", misnamed)).status).toBe(200);
  expect((await live()).keys).toEqual(keys);
});

test("the key in hand may go by another name, or make room for another value of its own", async () => {
  const [own, next] = [
    "sk_own-0123456789-abcdefghijklmnopqrstuvwxyz-A",
    "sk_next-0123456789-abcdefghijklmnopqrstuvwxyz-",
  ];
  const key = (name: string, value: string) => ({
    name,
    type: "admin" as const,
    sha256: hashApiKey(value),
    expiresAt: null,
  });
  const apply = async (as: string, change: Parameters<typeof configInput>[0]) => {
    const { version } = await live();
    return (await send("/v1/config", configInput({ ifVersion: version, ...change }), { "x-api-key": as })).status;
  };
  expect(await apply(ADMIN_KEY, { keys: [key("robot", own)] })).toBe(200);
  expect(await apply(own, { keys: [key("renamed", own)] })).toBe(200);
  const revoke = [{ name: "renamed", fingerprint: `fp:${hashApiKey(own).slice(0, 8)}` }];
  expect(await apply(own, { keys: [key("renamed", next)], revoke })).toBe(200);
  await expectRefusal(await send("/v1/config", undefined, { "x-api-key": own }), 401, "KEY_INVALID");
  expect((await send("/v1/config", undefined, { "x-api-key": next })).status).toBe(200);
});

test("keys that ended are told apart from those in force", async () => {
  const { keys, endedKeys } = await live();
  const names = (list: typeof keys) => list.map(({ name }) => name);
  expect(names(endedKeys)).toContain("second");
  expect(names(keys)).not.toContain("second");
  expect(JSON.stringify(endedKeys)).not.toMatch(/[0-9a-f]{64}/);
});

const MARKET = {
  key: "twice",
  question: "Will it rain?",
  category: "weather",
  kind: "cpmm" as const,
  p0: 0.5,
  closeAt: "2096-01-01T00:00:00Z",
  resolutionRef: "by hand",
  state: "open" as const,
};

test("what no plan would hold is refused in words, and writes nothing", async () => {
  const { version } = await live();
  const key = { name: "pair", type: "public" as const, sha256: "d".repeat(64), expiresAt: null };
  const before = (await applied()).length;
  for (const [change, field] of [
    [{ markets: [MARKET, MARKET] }, "markets.1.key"],
    [{ keys: [key, { ...key, sha256: "c".repeat(64) }] }, "keys.1.name"],
    [{ keys: [key, { ...key, name: "other" }] }, "keys.1.sha256"],
    [{ liquidityUsd: 0 }, "liquidityUsd"],
    [{ capitalUsd: -1 }, "capitalUsd"],
  ] as const) {
    const answer = await send("/v1/config", { ...configInput({ ifVersion: version }), ...change });
    expect(await expectRefusal(answer, 400, "BAD_REQUEST")).toContain(field);
  }
  expect(await applied()).toHaveLength(before);
});

test("the history gives the document's hash as the server computes it, and that of the files as it was stated", async () => {
  const { version } = await live();
  const body = configInput({ ifVersion: version, policy: { feeBps: 34 }, documentSha256: "0".repeat(64) });
  expect((await send("/v1/config", body)).status).toBe(200);
  const [newest] = (await (await send("/v1/config/history?limit=1")).json()) as WireResult<"listApplies">["items"];
  const sha256 = createHash("sha256").update(canonicalJson(body.document)).digest("hex");
  expect(newest).toMatchObject({ sha256, fileSha256: "0".repeat(64) });
  // The same that the sealed entry gives, and its document has.
  expect((await applied()).at(-1)?.payload.state).toMatchObject({ document: sha256 });
  const whole = await (await send(`/v1/config/history/${newest?.seq}`)).json();
  expect(whole).toMatchObject({ sha256, fileSha256: "0".repeat(64), document: body.document });
  for (const documentSha256 of ["0", "0".repeat(63), "G".repeat(64), "A".repeat(64)])
    await expectRefusal(await send("/v1/config", { ...body, documentSha256 }), 400, "BAD_REQUEST");
});

test("the repeat of an apply that created markets is the first answer too", async () => {
  const { version } = await live();
  const body = configInput({ ifVersion: version, markets: [{ ...MARKET, key: "repeated" }] });
  for (const replayed of [null, "true"]) {
    const answer = await send("/v1/config", body, { "idempotency-key": "apply-markets" });
    expect([answer.status, await answer.json()]).toEqual([200, { changed: true, seq: expect.any(Number) }]);
    expect(answer.headers.get("idempotent-replayed")).toBe(replayed);
  }
});

test("a market of a key that is taken is refused as stale, and none is created beside it", async () => {
  const markets = [MARKET];
  const { version } = await live();
  expect((await send("/v1/config", configInput({ ifVersion: version, markets }))).status).toBe(200);
  const again = await send("/v1/config", configInput({ ifVersion: version + 1, markets }));
  expect(await expectRefusal(again, 400, "REFUSED")).toContain("twice");
  expect((await live()).markets.filter(({ key }) => key === MARKET.key)).toHaveLength(1);
});

test("an oracle within a private network is refused as in the policy, by the field's name", async () => {
  const { version } = await live();
  const policy = { resolution_url: "http://10.0.0.1/resolve" };
  const answer = await send("/v1/config", configInput({ ifVersion: version, policy }));
  expect(await expectRefusal(answer, 400, "BAD_REQUEST")).toMatch(/resolution_url.*restart the server/);
});

test("a document may be larger than other bodies, and not larger than 4 MiB", async () => {
  const { version } = await live();
  const sized = (bytes: number) => {
    const input = configInput({ ifVersion: version });
    return { ...input, document: { ...input.document, filler: "x".repeat(bytes) } };
  };
  expect((await send("/v1/config", sized(1_000_000))).status).toBe(200);
  const answer = await send("/v1/config", sized(4 * 1024 * 1024));
  expect(await expectRefusal(answer, 400, "BAD_REQUEST")).toContain("4194304 bytes");
});

test("the history pages without losing or repeating an apply, and one apply comes with its document", async () => {
  const seqs: number[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Response = await send(`/v1/config/history?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
    const items = (await page.json()) as WireResult<"listApplies">["items"];
    expect(items.length).toBeLessThanOrEqual(2);
    seqs.push(...items.map(({ seq }) => seq));
    cursor = page.headers.get("next-cursor");
  }
  expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
  expect(new Set(seqs).size).toBe(seqs.length);
  expect(seqs).toHaveLength((await applied()).length);
  expect(await (await send(`/v1/config/history/${seqs[0]}`)).json()).toMatchObject({
    seq: seqs[0],
    document: { treasury: { capitalUsd: 100_000 } },
  });
  await expectRefusal(await send("/v1/config/history/99999"), 404, "NOT_FOUND");
});

test("the checks of the ledger come with their unit: entries are counted, money is not", async () => {
  const checks = (await (await send("/v1/reconcile/checks")).json()) as WireResult<"explainLedger">;
  const units = Object.fromEntries(checks.map(({ name, unit }) => [name, unit]));
  expect(units).toMatchObject({ head: "count", hedges: "count", accounts: "usd", escrow: "usd", positions: "usd" });
  expect(checks.every(({ ok }) => ok)).toBe(true);
});
