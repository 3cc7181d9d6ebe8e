import { createHmac, timingSafeEqual } from "node:crypto";
import ipaddr from "ipaddr.js";

/**
 * How a command verifies that it talks to the server of its own directory: the command sends a nonce as the first
 * request of a connection, and the server answers with an HMAC, under the secret of its run file, over the nonce and
 * the address at which it accepted the connection. A process that relays the nonce gets a proof for another address.
 */
const PATH = "/.well-known/pmctl-proof/";

/** 32 random bytes in base64url. The length is fixed, so that a caller cannot choose the text that the server signs. */
const NONCE = /^[\w-]{43}$/;

/** The server's end of a connection, as either side's operating system reports it. */
export interface ServerEnd {
  address: string;
  port: number;
}

/** Every answer's body has exactly this length. */
export const PROOF_BODY_BYTES = proofBody("0".repeat(64)).length;

export function proofPath(nonce: string): string {
  return PATH + nonce;
}

/** The nonce in a request's path; undefined for every other path. */
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

/**
 * Whether the body of an answer proves that its sender has this secret, and accepted the connection at this address.
 */
export function isProof(body: string, secret: string, tenant: string, nonce: string, end: ServerEnd): boolean {
  const [given, expected] = [Buffer.from(body), Buffer.from(proofBody(signProof(secret, tenant, nonce, end)))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** An IPv6 listener reports IPv4 addresses in IPv6 form; both ends must sign the same text. */
export function plainAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}
