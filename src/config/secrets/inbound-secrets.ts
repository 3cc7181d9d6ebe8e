import type { InboundEndpoint } from "../../contract/resources/webhooks.ts";
import type { Path } from "../config-error.ts";
import type { SecretReference } from "../schema/scalars.ts";
import type { TenantConfig } from "../tenant-config.ts";

/** A list of references, and where it stands in the tenant file. */
export interface SecretList {
  references: readonly SecretReference[];
  path: Path;
  /** Whether it is the list of all endpoints without secrets of their own. */
  isShared: boolean;
}

/** What the generic webhooks of an endpoint are signed with: the endpoint's own secrets, or else the shared ones. */
export function inboundSecretsOf({ webhooks }: Pick<TenantConfig, "webhooks">, endpoint: InboundEndpoint): SecretList {
  const { inbound } = webhooks;
  const field = endpoint === "kyc" && inbound.kyc?.provider ? "genericSecrets" : "secrets";
  const own = field === "genericSecrets" ? inbound.kyc?.genericSecrets : inbound[endpoint]?.secrets;
  if (own) return { references: own, path: ["webhooks", "inbound", endpoint, field], isShared: false };
  return sharedInboundSecrets({ webhooks });
}

/** The list of all endpoints without secrets of their own. */
export function sharedInboundSecrets({ webhooks }: Pick<TenantConfig, "webhooks">): SecretList {
  return { references: webhooks.inbound.secrets, path: ["webhooks", "inbound", "secrets"], isShared: true };
}
