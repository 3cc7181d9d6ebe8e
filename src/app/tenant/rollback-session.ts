import { openTenant } from "../../services/tenant/tenant.ts";
import { knownToOperator } from "./anchor-sources.ts";
import { openDatabase } from "./database.ts";
import { auditSecretsOf, databaseUrlOf, readOperatorTenant } from "./operator-tenant.ts";

/** A tenant's services on its database that make changes to a log that was set back, and what is known of that log. */
export async function openForRollback(named: string | undefined) {
  const tenant = readOperatorTenant(named);
  const { id, directory } = tenant;
  const [auditSecret, ...previousAuditSecrets] = auditSecretsOf(tenant);
  const { connection } = await openDatabase(directory, id, databaseUrlOf(tenant));
  const services = await openTenant({
    tenantId: id,
    connection,
    auditSecret,
    previousAuditSecrets,
    readers: 1,
    anchors: false,
  });
  const { anchors: known } = await knownToOperator(tenant, services.auditKeys);
  return { tenant: id, directory, services, known };
}
