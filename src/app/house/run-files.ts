import { dialledUrl } from "../doors/find-server.ts";
import { removeRunFile, writeRunFile } from "../doors/run-file.ts";
import type { HouseTerms, Resident } from "./messages.ts";

type Place = Pick<HouseTerms, "directory" | "url" | "address" | "port" | "opsUrl">;

/**
 * Announces this worker to commands as the server of its tenants, also of those that are idle: a command that asks for the proof is the
 * request that opens the tenant. The key of the audit log is stated from the first opening on.
 * @param secret what the worker proves itself by, for each of them
 */
export async function announce(place: Place, residents: readonly Resident[], secret: string): Promise<void> {
  const { directory, opsUrl } = place;
  const running = { pid: process.pid, url: dialledUrl(place), opsUrl, secret };
  // Without a host no request reaches it.
  for (const { tenant, commandHost } of residents)
    if (commandHost !== undefined) await writeRunFile(directory, tenant, { ...running, adminHost: commandHost });
}

/** Takes the announcement back. */
export async function withdraw(directory: string, residents: readonly Resident[]): Promise<void> {
  for (const { tenant } of residents) await removeRunFile(directory, tenant, process.pid);
}
