import { type Api, operationIds } from "../contract/operations.ts";
import { type Caller, type Handlers, invoke } from "../services/invoke.ts";

/**
 * The operations of a tenant in this process, on behalf of one caller. Inputs and results are the wire's, validated and
 * encoded by the same `invoke` that the server uses, so both doors answer alike.
 *
 * Every method rejects with the Fault that the server would answer with.
 */
export function localApi(handlers: Handlers, caller: Caller): Api {
  const methods = operationIds.map((id) => [
    id,
    async (input: unknown) => {
      const { wire, seal } = await invoke(handlers, id, input, caller);
      if (seal) caller.onSealed?.(seal);
      return wire.value;
    },
  ]);
  return Object.fromEntries(methods) as Api;
}
