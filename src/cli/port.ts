import { InvalidArgumentError } from "commander";

/** Parses a port option; 0 takes any free one. */
export function parsePort(value: string): number {
  const port = Number(value);
  if (!/^\d{1,5}$/.test(value) || port > 65_535) throw new InvalidArgumentError("It must be a port, 0 to 65535.");
  return port;
}
