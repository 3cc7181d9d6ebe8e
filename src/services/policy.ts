import { Fault } from "../domain/fault.ts";
import type { Policy } from "../domain/policy.ts";
import { SINGLE } from "../engine/rows.ts";
import type { Sql } from "../store/connect.ts";
import { loadRows } from "../store/load.ts";
import { type ServiceContext, submit } from "./context.ts";
import type { Handlers } from "./invoke.ts";

export function policyHandlers(context: ServiceContext) {
  return {
    getPolicy: () => readPolicy(context.read),
    updatePolicy: (patch, caller) =>
      submit(context, "updatePolicy", { type: "updatePolicy", patch }, caller, ({ policy, updatedAt }) => ({
        ...policy,
        updatedAt,
      })),
  } satisfies Handlers;
}

/** The policy in force, as the database has it now. */
export async function readPolicy(sql: Sql): Promise<Policy> {
  const [loaded] = await loadRows(sql, [{ table: "tenant", key: SINGLE }]);
  if (!loaded?.row || !("policy" in loaded.row)) throw new Fault("REFUSED", "The tenant has not been applied yet");
  return loaded.row.policy;
}
