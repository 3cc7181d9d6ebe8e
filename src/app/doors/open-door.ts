import { isLoopback } from "../../domain/access/networks.ts";
import { adminKey, indexOfKey } from "../tenant/admin-key.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { chooseDoor, type HttpDoor, type Via } from "./choose-door.ts";
import { tenantFetch } from "./trust.ts";

/** What the operator says of the way to a tenant. */
export interface DoorOptions {
  via: Via;
  url?: string | undefined;
  /** The admin key of the tenant file that is used over HTTP. */
  key?: string | undefined;
}

/** A server of the tenant, with what the operator talks to it with. */
export interface ServerDoor extends HttpDoor {
  access: { url: string; apiKey: string; fetch: typeof fetch; onWait: (message: string) => void };
}

/**
 * Chooses the way that a command goes to its tenant, and gets ready what goes over HTTP.
 *
 * @param note told of servers that were passed by, of a key that is not used, and of one that others can read on its way
 * @throws Fault as `chooseDoor` does, and CONFIG_INVALID or USAGE for an admin key that cannot be used
 */
export async function openDoor(
  tenant: OperatorTenant,
  { via, url, key }: DoorOptions,
  note: (message: string) => void,
): Promise<{ kind: "db" } | ServerDoor> {
  const door = await chooseDoor(tenant, via, url, note, () => adminKey(tenant, key).secretName);
  if (door.kind === "db") {
    if (key !== undefined) noteUnusedKey(tenant, key, note);
    return door;
  }
  const { value: apiKey } = adminKey(tenant, key);
  if (isReadableOnTheWay(door.url)) note("The admin key travels unencrypted: this address begins with http://");
  return { ...door, access: { url: door.url, apiKey, fetch: await tenantFetch(tenant, door), onWait: note } };
}

/** Plain HTTP that leaves this machine. */
function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
}

/** Straight at the database no key is asked for, and the file's owner may do everything. */
function noteUnusedKey(tenant: OperatorTenant, key: string, note: (message: string) => void): void {
  indexOfKey(tenant, key);
  note(`Straight to the database: the key ${key} has no part in this, and nothing is kept to its scopes`);
}
