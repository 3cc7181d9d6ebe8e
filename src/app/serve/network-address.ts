import { networkInterfaces } from "node:os";

/** Whether a server with this host listens on every address of the machine. */
export function isEveryAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** This machine's first address that other machines in its network can reach. */
export function networkAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal, address }) => family === "IPv4" && !internal && !address.startsWith("169.254."))
    ?.address;
}
