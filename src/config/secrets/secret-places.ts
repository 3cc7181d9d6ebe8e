import type { InboundEndpoint } from "../../contract/constants.ts";
import { formatPath, type Path } from "../config-error.ts";
import { isAnchorPlace } from "../schema/anchor-places.ts";
import type { SecretReference } from "../schema/scalars.ts";
import type { TenantConfig } from "../tenant-config.ts";

/** A reference to a secret, and its place in the tenant file. */
export interface SecretPlace {
  reference: SecretReference;
  path: Path;
}

/** Every reference of a tenant's file. */
export function secretPlaces({ source: _, ...document }: TenantConfig): SecretPlace[] {
  return referencesIn(document);
}

/** Every reference in a document at any place, so that a new section needs no line here. */
export function referencesIn(value: unknown, path: Path = []): SecretPlace[] {
  if (typeof value !== "object" || value === null) return [];
  // `jwks: { file }` and anchor targets only look like references to secrets.
  const isPlace = path.at(-1) === "jwks" || isAnchorPlace(path);
  if (isReference(value) && !isPlace) return [{ reference: value, path }];
  return Object.entries(value).flatMap(([key, inner]) =>
    referencesIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** The secrets that sign requests to `resolution_url`. During a rotation, a receiver may have any of them. */
export function resolutionSecretsOf({ oracle, webhooks }: TenantConfig): SecretPlace[] {
  const { resolutionSecret, previousResolutionSecrets } = oracle;
  if (resolutionSecret === undefined) return referencesIn(webhooks.inbound.secrets, ["webhooks", "inbound", "secrets"]);
  return [
    { reference: resolutionSecret, path: ["oracle", "resolutionSecret"] },
    ...referencesIn(previousResolutionSecrets, ["oracle", "previousResolutionSecrets"]),
  ];
}

function isReference(value: object): value is SecretReference {
  return ["env", "file", "exec", "path,sops"].includes(Object.keys(value).sort().join());
}

/** The requirements for a secret at a place of the tenant file. */
interface PlaceKind {
  /** The kind's name in lists of secrets. */
  type: string;
  /** Places of the same group may share a value. Undefined: no other place may have it. */
  group: { name: string; acrossTenants?: true } | undefined;
  /** The problem of a value; undefined if it is valid. It never shows the value. */
  problemOf: (value: string) => string | undefined;
}

const RESOLUTION: PlaceKind = { type: "oracle", group: { name: "resolution" }, problemOf: signingSecret };

const TLS: PlaceKind = { type: "tls", group: { name: "tls", acrossTenants: true }, problemOf: anything };

/** The first row whose `beginning` matches the path counts. */
const KINDS: readonly [beginning: string, kind: PlaceKind][] = [
  ["keys.admin", { type: "key", group: undefined, problemOf: apiKey("sk_") }],
  ["keys.public", { type: "key", group: undefined, problemOf: apiKey("pk_") }],
  ["webhooks.inbound.stripe", { type: "stripe", group: { name: "stripe" }, problemOf: stripeSecret }],
  [
    "webhooks.outbound",
    { type: "outbound", group: { name: "outbound", acrossTenants: true }, problemOf: signingSecret },
  ],
  ["webhooks.", { type: "webhook", group: { name: "inbound" }, problemOf: bytes(32) }],
  ["audit.anchors", { type: "audit", group: { name: "anchors" }, problemOf: signingSecret }],
  ["audit.", { type: "audit", group: { name: "audit" }, problemOf: bytes(32) }],
  ["auth.", { type: "jwt", group: { name: "jwt" }, problemOf: bytes(32) }],
  ["database.", { type: "database", group: { name: "database", acrossTenants: true }, problemOf: anything }],
  ["oracle.resolutionSecret", RESOLUTION],
  ["oracle.previousResolutionSecrets", RESOLUTION],
  // Keys of outside services: tenants may share an account there, and each service has its own format.
  ["oracle.", { type: "oracle", group: { name: "sources", acrossTenants: true }, problemOf: anything }],
  ["server.console.tls", TLS],
  ["server.tls", TLS],
];
const OTHER: PlaceKind = { type: "other", group: undefined, problemOf: anything };

/** The beginnings of all known places, in order of precedence. */
export const PLACES: readonly string[] = KINDS.map(([beginning]) => beginning);

/** The kind of secret at a place. */
export function kindOf(path: Path): PlaceKind {
  const name = formatPath(path);
  return KINDS.find(([beginning]) => name.startsWith(beginning))?.[1] ?? OTHER;
}

function anything(): undefined {
  return undefined;
}

function bytes(least: number) {
  return (value: string) =>
    Buffer.byteLength(value) < least ? `the secret must have at least ${least} bytes` : undefined;
}

function apiKey(prefix: string) {
  // No request could carry a longer key.
  const shape = new RegExp(`^${prefix}[A-Za-z0-9_-]{43,252}$`);
  return (value: string) =>
    shape.test(value)
      ? undefined
      : `the key must be ${prefix} and 43 to 252 of A-Z, a-z, 0-9, _ and -, such as ${prefix}$(openssl rand -hex 32)`;
}

function stripeSecret(value: string): string | undefined {
  return /^whsec_.{24,}$/s.test(value) ? undefined : "the secret must be whsec_ and at least 24 characters";
}

/** After `whsec_`, the decoded base64 (padded or not) is the key; any other text is used unchanged. */
function signingSecret(value: string): string | undefined {
  const encoded = /^whsec_([A-Za-z0-9+/]*={0,2})$/.exec(value)?.[1];
  const isLong = encoded === undefined ? Buffer.byteLength(value) >= 32 : Buffer.from(encoded, "base64").length >= 24;
  return isLong ? undefined : "the secret must be whsec_ and base64 of at least 24 bytes, or at least 32 bytes";
}

/** A list of references, and its place in the tenant file. */
export interface SecretList {
  references: readonly SecretReference[];
  path: Path;
  /** Whether this is the list for all endpoints without secrets of their own. */
  isShared: boolean;
}

/** The secrets that sign an endpoint's generic webhooks: the endpoint's own secrets, or else the shared ones. */
export function inboundSecretsOf({ webhooks }: Pick<TenantConfig, "webhooks">, endpoint: InboundEndpoint): SecretList {
  const { inbound } = webhooks;
  const field = endpoint === "kyc" && inbound.kyc?.provider ? "genericSecrets" : "secrets";
  const own = field === "genericSecrets" ? inbound.kyc?.genericSecrets : inbound[endpoint]?.secrets;
  if (own) return { references: own, path: ["webhooks", "inbound", endpoint, field], isShared: false };
  return sharedInboundSecrets({ webhooks });
}

/** The list for all endpoints without secrets of their own. */
export function sharedInboundSecrets({ webhooks }: Pick<TenantConfig, "webhooks">): SecretList {
  return { references: webhooks.inbound.secrets, path: ["webhooks", "inbound", "secrets"], isShared: true };
}
