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
 * The scope that an admin key needs for an operation. `read` covers reads, `config:read` the reads that plans are made
 * from, and each group of changes has a scope of its own. Operations for other callers need none.
 */
type Access =
  | { auth: "admin"; method: "GET"; scope: "read" | "config:read" }
  | { auth: "admin"; method: "POST" | "PUT" | "DELETE"; scope: OperationScope }
  | {
      auth: Exclude<Auth, "admin">;
      method: "GET" | "POST" | "PUT" | "DELETE";
      scope?: never;
      /** The scope that an admin key needs to call the operation on behalf of a user. */
      onBehalf?: OperationScope;
    };

interface Row<Input extends z.ZodObject, Output extends z.ZodType> {
  /** A `:name` segment carries the input field of that name; the other fields are the query (GET, `inQuery`) or the body. */
  path: string;
  summary: string;
  input: Input;
  output: Output;
  /** The errors beyond those that follow from access and method, in the order of their checks. */
  refusals: readonly FaultCode[];
  tag: Tag;
  /** The body is a bare array; the cursor of the next page travels in `Next-Cursor` and `Link`. */
  paged?: true;
  /** An addition to the specification that pmctl implements. */
  extension?: true;
  /** A user token is optional; one that is sent must be valid. */
  optionalUser?: true;
  /** `?format=csv` returns the page as a table. */
  csv?: true;
  /** With `Accept: application/x-ndjson`, returns every item that its filters select, one line of JSON each. */
  lines?: true;
  /** Answers with an `ETag`; a change honours `If-Match`. */
  tagged?: true;
  /** With `Policy-Ttl` the change ends by itself. */
  temporary?: true;
  /** Its answers count as trades in the metrics. */
  trades?: true;
  /** An unknown field that resembles a known one is refused: the caller relies on it, as on a bound of a price. */
  bounded?: true;
  /** Reports health: while `ok` is false, the same body comes with status 503. */
  health?: true;
  /** `Audit-Verified-At` or `Ledger-Verified-At` says when its subject was last verified from the first entry. */
  verifies?: "audit" | "ledger";
  /** The fields of a request that changes something are in its query, and it has no body. */
  inQuery?: true;
  /**
   * Credentials that the operation may change beyond those that its scope implies: the server rereads its copy of them.
   */
  changes?: "keys" | "sessions";
  /** Accepts this provider's own events, signed with the provider's own scheme. */
  provider?: "stripe";
  /** Accepts a body larger than the usual 64 KiB. */
  bodyLimitBytes?: number;
  /** Changes something, so it accepts an `Idempotency-Key`. */
  writes?: true;
}

/** One row of the wire: everything that routes, validation, OpenAPI, clients and conformance tests need to know. */
export type Operation<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodType = z.ZodType> = Row<
  Input,
  Output
> &
  Access;

/** Whether an operation reads what everyone may know. Its answers carry an `ETag`, and 304 says that a client's copy is current. */
export function isPublicRead({ method, auth }: Pick<Operation, "method" | "auth">): boolean {
  return method === "GET" && auth === "public";
}

export const NoInput = z.object({});

/** The fields that the row of a read may omit. */
const USUAL_READ = { input: NoInput, refusals: [] } as const;

type Stated = Omit<Row<z.ZodObject, z.ZodType>, "tag" | "input"> & { input?: z.ZodObject };
type StatedRead = Omit<Stated, "refusals"> & Partial<Pick<Stated, "refusals">>;
type OtherMethod = { method?: "PUT" | "DELETE" };

/**
 * Functions that make the rows of a resource. Each row gets the tag and keeps its literal types, so that the `Api` type
 * knows which operations are paged.
 * @param common the fields that all rows of the resource share
 */
export function operationsUnder<const Of extends Tag>(tag: Of, common: { extension?: true } = {}) {
  const made = <const Fixed extends object, const Given extends object>(fixed: Fixed, row: Given) =>
    ({ ...USUAL_READ, ...common, ...fixed, ...row, tag }) as Omit<typeof USUAL_READ & Fixed, keyof Given> &
      Given & { tag: Of };
  return {
    operation: <const Given extends Stated & Access>(row: Given) => made({}, row),
    publicRead: <const Given extends StatedRead>(row: Given) => made({ method: "GET", auth: "public" }, row),
    userRead: <const Given extends StatedRead>(row: Given) => made({ method: "GET", auth: "user" }, row),
    /** A read for operators. */
    operatorRead: <const Given extends StatedRead>(row: Given) =>
      made({ method: "GET", auth: "admin", scope: "read" }, row),
    /** A read that plans are made from. */
    configRead: <const Given extends StatedRead>(row: Given) =>
      made({ method: "GET", auth: "admin", scope: "config:read" }, row),
    /** A change that a user makes, or an operator with the scope `onBehalf` for a user. */
    userChange: <const Given extends Stated & { onBehalf?: OperationScope }>(row: Given) =>
      made({ method: "POST", auth: "user", writes: true }, row),
    operatorChange: <const Scope extends OperationScope, const Given extends Stated & OtherMethod>(
      scope: Scope,
      row: Given,
    ) => made({ method: "POST", auth: "admin", scope, writes: true }, row),
    /** A webhook that a provider sends. */
    signed: <const Given extends Stated>(row: Given) => made({ method: "POST", auth: "signature" }, row),
  };
}
