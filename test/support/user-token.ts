import { SignJWT } from "jose";

/** A token of a user of the tenant acme, for an hour. @param secrets of the operator's directory */
export function userToken(user: string, secrets: Record<string, string>): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(user)
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode(secrets.ACME_JWT_SECRET));
}
