import { compiledDecoder } from "../contract/compiled.ts";
import { misplacedField, mistakeIn, withoutNulls } from "../contract/decode.ts";
import { jsonSentence } from "../contract/issue-sentence.ts";
import type { Operation } from "../contract/operation.ts";
import {
  type Input,
  type OperationId,
  type Operations,
  operations,
  type Result,
  type WireResult,
} from "../contract/operations.ts";
import type { sessionOperations } from "../contract/resources/session.ts";
import type { Idempotency } from "../domain/access/idempotency.ts";
import type { Scope } from "../domain/access/scopes.ts";
import type { Origin } from "../domain/access/security.ts";
import type { Seal } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import type { Submission } from "../ledger/sequencer/batch.ts";
import { ConnectionLost, classify, StatementFailed } from "../postgres/connect.ts";
import { OutcomeUnknown } from "../postgres/pool.ts";
import { encodeResult, Wire } from "./answers.ts";

/** The caller of an operation. Server and client establish it; services trust it. */
export interface Caller {
  /** The actor in audit entries: `admin:ops`, `cli:alice`, `user:usr_1`, `provider:payments`. */
  actor: string;
  /** The trader, for operations that need one. */
  user?: { id: string; jurisdiction?: string | undefined } | undefined;
  /** The scopes of the request's admin key; undefined for callers without scopes. */
  scopes?: readonly Scope[] | undefined;
  /** The operator's reason for the audit entry. */
  reason?: string | undefined;
  /** The origin of the request, for the security log; undefined for calls within this process. */
  origin?: Origin | undefined;
  /** Called with the last audit entry of each commit made for the caller. */
  onSealed?: ((seal: Seal) => void) | undefined;
  /** Called with the time at which the chain or the ledger was last verified completely. */
  onVerified?: ((verifiedAt: number) => void) | undefined;
  /** Entity tags. A change is made only if one of them names the current version. */
  ifMatch?: readonly string[] | undefined;
  /** A webhook's raw body with its hash; undefined for other requests. */
  webhook?: { sha256: string; body: string } | undefined;
  /** How long a policy change lasts; permanently by default. */
  policyTtlMs?: number | undefined;
  /** For a caller of another server of the tenant, see `Submission`. */
  isCalledBack?: Submission["isCalledBack"];
  /** Present when the request carried an `Idempotency-Key`. `requestHash` covers method, path and body. */
  idempotency?: Idempotency | undefined;
}

/** An answer in its final text, created before the commit or stored by an earlier identical request. */
export class Answered {
  /** JSON. */
  readonly text: string;
  /** Whether this repeats the answer of an earlier request. */
  readonly replayed: boolean;
  /** The version in the answer if the operation is `tagged`. */
  readonly tag: string | undefined;

  constructor(text: string, replayed: boolean, tag?: string) {
    this.text = text;
    this.replayed = replayed;
    this.tag = tag;
  }
}

/** A result with its version, which a later change can require. */
export class Tagged<Value> {
  readonly value: Value;
  /** An entity tag without its quotes. */
  readonly tag: string;

  constructor(value: Value, tag: string) {
    this.value = value;
    this.tag = tag;
  }
}

export type Handler<Id extends OperationId> = (
  input: Input<Id>,
  caller: Caller,
) => Promise<Result<Id> | Answered | Tagged<Result<Id>>>;

/** One handler per served operation; operations without a handler answer 404. */
export type Handlers = { [Id in OperationId]?: Handler<Id> };

/** Webhooks in a provider's own format. Services know no providers: the server adds these handlers. */
type ProviderOperation = {
  [Id in OperationId]: Operations[Id] extends { provider: string } ? Id : never;
}[OperationId];
export type ProviderHandlers = { [Id in ProviderOperation]: Handler<Id> };

/** Handlers of all other operations, except those for the session cookie, which the HTTP server answers itself. */
export type AllHandlers = {
  [Id in Exclude<OperationId, keyof typeof sessionOperations | ProviderOperation>]: Handler<Id>;
};

export interface Invocation<Id extends OperationId> {
  wire: Wire<WireResult<Id>>;
  replayed: boolean;
  /** The version of the read or changed object if the operation is `tagged`. */
  tag?: string | undefined;
  /** The last audit entry that the operation wrote; undefined for a stored answer, whose entry belongs to the first request. */
  seal?: Seal | undefined;
  /** When the subject of the operation's `verifies` was last verified completely, in milliseconds. */
  verifiedAt?: number | undefined;
}

