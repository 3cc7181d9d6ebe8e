import { Fault } from "../../domain/fault.ts";
import { isDenied, isMissingDatabase, isMissingTable, unusable } from "../../postgres/database.ts";
import { SchemaMissing } from "../../postgres/empty-database.ts";

/** No apply has granted the server's login all of its rights. */
export class NotGranted extends Fault {
  constructor(tenant: string, options?: ErrorOptions) {
    const message = `The server's login has no rights in the database of ${tenant} yet: run pmctl apply ${tenant}, which grants them`;
    super("REFUSED", message, options);
    this.name = "NotGranted";
  }
}

/** The Fault for a failed check before a tenant is opened, in words for the operator. */
export function unready(tenant: string, error: unknown): Fault {
  if (isMissingDatabase(error))
    return new Fault("REFUSED", `${tenant} has no database yet: run pmctl apply ${tenant}`, { cause: error });
  if (error instanceof SchemaMissing || isMissingTable(error))
    return new Fault("REFUSED", `The database of ${tenant} lacks tables: run pmctl apply ${tenant}`, { cause: error });
  if (isDenied(error)) return new NotGranted(tenant, { cause: error });
  return unusable(error);
}
