import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { readCertificate } from "../../config/certificate.ts";
import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { type Check, type CheckGroup, fail, ok, warn } from "./check.ts";

export const certificateGroup: CheckGroup = {
  name: "certificate",
  run: async ({ config, directory }) => evaluateCertificate(collectCertificate(config, directory)),
};

export type CertificateFacts =
  | { problem: string }
  /** `isForHost`: whether it names the host of `baseUrl`. */
  | { host: string; isForHost: boolean; daysLeft: number };

/** Automatic renewal is done by then; who renews by hand has two weeks to do so. */
const SHORT_DAYS = 14;

/** Undefined where the tenant file names no certificate. */
export function collectCertificate(config: TenantConfig, directory: string): CertificateFacts | undefined {
  try {
    const found = readCertificate(config, loadEnvironment(directory), wallClockMs());
    if (!found) return undefined;
    const host = new URL(config.baseUrl).hostname.replace(/^\[|\]$/g, "");
    const parsed = new X509Certificate(found.cert);
    return { host, isForHost: isFor(parsed, host), daysLeft: Math.floor((found.expires - wallClockMs()) / DAY_MS) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problem: error.problems.map(({ path, message }) => `${path} ${message}`).join("; ") };
  }
}

/** `checkIP` throws at a name. */
function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

export function evaluateCertificate(facts: CertificateFacts | undefined): Check[] {
  const check = "certificate";
  if (!facts) return [];
  if ("problem" in facts)
    return [fail(check, facts.problem, "Put certificate and key in place; serve does not start without")];
  const { host, isForHost, daysLeft } = facts;
  if (!isForHost)
    return [fail(check, `it is not for ${host}, the host of baseUrl`, "Have one issued that names this host")];
  return [
    daysLeft >= SHORT_DAYS
      ? ok(check, `for ${host}, valid for ${daysLeft} more days`)
      : warn(check, `it expires in ${daysLeft} days`, "Renew it: a running server takes the new file up by itself"),
  ];
}
