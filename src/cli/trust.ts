import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { checkServerIdentity, getCACertificates } from "node:tls";
import { certificateFile } from "../config/certificate.ts";
import type { OperatorTenant } from "./operator-tenant.ts";
import { selfSignedFile } from "./self-signed.ts";

/**
 * `fetch` for a server of this tenant. Besides what the machine trusts, it accepts the very certificate that this
 * directory serves the tenant with, under any name: whoever shows it holds the key, and on this machine the server is
 * reached as 127.0.0.1, which no authority signs.
 */
export async function tenantFetch({ id, directory, config }: OperatorTenant, url: string): Promise<typeof fetch> {
  if (!url.startsWith("https:")) return fetch;
  const own = parseCertificate(
    await readFile(certificateFile(config) ?? selfSignedFile(directory, id)).catch(() => ""),
  );
  if (own === undefined) return fetch;
  // Node's own fetch takes no agent of another version of undici than the one inside it.
  const { Agent, fetch: fetchThrough } = await import("undici");
  const dispatcher = new Agent({
    connect: {
      ca: [...getCACertificates("default"), own.toString()],
      // A certificate that an authority signed may stand for itself too.
      allowPartialTrustChain: true,
      checkServerIdentity: (host, shown) =>
        shown.fingerprint256 === own.fingerprint256 ? undefined : checkServerIdentity(host, shown),
    },
  });
  const trusting = (input: string, init: object = {}) => fetchThrough(input, { ...init, dispatcher });
  return trusting as unknown as typeof fetch;
}

/** The first one of a file, which is the server's own. A file that holds none is the server's to complain about. */
function parseCertificate(pem: Buffer | string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
