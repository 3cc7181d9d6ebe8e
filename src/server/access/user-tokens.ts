import { createSecretKey, hash, type KeyObject } from "node:crypto";
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import { PlaceCode } from "../../contract/resources/policy.ts";
import { UserId } from "../../contract/scalars.ts";
import { invariant } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { type EndedSessions, MAX_LIFETIME_SEC, type SessionToken } from "./ended-sessions.ts";
import type { KeySet } from "./key-set.ts";
import { faultOf, userRequired } from "./token-fault.ts";

const LEEWAY_SEC = 30;
const CACHED_TOKENS = 10_000;
const BEARER = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** How a tenant's users prove their identity. One algorithm, so that no token can choose how it is checked (RFC 8725, 3.1). */
export type JwtOptions =
  /** Tokens signed with a previous secret are valid too. */
  (
    | { algorithm: "HS256"; secret: string; previous?: readonly string[] | undefined }
    | { algorithm: "ES256" | "EdDSA" | "RS256"; jwks: { url: string } | { file: string } }
  ) & { issuer?: string | undefined; audience?: string | undefined };

/** A token whose signature and claims are valid. */
export interface VerifiedToken extends SessionToken {
  user: User;
}

export interface User {
  id: string;
  jurisdiction?: string | undefined;
}

/**
 * Verifies the bearer tokens of users, and remembers verified tokens by their SHA-256: verifying a signature costs 50
 * µs, a hash 1 µs. A token has one entry however its header is written, and its session can still be ended.
 */
export class UserTokens {
  readonly #options: JwtOptions;
  readonly #secrets: readonly KeyObject[] | undefined;
  readonly #keySet: KeySet | undefined;
  readonly #ended: EndedSessions | undefined;
  #generation = 0;
  readonly #verified = new BoundedCache<VerifiedToken>(CACHED_TOKENS);

  /**
   * @param keySet the public keys, for all algorithms but HS256
   * @param ended if omitted, no session ends before its token expires
   */
  constructor(options: JwtOptions, keySet?: KeySet, ended?: EndedSessions) {
    this.#options = options;
    this.#ended = ended;
    if (options.algorithm === "HS256")
      this.#secrets = [options.secret, ...(options.previous ?? [])].map((secret) => createSecretKey(secret, "utf8"));
    else this.#keySet = keySet;
    invariant(this.#secrets ?? this.#keySet, "tokens are verified with a secret or a key set");
  }

  /** How many tokens are remembered. */
  get remembered(): number {
    return this.#verified.size;
  }

  /**
   * The user named by an `Authorization` header.
   * @throws Fault USER_REQUIRED, whose detail names the fault
   */
  verify(authorization: string | undefined): User | Promise<User> {
    const refreshing = this.#keySet?.ready() ?? this.#ended?.ready();
    const known = refreshing ? undefined : this.#known(hashOf(tokenIn(authorization)));
    return known ? this.#unlessEnded(known).user : this.read(authorization).then(({ user }) => user);
  }

  /** Like `verify`, but returns all that the token states. */
  async read(authorization: string | undefined): Promise<VerifiedToken> {
    const verified = await this.identify(authorization);
    await this.#ended?.ready();
    return this.#unlessEnded(verified);
  }

  /** Like `read`, but accepts tokens of ended sessions too. */
  async identify(authorization: string | undefined): Promise<VerifiedToken> {
    await this.#keySet?.ready();
    const token = tokenIn(authorization);
    const tokenHash = hashOf(token);
    return this.#known(tokenHash) ?? this.#verify(token, tokenHash);
  }

  #unlessEnded(token: VerifiedToken): VerifiedToken {
    if (this.#ended?.has(token)) throw userRequired("session-ended");
    return token;
  }

  #known(tokenHash: string): VerifiedToken | undefined {
    if (this.#keySet && this.#keySet.generation !== this.#generation) {
      // The key of a remembered token may have been removed from the set.
      this.#generation = this.#keySet.generation;
      this.#verified.clear();
    }
    const known = this.#verified.get(tokenHash);
    return known && wallClockMs() < known.expiresAtMs + LEEWAY_SEC * 1000 ? known : undefined;
  }

