import { createPrivateKey, X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { Fault } from "../domain/fault.ts";
import { readBelow, UnusableFile } from "./bounded-file.ts";
import { ConfigError } from "./config-error.ts";
import { type Environment, isErrno } from "./environment.ts";
import { resolveSecret } from "./secrets/secrets.ts";
import type { TenantConfig } from "./tenant-config.ts";

/** A certificate that passed {@link checkCertificate}, with its key. */
export interface Certificate {
  /** The certificate and its chain in PEM. */
  cert: string;
  /** The private key in PEM. */
  key: string;
  /** The certificate's fingerprint, as browsers and `openssl x509 -fingerprint -sha256` show it. */
  fingerprint: string;
  /** The certificate's end, in milliseconds since the epoch. */
  expires: number;
}

/** The limit of a file with a certificate and its chain. */
export const MAX_CERTIFICATE_KIB = 256;

/** Why a certificate is unusable. The message never quotes the key. */
export class CertificateProblem extends Error {
  readonly part: "cert" | "key";

  constructor(part: "cert" | "key", message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "CertificateProblem";
    this.part = part;
  }
}

/**
 * Checks that a certificate and a key belong together and are valid now.
 * @param now milliseconds since the epoch
 * @throws CertificateProblem
 */
export function checkCertificate(cert: string, key: string, now: number): Certificate {
  const parsed = attempt("cert", "is not a certificate in PEM", () => new X509Certificate(cert));
  const privateKey = attempt("key", "is not a private key in PEM, or has a passphrase", () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey))
    throw new CertificateProblem(
      "key",
      "is not the key of the certificate: use the key for which the certificate was issued",
    );
  const [begins, expires] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  if (expires <= now)
    throw new CertificateProblem("cert", `expired on ${parsed.validTo}: replace it by a renewed certificate`);
  if (begins > now) throw new CertificateProblem("cert", `is not valid before ${parsed.validFrom}`);
  attempt("cert", "is refused by TLS", () => createSecureContext({ cert, key }));
  return { cert, key, fingerprint: parsed.fingerprint256, expires };
}

/** A section of the tenant file that names a certificate. */
export type TlsSection = readonly ["server", "tls"] | readonly ["server", "console", "tls"];

const API_TLS: TlsSection = ["server", "tls"];

/** Every section that names a certificate. */
export function tlsSections({ server }: Pick<TenantConfig, "server">): TlsSection[] {
  const own = consoleTls({ server });
  return [...(server.tls ? [API_TLS] : []), ...(own && own !== API_TLS ? [own] : [])];
}

/** The section with the certificate of the console's own listener; undefined where that speaks plain HTTP. */
export function consoleTls({ server }: Pick<TenantConfig, "server">): TlsSection | undefined {
  if (server.console && server.console.tls !== undefined) return ["server", "console", "tls"];
  return server.tls && API_TLS;
}

/** What a section states. */
export function tlsAt({ server }: Pick<TenantConfig, "server">, section: TlsSection): TenantConfig["server"]["tls"] {
  if (section.length === 2) return server.tls;
  return server.console ? server.console.tls : undefined;
}

/** The absolute path of a section's certificate; undefined if the tenant file names none there. */
export function certificateFile(
  config: Pick<TenantConfig, "server" | "source">,
  section: TlsSection = API_TLS,
): string | undefined {
  const tls = tlsAt(config, section);
  return tls && resolve(config.source.directory, tls.cert);
}

/**
 * Reads the certificate of a section again; undefined if the tenant file names none there.
 * @param now milliseconds since the epoch
 * @throws ConfigError at the line of a certificate or key that is missing, unreadable, expired or mismatched
 */
export function readCertificate(
  config: TenantConfig,
  environment: Environment,
  now: number,
  section: TlsSection = API_TLS,
): Certificate | undefined {
  const { source } = config;
  const tls = tlsAt(config, section);
  const file = certificateFile(config, section);
  if (!tls || file === undefined) return undefined;
  try {
    const cert = readBelow(file, [source.directory, ...source.roots], MAX_CERTIFICATE_KIB).bytes.toString("utf8");
    const key = resolveSecret(tls.key, { environment, directory: source.directory, roots: source.roots });
    return checkCertificate(cert, key, now);
  } catch (error) {
    const problem =
      error instanceof UnusableFile ? new CertificateProblem("cert", `the file ${tls.cert} ${error.message}`) : error;
    if (!(problem instanceof CertificateProblem || problem instanceof Fault)) throw error;
    const part = problem instanceof CertificateProblem ? problem.part : "key";
    throw new ConfigError(source.problems([{ path: [...section, part], message: problem.message }]));
  }
}

function attempt<Result>(part: "cert" | "key", message: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    // A later version of OpenSSL might quote the key's bytes in its message; its code never does.
    const code = isErrno(cause) && cause.code !== undefined ? ` (${cause.code})` : "";
    throw new CertificateProblem(part, `${message}${code}`, cause);
  }
}
