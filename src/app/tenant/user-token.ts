import { jsonSentence } from "../../contract/issue-sentence.ts";
import { UserId } from "../../contract/scalars.ts";
import { Fault } from "../../domain/fault.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import type { OperatorTenant } from "./operator-tenant.ts";

/** The server refuses tokens with a longer lifetime. */
export const LONGEST_TOKEN_MS = DAY_MS;

/**
 * Signs a token that lets its bearer act as a user, with the tenant's own secret.
 *
 * @param now in milliseconds since 1970, like `expiresAt` of the result, which is a whole second
 * @throws Fault USAGE when the user's id is invalid, or another issuer makes the tenant's tokens
 */
export async function mintUserToken(
  { config, secret }: Pick<OperatorTenant, "config" | "secret">,
  userId: string,
  lifetimeMs: number,
  now: number,
) {
  const { jwt } = config.auth;
  if (!("secret" in jwt))
    throw new Fault("USAGE", `Only the issuer of the tokens of ${config.tenant} (${jwt.algorithm}) can make a token`);
  const subject = requireUserId(userId);
  const { SignJWT } = await import("jose");
  const issuedAt = Math.floor(now / 1000);
  const expiresAt = issuedAt + Math.floor(lifetimeMs / 1000);
  const claims = new SignJWT()
    .setProtectedHeader({ alg: jwt.algorithm, typ: "JWT" })
    .setSubject(subject)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt);
  if (jwt.issuer !== undefined) claims.setIssuer(jwt.issuer);
  if (jwt.audience !== undefined) claims.setAudience(jwt.audience);
  const key = new TextEncoder().encode(secret(jwt.secret, ["auth", "jwt", "secret"]));
  return { token: await claims.sign(key), expiresAt: expiresAt * 1000 };
}

/** @throws Fault USAGE for an invalid user id */
export function requireUserId(text: string): string {
  const user = UserId.safeParse(text, { error: jsonSentence });
  if (user.success) return user.data;
  throw new Fault("USAGE", `A user's id ${user.error.issues[0]?.message ?? "is not valid"}`);
}