  async #verify(token: string, tokenHash: string): Promise<VerifiedToken> {
    const generation = this.#keySet?.generation;
    const { payload } = await this.#checkSignature(token);
    const verified = readClaims(payload, sessionHash(token));
    // The set changed while the old set verified this token. The token is accepted this once and not remembered.
    if (this.#keySet?.generation === generation) this.#verified.set(tokenHash, verified);
    return verified;
  }

  async #checkSignature(token: string): Promise<{ payload: JWTPayload }> {
    const { algorithm, issuer, audience } = this.#options;
    const checks: JWTVerifyOptions = {
      // RFC 9864 gives EdDSA with the usual curve its own name.
      algorithms: algorithm === "EdDSA" ? [algorithm, "Ed25519"] : [algorithm],
      requiredClaims: ["exp", "sub"],
      // Requires `iat`, and refuses an `iat` in the future: a lifetime counted from there would be too long.
      maxTokenAge: MAX_LIFETIME_SEC,
      clockTolerance: LEEWAY_SEC,
      currentDate: new Date(wallClockMs()),
      ...(issuer === undefined ? {} : { issuer }),
      ...(audience === undefined ? {} : { audience }),
    };
    try {
      if (this.#secrets) return await verifyWithAny(token, this.#secrets, checks);
      invariant(this.#keySet, "there is a key set where there is no secret");
      return await jwtVerify(token, this.#keySet.find, checks);
    } catch (cause) {
      throw cause instanceof errors.JOSEError ? userRequired(faultOf(cause), cause) : cause;
    }
  }
}

/**
 * Tries every secret, so that the duration does not reveal which secret signed. If one of them did, its finding about
 * the token is the reason.
 */
async function verifyWithAny(token: string, secrets: readonly KeyObject[], checks: JWTVerifyOptions) {
  const tried = await Promise.allSettled(secrets.map((secret) => jwtVerify(token, secret, checks)));
  const verified = tried.find((each) => each.status === "fulfilled");
  if (verified) return verified.value;
  const failures = tried.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  throw failures.find((each) => !(each instanceof errors.JWSSignatureVerificationFailed)) ?? failures[0];
}

/** The token of an `Authorization` header. @throws Fault USER_REQUIRED when there is none */
function tokenIn(authorization: string | undefined): string {
  if (!authorization) throw userRequired("no-token");
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) throw userRequired("not-a-jwt");
  return token;
}

/** The cache key of a token. It covers the whole token: otherwise another signature over the same claims would pass as verified. */
function hashOf(token: string): string {
  return hash("sha256", token);
}

/**
 * Identifies an ended session. It covers only the signed part: a signature has several valid texts (spare bits of
 * base64, the two roots of an ECDSA), so the holder of an ended token could otherwise rewrite it.
 */
function sessionHash(token: string): string {
  return hash("sha256", token.slice(0, token.lastIndexOf(".")));
}

/** jose accepts any JSON for claims that it does not check. */
function readClaims({ sub, iat, exp, jurisdiction }: JWTPayload, session: string): VerifiedToken {
  const id = UserId.safeParse(sub);
  const country = PlaceCode.optional().safeParse(jurisdiction);
  if (!id.success) throw userRequired("sub-invalid");
  if (!country.success) throw userRequired("jurisdiction-invalid");
  invariant(iat !== undefined && exp !== undefined, "jose asks for both");
  if (!(exp - iat <= MAX_LIFETIME_SEC)) throw userRequired("life-too-long");
  const user = { id: id.data, jurisdiction: country.data };
  return { user, userId: id.data, hash: session, issuedAtMs: iat * 1000, expiresAtMs: exp * 1000 };
}
