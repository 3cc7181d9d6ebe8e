/** The claims of a JWT, used to renew it in time and to tell users apart: only the server decides whether it is valid. */
function claimsOf(token: string): { sub?: unknown; exp?: unknown } {
  try {
    const payload = token.split(".")[1] ?? "";
    return JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/"))) ?? {};
  } catch {
    return {};
  }
}

/** The user that a token names; the token itself where it names none, null without one. */
export function userOf(token: string | null): string | null {
  if (token === null) return null;
  const { sub } = claimsOf(token);
  return typeof sub === "string" ? sub : token;
}

/** Milliseconds since the epoch; infinite for a token that states no end. */
export function expiryOf(token: string): number {
  const { exp } = claimsOf(token);
  return typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
}
