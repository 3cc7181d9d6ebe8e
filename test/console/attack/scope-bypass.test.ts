import { beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import type { Operation } from "../../../src/contract/operation.ts";
import { operationIds, operations } from "../../../src/contract/operations.ts";
import { OPERATION_SCOPES, type OperationScope } from "../../../src/domain/access/scopes.ts";
import { openHeld } from "../../embed/support/ends.ts";
import { CONSOLE, type ConsoleAnswer, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { ADMIN_KEY, requestOf } from "../../server/support/harness.ts";
import { sendRaw } from "./support/raw-request.ts";
import { written } from "./support/written.ts";

const tenant = tenantOfTests({ console: CONSOLE, resolution: { approvals: 2 } });
const admin = (name = "cli:test") => localApi(tenant.services.handlers, { actor: name });
/** Who has every scope but one. */
const lacking = {} as Record<OperationScope, ConsoleClient>;
const signedIn = async (name: string, scopes: readonly OperationScope[]) => {
  const { key } = await admin().createKey({ name, type: "admin", scopes: [...scopes] });
  const client = new ConsoleClient(tenant.server.opsUrl);
  expect((await client.signIn(key ?? "")).status).toBe(200);
  return client;
};
const codeOf = ({ status, headers }: ConsoleAnswer) => [status, headers.get("error-code")];
const REFUSED = [403, "SCOPE_REQUIRED"];

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  await openHeld(tenant, "mkt_1", "Will it rain?", "usr_1");
  for (const scope of OPERATION_SCOPES)
    lacking[scope] = await signedIn(
      `no-${scope.replace(":", "-")}`,
      // Who may read everything may read the configuration.
      OPERATION_SCOPES.filter((each) => each !== scope && (scope !== "config:read" || each !== "read")),
    );
});

describe("by hand-made requests", () => {
  const scoped = operationIds
    .map((id) => [id, operations[id] as Operation] as const)
    .filter(([, { auth }]) => auth === "admin");

  test("every operation that needs a scope refuses a session without it, whatever is sent, and writes nothing", async () => {
    const before = await written(tenant);
    expect(scoped.length).toBeGreaterThan(50);
    for (const [id, operation] of scoped) {
      const client = lacking[operation.scope as OperationScope];
      const { path, init } = requestOf(operation);
      const target = `/console/api${path}`;
      const body = operation.method === "GET" ? {} : { body: init.body };
      for (const headers of [
        {},
        // Other credentials and claims of more count for nothing.
        { "x-api-key": ADMIN_KEY, authorization: `Bearer ${ADMIN_KEY}`, "x-scopes": "*", "x-pmctl-scopes": "*" },
        { "content-type": "text/plain" },
      ]) {
        const answer = await client.send(operation.method, target, { ...body, headers });
        expect([id, ...codeOf(answer)]).toEqual([id, ...REFUSED]);
      }
    }
    expect(await written(tenant)).toEqual(before);
  });

  test("no other way to write an operation's path, and no other method, leads around its scope or its session", async () => {
    const before = await written(tenant);
    const paths = [
      ...["/console/api//v1/policy", "/console/api/v1//policy", "//console/api/v1/policy", "/console//api/v1/policy"],
      ...["/console/api/./v1/policy", "/console/api/v1/x/../policy", "/console/session/../api/v1/policy"],
      ...["/console/api/%2e%2e/api/v1/policy", "/console/api/v1/%2e/policy", "/console/assets/..%2fapi/v1/policy"],
      ...[
        "/console/api/v1/policy/",
        "/console/api/v1/policy;",
        "/console/api/v1/policy;x=1",
        "/console/api;/v1/policy",
      ],
      ...["/console/api/V1/policy", "/CONSOLE/api/v1/policy", "/console/%61pi/v1/policy", "/console/api%2fv1%2fpolicy"],
      ...[
        "/console/api/v1/%70olicy",
        "/console/api/v1/policy%00",
        "/console/api/v1/policy%20",
        "/console/api/v1/policy\\",
      ],
      ...["/console/api/v1/policy?", "/console/api/v1/policy?_method=PUT", "/console/api/v1/policy#x", "/v1/policy"],
      ...["/console\\api\\v1\\policy", "/t/acme/console/api/v1/policy", "/console/api/console/api/v1/policy"],
      `${tenant.server.opsUrl}/console/api/v1/policy`,
    ];
    const body = JSON.stringify({ feeBps: 321 });
    const stranger = new ConsoleClient(tenant.server.opsUrl);
    for (const path of paths) {
      for (const [client, refusals] of [
        [lacking.config, [403, 404, 400]],
        [stranger, [401, 403, 404, 400]],
      ] as const)
        for (const [method, headers] of [
          ["PUT", {}],
          ["POST", { "x-http-method-override": "PUT", "x-http-method": "PUT", "x-method-override": "PUT" }],
          ["PATCH", {}],
          ["put", {}],
        ] as const) {
          const { status } = await sendRaw(client, method, path, { body, headers });
          expect([path, method, refusals.some((each) => each === status)]).toEqual([path, method, true]);
        }
      // A stranger reads nothing; the page itself is no secret.
      const { status, text } = await sendRaw(stranger, "GET", path);
      expect([path, status === 200 ? text.startsWith("<!doctype html>") : status >= 400]).toEqual([path, true]);
    }
    const asGet = await sendRaw(lacking.config, "GET", "/console/api/v1/policy", {
      headers: { "x-http-method-override": "PUT", "content-type": "application/json" },
    });
    expect(asGet.status).toBe(200);
    expect(await written(tenant)).toEqual(before);
  });

  test("a proposal is decided with the scope of its work alone, and no key gives more than it has", async () => {
    const proposal = await admin("admin:second").settleMarket({ marketId: "mkt_1", outcome: "yes" });
    const { proposalId: id } = proposal as unknown as { proposalId: string };
    const before = await written(tenant);
    for (const [verb, body] of [
      ["approve", {}],
      ["execute", {}],
      ["reject", { reason: "no" }],
    ] as const)
      expect(codeOf(await lacking.settle.post(`/console/api/v1/proposals/${id}/${verb}`, body))).toEqual(REFUSED);
    expect(
      codeOf(
        await lacking.settle.post("/console/api/v1/keys", { name: "more", type: "admin", scopes: ["read", "settle"] }),
      ),
    ).toEqual(REFUSED);
    expect(codeOf(await lacking.settle.post("/console/api/v1/keys", { name: "more", type: "admin" }))).toEqual(REFUSED);
    expect(await written(tenant)).toEqual(before);
  });
});

