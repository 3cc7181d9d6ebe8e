import type { Path } from "../config-error.ts";
import type { SecretReference } from "../schema/scalars.ts";
import type { TenantConfig } from "../tenant-config.ts";
import type { SecretPlace } from "./secret-places.ts";

/** What requests to `resolution_url` are signed with. A receiver may hold any of several, while one is replaced. */
export function resolutionSecretsOf(config: TenantConfig): SecretPlace[] {
  const { resolutionSecret, previousResolutionSecrets } = config.oracle;
  if (resolutionSecret === undefined)
    return placesOf(config.webhooks.inbound.secrets, ["webhooks", "inbound", "secrets"]);
  return [
    { reference: resolutionSecret, path: ["oracle", "resolutionSecret"] },
    ...placesOf(previousResolutionSecrets, ["oracle", "previousResolutionSecrets"]),
  ];
}

function placesOf(references: readonly SecretReference[], path: Path): SecretPlace[] {
  return references.map((reference, index) => ({ reference, path: [...path, index] }));
}
