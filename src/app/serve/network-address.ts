import { networkInterfaces } from "node:os";

/** Whether a server that listens on this host listens on every address of the machine. */
export function isEveryAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** This machine's first address that other machines of its network can dial. */
export function networkAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal, address }) => family === "IPv4" && !internal && !address.startsWith("169.254."))
    ?.address;
}
