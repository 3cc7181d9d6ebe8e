import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { readCertificate } from "../../config/certificate.ts";
import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { isPlaceholder } from "../../domain/access/host-names.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { Policy } from "../../domain/policy/policy.ts";
import { counted } from "../../domain/text.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { type Finding, fail, ok, warn } from "./check.ts";

export type AddressFacts = Pick<TenantConfig, "baseUrl" | "cors"> & {
  embed: Pick<TenantConfig["embed"], "allowedOrigins">;
  server: Pick<TenantConfig["server"], "host" | "trustProxy" | "tls">;
};

/** Checks whether the addresses of a tenant file fit together. The file alone decides. */
export function evaluateAddresses(facts: AddressFacts): Finding[] {
  return [evaluateBaseUrl(facts), evaluateTrustProxy(facts), evaluateOrigins(facts)];
}

function evaluateBaseUrl({ baseUrl }: AddressFacts): Finding {
  const { protocol, hostname } = new URL(baseUrl);
  if (isPlaceholder(hostname))
    return warn(
      "base URL",
      `${baseUrl} is in .example, a domain that cannot be registered`,
      "Set baseUrl to the tenant's own domain",
    );
  if (protocol === "https:") return ok("base URL", baseUrl);
  if (isLoopback(hostname)) return ok("base URL", `${baseUrl}, for this machine only`);
  return fail(
    "base URL",
    `${baseUrl} is not encrypted`,
    "Use https://: keys and user tokens travel with every request",
  );
}

/** Every host in a trusted range can pretend to be any client, so a range may contain only proxies. */
function evaluateTrustProxy({ baseUrl, server: { host, trustProxy, tls } }: AddressFacts): Finding {
  const wide = trustProxy.filter((range) => isWide(range));
  if (wide.length > 0)
    return fail(
      "trustProxy",
      `${wide.join(", ")} covers much of the internet: any host there can pretend to be another client`,
      "List the addresses of your proxies only",
    );
  const { protocol, hostname } = new URL(baseUrl);
  const isPublic = protocol === "https:" && !isLoopback(hostname);
  const isBehindProxy = isPublic && isLoopback(host) && tls === undefined;
  if (trustProxy.length === 0 && isBehindProxy)
    return warn(
      "trustProxy",
      "empty: if https ends at a proxy on this machine, all clients count as one and share its rate limit",
      "Behind such a proxy set server.trustProxy: [127.0.0.1, ::1]; otherwise set server.tls",
    );
  return ok("trustProxy", trustProxy.length === 0 ? "no proxies: clients connect directly" : trustProxy.join(", "));
}

/** IPv4 ranges wider than /8 and IPv6 ranges wider than /16 belong to no operator. */
function isWide(range: string): boolean {
  const [address = "", bits = "128"] = range.split("/");
  return Number(bits) < (address.includes(":") ? 16 : 8);
}

function evaluateOrigins({ baseUrl, embed: { allowedOrigins }, cors: { origins } }: AddressFacts): Finding {
  const own = new URL(baseUrl).origin;
  if (allowedOrigins.includes(own))
    return warn(
      "embed origins",
      `${own} is the tenant's own origin: there the widget's frame could reach the page around it`,
      "Take it out of embed.allowedOrigins, and embed from another host",
    );
  const plain = [...allowedOrigins, ...origins].filter(
    (origin) => origin.startsWith("http:") && !isLoopback(new URL(origin).hostname),
  );
  if (plain.length > 0)
    return warn(
      "embed origins",
      `${plain.join(", ")} can be changed on the way to the browser`,
      "Use https:// origins",
    );
  const mixed = allowedOrigins.filter((origin) => origin.startsWith("https:"));
  if (own.startsWith("http:") && mixed.length > 0)
    return warn(
      "embed origins",
      `browsers do not show ${own} inside of pages such as ${mixed[0]}`,
      "Give the tenant an https:// baseUrl",
    );
  return ok("embed origins", allowedOrigins.length === 0 ? "none: any site, read-only" : allowedOrigins.join(", "));
}

/**
 * Whether the policy refuses users whose jurisdiction is unknown. An integration whose identity check names no
 * jurisdiction would see that as an outage.
 * @param unknown verified users whose identity check named no jurisdiction, or no code of ISO 3166
 */
export function evaluateJurisdictions({ allowed, blocked }: Policy["jurisdictions"], unknown: number): Finding {
  if (allowed.length === 0 && blocked.length === 0)
    return ok("jurisdictions", "users of any jurisdiction may trade, whether or not it is known");
  const rule = "policy.jurisdictions refuses users whose jurisdiction is unknown";
  const remedy =
    "Send `jurisdiction` with the identity check (kyc.passed) or as a claim of the user's token, or empty both lists of policy.jurisdictions";
  if (unknown === 0) return ok("jurisdictions", `${rule}; every verified user has a jurisdiction on record`);
  return warn("jurisdictions", `${rule}: ${counted(unknown, "verified user")} without one on record`, remedy);
}

type CertificateFacts =
  | { problem: string }
  /** `isForHost`: whether the certificate names the host of `baseUrl`. */
  | { host: string; isForHost: boolean; daysLeft: number };

/** Automatic renewal is done by then, and renewal by hand still has two weeks. */
const SHORT_DAYS = 14;

/** Undefined where the tenant file names no certificate. */
export function collectCertificate(config: TenantConfig, directory: string): CertificateFacts | undefined {
  try {
    const found = readCertificate(config, loadEnvironment(directory), wallClockMs());
    if (!found) return undefined;
    const host = new URL(config.baseUrl).hostname.replace(/^\[|\]$/g, "");
    const parsed = new X509Certificate(found.cert);
    // `checkIP` throws at a name.
    const named = isIP(host) === 0 ? parsed.checkHost(host) : parsed.checkIP(host);
    const daysLeft = Math.floor((found.expires - wallClockMs()) / DAY_MS);
    return { host, isForHost: named !== undefined, daysLeft };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problem: error.problems.map(({ path, message }) => `${path} ${message}`).join("; ") };
  }
}

export function evaluateCertificate(facts: CertificateFacts | undefined): Finding[] {
  const check = "certificate";
  if (!facts) return [];
  if ("problem" in facts)
    return [fail(check, facts.problem, "Put certificate and key in place; serve does not start without them")];
  const { host, isForHost, daysLeft } = facts;
  if (!isForHost)
    return [fail(check, `it is not for ${host}, the host of baseUrl`, "Get a certificate that names this host")];
  return [
    daysLeft >= SHORT_DAYS
      ? ok(check, `for ${host}, valid for ${counted(daysLeft, "more day")}`)
      : warn(
          check,
          `it expires in ${counted(daysLeft, "day")}`,
          "Renew it: a running server loads the new file by itself",
        ),
  ];
}
