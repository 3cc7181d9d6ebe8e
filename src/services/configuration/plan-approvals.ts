import { createHash } from "node:crypto";
import type { Input } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Caller } from "../invoke.ts";
import { requestText } from "../proposals/governed.ts";

/** Agrees to what an apply would do: the same input, from any caller. */
export function approvePlan(context: ServiceContext, input: Input<"approvePlan">, caller: Caller) {
  if (input.tenant !== context.tenantId)
    throw new Fault("REFUSED", `This server's tenant is ${context.tenantId}, not ${input.tenant}`);
  const sha256 = inputSha256(input);
  return submit(context, "approvePlan", { type: "approvePlan", sha256, by: caller.actor }, caller, (approvals) => ({
    sha256,
    approvals: approvals.map(({ actor: by, at }) => ({ by, at })),
  }));
}

/** What an apply would do, as one hash that the server computes of what is sent. The commit of the files does nothing, and a freeze is a matter of its own. */
export function inputSha256(input: Input<"applyConfig">): string {
  return createHash("sha256")
    .update(requestText("applyConfig", { ...input, gitCommit: null, breakFreeze: false }))
    .digest("hex");
}
