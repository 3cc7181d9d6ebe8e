import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { checkServerIdentity, getCACertificates } from "node:tls";
import type { buildConnector, Dispatcher } from "undici";
import { provenConnector } from "../../client/proven-connector.ts";
import { readBelow, UnusableFile } from "../../config/bounded-file.ts";
import { certificateFile, MAX_CERTIFICATE_KIB } from "../../config/certificate.ts";
import { certificatesAreVerified } from "../../config/environment.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { findServers } from "./run-file.ts";
import { selfSignedFile } from "./self-signed.ts";

/**
 * Certificates beyond those that authorities sign. `authorities`: none. `stated`: this directory's self-signed one and the
 * one of the tenant file. That is for addresses that the operator states: the author of a tenant file must not decide both
 * where a key goes and which certificate is trusted there.
 */
export type Accepted = "authorities" | "stated";

/** An address, and how the process there has to prove that it is the tenant's server. */
export interface ServerAddress {
  url: string;
  /** By the secret of the run file, on each connection. Otherwise by its certificate, and over http not at all. */
  proven?: true;
  /** This directory's self-signed certificate unless given. */
  accepts?: Accepted;
  /** The `Host` header; the address's own unless given. */
  host?: string;
}

type Tenant = Pick<OperatorTenant, "id" | "directory" | "config">;

/** `fetch` for a server of this tenant: the only way that commands send a key, a token or a signed body. */
export async function tenantFetch(tenant: Tenant, server: ServerAddress): Promise<typeof fetch> {
  const { url, proven, host } = server;
  const isTls = url.startsWith("https:");
  if (!isTls && !proven) return fetch;
  // Node's own fetch heeds the proxies of the environment, which reach servers elsewhere.
  if (
    !proven &&
    host === undefined &&
    certificatesAreVerified() &&
    (await ownCertificates(tenant, server)).length === 0
  )
    return fetch;
  // Node's own fetch takes no agent of another version of undici than the one inside it.
  const { Agent, fetch: fetchThrough } = await import("undici");
  const agent = new Agent({ connect: await connectorTo(tenant, server) });
  const dispatcher = host === undefined ? agent : agent.compose(askingUnder(host));
  const trusting = (input: string, init: object = {}) => fetchThrough(input, { ...init, dispatcher });
  return trusting as unknown as typeof fetch;
}

/** A dispatcher sets it, because `fetch` replaces a `Host` header by the address's own. */
function askingUnder(host: string): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch({ ...options, headers: { ...(options.headers as Record<string, string>), host } }, handler);
}

/**
 * Opens one connection as {@link tenantFetch} does, and closes it.
 * @throws the error of the system or of TLS, or Fault SERVER_UNPROVEN
 */
export async function tryConnection(tenant: Tenant, server: ServerAddress): Promise<void> {
  const connect = await connectorTo(tenant, server);
  const { protocol, hostname, host, port } = new URL(server.url);
  await new Promise<void>((resolve, reject) => {
    const named = server.host === undefined ? {} : { servername: server.host.replace(/:\d*$/, "") };
    connect({ protocol, hostname: hostname.replace(/^\[|\]$/g, ""), host, port, ...named }, (error, socket) => {
      socket?.destroy();
      error ? reject(error) : resolve();
    });
  });
}

/** As long as a proof may take: a server that is busy is waited for. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Besides what the machine trusts, it accepts the certificates that this directory serves the tenant with, under any name:
 * a server that shows one holds its key, and no authority signs 127.0.0.1, where commands of this machine reach it.
 */
async function connectorTo(tenant: Tenant, server: ServerAddress): Promise<buildConnector.connector> {
  const { buildConnector } = await import("undici");
  const { url, proven, host } = server;
  const own = await ownCertificates(tenant, server);
  const fingerprints = own.map(({ fingerprint256 }) => fingerprint256);
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    // The proof is one request of HTTP/1.1.
    allowH2: false,
    rejectUnauthorized: true,
    ...(own.length > 0 && {
      ca: [...getCACertificates("default"), ...own.map(String)],
      // A certificate that an authority signed may stand for itself too.
      allowPartialTrustChain: true,
      checkServerIdentity: (host: string, shown: Parameters<typeof checkServerIdentity>[1]) =>
        fingerprints.includes(shown.fingerprint256) ? undefined : checkServerIdentity(host, shown),
    }),
  });
  if (!proven) return connect;
  const { id, directory } = tenant;
  const secrets = async () =>
    (await findServers(directory, id)).flatMap((server) =>
      server.url === url && server.secret !== undefined ? [server.secret] : [],
    );
  return provenConnector(connect, { tenant: id, address: new URL(url).host, host, secrets });
}

async function ownCertificates(
  { id, directory, config }: Tenant,
  { accepts, proven }: ServerAddress,
): Promise<X509Certificate[]> {
  if (accepts === "authorities") return [];
  const stated = accepts === "stated" || proven ? statedCertificate(config) : "";
  const own = await readFile(selfSignedFile(directory, id)).catch(() => "");
  const found = [own, stated].map(parseCertificate);
  return found.filter((certificate) => certificate !== undefined);
}

/** The file of `server.tls`; empty where it cannot be used, which the server reports. */
function statedCertificate(config: Tenant["config"]): Buffer | string {
  const file = certificateFile(config);
  const { directory, roots } = config.source;
  try {
    return file === undefined ? "" : readBelow(file, [directory, ...roots], MAX_CERTIFICATE_KIB).bytes;
  } catch (error) {
    if (error instanceof UnusableFile) return "";
    throw error;
  }
}

/** The first one of a file, which is the server's own. A file without one is reported by the server. */
function parseCertificate(pem: Buffer | string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
