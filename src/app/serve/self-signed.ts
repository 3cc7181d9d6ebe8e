import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import ipaddr from "ipaddr.js";
import { type Certificate, CertificateProblem, checkCertificate } from "../../config/certificate.ts";
import { isErrno } from "../../config/environment.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import { withLock } from "../../state/lock.ts";
import { createStateFolder, statePath, writeWhole } from "../../state/state-directory.ts";
import { isEveryAddress, networkAddress } from "./network-address.ts";

const LIFETIME_MS = 365 * DAY_MS;
/** A server that is restarted at least once a month never shows an expired certificate. */
const RENEWAL_MS = 30 * DAY_MS;
/** Clocks of clients may be behind. */
const BACKDATED_MS = HOUR_MS;
const LOCK_WAIT_MS = 10_000;

/** The file of a tenant's self-signed certificate, which may be public; its key is in a file beside it. */
export function selfSignedFile(directory: string, tenant: string): string {
  return statePath(directory, "tls", `${tenant}.crt`);
}

/**
 * A tenant's self-signed certificate, for the loopback names and the host that the server listens on; for every
 * address, also for this machine's name and its network address. It is kept, so that clients can go on trusting it. It
 * is replaced before it expires, or when a name is missing, such as after a move to another network.
 *
 * @param now in milliseconds since 1970
 */
export async function selfSigned(directory: string, tenant: string, host: string, now: number): Promise<Certificate> {
  const file = selfSignedFile(directory, tenant);
  const names = ["localhost", "127.0.0.1", "::1", ...namesOfHost(host)].map(plainName);
  const isFit = (found: Certificate | undefined): found is Certificate =>
    found !== undefined && found.expires - now > RENEWAL_MS && names.every((name) => namesOf(found).includes(name));
  const kept = await readKept(file, now);
  if (isFit(kept)) return kept;
  createStateFolder(directory, "tls");
  // Two servers of one tenant that start at once need one certificate with both hosts.
  return withLock(
    statePath(directory, "tls", `${tenant}.lock`),
    LOCK_WAIT_MS,
    `signing a certificate for ${tenant}`,
    async () => {
      const found = await readKept(file, now);
      if (isFit(found)) return found;
      const made = await sign(tenant, [...new Set([...names, ...(found ? namesOf(found) : [])])], now);
      writeWhole(keyFile(file), made.key);
      writeWhole(file, made.cert, { mode: 0o644 });
      return made;
    },
  );
}

function namesOfHost(host: string): string[] {
  if (!isEveryAddress(host)) return [host];
  const address = networkAddress();
  return address === undefined ? [hostname()] : [hostname(), address];
}

function keyFile(file: string): string {
  return file.replace(/\.crt$/, ".key");
}

/** Undefined when there is no certificate, or it can no longer be served. */
async function readKept(file: string, now: number): Promise<Certificate | undefined> {
  try {
    const [cert, key] = await Promise.all([readFile(file, "utf8"), readFile(keyFile(file), "utf8")]);
    return checkCertificate(cert, key, now);
  } catch (error) {
    if (error instanceof CertificateProblem || (isErrno(error) && error.code === "ENOENT")) return undefined;
    throw error;
  }
}

/** Loads its library here, because that takes 0.1 s and is needed once a year. */
async function sign(tenant: string, names: readonly string[], now: number): Promise<Certificate> {
  const { generate } = await import("selfsigned");
  const { cert, private: key } = await generate([{ name: "commonName", value: `pmctl ${tenant}` }], {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(now - BACKDATED_MS),
    notAfterDate: new Date(now + LIFETIME_MS),
    extensions: [
      // A client that trusts the certificate trusts this server, and nothing that its key could sign.
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: names.map((name) => (ipaddr.isValid(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  });
  return checkCertificate(wholeLines(cert), wholeLines(key), now);
}

/** Ends with a line break, so that a client can concatenate the files of several servers. */
function wholeLines(pem: string): string {
  return `${pem.trimEnd()}\n`;
}

/** The names of a self-signed certificate, with addresses in their short form. */
function namesOf({ cert }: Certificate): string[] {
  const { subjectAltName = "" } = new X509Certificate(cert);
  return subjectAltName.split(", ").map((name) => plainName(name.replace(/^(DNS|IP Address):/, "")));
}

function plainName(name: string): string {
  return ipaddr.isValid(name) ? ipaddr.parse(name).toString() : name.toLowerCase();
}
