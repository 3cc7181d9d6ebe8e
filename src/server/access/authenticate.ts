import { isUtf8 } from "node:buffer";
import { MAX_POLICY_TTL_SEC } from "../../contract/constants.ts";
import type { Operation } from "../../contract/operation.ts";
import { FINGERPRINT, inputText, keyHolder, requestHash } from "../../domain/access/idempotency.ts";
import { IDEMPOTENCY_KEY } from "../../domain/access/idempotency-key.ts";
import { isFrom } from "../../domain/access/networks.ts";
import { type OperationScope, requireScopes, type Scope } from "../../domain/access/scopes.ts";
import { Fault } from "../../domain/fault.ts";
import { unplainIn } from "../../domain/text.ts";
import type { ApiKey } from "../../engine/rows.ts";
import type { Caller } from "../../services/invoke.ts";
import type { ClientAddresses } from "../client-address.ts";
import type { Exchange } from "../exchange.ts";
import { originOf } from "../observe/security-watch.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import type { KeyRing } from "./key-ring.ts";
import type { KeyUse } from "./key-use.ts";
import type { Origins } from "./origins.ts";
import { tokenFromCookies } from "./session-cookie.ts";
import type { User, UserTokens } from "./user-tokens.ts";

export interface Identities {
  keys: KeyRing;
  addresses: ClientAddresses;
  tokens: UserTokens;
  /** Sessions that ended before their tokens expired; `tokens` refuses them. */
  ended: EndedSessions;
  origins: Origins;
  /** Records when each key was used. */
  uses?: KeyUse;
}

/** Who sent a request, by its credentials. */
export interface Identity {
  key?: ApiKey;
  user?: User;
}

/** The fields of an operation that decide who may call it. */
export type Authenticated = Pick<Operation, "auth" | "method" | "optionalUser" | "scope"> & {
  onBehalf?: OperationScope;
};

const MAX_REASON = 500;

/**
 * Checks the credentials that an operation needs, in this order: key, role, scope, user.
 * @returns without a promise if the keys are fresh and the user's token is known
 * @throws Fault KEY_INVALID, FORBIDDEN, SCOPE_REQUIRED, USER_REQUIRED or ORIGIN_FORBIDDEN
 */
export function authenticate(
  exchange: Exchange,
  operation: Authenticated,
  identities: Identities,
  { cookies = true } = {},
): Identity | Promise<Identity> {
  if (operation.auth === "none") return {};
  const refreshing = identities.keys.ready();
  const identify = (): Identity | Promise<Identity> => {
    const key = identifyKey(exchange, operation, identities);
    const user = identifyUser(exchange, operation, identities, cookies);
    if (user instanceof Promise) return user.then((known) => ({ key, user: known }));
    return user ? { key, user } : { key };
  };
  return refreshing ? refreshing.then(identify) : identify();
}

function identifyKey(exchange: Exchange, operation: Authenticated, identities: Identities): ApiKey {
  const key = findKey(exchange, identities);
  exchange.key = key;
  identities.uses?.note(key.hash);
  // An admin key may do whatever a public key may, so only a public key is refused here.
  if (operation.auth === "admin" && key.type !== "admin") throw new Fault("FORBIDDEN", "This needs an admin key");
  if (key.type === "admin") requireScopes(key.scopes, scopesFor(operation));
  return key;
}

/** The user named by the request; undefined if the request names no user and the operation needs none. */
function identifyUser(
  exchange: Exchange,
  { auth, method, optionalUser }: Authenticated,
  { tokens, origins }: Identities,
  cookies: boolean,
): User | Promise<User> | undefined {
  const authorization = exchange.header("authorization");
  const cookie = cookies && authorization === undefined ? tokenFromCookies(exchange.header("cookie")) : undefined;
  const named = optionalUser === true && (authorization !== undefined || cookie !== undefined);
  if (auth !== "user" && !named) return undefined;
  if (cookie === undefined) return tokens.verify(authorization);
  const fromCookie = async (): Promise<User> => {
    const user = await tokens.verify(`Bearer ${cookie}`);
    // A browser adds the cookie to requests of any page. A token in a header comes from a page that knows the token.
    if (method !== "GET") origins.require(exchange);
    return user;
  };
  return fromCookie();
}

/** The scope that an admin key needs: the operation's own, or the one for acting on behalf of a user. */
export function scopesFor({ auth, scope, onBehalf }: Authenticated): readonly Scope[] {
  if (auth === "admin") return [scope ?? "*"];
  return onBehalf === undefined ? [] : [onBehalf];
}

/**
 * The key of the request. A key used from outside its networks gets the same answer as an unknown key, so that a thief
 * does not learn where it works. Only the log learns the difference, from the `reason` in the error's detail.
 */
function findKey(exchange: Exchange, identities: Identities): ApiKey {
  return requireKey(exchange, exchange.header("x-api-key"), identities);
}

/** The key with this text. Call `keys.ready` first. @throws Fault KEY_INVALID */
export function requireKey(
  exchange: Exchange,
  text: string | undefined,
  { keys, addresses }: Pick<Identities, "keys" | "addresses">,
  message = "A valid x-api-key is required",
): ApiKey {
  const key = text === undefined ? undefined : keys.find(text);
  if (key && isInNetworks(exchange, key, addresses)) return key;
  const detail = key ? { reason: "network", keyName: key.name } : {};
  throw new Fault("KEY_INVALID", message, { detail });
}

