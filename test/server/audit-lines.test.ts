import { beforeAll, describe, expect, test } from "vitest";
import { verifyOverApi } from "../../src/app/audit/walk-log.ts";
import { auditLinesOf } from "../../src/client/audit-lines.ts";
import { httpApi } from "../../src/client/http-api.ts";
import type { WireInput } from "../../src/contract/operations.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, AUDIT_SECRET, PUBLIC_KEY } from "./support/harness.ts";

const USERS = 450;

const tenant = tenantOfTests();
let access: { url: string; apiKey: string; fetch: typeof fetch };
beforeAll(async () => {
  access = { url: tenant.url, apiKey: ADMIN_KEY, fetch };
  // More than a page of the stream; names in the second one need escapes.
  await Promise.all(
    Array.from({ length: USERS }, (_, index) =>
      tenant.deposit(index < 420 ? `usr_${index}\u{1f600}` : `usr_"${index}"`, 1 + index),
    ),
  );
});

const ask = (query = "", headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${tenant.url}/v1/audit${query}`, {
    ...init,
    headers: { "x-api-key": ADMIN_KEY, accept: "application/x-ndjson", ...headers },
  });

/** The lines of an export that reads the list page by page. */
async function listed(filter: Omit<WireInput<"listAudit">, "limit" | "cursor"> = {}): Promise<string[]> {
  const lines: string[] = [];
  for (let after = filter.after ?? 0; ; ) {
    const { entries } = await httpApi(access).listAudit({ ...filter, after, limit: 200 });
    lines.push(...entries.map((entry) => JSON.stringify(entry)));
    const last = entries.at(-1);
    if (!last) return lines;
    after = last.seq;
  }
}

async function collect(texts: AsyncIterable<string> | undefined): Promise<string> {
  let all = "";
  for await (const text of texts ?? []) all += text;
  return all;
}

const verify = () =>
  verifyOverApi(httpApi(access), [auditKey(AUDIT_SECRET)], { logText: (after) => auditLinesOf(access, after) });

describe("the audit log in lines", () => {
  test.each<[string, Parameters<typeof listed>[0]]>([
    ["the whole of it", {}],
    ["what an actor did", { actor: "provider:test" }],
    ["a type", { type: "wallet.credited" }],
    ["what came after an entry", { after: 20 }],
    ["what concerns a user", { userId: "usr_7\u{1f600}" }],
    ["the end of a market", { marketId: "mkt_none", type: "market.settled" }],
    ["what has a text", { q: "USR_4", until: "2999-01-01T00:00:00Z" }],
    ["nothing", { actor: "admin:nobody" }],
  ])("has the bytes of an export, and names its last entry: %s", async (_, filter) => {
    const expected = await listed(filter);
    const query = new URLSearchParams(
      Object.entries(filter ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    );
    for (const encoding of ["identity", "gzip"]) {
      const response = await ask(`?${query}`, { "accept-encoding": encoding });
      expect(response.headers.get("content-type")).toBe("application/x-ndjson");
      expect(response.headers.get("content-encoding")).toBe(encoding === "gzip" ? "gzip" : null);
      expect(response.headers.get("audit-last-seq")).toBe(String(JSON.parse(expected.at(-1) ?? '{"seq":0}').seq));
      expect(await response.text()).toBe(expected.map((line) => `${line}\n`).join(""));
    }
  });

  test("is for operators alone, and clients that do not ask for lines get pages", async () => {
    expect((await ask("", { "x-api-key": PUBLIC_KEY })).status).toBe(403);
    expect((await ask("?after=x")).status).toBe(400);
  });

  test.each([
    ["*/*", "application/json"],
    ["application/json", "application/json"],
    ["application/x-ndjson;q=0", "application/json"],
    ["application/x-ndjson;q=0.000, application/json;q=0", "application/json"],
    ["application/json, application/x-ndjson;q=0.1", "application/json"],
    ["application/x-ndjson;q=0.8, application/*;q=0.9, */*;q=0.1", "application/json"],
    ["application/x-ndjson;q=0.5, */*", "application/json"],
    ["Application/X-NDJSON; Q=0.5, application/json;q=0.4", "application/x-ndjson"],
    ["application/json, application/x-ndjson", "application/x-ndjson"],
    ["application/x-ndjson;q=0.2, application/json;q=0.1, */*", "application/x-ndjson"],
  ])("comes to those who prefer it or like both as much: %s gets %s", async (accept, expected) => {
    const response = await ask("?after=440", { accept });
    expect(response.headers.get("content-type")).toBe(expected);
    await response.text();
  });

  test.each(["cursor=x", "limit=1", "limit=50&after=3"])("has no pages to choose with %s", async (query) => {
    const response = await ask(`?${query}`);
    expect([response.status, response.headers.get("error-code")]).toEqual([400, "BAD_REQUEST"]);
    const [name] = query.split("=");
    expect(await response.json()).toEqual({ error: `${name}: lines have no pages; after says where they begin` });
  });

  test("goes to four at a time, however many ask at once", async () => {
    const statuses: number[] = [];
    let asked: Promise<void>[] = [];
    await tenant.backend.sql.begin(async (sql) => {
      // It waits idle for the answers, however long they take.
      await sql`set local idle_in_transaction_session_timeout = 0`;
      await sql`lock table audit`;
      asked = Array.from({ length: 40 }, async () => {
        const response = await ask();
        statuses.push(response.status);
        await response.text();
      });
      await expect.poll(() => statuses).toEqual(Array(36).fill(429));
    });
    await Promise.all(asked);
    expect(statuses.slice(36)).toEqual([200, 200, 200, 200]);
  });

  test("leaves its place free, however it ends", async () => {
    for (let round = 0; round < 5; round++) {
      const leaver = new AbortController();
      const { sql } = tenant.backend;
      const left = await sql.begin(async (held) => {
        await held`set local idle_in_transaction_session_timeout = 0`;
        await held`lock table audit`;
        const asked = ask("", {}, { signal: leaver.signal }).catch((error: Error) => error.name);
        // It is under way, for its statement waits for the lock; others may too.
        await expect.poll(() => sql`select from pg_locks where not granted`).not.toHaveLength(0);
        leaver.abort();
        return asked;
      });
      expect(left).toBe("AbortError");
      const begun = await ask();
      expect(begun.status).toBe(200);
      await begun.body?.cancel();
      await expect.poll(async () => (await ask("", {}, { method: "HEAD" })).status).toBe(200);
    }
  });

  test("verifies, and a payload that was tampered with is found", async () => {
    expect(await verify()).toMatchObject({ verified: true });
    const { sql } = tenant.backend;
    const [row] = await sql`select payload from audit where seq = 7`;
    for (const payload of ['{"amount":"1"}', "[1]", "no JSON", '{"a":\n1}']) {
      await sql`update audit set payload = ${payload} where seq = 7`;
      const lines = (await (await ask("?after=6")).text()).split("\n");
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({ seq: 7, payloadText: payload });
      expect(await verify()).toMatchObject({ verified: false, broken: { seq: 7 } });
    }
    await sql`update audit set payload = ${row?.payload} where seq = 7`;
  });

  test("that ends before its last line is not taken for the whole", async () => {
    const response = await ask();
    const bytes = new Uint8Array(await response.arrayBuffer());
    const cut = async (length: number) => {
      const answer = new Response(bytes.slice(0, length), { headers: response.headers });
      return collect(await auditLinesOf({ ...access, fetch: async () => answer }, 0n));
    };
    expect(await cut(bytes.length)).toHaveLength(new TextDecoder().decode(bytes).length);
    const lastLine = bytes.lastIndexOf(10, -2) + 1;
    for (const length of [lastLine, lastLine + 10, 0])
      await expect(cut(length)).rejects.toMatchObject({ code: "UNREACHABLE" });
  });

  test("that comes from something else than a server of this contract is none", async () => {
    const answer = async () => Response.json({ entries: [], cursor: null });
    await expect(auditLinesOf({ ...access, fetch: answer }, 0n)).rejects.toMatchObject({ code: "UNREACHABLE" });
  });
});
