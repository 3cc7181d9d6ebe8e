import type { Input, Result } from "../../contract/operations.ts";
import { type OutgoingRules, refusalOfAddress } from "../../domain/access/networks.ts";
import { Fault } from "../../domain/fault.ts";
import { type Policy, policyAt } from "../../domain/policy/policy.ts";
import type { Command } from "../../engine/commands.ts";
import { SINGLE } from "../../engine/rows.ts";
import { loadRows } from "../../ledger/load.ts";
import { type FreezeInForce, readFreeze } from "../../ledger/standing.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readClock } from "../../postgres/database-time.ts";
import { type ServiceContext, submit } from "../context.ts";
import { Answered, type Caller, type Handlers, Tagged } from "../invoke.ts";
import { prepared, submitGoverned } from "../proposals/governed.ts";

/** Reads and changes the policy. */
export function policyHandlers(context: ServiceContext) {
  return {
    getPolicy: () => context.pool.snapshot(readPolicy),
    updatePolicy: (patch, caller) => updatePolicy(context, patch, caller),
  } satisfies Handlers;
}

/** The current policy in the database, with its version. */
export async function readPolicy(sql: ReadSql): Promise<Tagged<Policy>> {
  const { policy, version } = await loadPolicy(sql);
  return new Tagged(policy, String(version));
}

/** The policy in force, and until when it stays unless a commit changes it. */
export async function loadPolicy(sql: ReadSql): Promise<{ policy: Policy; version: number; until: number }> {
  const [[loaded], now] = await Promise.all([loadRows(sql, [{ table: "tenant", key: SINGLE }]), readClock(sql)]);
  if (!loaded?.row || !("policy" in loaded.row)) throw new Fault("REFUSED", "The tenant has not been applied yet");
  const { version, overrides } = loaded.row;
  const until = Math.min(...overrides.map((override) => override.until).filter((end) => end > now));
  return { policy: policyAt(loaded.row, now), version, until };
}

/** Applies the same rule as the tenant file. */
export function checkOracleAddress(address: string | null | undefined, network: OutgoingRules): void {
  const refusal = address ? refusalOfAddress(new URL(address), network) : undefined;
  if (refusal === undefined) return;
  throw new Fault("BAD_REQUEST", `resolution_url: ${refusal}. After a change there restart the server first`);
}

async function updatePolicy(context: ServiceContext, patch: Input<"updatePolicy">, caller: Caller) {
  let tag = "";
  const change = preparedPolicy(context, patch, caller);
  const answer: typeof change.answer = (result) => {
    tag = String(result.version);
    return change.answer(result);
  };
  const result = await submitGoverned(context, "updatePolicy", patch, { ...change, answer }, caller);
  return result.replayed || tag === "" ? result : new Answered(result.text, false, tag);
}

export function preparedPolicy(context: ServiceContext, patch: Input<"updatePolicy">, caller: Caller) {
  checkOracleAddress(patch.resolution_url, context.oracle.network);
  // A tag of another format names no version, and so matches none.
  const ifVersion = caller.ifMatch?.map((text) => (/^\d{1,15}$/.test(text) ? Number(text) : -1));
  return prepared<"updatePolicy", Command<"updatePolicy">>({
    command: { type: "updatePolicy", patch, ifVersion, ttlMs: caller.policyTtlMs, heldScopes: caller.scopes },
    answer: ({ policy, updatedAt }) => ({ ...policy, updatedAt }),
  });
}

/** Blocks applies for a while. */
export function freezeHandlers(context: ServiceContext) {
  const { tenantId: tenant, pool, isSealed } = context;
  return {
    getFreeze: async () => ({ tenant, ...freezeView(await pool.snapshot((sql) => readFreeze(sql, isSealed))) }),
    freezeConfig: (input, caller) => freeze(context, input, caller),
    unfreezeConfig: (_, caller) =>
      submit(context, "unfreezeConfig", { type: "unfreezeConfig" }, caller, () => ({ tenant, ...freezeView(null) })),
  } satisfies Handlers;
}

/** A freeze in answers; its fields are null without one. */
export function freezeView(freeze: FreezeInForce | null): Omit<Result<"getFreeze">, "tenant"> {
  return { frozenUntil: freeze?.until ?? null, reason: freeze?.reason ?? null, by: freeze?.by ?? null };
}

function freeze(context: ServiceContext, { until, reason }: Input<"freezeConfig">, caller: Caller) {
  const words = reason ?? caller.reason;
  if (words === undefined || words.trim() === "") throw new Fault("BAD_REQUEST", "reason: is required");
  return submit(
    context,
    "freezeConfig",
    { type: "freezeConfig", until },
    { ...caller, reason: words },
    (frozen): Result<"freezeConfig"> => ({
      tenant: context.tenantId,
      ...freezeView({ until: frozen.until, reason: words, by: caller.actor }),
    }),
  );
}
