/** How long a token of a user may live, from `iat` to `exp`. */
export const MAX_LIFETIME_SEC = 24 * 60 * 60;

/** What of a verified token decides whether its session was ended. */
export interface SessionToken {
  userId: string;
  /** SHA-256 of what its signature covers, hex: the token itself is never stored. */
  hash: string;
  issuedAtMs: number;
  /** Its `exp`; the leeway comes on top. */
  expiresAtMs: number;
}
