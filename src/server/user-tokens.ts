import { createSecretKey, type KeyObject } from "node:crypto";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { CountryCode } from "../contract/policy.ts";
import { UserId } from "../contract/scalars.ts";
import { Fault } from "../domain/fault.ts";
import { wallClockMs } from "./clock.ts";

const MAX_LIFETIME_SEC = 24 * 60 * 60;
const LEEWAY_SEC = 30;
const CACHED_TOKENS = 10_000;
const BEARER = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** How a tenant's users prove who they are. One algorithm, so that no token can choose how it is checked (RFC 8725, 3.1). */
export interface JwtOptions {
  algorithm: "HS256";
  secret: string;
  issuer?: string | undefined;
  audience?: string | undefined;
}

export interface User {
  id: string;
  jurisdiction?: string | undefined;
}

/** Verifies the bearer tokens of users (decision 11), and remembers verified ones: a signature costs 50 µs, a lookup none. */
export class UserTokens {
  readonly #options: JwtOptions;
  readonly #key: KeyObject;
  /** By the whole header value. */
  readonly #verified = new Map<string, { user: User; untilMs: number }>();

  constructor(options: JwtOptions) {
    this.#options = options;
    this.#key = createSecretKey(options.secret, "utf8");
  }

  /**
   * The user named by an `Authorization` header.
   * @throws Fault USER_REQUIRED, without a reason: whoever forges tokens learns nothing.
   */
  verify(authorization: string | undefined): User | Promise<User> {
    const known = authorization === undefined ? undefined : this.#verified.get(authorization);
    return known && wallClockMs() < known.untilMs ? known.user : this.#verify(authorization);
  }

  async #verify(authorization: string | undefined): Promise<User> {
    const token = BEARER.exec(authorization ?? "")?.[1];
    if (authorization === undefined || token === undefined) throw userRequired();
    const { payload } = await this.#checkSignature(token);
    const { user, untilMs } = readClaims(payload);
    if (this.#verified.size >= CACHED_TOKENS) this.#forgetOldest();
    this.#verified.set(authorization, { user, untilMs });
    return user;
  }

  async #checkSignature(token: string): Promise<{ payload: JWTPayload }> {
    const { algorithm, issuer, audience } = this.#options;
    try {
      return await jwtVerify(token, this.#key, {
        algorithms: [algorithm],
        requiredClaims: ["exp", "sub"],
        // Asks for `iat`, and refuses one that lies ahead: a lifetime counted from the future would never end.
        maxTokenAge: MAX_LIFETIME_SEC,
        clockTolerance: LEEWAY_SEC,
        currentDate: new Date(wallClockMs()),
        ...(issuer === undefined ? {} : { issuer }),
        ...(audience === undefined ? {} : { audience }),
      });
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
function readClaims({ sub, iat, exp, jurisdiction }: JWTPayload): { user: User; untilMs: number } {
  const id = UserId.safeParse(sub);
  const country = CountryCode.optional().safeParse(jurisdiction);
  if (!id.success || !country.success || iat === undefined || exp === undefined) throw userRequired();
  if (!(exp - iat <= MAX_LIFETIME_SEC)) throw userRequired();
  return { user: { id: id.data, jurisdiction: country.data }, untilMs: (exp + LEEWAY_SEC) * 1000 };
}

function userRequired(cause?: unknown): Fault {
  return new Fault("USER_REQUIRED", "A valid user token is required", { cause });
}
