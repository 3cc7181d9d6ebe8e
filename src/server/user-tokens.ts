import { createSecretKey, type KeyObject } from "node:crypto";
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import { CountryCode } from "../contract/policy.ts";
import { UserId } from "../contract/scalars.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { wallClockMs } from "./clock.ts";
import type { KeySet } from "./key-set.ts";

const MAX_LIFETIME_SEC = 24 * 60 * 60;
const LEEWAY_SEC = 30;
const CACHED_TOKENS = 10_000;
const BEARER = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** How a tenant's users prove who they are. One algorithm, so that no token can choose how it is checked (RFC 8725, 3.1). */
export type JwtOptions = (
  | { algorithm: "HS256"; secret: string }
  | { algorithm: "ES256" | "EdDSA" | "RS256"; jwks: { url: string } | { file: string } }
) & { issuer?: string | undefined; audience?: string | undefined };

/** A token whose signature and claims hold. */
export interface VerifiedToken {
  user: User;
  /** Its `exp`; the leeway comes on top. */
  expiresAtMs: number;
}

export interface User {
  id: string;
  jurisdiction?: string | undefined;
}

/** Verifies the bearer tokens of users (decision 11), and remembers verified ones: a signature costs 50 µs, a lookup none. */
export class UserTokens {
  readonly #options: JwtOptions;
  readonly #key: KeyObject | undefined;
  readonly #keySet: KeySet | undefined;
  #generation = 0;
  /** By the whole header value. */
  readonly #verified = new Map<string, VerifiedToken>();

  /** @param keySet where the public keys are, for all algorithms but HS256 */
  constructor(options: JwtOptions, keySet?: KeySet) {
    this.#options = options;
    if (options.algorithm === "HS256") this.#key = createSecretKey(options.secret, "utf8");
    else this.#keySet = keySet;
    invariant(this.#key ?? this.#keySet, "tokens are verified with a secret or a key set");
  }

  /**
   * The user named by an `Authorization` header.
   * @throws Fault USER_REQUIRED, without a reason: whoever forges tokens learns nothing.
   */
  verify(authorization: string | undefined): User | Promise<User> {
    const refreshing = this.#keySet?.ready();
    if (refreshing) return refreshing.then(() => this.#verify(authorization)).then(({ user }) => user);
    return this.#known(authorization)?.user ?? this.#verify(authorization).then(({ user }) => user);
  }

  /** Like `verify`, with what else the token says. */
  async read(authorization: string | undefined): Promise<VerifiedToken> {
    await this.#keySet?.ready();
    return this.#known(authorization) ?? this.#verify(authorization);
  }

  #known(authorization: string | undefined): VerifiedToken | undefined {
    if (this.#keySet && this.#keySet.generation !== this.#generation) {
      // The key of a remembered token may have been taken out of the set.
      this.#generation = this.#keySet.generation;
      this.#verified.clear();
    }
    const known = authorization === undefined ? undefined : this.#verified.get(authorization);
    return known && wallClockMs() < known.expiresAtMs + LEEWAY_SEC * 1000 ? known : undefined;
  }

  async #verify(authorization: string | undefined): Promise<VerifiedToken> {
    const token = BEARER.exec(authorization ?? "")?.[1];
    if (authorization === undefined || token === undefined) throw userRequired();
    const generation = this.#keySet?.generation;
    const { payload } = await this.#checkSignature(token);
    const verified = readClaims(payload);
    // The set changed while this was verified by the old one: true just now, but nothing to remember.
    if (this.#keySet?.generation !== generation) return verified;
    if (this.#verified.size >= CACHED_TOKENS) this.#forgetOldest();
    this.#verified.set(authorization, verified);
    return verified;
  }

  async #checkSignature(token: string): Promise<{ payload: JWTPayload }> {
    const { algorithm, issuer, audience } = this.#options;
    const checks: JWTVerifyOptions = {
      // RFC 9864 gives EdDSA with the usual curve a name of its own.
      algorithms: algorithm === "EdDSA" ? [algorithm, "Ed25519"] : [algorithm],
      requiredClaims: ["exp", "sub"],
      // Asks for `iat`, and refuses one that lies ahead: a lifetime counted from the future would never end.
      maxTokenAge: MAX_LIFETIME_SEC,
      clockTolerance: LEEWAY_SEC,
      currentDate: new Date(wallClockMs()),
      ...(issuer === undefined ? {} : { issuer }),
      ...(audience === undefined ? {} : { audience }),
    };
    try {
      if (this.#key) return await jwtVerify(token, this.#key, checks);
      invariant(this.#keySet, "there is a key set where there is no secret");
      return await jwtVerify(token, this.#keySet.find, checks);
    } catch (cause) {
      throw cause instanceof errors.JOSEError ? userRequired(cause) : cause;
    }
  }

  /** A Map keeps the order of insertion, so the first key is the oldest. */
  #forgetOldest(): void {
    const [oldest] = this.#verified.keys();
    if (oldest !== undefined) this.#verified.delete(oldest);
  }
}

/** jose takes any JSON for claims that it does not check itself. */
function readClaims({ sub, iat, exp, jurisdiction }: JWTPayload): VerifiedToken {
  const id = UserId.safeParse(sub);
  const country = CountryCode.optional().safeParse(jurisdiction);
  if (!id.success || !country.success || iat === undefined || exp === undefined) throw userRequired();
  if (!(exp - iat <= MAX_LIFETIME_SEC)) throw userRequired();
  return { user: { id: id.data, jurisdiction: country.data }, expiresAtMs: exp * 1000 };
}

function userRequired(cause?: unknown): Fault {
  return new Fault("USER_REQUIRED", "A valid user token is required", { cause });
}
