import type { Operation } from "../contract/operation.ts";
import { type Api, type OperationId, operationIds, operations } from "../contract/operations.ts";
import {
  fingerprintOf,
  type Idempotency,
  inputText,
  keyHolder,
  type RelativeTimes,
  requestHash,
} from "../domain/access/idempotency.ts";
import { type Caller, decodeInput, type Handlers, invoke } from "../services/invoke.ts";
import { wireRequest } from "./http-request.ts";

/** An idempotency key of the command line. */
export interface LocalKey {
  key: string;
  /** The admin key that the command would show a server; undefined where the tenant file names none that is valid. */
  adminKey: string | undefined;
  relativeTimes?: RelativeTimes | undefined;
}

/**
 * The operations of a tenant in this process, on behalf of one caller. Inputs and results are the wire's, validated and
 * encoded by the same `invoke` that the server uses, so both doors answer alike.
 *
 * Every method rejects with the Fault that the server would answer with.
 *
 * @param repeatable the key under which changes are made once, whichever way their repeats take
 */
export function localApi(handlers: Handlers, caller: Caller, repeatable?: LocalKey): Api {
  const methods = operationIds.map((id) => [
    id,
    async (input: Record<string, unknown>, named?: string) => {
      const idempotency = repeatable && idempotencyOf(id, { input, named }, caller, repeatable);
      const { wire, seal } = await invoke(handlers, id, input, idempotency ? { ...caller, idempotency } : caller);
      if (seal) caller.onSealed?.(seal);
      return wire.value;
    },
  ]);
  return Object.fromEntries(methods) as Api;
}

/** The same as a server makes of the request that `httpApi` would send, so that each door knows the changes of the other. */
function idempotencyOf(
  id: OperationId,
  { input, named }: { input: Record<string, unknown>; named: string | undefined },
  { user, policyTtlMs }: Caller,
  { key, adminKey, relativeTimes }: LocalKey,
): Idempotency | undefined {
  const { writes, auth, optionalUser, temporary }: Operation = operations[id];
  if (!writes) return undefined;
  const { method, target, body = "" } = wireRequest(id, input);
  const actsForUser = auth === "user" || optionalUser === true;
  const { caller, onBehalfOf } = keyHolder(
    adminKey === undefined ? undefined : { type: "admin", name: adminKey },
    actsForUser ? user?.id : undefined,
  );
  return {
    caller,
    key,
    requestHash: requestHash(
      { method, target, onBehalfOf },
      named ?? fingerprintOf(body, relativeTimes) ?? inputText(decodeInput(id, input)),
      temporary ? policyTtlMs : undefined,
    ),
  };
}
