import { createHash } from "node:crypto";
import { join } from "node:path";
import { ConfigError } from "../../config/config-error.ts";
import { readConfigFile } from "../../config/config-file.ts";
import { FLEET_FILE } from "../../config/selection/fleet-file.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { documentOf } from "../../plan/plan-document.ts";

/** Digest of the fleet's file and of everything that the tenants' files say, bases and markets included. */
export function digestOfFiles(directory: string, tenants: readonly string[]): string {
  const digest = createHash("sha256").update(readConfigFile(join(directory, FLEET_FILE)));
  for (const tenant of tenants) digest.update(`\n${tenant} ${digestOfTenant(tenantPath(directory, tenant))}`);
  return digest.digest("hex");
}

/** Of a file with problems these stand for it: once they are mended, the files have changed. */
function digestOfTenant(file: string): string {
  try {
    const { config, markets } = loadTenant(file);
    return `${config.source.sha256} ${canonicalJson(documentOf(config, markets, []).declared)}`;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}
