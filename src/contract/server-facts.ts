import { z } from "zod";

/** Where a server answers with its facts on the socket of a tenant's commands, and nowhere else. */
export const FACTS_PATH = "/server";

/** What a server says of itself to commands of its directory. */
export const ServerFacts = z.object({
  tenant: z.string(),
  pid: z.number().int(),
  /** Names the process among all that serve the tenant, on any machine. */
  server: z.string(),
  version: z.string(),
  /** Since when it serves, ISO 8601. */
  since: z.string(),
  /** Where it listens for traders. */
  url: z.string(),
  opsUrl: z.string(),
  /** The id of the key that seals the audit log; null for a tenant that this process has not opened yet. */
  auditKeyId: z.string().nullable(),
  /** Why it cannot serve the tenant, though perhaps others; null while it can. */
  problem: z.string().nullable(),
});
export type ServerFacts = z.infer<typeof ServerFacts>;
