import { formatPath, type Path } from "../../config/config-error.ts";
import { environmentPrefix } from "../../config/environment.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { inboundSecretsOf, kindOf, secretPlaces, sharedInboundSecrets } from "../../config/secrets/secret-places.ts";
import { describeReference, fingerprint } from "../../config/secrets/secrets.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/constants.ts";
import { hashApiKey, keyFingerprint } from "../../domain/access/api-key.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { type OperatorTenant, secretAtHand } from "./operator-tenant.ts";

/** A secret of the tenant file. */
export interface FileSecret {
  /** The dotted path in the file. */
  name: string;
  type: string;
  reference: string;
  /** Null when the value is missing here. */
  fingerprint: string | null;
  /** For an API key: its name in the file. */
  keyName?: string | undefined;
}

/** Every secret of a tenant's file: its place, and a fingerprint where the value can be read. */
export function listFileSecrets(tenant: OperatorTenant): FileSecret[] {
  const read = (reference: SecretReference, path: Path) => secretAtHand(tenant, reference, path);
  const secretOfAudit = read(tenant.config.audit.key, ["audit", "key"]);
  return secretPlaces(tenant.config).map(({ reference, path }) => {
    const name = formatPath(path);
    const { type } = kindOf(path);
    const value = read(reference, path);
    const shown = () => {
      if (value === undefined) return null;
      // The key's id in audit entries, so that the two can be compared.
      if (type === "audit") return auditKey(value).id;
      // The same fingerprint as in plans, which only know the hash of a stored key.
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

/** The steps that replace a secret of the tenant file. */
export interface FileRotation {
  type: "webhook" | "audit";
  /** The variable for the new value. */
  variable: string;
  key: string;
  /** The lines of the tenant file after the change. */
  yaml: string;
  steps: string[];
}

/**
 * Plans the replacement of a secret of the tenant file. Changes nothing: the operator stores the value, and edits the
 * file under version control.
 *
 * @param key the new value
 * @throws Fault USAGE when every inbound endpoint has its own secrets and the line names none
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
    `Put the new value where the server reads it, such as .env: ${variable}=${key}`,
    `First let every server read it: put { env: ${variable} } into \`previous\` beside ${at("audit", "key")}, ${APPLY}, and start the servers again, one after the other`,
    `Then change the audit key at ${at("audit", "key")} to: ${sealing}`,
    source.states(["audit", "previous"])
      ? `Change the list at ${at("audit", "previous")} to: ${previous}`
      : `Add below it: ${previous}`,
    "Start the servers again, one after the other. The old key stays in `previous` for ever, because it sealed the earlier entries.",
  ];
  return { type, variable, key, yaml: `${sealing}\n${previous}`, steps };
}

/** The operator must accept a variable that the file did not read before. */
const APPLY = "`pmctl apply --accept-loosening` (the plan lists the new variable)";

function planWebhookRotation(tenant: OperatorTenant, endpoint: InboundEndpoint | undefined, key: string): FileRotation {
  const { config } = tenant;
  const lists = INBOUND_ENDPOINTS.map((each) => inboundSecretsOf(config, each));
  if (endpoint === undefined && lists.every(({ isShared }) => !isShared))
    throw new Fault("USAGE", `Every endpoint has its own secrets: add --endpoint ${INBOUND_ENDPOINTS.join("|")}`);
  const { references, path } = endpoint ? inboundSecretsOf(config, endpoint) : sharedInboundSecrets(config);
  const usable = references.filter((reference, index) => isUsable(tenant, reference, [...path, index]));
  const own = path.length > 3 && endpoint ? `${endpoint.toUpperCase()}_` : "";
  const variable = freeVariable(tenant, references[0], `${own}WEBHOOK_SECRET`);
  const yaml = `${path.at(-1)}: [${[...usable.map(inline), `{ env: ${variable} }`].join(", ")}]`;
  const unfit = references.filter((reference) => !usable.includes(reference)).map(describeReference);
  const { file, line } = config.source.positionOf(path, true);
  const steps = [
    `Put the new value where the server reads it, such as .env: ${variable}=${key}`,
    ...(unfit.length > 0
      ? [
          `${unfit.join(" and ")} cannot stay beside it: no server starts with a secret of this form, so the new value replaces it at once`,
        ]
      : []),
    `Change ${file}:${line} to: ${yaml}`,
    `Run ${APPLY}`,
    ...(usable.length > 0
      ? [
          "Start the servers again, one after the other: from then on they accept the old value and the new one.",
          "Give the new value to the providers. When they sign with it, remove the old reference from the file.",
        ]
      : [
          "Give the new value to the providers, and start the servers: until a provider signs with it, its webhooks are answered 401, and it has to send them again.",
        ]),
  ];
  return { type: "webhook", variable, key, yaml, steps };
}

/** Whether a server would accept the secret; a missing value counts as good. */
function isUsable(tenant: OperatorTenant, reference: SecretReference, path: Path): boolean {
  const value = secretAtHand(tenant, reference, path);
  return value === undefined || kindOf(path).problemOf(value) === undefined;
}

/** Turns `ACME_KEY` into `ACME_KEY_2`, or the next number that no reference of the file uses. */
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
