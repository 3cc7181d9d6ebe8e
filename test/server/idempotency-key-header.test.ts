import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Answered, type Caller, type Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, sha256, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const callers: Caller[] = [];
const answer = { score: 3, exposureCapMinor: 50_000, passed: true };
const handlers = {
  submitSuitability: async (_input: unknown, caller: Caller) => {
    callers.push(caller);
    if (caller.idempotency?.key !== "again") return answer;
    return new Answered(JSON.stringify(answer), true);
  },
  suspendMarket: async ({ id }: { id: string }, caller: Caller) => {
    callers.push(caller);
    return { id, status: "suspended" };
  },
  getSuitability: async (_input: unknown, caller: Caller) => {
    callers.push(caller);
    return { completed: false };
  },
} as unknown as Handlers;

const { server } = serverOfTests(handlers);
let authorization: string;
beforeAll(async () => {
  authorization = `Bearer ${await userToken()}`;
});
beforeEach(() => {
  callers.length = 0;
});

const body = '{"answers": {"a": 3}}';
const submit = (key: string | undefined, { text = body, apiKey = PUBLIC_KEY, token = authorization } = {}) =>
  fetch(`${server.url}/v1/suitability`, {
    method: "POST",
    body: text,
    headers: {
      "content-type": "application/json",
      "x-api-key": apiKey,
      authorization: token,
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
  });

describe("Idempotency-Key", () => {
  test("reaches the handler with the hash of method, path and what the body says", async () => {
    expect((await submit("k 1")).status).toBe(200);
    expect(callers[0]?.idempotency).toEqual({
      caller: "public:web:usr_1",
      key: "k 1",
      requestHash: sha256(`POST\n/v1/suitability\n{"answers":{"a":3}}`),
    });
  });

  test("is scoped to the caller, and another request has another hash", async () => {
    const other = `Bearer ${await userToken({ sub: "usr_2" })}`;
    await submit("k");
    await submit("k", { token: other });
    await submit("k", { apiKey: ADMIN_KEY });
    await submit("k", { text: `${body} ` });
    await submit("k", { text: body.replace("3", "2") });
    expect(new Set(callers.map(({ idempotency }) => idempotency?.caller)).size).toBe(3);
    const hashes = callers.map(({ idempotency }) => idempotency?.requestHash);
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[0]).toBe(hashes[3]);
    expect(hashes[0]).not.toBe(hashes[4]);
  });

  test("differs by path, and works where there is no body", async () => {
    for (const id of ["m1", "m2"]) {
      const headers = { "x-api-key": ADMIN_KEY, "idempotency-key": "k" };
      await fetch(`${server.url}/v1/markets/${id}/suspend`, { method: "POST", headers });
    }
    expect(callers.map(({ idempotency }) => idempotency)).toEqual(
      ["m1", "m2"].map((id) => ({
        caller: "admin:ops:",
        key: "k",
        requestHash: sha256(`POST\n/v1/markets/${id}/suspend\n{"id":"${id}"}`),
      })),
    );
  });

  test.each([
    ["empty", ""],
    ["of 256 characters", "k".repeat(256)],
    ["with a tab", "a\tb"],
    ["of another script", Buffer.from("ключ").toString("latin1")],
  ])("%s is 400", async (_name, key) => {
    await expectRefusal(await submit(key), 400, "BAD_REQUEST");
    expect(callers).toEqual([]);
  });

  test("of 255 characters is fine, and none at all too", async () => {
    expect((await submit("k".repeat(255))).status).toBe(200);
    expect((await submit(undefined)).status).toBe(200);
    expect(callers[1]?.idempotency).toBeUndefined();
  });

  test("means nothing to an operation that changes nothing", async () => {
    const headers = { "x-api-key": PUBLIC_KEY, authorization, "idempotency-key": "" };
    expect((await fetch(`${server.url}/v1/suitability`, { headers })).status).toBe(200);
    expect(callers[0]?.idempotency).toBeUndefined();
  });

  test("a repeat gets the first answer, and is told so", async () => {
    const first = await submit("first");
    const again = await submit("again");
    expect(await again.text()).toBe(await first.text());
    expect([first.headers.get("idempotent-replayed"), again.headers.get("idempotent-replayed")]).toEqual([
      null,
      "true",
    ]);
  });
});
