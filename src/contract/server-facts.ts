import { z } from "zod";

/** The path at which a server reports its facts. It exists only on the socket for a tenant's commands. */
export const FACTS_PATH = "/server";

/** What a server reports about itself to commands of its directory. */
export const ServerFacts = z.object({
  tenant: z.string(),
  pid: z.number().int(),
  /** Identifies the process among all that serve the tenant, on any machine. */
  server: z.string(),
  version: z.string(),
  /** When it started to serve, ISO 8601. */
  since: z.string(),
  /** The address for traders. */
  url: z.string(),
  opsUrl: z.string(),
  /** The id of the key that seals the audit log; null for a tenant that this process has not opened yet. */
  auditKeyId: z.string().nullable(),
  /** Why the server cannot serve this tenant, though it may serve others; null while it can. */
  problem: z.string().nullable(),
});
export type ServerFacts = z.infer<typeof ServerFacts>;