describe("a key that changes while its session is open", () => {
  const put = (client: ConsoleClient) => client.send("PUT", "/console/api/v1/policy", { body: { feeBps: 111 } });

  test("that is revoked opens nothing more, in a request under way neither", async () => {
    const client = await signedIn("leaver", ["read", "config"]);
    expect((await put(client)).status).toBe(200);
    await admin().revokeKey({ name: "leaver", type: "admin" });
    const before = await written(tenant);
    const answers = await Promise.all(Array.from({ length: 10 }, () => put(client)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    const { console_session: _, audit: __, head: ___, ...rest } = before;
    expect(await written(tenant)).toMatchObject(rest);
  });

  test("that is replaced at once ends its session, and the new value does not inherit it", async () => {
    const client = await signedIn("turned", ["read", "config"]);
    const { key } = await admin().rotateKey({ name: "turned", type: "admin", overlapSeconds: 0 });
    expect((await put(client)).status).toBe(401);
    const renewed = new ConsoleClient(tenant.server.opsUrl);
    expect((await renewed.signIn(key ?? "")).status).toBe(200);
    expect((await put(renewed)).status).toBe(200);
    expect((await put(client)).status).toBe(401);
  });

  test("that is replaced with an overlap keeps its session until the overlap ends", async () => {
    const client = await signedIn("kept", ["read", "config"]);
    await admin().rotateKey({ name: "kept", type: "admin", overlapSeconds: 3600 });
    expect((await put(client)).status).toBe(200);
    await admin().revokeKey({ name: "kept", type: "admin" });
    expect((await put(client)).status).toBe(401);
  });

  test("that gets fewer scopes has them with the next request", async () => {
    const client = await signedIn("narrowed", ["read", "config"]);
    await admin().revokeKey({ name: "narrowed", type: "admin" });
    await admin().createKey({ name: "narrowed", type: "admin", scopes: ["read"] });
    // Another key of the same name is another key.
    expect((await put(client)).status).toBe(401);
  });
});
