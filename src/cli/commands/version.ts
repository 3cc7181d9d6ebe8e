import type { Command } from "commander";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { packageVersion } from "../input/package-version.ts";
import type { View } from "../output/output.ts";

interface Version {
  version: string;
  node: string;
}

const view: View<Version, Version> = { kind: "text", text: ({ version }) => version };

export function register(noun: Command, host: Host): void {
  host.add(noun, { names: "version node" }, ({ io }) => runVersion(io));
}

export async function runVersion({ output }: Io): Promise<ExitCode> {
  await output.print({ version: packageVersion(), node: process.versions.node }, view);
  return EXIT.ok;
}
