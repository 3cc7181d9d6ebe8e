import type { Command } from "commander";
import type { Host } from "../command.ts";
import { type PackageVersion, packageVersion, versionLine } from "../input/package-version.ts";
import type { View } from "../output/output.ts";

interface Version extends PackageVersion {
  node: string;
}

const view: View<Version, Version> = { kind: "text", text: versionLine };

export function register(noun: Command, host: Host): void {
  host.add(noun, { names: "version commit node" }, ({ io }) =>
    io.output.print({ ...packageVersion(), node: process.versions.node }, view),
  );
}
