import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { readCertificate } from "../../config/certificate.ts";
import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { type Finding, fail, ok, warn } from "./check.ts";

type CertificateFacts =
  | { problem: string }
  /** `isForHost`: whether it names the host of `baseUrl`. */
  | { host: string; isForHost: boolean; daysLeft: number };

/** Automatic renewal is done by then; renewal by hand has two weeks left. */
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
