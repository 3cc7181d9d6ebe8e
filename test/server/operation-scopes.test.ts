import { beforeAll, describe, expect, test } from "vitest";
import { httpApi } from "../../src/client/http-api.ts";
import { localApi } from "../../src/client/local-api.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { type OperationId, operationIds, operations } from "../../src/contract/operations.ts";
import { coversScopes, SCOPES, type Scope } from "../../src/domain/access/scopes.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { allHandlers, insertKey, PUBLIC_KEY, requestOf, userToken } from "./support/harness.ts";

const { backend, server } = serverOfTests(allHandlers());
let token: string;
const keyOf = (scope: Scope) => `sk_only_${scope === "*" ? "all" : scope}`;
beforeAll(async () => {
  for (const scope of SCOPES)
    await insertKey(backend.sql, keyOf(scope), keyOf(scope).replace("sk_", ""), "admin", null, { scopes: [scope] });
  token = await userToken();
});

const rows = operationIds.map((id): [OperationId, Operation] => [id, operations[id]]);

async function ask(operation: Operation, key: string): Promise<{ status: number; code: string | null; error: string }> {
  const { path, init } = requestOf(operation);
  const headers = { ...(init.headers as Record<string, string>), "x-api-key": key };
  const response = await fetch(server.url + path, {
    ...init,
    headers: operation.auth === "user" ? { ...headers, authorization: `Bearer ${token}` } : headers,
  });
  const { error = "" } = (await response.json()) as { error?: string };
  return { status: response.status, code: response.headers.get("error-code"), error };
}

/** Past every refusal of who asks: the handler was reached, or the input was looked at. */
const isAdmitted = ({ status, code }: { status: number; code: string | null }) =>
  status === 200 || code === "BAD_REQUEST" || code === "INTERNAL";

describe.each(rows)("%s", (id, operation) => {
  test("over HTTP: open to the admin keys that have its scope, and to no other", async () => {
    const answers = await Promise.all(
      SCOPES.map(async (scope) => ({ scope, answer: await ask(operation, keyOf(scope)) })),
    );
    const asked = "onBehalf" in operation ? operation.onBehalf : operation.scope;
    for (const { scope, answer } of answers) {
      if (asked === undefined || coversScopes([scope], [asked])) {
        expect({ scope, code: answer.code }).not.toMatchObject({ code: "SCOPE_REQUIRED" });
        if (operation.auth !== "signature") expect([scope, answer, isAdmitted(answer)]).toEqual([scope, answer, true]);
      } else {
        expect({ scope, ...answer }).toEqual({
          scope,
          status: 403,
          code: "SCOPE_REQUIRED",
          error: `This needs the scope ${asked}: the key in use lacks it`,
        });
      }
    }
  });

  test("straight to the database: no scope is asked for", async () => {
    const api = localApi(allHandlers(), { actor: "cli:test", user: { id: "usr_1" } });
    const call = api[id] as (input: unknown) => Promise<unknown>;
    const refusal = await call({}).then(
      () => undefined,
      (error: { code?: string }) => error.code,
    );
    expect(refusal).not.toBe("SCOPE_REQUIRED");
  });
});

describe("the order of refusals", () => {
  test("an unknown key, then the wrong kind of key, then the scope, then the shape", async () => {
    const code = async (key: string) => (await ask(operations.settleMarket, key)).code;
    expect(await code("sk_unknown")).toBe("KEY_INVALID");
    expect(await code(PUBLIC_KEY)).toBe("FORBIDDEN");
    expect(await code(keyOf("read"))).toBe("SCOPE_REQUIRED");
    expect(await code(keyOf("settle"))).toBe("BAD_REQUEST");
  });

  test("HEAD is refused as GET is", async () => {
    const headers = { "x-api-key": keyOf("settle") };
    const { status } = await fetch(`${server.url}/v1/audit`, { method: "HEAD", headers });
    expect(status).toBe(403);
  });
});

test("the OpenAPI document states the scope of each admin operation, and of no other", async () => {
  const response = await fetch(`${server.url}/openapi.json`);
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Record<string, unknown>>> };
  const described = Object.values(paths).flatMap((methods) => Object.values(methods));
  const stated = Object.fromEntries(
    described.flatMap((each) => ("x-scope" in each ? [[each.operationId, each["x-scope"]]] : [])),
  );
  expect(stated).toEqual(Object.fromEntries(rows.flatMap(([id, { scope }]) => (scope ? [[id, scope]] : []))));
});

test("the command line's client ends with 4", async () => {
  const api = httpApi({ url: server.url, apiKey: keyOf("read"), fetch });
  await expect(api.settleMarket({ marketId: "m", outcome: "yes" })).rejects.toMatchObject({
    code: "SCOPE_REQUIRED",
    exitCode: 4,
    message: expect.stringContaining("settle"),
  });
});
