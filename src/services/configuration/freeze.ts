import type { Input, Result } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type FreezeInForce, readFreeze } from "../../ledger/standing.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";

/** Refusing applies for a while. */
export function freezeHandlers(context: ServiceContext) {
  const { tenantId: tenant, pool, isSealed } = context;
  return {
    getFreeze: async () => ({ tenant, ...freezeView(await pool.snapshot((sql) => readFreeze(sql, isSealed))) }),
    freezeConfig: (input, caller) => freeze(context, input, caller),
    unfreezeConfig: (_, caller) =>
      submit(context, "unfreezeConfig", { type: "unfreezeConfig" }, caller, () => ({ tenant, ...freezeView(null) })),
  } satisfies Handlers;
}

/** What is told of a freeze; nulls without one. */
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
