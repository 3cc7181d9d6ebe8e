/**
 * The possible faults of a user token, and their remedies for the issuer. Only operators see the fault: the caller gets
 * the same answer for all. A fault names a claim and never contains its value.
 */
export const TOKEN_FAULTS = {
  "no-token": ["the request has no user token", "send the header Authorization: Bearer <token>"],
  "not-a-jwt": ["the header Authorization holds no JWT", "send Bearer, a space and the three parts of one signed JWT"],
  header: ["the token's header is not valid", 'send JSON with "alg", and without "crit"'],
  algorithm: ["the token's algorithm is not the tenant's", "sign with auth.jwt.algorithm of the tenant file"],
  "key-unknown": [
    "the token's key is not in the tenant's key set",
    "publish the key in auth.jwt.jwks under the token's kid",
  ],
  "key-unnamed": ["several keys of the tenant's key set fit the token", "name the key with kid in the token's header"],
  "key-unusable": ["the tenant's key set cannot be used", "publish whole public keys in auth.jwt.jwks"],
  signature: ["the token's signature does not verify", "sign with the key in auth.jwt; a secret counts as UTF-8 text"],
  claims: ["the token's claims cannot be read", "sign one JSON object"],
  "sub-missing": ["sub is missing", "set sub to your id of the user"],
  "sub-invalid": ["sub is not a valid user id", "set sub to a text of 1 to 255 characters without control characters"],
  "iat-missing": ["iat is missing", "set iat to the present time in whole seconds"],
  "iat-invalid": ["iat is not a number", "set iat to the present time in whole seconds"],
  "iat-ahead": ["iat is in the future", "set iat to the present time in whole seconds, with a correct clock"],
  "exp-missing": ["exp is missing", "set exp to at most 86400 seconds after iat"],
  "exp-invalid": ["exp is not a number", "set exp to at most 86400 seconds after iat"],
  "exp-past": ["the token has expired", "sign a new token for each session, with a correct clock"],
  "life-too-long": ["exp is more than 24 hours after iat", "set exp to at most 86400 seconds after iat"],
  "nbf-invalid": ["nbf is not a number", "leave nbf out, or set it to the time from which the token counts"],
  "nbf-ahead": ["nbf is in the future", "leave nbf out, or set it to the time from which the token counts"],
  "iss-missing": ["iss is missing", "set iss to auth.jwt.issuer of the tenant file"],
  "iss-wrong": ["iss is not the tenant's", "set iss to auth.jwt.issuer of the tenant file"],
  "aud-missing": ["aud is missing", "set aud to auth.jwt.audience of the tenant file"],
  "aud-wrong": ["aud does not name the tenant's audience", "set aud to auth.jwt.audience of the tenant file"],
  "jurisdiction-invalid": [
    "jurisdiction is not a place code",
    "set jurisdiction to a code such as US or US-NY, or leave it out",
  ],
  "session-ended": ["the session was ended", "sign a new token, with an iat after the end"],
} as const satisfies Record<string, readonly [says: string, remedy: string]>;

export type TokenFault = keyof typeof TOKEN_FAULTS;

/** Whether a text, such as an error's detail, is a known fault. */
export function isTokenFault(text: unknown): text is TokenFault {
  return typeof text === "string" && Object.hasOwn(TOKEN_FAULTS, text);
}
