import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { WireResult } from "../../src/contract/operations.ts";
import type { Scope } from "../../src/domain/access/scopes.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant({ policy: { maxTradeUsd: 500 } });
  const document = canonicalJson({ approvals: { loosen: { approvals: 2 }, key: { approvals: 2 } } });
  const money = { liquidityMicro: 1_000_000_000n, capitalMicro: 100_000_000_000n };
  const stated = { policy: {}, kycRequired: false, keys: [], ...money };
  const record = { document, documentSha256: "1".repeat(64), gitCommit: undefined };
  const command = { type: "applyConfig", ...stated, ...record } as const;
  await tenant.services.sequencer.submit({ command, actor: "cli:setup" });
});
afterAll(() => tenant.close());

const as = (name: string, scopes?: Scope[], policyTtlMs?: number) =>
  localApi(tenant.services.handlers, { actor: `admin:${name}`, scopes, policyTtlMs });
const idOf = (answer: unknown) => (answer as WireResult<"getProposal">).proposalId;

test("a temporary change of the policy stays temporary when others have agreed to it", async () => {
  const proposed = await as("ops", undefined, 3_600_000).updatePolicy({ maxTradeUsd: 5000 });
  expect(await as("eve").getProposal({ id: idOf(proposed) })).toMatchObject({ request: { policyTtlMs: 3_600_000 } });
  expect(await as("eve").approveProposal({ id: idOf(proposed) })).toMatchObject({ status: "executed" });
  const [row] = await tenant.sql`select policy, overrides from tenant`;
  expect(JSON.stringify(row?.policy)).toContain("500");
  expect(JSON.stringify(row?.overrides)).toContain("5000");
  expect(await tenant.faults()).toEqual([]);
});

test("an actor that lacks a key's scopes by then is not told its value", async () => {
  const proposed = await as("ops").createKey({ name: "helper", type: "admin", scopes: ["*"] });
  await as("eve").approveProposal({ id: idOf(proposed) });
  await expect(as("ops", ["read", "keys"]).executeProposal({ id: idOf(proposed) })).rejects.toMatchObject({
    code: "SCOPE_REQUIRED",
  });
  const executed = await as("ops", ["*"]).executeProposal({ id: idOf(proposed) });
  expect(executed).toMatchObject({ status: "executed", result: { key: expect.stringContaining("sk_") } });
  expect(await tenant.faults()).toEqual([]);
});
