import { Writable } from "node:stream";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { holdAnswersStrictly } from "../../src/services/answers.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { PUBLIC_KEY, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const logged: Record<string, unknown>[] = [];
const sink = new Writable({
  write(chunk, _encoding, done) {
    logged.push(JSON.parse(String(chunk)));
    done();
  },
});

const tenant = tenantOfTests({ log: pino(sink) });
let authorization: string;
beforeAll(async () => {
  authorization = `Bearer ${await userToken()}`;
  // A cap below zero, which no way in allows: the answer to an assessment states it, against its schema.
  const { sql } = tenant.backend;
  const [row] = await sql`select policy from tenant`;
  const thresholds = { blockBelow: 0, tiers: [{ minScore: 0, capUsd: -1 }] };
  const policy = { ...JSON.parse(String(row?.policy)), suitabilityThresholds: thresholds };
  await sql`update tenant set policy = ${JSON.stringify(policy)}`;
  // As another process does that writes: what this one remembers counts for nothing any more.
  await sql`update head set epoch = epoch + 1`;
});

const assess = (key?: string) =>
  fetch(`${tenant.url}/v1/suitability`, {
    method: "POST",
    headers: {
      "x-api-key": PUBLIC_KEY,
      authorization,
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: JSON.stringify({ answers: { a: 4 } }),
  });
const onRecord = async () => (await tenant.audit("suitability.submitted")).length;
const ANSWER = '{"score":4,"exposureCapMinor":-100,"passed":true}';

test.each([undefined, "k1"])("from the sources it is an error before anything is written (key %s)", async (key) => {
  await expectRefusal(await assess(key), 500, "INTERNAL");
  expect(await onRecord()).toBe(0);
});

describe("in production a change whose answer is not what the contract says", () => {
  let before: boolean;
  beforeAll(() => {
    before = holdAnswersStrictly(false);
  });
  afterAll(() => {
    holdAnswersStrictly(before);
  });
  beforeEach(() => {
    logged.length = 0;
  });
  const counted = async () =>
    Number(
      /pmctl_contract_mismatches_total\{operation="submitSuitability"\} (\d+)/.exec(
        await (await fetch(`${tenant.server.opsUrl}/metrics`)).text(),
      )?.[1] ?? 0,
    );

  test("is answered alike with and without a key, to the first request and to its repeat", async () => {
    const earlier = await counted();
    for (const key of [undefined, "k2"]) {
      const response = await assess(key);
      expect([response.status, await response.text()]).toEqual([200, ANSWER]);
      expect(response.headers.get("audit-seq")).toMatch(/^\d+$/);
    }
    expect(await onRecord()).toBe(2);
    const repeat = await assess("k2");
    expect([repeat.headers.get("idempotent-replayed"), await repeat.text()]).toEqual(["true", ANSWER]);
    expect(await onRecord()).toBe(2);
    // Once for each time that an answer was made: the repeat gives out what is stored.
    expect(await counted()).toBe(earlier + 2);
  });

  test("is named in the log once a minute, without its values", async () => {
    for (let n = 0; n < 3; n++) expect((await assess()).status).toBe(200);
    const named = logged.filter(({ operation }) => operation === "submitSuitability");
    expect(named.length).toBeLessThanOrEqual(1);
    expect(await counted()).toBeGreaterThanOrEqual(3);
    for (const { problem } of named) expect(String(problem)).toMatch(/^exposureCapMinor: /);
  });
});
