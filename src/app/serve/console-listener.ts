import { consoleTls } from "../../config/certificate.ts";
import { ownListener } from "../../config/schema/console-schema.ts";
import { type ConsoleOptions, sharedBase } from "../../server/console/options.ts";
import { type ServedCertificate, servedCertificate } from "./served-certificate.ts";
import type { ServeOptions, Serving } from "./serving.ts";

/** A listener of the console's own. */
export interface OwnConsole {
  host: string;
  port: number;
  /** Undefined for plain HTTP. */
  certificate: ServedCertificate | undefined;
}

/**
 * Undefined where the operations listener serves the console.
 * @throws ConfigError when its certificate cannot be used
 */
export async function openOwnConsole({ directory, config }: ServeOptions): Promise<OwnConsole | undefined> {
  const settings = config.server.console;
  const own = settings ? ownListener(settings) : undefined;
  if (!own) return undefined;
  const section = consoleTls(config);
  const terms = { directory, config, host: own.host, signsOwn: false, section };
  return { ...own, certificate: section && (await servedCertificate(terms)) };
}

/** Undefined where the tenant file turns the console off. */
export function consoleOf({ config, shared }: Pick<Serving, "config" | "shared">): ConsoleOptions | undefined {
  const settings = config.server.console;
  if (!settings) return undefined;
  const { idle: idleMs, absolute: absoluteMs } = settings.session;
  const base = shared && sharedBase(config.tenant);
  return { origins: settings.origins, session: { idleMs, absoluteMs }, base };
}
