import { errors } from "jose";
import { isTokenFault, type TokenFault } from "../../domain/access/token-faults.ts";
import { Fault } from "../../domain/fault.ts";

/** The error for a bad token. Only its detail says what is wrong, and no caller sees the detail, so a forger learns nothing. */
export function userRequired(fault: TokenFault, cause?: unknown): Fault {
  return new Fault("USER_REQUIRED", "A valid user token is required", { detail: { fault }, cause });
}

/** The fault that a failed verification found. Claims are read only under a valid signature. */
export function faultOf(error: errors.JOSEError): TokenFault {
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  if (error instanceof errors.JOSEAlgNotAllowed) return "algorithm";
  if (error instanceof errors.JWKSNoMatchingKey) return "key-unknown";
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "key-unnamed";
  if (error instanceof errors.JWKInvalid || error instanceof errors.JWKSInvalid) return "key-unusable";
  if (error instanceof errors.JWTInvalid) return "claims";
  if (error instanceof errors.JWTExpired) return error.claim === "iat" ? "life-too-long" : "exp-past";
  if (error instanceof errors.JWTClaimValidationFailed) return claimFault(error);
  return "header";
}

/** `iat` and `nbf` fail because they are in the future; other claims fail because of their value. */
function claimFault({ claim, reason }: errors.JWTClaimValidationFailed): TokenFault {
  const failed = claim === "iat" || claim === "nbf" ? "ahead" : "wrong";
  const fault = `${claim}-${reason === "check_failed" ? failed : reason}`;
  return isTokenFault(fault) ? fault : "claims";
}