/** Whether a request comes from where its key works. */
export function isInNetworks(exchange: Exchange, { from }: ApiKey, addresses: ClientAddresses): boolean {
  return (
    from.length === 0 ||
    exchange.isCommand ||
    isFrom(addresses.addressOf(exchange.req.socket.remoteAddress, exchange.header("x-forwarded-for")), from)
  );
}

/**
 * The admin key whose limit a request counts in; undefined if it counts in the limit of its address. A key found in the
 * current copy needs no refresh, since the lookup grants nothing: a valid key never waits for the database. Other keys
 * wait for a fresh copy, because the key may be new.
 */
export function adminKeyOf(
  exchange: Exchange,
  { keys, addresses }: Pick<Identities, "keys" | "addresses">,
): ApiKey | undefined | Promise<ApiKey | undefined> {
  const text = exchange.header("x-api-key");
  if (text === undefined) return undefined;
  const find = (): ApiKey | undefined => {
    const key = keys.find(text);
    return key?.type === "admin" && isInNetworks(exchange, key, addresses) ? key : undefined;
  };
  const refreshing = keys.find(text) ? undefined : keys.ready();
  return refreshing ? refreshing.then(find, () => undefined) : find();
}

/**
 * The caller as services and the audit trail know it.
 * @throws Fault BAD_REQUEST for an unusable `Audit-Reason` or `Policy-Ttl`
 */
export function callerOf(exchange: Exchange, operation: Operation, { key, user }: Identity): Caller {
  // The audit trail names the operator who acted, not the user acted for.
  const isOperator = key?.type === "admin";
  const actor = user && !isOperator ? `user:${user.id}` : key ? `${key.type}:${key.name}` : "anonymous";
  const caller: Caller = { actor };
  if (user) caller.user = user;
  if (isOperator) caller.scopes = key.scopes;
  if (isOperator) caller.reason = readReason(exchange.header("audit-reason"));
  if (isOperator) caller.origin = originOf(exchange);
  if (operation.tagged && operation.method !== "GET") caller.ifMatch = readTags(exchange.header("if-match"));
  if (operation.temporary) caller.policyTtlMs = readTtl(exchange.header("policy-ttl"));
  return caller;
}

/**
 * The caller, with its idempotency key if the request has one.
 * @param input the decoded input
 * @throws Fault BAD_REQUEST for an unusable `Idempotency-Key` or `Idempotency-Fingerprint`
 */
export function repeatableCaller(
  exchange: Exchange,
  operation: Operation,
  { key, user }: Identity,
  caller: Caller,
  input: object,
): Caller {
  const idempotencyKey = operation.writes ? exchange.header("idempotency-key") : undefined;
  if (idempotencyKey === undefined) return caller;
  if (!IDEMPOTENCY_KEY.test(idempotencyKey))
    throw new Fault("BAD_REQUEST", "Idempotency-Key must be 1 to 255 printable characters");
  const holder = keyHolder(key, user?.id);
  const target = `${exchange.pathname}${operation.inQuery ? exchange.search : ""}`;
  const named = readFingerprint(exchange.header("idempotency-fingerprint")) ?? inputText(input);
  const line = { method: operation.method, target, onBehalfOf: holder.onBehalfOf };
  const idempotency = {
    caller: holder.caller,
    key: idempotencyKey,
    requestHash: requestHash(line, named, caller.policyTtlMs),
  };
  return { ...caller, idempotency };
}

function readFingerprint(header: string | undefined): string | undefined {
  if (header === undefined || FINGERPRINT.test(header)) return header;
  throw new Fault("BAD_REQUEST", "Idempotency-Fingerprint must be a SHA-256 in lower-case hex");
}

/** The strong tags of `If-Match` (RFC 9110, 13.1.1). Undefined without a condition: no header, or `*`. */
function readTags(header: string | undefined): string[] | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  // A weak tag (W/"…") never matches here, so it is omitted; an empty list matches nothing.
  return header.split(",").flatMap((tag) => /^\s*"([\x21\x23-\x7e]*)"\s*$/.exec(tag)?.[1] ?? []);
}

/** Whole seconds, in milliseconds. An unreadable value is refused: without a time the change would be permanent. */
function readTtl(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^[1-9]\d{0,7}$/.test(header) ? Number(header) : Number.NaN;
  if (!(seconds <= MAX_POLICY_TTL_SEC))
    throw new Fault("BAD_REQUEST", `Policy-Ttl must be whole seconds from 1 to ${MAX_POLICY_TTL_SEC}`);
  return seconds * 1000;
}

/** Node reads headers as Latin-1; text in other scripts arrives as the bytes of its UTF-8. */
function readReason(header: string | undefined): string | undefined {
  if (header === undefined || header === "") return undefined;
  const bytes = Buffer.from(header, "latin1");
  const reason = isUtf8(bytes) ? bytes.toString() : header;
  if (reason.length > MAX_REASON)
    throw new Fault("BAD_REQUEST", `Audit-Reason must have at most ${MAX_REASON} characters (got ${reason.length})`);
  const unplain = unplainIn(reason);
  if (unplain !== undefined)
    throw new Fault("BAD_REQUEST", `Audit-Reason must be one line of plain text: it holds ${unplain}`);
  return reason;
}