/**
 * Runs one operation: validates and decodes the input, calls the handler, encodes the result.
 * @throws Fault BAD_REQUEST naming the field, NOT_FOUND for an operation that is not served, or the handler's Fault
 */
export async function invoke<Id extends OperationId>(
  handlers: Handlers,
  id: Id,
  input: unknown,
  caller: Caller,
): Promise<Invocation<Id>> {
  if (!handlers[id]) throw new Fault("NOT_FOUND", "Not found");
  return perform(handlers, id, decodeInput(id, input), caller);
}

/**
 * Runs one operation on decoded input.
 * @throws Fault NOT_FOUND for an operation that is not served, or the handler's Fault
 */
export async function perform<Id extends OperationId>(
  handlers: Handlers,
  id: Id,
  input: Input<Id>,
  caller: Caller,
): Promise<Invocation<Id>> {
  const handler = handlers[id] as Handler<Id> | undefined;
  if (!handler) throw new Fault("NOT_FOUND", "Not found");
  let seal: Seal | undefined;
  let verifiedAt: number | undefined;
  const onSealed = (last: Seal) => {
    seal = last;
  };
  const onVerified = (at: number) => {
    verifiedAt = at;
  };
  const { method, auth } = operations[id];
  // Trader reads carry no audit headers, so nothing is collected for them.
  const observed = method === "GET" && auth !== "admin" ? caller : { ...caller, onSealed, onVerified };
  const result = await withDatabaseFaults(handler(input, observed));
  if (result instanceof Answered) {
    const { text, replayed, tag } = result;
    const wire = Wire.ofText<WireResult<Id>>(text);
    return replayed ? { wire, replayed } : { wire, replayed, tag, seal, verifiedAt };
  }
  if (result instanceof Tagged)
    return { wire: Wire.ofValue(encodeResult(id, result.value)), replayed: false, tag: result.tag, seal, verifiedAt };
  return { wire: encodeOnce(id, result), replayed: false, seal, verifiedAt };
}

/** The same work, with database failures converted to Faults. */
export function withDatabaseFaults<T>(work: Promise<T>): Promise<T> {
  return work.catch(throwDatabaseFault);
}

function throwDatabaseFault(error: unknown): never {
  throw databaseFault(error) ?? error;
}

/** The Fault for a database failure in a read, or in a write that bypasses the sequencer. */
function databaseFault(error: unknown): Fault | undefined {
  if (error instanceof OutcomeUnknown) {
    const message = "The connection to the database was lost: whether this took effect is not known";
    return new Fault("OUTCOME_UNKNOWN", message, { cause: error });
  }
  const failure = classify(error);
  if (failure instanceof ConnectionLost)
    return new Fault("DATABASE_UNAVAILABLE", "The database is not reachable", { cause: error });
  if (failure instanceof StatementFailed && failure.isAboutState)
    return new Fault("DATABASE_UNAVAILABLE", "The database is busy; try again", { cause: error });
  return undefined;
}

/** @throws Fault BAD_REQUEST naming the field */
export function decodeInput<Id extends OperationId>(id: Id, input: unknown): Input<Id> {
  const { input: schema, bounded, scope }: Operation = operations[id];
  const misplaced = bounded && misplacedField(schema, input);
  if (misplaced) throw new Fault("BAD_REQUEST", `${misplaced.field}: is unknown; did you mean ${misplaced.meant}?`);
  // Nulls stay in inputs about keys and configuration: there an absent field may mean all.
  const stated = scope === "keys" || scope === "config" ? input : withoutNulls(schema, input);
  const parsed = compiledDecoder(schema).safeParse(stated, { error: jsonSentence });
  if (parsed.success) return parsed.data as Input<Id>;
  throw new Fault("BAD_REQUEST", mistakeIn(schema, stated, parsed.error));
}

const encodedResults = new WeakMap<object, Wire<unknown>>();

/** Callers whose reads share a batch share the result, and so its wire form. */
function encodeOnce<Id extends OperationId>(id: Id, result: Result<Id>): Wire<WireResult<Id>> {
  const known = encodedResults.get(result);
  if (known) return known as Wire<WireResult<Id>>;
  const wire = Wire.ofValue(encodeResult(id, result));
  encodedResults.set(result, wire);
  return wire;
}
