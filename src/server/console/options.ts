import type { SessionLimits } from "./sessions.ts";

/** What every address of a tenant begins with where several tenants share a listener. */
export const sharedBase = (tenant: string): string => `/t/${tenant}`;

/** The section `server.console` of a tenant file, as far as it concerns requests. */
export interface ConsoleOptions {
  origins: readonly string[];
  session: SessionLimits;
  /** What every address begins with; nothing where the tenant has the listener to itself. */
  base?: string | undefined;
}
