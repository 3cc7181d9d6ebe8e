import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operations.ts";
import type { RunningServer } from "../../src/server/server.ts";
import type { Caller, Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, allHandlers, EXPIRED_KEY, PUBLIC_KEY, requestOf, serve, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const { backend, server } = serverOfTests(allHandlers());
const calls: { id: string; caller: Caller }[] = [];

async function send(operation: Operation, headers: Record<string, string>): Promise<Response> {
  const { path, init } = requestOf(operation);
  return fetch(server.url + path, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } });
}

/** Past all refusals of identity: the handler was reached, or the input was looked at. */
async function expectAdmitted(response: Response): Promise<void> {
  // The server answers these by itself: there is no handler that could fail.
  if (response.url.endsWith("/v1/session")) return expect(response.status).toBe(200);
  expect([400, 500]).toContain(response.status);
  expect(["BAD_REQUEST", "INTERNAL"]).toContain(response.headers.get("error-code"));
  await response.body?.cancel();
}

const rows = Object.entries(operations as Record<string, Operation>);

describe.each(rows.filter(([, { auth }]) => auth !== "none" && auth !== "signature"))("%s", (_id, operation) => {
  test.each([
    ["no key", {}],
    ["an empty key", { "x-api-key": "" }],
    ["an unknown key", { "x-api-key": "sk_admin_other" }],
    ["an expired key", { "x-api-key": EXPIRED_KEY }],
    ["a key with something appended", { "x-api-key": `${ADMIN_KEY}x` }],
    ["the key as a bearer token", { authorization: `Bearer ${ADMIN_KEY}` }],
    ["two keys", { "x-api-key": `${ADMIN_KEY}, ${ADMIN_KEY}` }],
    ["a name that every object has", { "x-api-key": "__proto__" }],
  ])("with %s is 401 KEY_INVALID", async (_name, headers) => {
    await expectRefusal(await send(operation, headers), 401, "KEY_INVALID");
  });

  if (operation.auth === "admin") {
    test("with a public key is 403, a user's token or not", async () => {
      const authorization = `Bearer ${await userToken()}`;
      await expectRefusal(await send(operation, { "x-api-key": PUBLIC_KEY }), 403, "FORBIDDEN");
      await expectRefusal(await send(operation, { "x-api-key": PUBLIC_KEY, authorization }), 403, "FORBIDDEN");
    });
    test("with an admin key is admitted", async () => {
      await expectAdmitted(await send(operation, { "x-api-key": ADMIN_KEY }));
    });
  }

  if (operation.auth === "public") {
    test.each([PUBLIC_KEY, ADMIN_KEY])("with %s is admitted", async (key) => {
      await expectAdmitted(await send(operation, { "x-api-key": key }));
    });
  }

  if (operation.auth === "user") {
    test.each([PUBLIC_KEY, ADMIN_KEY])("with %s needs a user too", async (key) => {
      const authorization = `bearer ${await userToken()}`;
      await expectRefusal(await send(operation, { "x-api-key": key }), 401, "USER_REQUIRED");
      await expectRefusal(await send(operation, { "x-api-key": key, authorization: "Bearer x" }), 401, "USER_REQUIRED");
      await expectRefusal(await send(operation, { authorization }), 401, "KEY_INVALID");
      await expectAdmitted(await send(operation, { "x-api-key": key, authorization }));
    });
  }
});

test("operations without authentication need no key", async () => {
  for (const [, operation] of rows.filter(([, { auth }]) => auth === "none"))
    await expectAdmitted(await send(operation, {}));
});

describe("who the caller is", () => {
  let answering: RunningServer;
  beforeAll(async () => {
    const record = (id: string) => async (_input: unknown, caller: Caller) => {
      calls.push({ id, caller });
      return id === "listPositions" ? [] : { items: [], nextCursor: null };
    };
    const handlers = {
      listPositions: record("listPositions"),
      listMarkets: record("listMarkets"),
      reconcile: async (_input: unknown, caller: Caller) => {
        calls.push({ id: "reconcile", caller });
        return { ok: true, discrepancy: 0n, checkedAt: 0, verifiedAt: 0 };
      },
    } as unknown as Handlers;
    answering = await serve(backend, handlers);
  });
  afterAll(() => answering.close());

  async function callerOf(path: string, init: RequestInit): Promise<Caller> {
    const response = await fetch(answering.url + path, init);
    expect(response.status).toBe(200);
    const call = calls.pop();
    if (!call) throw new Error("The handler was not reached");
    // What the server listens for is not what is told of the caller.
    const { onSealed: _, onVerified: __, ...caller } = call.caller;
    return caller;
  }

  test("a user acts as itself behind a public key, and brings its jurisdiction", async () => {
    const authorization = `Bearer ${await userToken({ sub: "usr_7", jurisdiction: "us-ny" })}`;
    const caller = await callerOf("/v1/positions", {
      headers: { "x-api-key": PUBLIC_KEY, authorization, "audit-reason": "only for admins" },
    });
    expect(caller).toEqual({ actor: "user:usr_7", user: { id: "usr_7", jurisdiction: "US-NY" } });
  });

  test("an operator that acts for a user is the actor, with its reason", async () => {
    const authorization = `Bearer ${await userToken({ sub: "usr_7" })}`;
    const caller = await callerOf("/v1/positions", {
      headers: { "x-api-key": ADMIN_KEY, authorization, "audit-reason": "by phone" },
    });
    expect(caller).toMatchObject({ actor: "admin:ops", reason: "by phone", user: { id: "usr_7" } });
  });

  test("an admin acts under its key's name, with its reason", async () => {
    const init = { method: "POST", headers: { "x-api-key": ADMIN_KEY, "audit-reason": "quarter end" } };
    expect(await callerOf("/v1/reconcile", init)).toEqual({
      actor: "admin:ops",
      scopes: ["*"],
      reason: "quarter end",
      origin: {
        address: "127.0.0.1",
        keyName: "ops",
        fingerprint: expect.stringMatching(/^fp:[0-9a-f]{8}$/),
        route: "/v1/reconcile",
      },
    });
  });

  test("a reason may be written in any script", async () => {
    const reason = Buffer.from("Prüfung 検査").toString("latin1");
    const init = { method: "POST", headers: { "x-api-key": ADMIN_KEY, "audit-reason": reason } };
    expect((await callerOf("/v1/reconcile", init)).reason).toBe("Prüfung 検査");
  });

  test.each([
    ["too long", "x".repeat(501)],
    ["with a control character", "a\tb"],
    ["with an escape", "a\u0085b"],
  ])("a reason that is %s is 400", async (_name, reason) => {
    const init = { method: "POST", headers: { "x-api-key": ADMIN_KEY, "audit-reason": reason } };
    await expectRefusal(await fetch(`${answering.url}/v1/reconcile`, init), 400, "BAD_REQUEST");
  });

  test("a public call is anonymous behind its key", async () => {
    expect(await callerOf("/v1/markets", { headers: { "x-api-key": PUBLIC_KEY } })).toEqual({ actor: "public:web" });
  });
});
