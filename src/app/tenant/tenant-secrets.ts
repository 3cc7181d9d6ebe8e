import { formatPath, type Path } from "../../config/config-error.ts";
import { environmentPrefix } from "../../config/environment.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { inboundSecretsOf, kindOf, secretPlaces, sharedInboundSecrets } from "../../config/secrets/secret-places.ts";
import { describeReference, fingerprint } from "../../config/secrets/secrets.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/resources/webhooks.ts";
import { hashApiKey, keyFingerprint } from "../../domain/access/api-key.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { type OperatorTenant, secretAtHand } from "./operator-tenant.ts";

/** A secret that the tenant file refers to. */
export interface FileSecret {
  /** Dotted, as in the file. */
  name: string;
  type: string;
  reference: string;
  /** Null when the value is not at hand here. */
  fingerprint: string | null;
  /** Of an API key: what the file calls it. */
  keyName?: string | undefined;
}

/** Every secret of a tenant's file: where it is kept, and a fingerprint where the value can be read. */
export function listFileSecrets(tenant: OperatorTenant): FileSecret[] {
  const read = (reference: SecretReference, path: Path) => secretAtHand(tenant, reference, path);
  const secretOfAudit = read(tenant.config.audit.key, ["audit", "key"]);
  return secretPlaces(tenant.config).map(({ reference, path }) => {
    const name = formatPath(path);
    const { type } = kindOf(path);
    const value = read(reference, path);
    const shown = () => {
      if (value === undefined) return null;
      // The id that audit entries name their key by, so that the two can be compared.
      if (type === "audit") return auditKey(value).id;
      // The same as in plans, which know only the hash of a stored key.
      if (type === "key") return keyFingerprint(hashApiKey(value));
      return secretOfAudit === undefined ? null : fingerprint(value, secretOfAudit);
    };
    const [, keyType, index] = path;
    const keyName =
      (keyType === "admin" || keyType === "public") && typeof index === "number"
        ? tenant.config.keys[keyType][index]?.name
        : undefined;
    return { name, type, reference: describeReference(reference), fingerprint: shown(), keyName };
  });
}

/** How a secret of the tenant file is replaced, step by step. */
export interface FileRotation {
  type: "webhook" | "audit";
  /** The variable for the new value. */
  variable: string;
  key: string;
  /** The lines of the tenant file that change, as they should become. */
  yaml: string;
  steps: string[];
}

/**
 * Plans the replacement of a secret that the tenant file refers to. Changes nothing: the operator puts the value where
 * secrets are kept, and edits the file under version control.
 *
 * @param key the new value
 * @throws Fault USAGE when every inbound endpoint has secrets of its own and none is named
 */
export function planFileRotation(
  tenant: OperatorTenant,
  { type, endpoint }: { type: "webhook" | "audit"; endpoint?: InboundEndpoint | undefined },
  key: string,
): FileRotation {
  const { audit, source } = tenant.config;
  if (type === "webhook") return planWebhookRotation(tenant, endpoint, key);
  const at = (...path: string[]) => {
    const { file, line } = source.positionOf(path, true);
    return `${file}:${line}`;
  };
  const variable = freeVariable(tenant, audit.key, "AUDIT_KEY");
  const sealing = `key: { env: ${variable} }`;
  const previous = `previous: [${[audit.key, ...audit.previous].map(inline).join(", ")}]`;
  const steps = [
    `Put the new value where the server finds it, such as .env: ${variable}=${key}`,
    `First let every server know it: put { env: ${variable} } into \`previous\` beside ${at("audit", "key")}, ${APPLY}, and start the servers again, one after the other`,
    `Then let the audit key at ${at("audit", "key")} read: ${sealing}`,
    source.states(["audit", "previous"])
      ? `Let the list at ${at("audit", "previous")} read: ${previous}`
      : `Put beside it: ${previous}`,
    "Start the servers again, one after the other. The old key stays in `previous` for ever: it sealed what was written.",
  ];
  return { type, variable, key, yaml: `${sealing}\n${previous}`, steps };
}

/** A variable that the file did not read before is for the operator to accept. */
const APPLY = "`pmctl apply --accept-loosening` (the plan lists the new variable)";

function planWebhookRotation(tenant: OperatorTenant, endpoint: InboundEndpoint | undefined, key: string): FileRotation {
  const { config } = tenant;
  const lists = INBOUND_ENDPOINTS.map((each) => inboundSecretsOf(config, each));
  if (endpoint === undefined && lists.every(({ isShared }) => !isShared))
    throw new Fault("USAGE", `Every endpoint has secrets of its own: add --endpoint ${INBOUND_ENDPOINTS.join("|")}`);
  const { references, path } = endpoint ? inboundSecretsOf(config, endpoint) : sharedInboundSecrets(config);
  const usable = references.filter((reference, index) => isUsable(tenant, reference, [...path, index]));
  const own = path.length > 3 && endpoint ? `${endpoint.toUpperCase()}_` : "";
  const variable = freeVariable(tenant, references[0], `${own}WEBHOOK_SECRET`);
  const yaml = `${path.at(-1)}: [${[...usable.map(inline), `{ env: ${variable} }`].join(", ")}]`;
  const unfit = references.filter((reference) => !usable.includes(reference)).map(describeReference);
  const { file, line } = config.source.positionOf(path, true);
  const steps = [
    `Put the new value where the server finds it, such as .env: ${variable}=${key}`,
    ...(unfit.length > 0
      ? [
          `${unfit.join(" and ")} cannot stay beside it: no server starts with a secret of this shape, so it is replaced at once`,
        ]
      : []),
    `Let ${file}:${line} read: ${yaml}`,
    `Run ${APPLY}`,
    ...(usable.length > 0
      ? [
          "Start the servers again, one after the other: from then on the old value and the new one are accepted.",
          "Give the new value to the providers. When they sign with it, take the old reference out of the file.",
        ]
      : [
          "Give the new value to the providers, and start the servers: until a provider signs with it, its webhooks are answered 401, and it has to send them again.",
        ]),
  ];
  return { type: "webhook", variable, key, yaml, steps };
}

/** Whether a server would accept it; a value that is not at hand is taken to be sound. */
function isUsable(tenant: OperatorTenant, reference: SecretReference, path: Path): boolean {
  const value = secretAtHand(tenant, reference, path);
  return value === undefined || kindOf(path).problemOf(value) === undefined;
}

/** `ACME_KEY` as `ACME_KEY_2`, or the next number that no reference of the file uses. */
function freeVariable({ id, config }: OperatorTenant, current: SecretReference | undefined, usual: string): string {
  const name = current && "env" in current ? current.env : `${environmentPrefix(id)}_${usual}`;
  const taken = new Set(secretPlaces(config).map(({ reference }) => ("env" in reference ? reference.env : "")));
  const stem = name.replace(/_\d+$/, "");
  for (let number = 2; ; number++) if (!taken.has(`${stem}_${number}`)) return `${stem}_${number}`;
}

/** A reference as one line of YAML; JSON is YAML. */
function inline(reference: SecretReference): string {
  return "env" in reference ? `{ env: ${reference.env} }` : JSON.stringify(reference);
}
