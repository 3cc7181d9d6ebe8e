import type { SessionLimits } from "./sessions.ts";

/** The section `server.console` of a tenant file, as far as it concerns requests. */
export interface ConsoleOptions {
  origins: readonly string[];
  session: SessionLimits;
  /** What every address begins with, where several tenants share a listener. */
  base?: string | undefined;
}
