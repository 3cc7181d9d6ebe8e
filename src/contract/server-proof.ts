import { createHmac, timingSafeEqual } from "node:crypto";
import ipaddr from "ipaddr.js";

/**
 * How a server shows a command of its own directory that it is the one: the command sends a nonce as the first request of
 * a connection, and the server answers with an HMAC under the secret of its run file over the nonce and the address at
 * which it accepted the connection. A process that passes the nonce on gets the proof of another address.
 */
const PATH = "/.well-known/pmctl-proof/";

/** 32 random bytes in base64url. One length, so that the server signs no text of a caller's choice. */
const NONCE = /^[\w-]{43}$/;

/** The server's end of a connection, as the system of either side names it. */
export interface ServerEnd {
  address: string;
  port: number;
}

/** The body of the answer has always this many bytes. */
export const PROOF_BODY_BYTES = proofBody("0".repeat(64)).length;

export function proofPath(nonce: string): string {
  return PATH + nonce;
}

/** The nonce that a request's path asks to be signed; undefined for every other path. */
export function nonceOf(path: string | undefined): string | undefined {
  if (!path?.startsWith(PATH)) return undefined;
  const nonce = path.slice(PATH.length);
  return NONCE.test(nonce) ? nonce : undefined;
}

/** @returns the proof, hex */
export function signProof(secret: string, tenant: string, nonce: string, { address, port }: ServerEnd): string {
  const text = ["pmctl-proof-v1", tenant, nonce, plainAddress(address), port].join("\n");
  return createHmac("sha256", secret).update(text).digest("hex");
}

export function proofBody(proof: string): string {
  return JSON.stringify({ proof });
}

/** Whether the body of an answer proves that its sender has this secret, and accepted the connection at this address. */
export function isProof(body: string, secret: string, tenant: string, nonce: string, end: ServerEnd): boolean {
  const [given, expected] = [Buffer.from(body), Buffer.from(proofBody(signProof(secret, tenant, nonce, end)))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** A listener of IPv6 names its IPv4 clients in IPv6; both ends have to say the same. */
export function plainAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}
