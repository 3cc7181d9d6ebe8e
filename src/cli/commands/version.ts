import type { Command } from "commander";
import type { Host } from "../command.ts";
import { packageVersion } from "../input/package-version.ts";
import type { View } from "../output/output.ts";

interface Version {
  version: string;
  node: string;
}

const view: View<Version, Version> = { kind: "text", text: ({ version }) => version };

export function register(noun: Command, host: Host): void {
  host.add(noun, { names: "version node" }, ({ io }) =>
    io.output.print({ version: packageVersion(), node: process.versions.node }, view),
  );
}
