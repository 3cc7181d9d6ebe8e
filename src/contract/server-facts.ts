import { isMapping } from "../domain/json/mapping.ts";

/** The path at which a server reports its facts. It exists only on the socket for a tenant's commands. */
export const FACTS_PATH = "/server";

/** What a server reports about itself to commands of its directory. */
export interface ServerFacts {
  tenant: string;
  pid: number;
  /** Identifies the process among all that serve the tenant, on any machine. */
  server: string;
  version: string;
  /** When it started to serve, ISO 8601. */
  since: string;
  /** The address for traders. */
  url: string;
  opsUrl: string;
  /** The page for operators; null for a tenant without a console, and missing from older servers. */
  consoleUrl?: string | null;
  /** The id of the key that seals the audit log; null for a tenant that this process has not opened yet. */
  auditKeyId: string | null;
  /** Why the server cannot serve this tenant, though it may serve others; null while it can. */
  problem: string | null;
}

const TYPES: { [Field in keyof ServerFacts]-?: (value: unknown) => boolean } = {
  tenant: isText,
  pid: Number.isSafeInteger,
  server: isText,
  version: isText,
  since: isText,
  url: isText,
  opsUrl: isText,
  consoleUrl: (value) => value === undefined || isTextOrNull(value),
  auditKeyId: isTextOrNull,
  problem: isTextOrNull,
};

/** Every command asks for them, so they are checked without a schema, which takes longer to make. */
export function isServerFacts(value: unknown): value is ServerFacts {
  return isMapping(value) && Object.entries(TYPES).every(([field, fits]) => fits(value[field]));
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value);
}
