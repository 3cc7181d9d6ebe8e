import { relative } from "node:path";
import { readBounded } from "../../config/bounded-file.ts";
import {
  type Certificate,
  certificateFile,
  MAX_CERTIFICATE_KIB,
  readCertificate,
  type TlsSection,
} from "../../config/certificate.ts";
import { loadEnvironment } from "../../config/environment.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { repeat } from "../../services/background/repeat.ts";
import { selfSigned, selfSignedFile } from "./self-signed.ts";

/** The certificate of a server, reloaded while it serves. */
export interface ServedCertificate {
  readonly current: Certificate;
  /** Whether clients need the file in order to trust the server. */
  readonly isSelfSigned: boolean;
  /** The PEM file for clients that should trust the server. */
  readonly file: string;
  /** Watches for a renewed certificate until the returned function is called; reports an unusable one once. */
  follow(onRenewed: (certificate: Certificate) => void, onProblem: (error: unknown) => void): () => Promise<void>;
}

interface CertificateTerms {
  directory: string;
  config: TenantConfig;
  /** The host that the server listens on. */
  host: string;
  /** Whether to sign a certificate where the tenant file names none. */
  signsOwn: boolean;
  /** The section that names the certificate (default: `server.tls`). */
  section?: TlsSection | undefined;
  pollMs?: number | undefined;
}

/** How often the file is read. Short, because commands trust a new file as soon as it exists. */
const POLL_MS = 2000;

/**
 * The certificate of a tenant's server; undefined for plain HTTP.
 * @throws ConfigError when the certificate of the tenant file cannot be used
 */
export async function servedCertificate(terms: CertificateTerms): Promise<ServedCertificate | undefined> {
  const { directory, config, host, signsOwn, section, pollMs = POLL_MS } = terms;
  const configured = certificateFile(config, section);
  if (configured === undefined && !signsOwn) return undefined;
  const isSelfSigned = configured === undefined;
  const file = configured ?? selfSignedFile(directory, config.tenant);
  const read = async (): Promise<Certificate> =>
    readCertificate(config, loadEnvironment(directory), wallClockMs(), section) ??
    (await selfSigned(directory, config.tenant, host, wallClockMs()));
  let current = await read();
  return {
    get current() {
      return current;
    },
    isSelfSigned,
    file,
    follow(onRenewed, onProblem) {
      const look = async (): Promise<void> => {
        // Compares texts, because the times of files do not show whether they changed. The key may come from a program,
        // so it is read only when the certificate changed.
        if (!isSelfSigned && textOf(file) === current.cert) return;
        const found = await read();
        if (found.cert === current.cert) return;
        current = found;
        onRenewed(found);
      };
      return repeat(look, { pauseMs: pollMs, onError: onProblem }).stop;
    },
  };
}

function textOf(file: string): string | undefined {
  try {
    // Bounded, because a pipe in the file's place would block the server for ever.
    return readBounded(file, MAX_CERTIFICATE_KIB).bytes.toString("utf8");
  } catch {
    // Being replaced, or missing: `read` reports which.
    return undefined;
  }
}

/**
 * The facts about a certificate that an operator needs in order to reach the server.
 * @param host the name to ask for; undefined where the server answers to any
 */
export function describeCertificate(
  { current, isSelfSigned, file }: ServedCertificate,
  url: string,
  host?: string,
): string {
  const { fingerprint, expires } = current;
  const until = new Date(expires).toISOString().slice(0, 10);
  const shown = relative(process.cwd(), file);
  return [
    `TLS with ${isSelfSigned ? "a self-signed certificate" : "the certificate"} ${shown}, valid until ${until}`,
    `SHA-256 fingerprint ${fingerprint}`,
    ...(isSelfSigned ? [`To let a client trust it: curl --cacert ${shown} ${healthFor(url, host)}`] : []),
  ].join("\n");
}

/** The arguments of curl for a health request, which work even if no resolver on this machine knows the host. */
function healthFor(url: string, host: string | undefined): string {
  if (host === undefined) return `${url}/health`;
  const { protocol, hostname, port } = new URL(url);
  return `--resolve ${host}:${port}:${hostname} ${protocol}//${host}:${port}/health`;
}
