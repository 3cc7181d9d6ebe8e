import { z } from "zod";
import type { OperationScope } from "../domain/access/scopes.ts";
import type { FaultCode } from "../domain/fault.ts";

/** Who may call: anyone, a public key, a public key with a user, an admin key, or a signed provider. */
export type Auth = "none" | "public" | "user" | "admin" | "signature";

/** The groups under which the OpenAPI document lists operations. */
export const TAGS = {
  markets: "Markets and their prices.",
  trading: "Trades, positions and suitability of one user.",
  money: "Wallets, withdrawals and incoming payments.",
  identity: "Identity verification.",
  operations: "Reports, policy, audit and the oracle.",
};
export type Tag = keyof typeof TAGS;

/**
 * What an admin key needs for an operation: one scope for each operation for operators, and `read` for all of them that
 * only read. The other operations ask for none.
 */
type Access =
  | { auth: "admin"; method: "GET"; scope: "read" }
  | { auth: "admin"; method: "POST" | "PUT" | "DELETE"; scope: OperationScope }
  | {
      auth: Exclude<Auth, "admin">;
      method: "GET" | "POST" | "PUT" | "DELETE";
      scope?: never;
      /** What an admin key needs that does this for a user. */
      onBehalf?: OperationScope;
    };

interface Row<Input extends z.ZodObject, Output extends z.ZodType> {
  /** `:name` segments are taken from the input by name; the rest of the input is the query (GET) or the body. */
  path: string;
  summary: string;
  input: Input;
  output: Output;
  /** What this operation refuses beyond what its access and method imply, in the order in which it looks. */
  refusals: readonly FaultCode[];
  tag: Tag;
  /** The body stays a bare array; the next cursor travels in `Next-Cursor` and `Link`. */
  paged?: true;
  /** Not in the specification that pmctl implements: an addition of its own. */
  extension?: true;
  /** A user token is welcome and not needed; one that is sent must be valid. */
  optionalUser?: true;
  /** `?format=csv` asks for the page as a table. */
  csv?: true;
  /** Answers with an `ETag`; a change honours `If-Match`. */
  tagged?: true;
  /** `Policy-Ttl` makes the change one that ends by itself. */
  temporary?: true;
  /** Its answers count as trades in the metrics. */
  trades?: true;
  /** Tells how the service is: while `ok` is false, the same body comes with status 503. */
  health?: true;
  /** `Audit-Verified-At` says when the chain that it answers about was last verified from its first entry on. */
  verifies?: true;
  /** Credentials that it may change, besides those that its scope names: a server reads what it remembers of them afresh. */
  changes?: "keys" | "sessions";
  /** Takes this provider's own events, signed in the provider's own way. */
  provider?: "stripe";
  /** Takes a larger body than the usual 64 KiB. */
  bodyLimitBytes?: number;
  /** Changes something, so it takes an `Idempotency-Key`. */
  writes?: true;
}

/** One row of the wire: everything that routes, validation, OpenAPI, clients and conformance tests need to know. */
export type Operation<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodType = z.ZodType> = Row<
  Input,
  Output
> &
  Access;

type Untagged = Omit<Row<z.ZodObject, z.ZodType>, "tag">;

export const NoInput = z.object({});

/**
 * Returns what makes the rows of a resource: each stands under its tag, and keeps its literal types, so that the `Api`
 * type knows which operations are paged.
 */
export function operationsUnder<const Of extends Tag>(tag: Of) {
  return {
    operation: <const Row extends Untagged & Access>(row: Row) => ({ ...row, tag }),
    /** Something that operators read. */
    operatorRead: <const Row extends Untagged>(row: Row) =>
      ({ ...row, method: "GET", auth: "admin", scope: "read", tag }) as const,
  };
}
