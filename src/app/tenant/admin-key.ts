import type { LocalKey } from "../../client/local-api.ts";
import { loadEnvironment, readKey, readKeyVariable } from "../../config/environment.ts";
import { destinationName } from "../../config/secrets/secret-destinations.ts";
import { Fault } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { Recording } from "./actor.ts";
import type { OperatorTenant } from "./operator-tenant.ts";

/** The key that a command sends to a server. */
export interface AdminKey {
  value: string;
  /** The secret's name for `secrets.destinations` of `pmctl.yaml`; undefined for a kind that cannot be listed. */
  secretName: string | undefined;
}

/**
 * The admin key with this name. Without a name: the first valid one, or the read key of the environment where that
 * one's value is missing, since a pipeline needs no more for planning.
 * @throws Fault USAGE for an unknown name, CONFIG_INVALID when the key has expired or its value is missing
 */
export function adminKey(tenant: OperatorTenant, name: string | undefined): AdminKey {
  const { id, directory, config, secret } = tenant;
  const index = name === undefined ? firstValid(tenant) : indexOfKey(tenant, name);
  const key = config.keys.admin[index];
  if (!key) throw new Fault("CONFIG_INVALID", `The file of ${id} names no valid admin key`);
  if (!isValid(key)) throw new Fault("CONFIG_INVALID", `The admin key ${key.name} of ${id} has expired`);
  try {
    return { value: secret(key.secret, ["keys", "admin", index, "secret"]), secretName: destinationName(key.secret) };
  } catch (error) {
    const fallback = name === undefined ? readKey(id, loadEnvironment(directory)) : undefined;
    if (error instanceof Fault && fallback !== undefined)
      return { value: fallback, secretName: `env ${readKeyVariable(id)}` };
    throw error;
  }
}

/**
 * The line's idempotency key for changes straight at the database. It is stored like at a server, under the admin key
 * that the command would send there, so a change through one door is known at the other.
 */
export function localKey(
  tenant: Pick<OperatorTenant, "config">,
  {
    key,
    idempotencyKey,
    relativeTimes,
  }: { key?: string | undefined } & Pick<Recording, "idempotencyKey" | "relativeTimes">,
): LocalKey | undefined {
  if (idempotencyKey === undefined) return undefined;
  return { key: idempotencyKey, adminKey: key ?? tenant.config.keys.admin[firstValid(tenant)]?.name, relativeTimes };
}

type FileKey = OperatorTenant["config"]["keys"]["admin"][number];

const isValid = ({ expires }: FileKey): boolean => expires === undefined || expires > wallClockMs();

const firstValid = ({ config }: Pick<OperatorTenant, "config">): number => config.keys.admin.findIndex(isValid);

/** @throws Fault USAGE */
export function indexOfKey({ id, config }: OperatorTenant, name: string): number {
  const names = config.keys.admin.map((key) => key.name);
  const index = names.indexOf(name);
  if (index >= 0) return index;
  const meant = nearest(name, names);
  const hint = meant === undefined ? `it has ${names.join(", ") || "none"}` : `did you mean "${meant}"?`;
  throw new Fault("USAGE", `--key: the file of ${id} has no admin key ${JSON.stringify(name)}; ${hint}`);
}
