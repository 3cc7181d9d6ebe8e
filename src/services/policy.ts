import type { Input, Result } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import type { Policy } from "../domain/policy.ts";
import { SINGLE } from "../engine/rows.ts";
import type { Sql } from "../store/connect.ts";
import { loadRows } from "../store/load.ts";
import { type ServiceContext, submit } from "./context.ts";
import { isReachable } from "./guarded-fetch.ts";
import { type Caller, type Handlers, Replayed, Tagged } from "./invoke.ts";

export function policyHandlers(context: ServiceContext) {
  return {
    getPolicy: () => readPolicy(context.read),
    updatePolicy: (patch, caller) => updatePolicy(context, patch, caller),
  } satisfies Handlers;
}

/** The policy in force, as the database has it now, with its version. */
export async function readPolicy(sql: Sql): Promise<Tagged<Policy>> {
  const [loaded] = await loadRows(sql, [{ table: "tenant", key: SINGLE }]);
  if (!loaded?.row || !("policy" in loaded.row)) throw new Fault("REFUSED", "The tenant has not been applied yet");
  return new Tagged(loaded.row.policy, String(loaded.row.version));
}

async function updatePolicy(context: ServiceContext, patch: Input<"updatePolicy">, caller: Caller) {
  const { resolution_url: url } = patch;
  if (url && !isReachable(url, context.oracle.allowPrivate))
    throw new Fault("BAD_REQUEST", "resolution_url: must be an https URL without credentials");
  let tag = "";
  // A tag of another shape names no version, and so matches none.
  const ifVersion = caller.ifMatch?.map((text) => (/^\d{1,15}$/.test(text) ? Number(text) : -1));
  const result = await submit(
    context,
    "updatePolicy",
    { type: "updatePolicy", patch, ifVersion },
    caller,
    ({ policy, updatedAt, version }): Result<"updatePolicy"> => {
      tag = String(version);
      return { ...policy, updatedAt };
    },
  );
  return result instanceof Replayed ? result : new Tagged(result, tag);
}
