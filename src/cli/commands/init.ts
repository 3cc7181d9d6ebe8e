import { type Command, Option } from "commander";
import { type InitResult, planInit, writeInit } from "../../config/init.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, ExitCode, Host } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";

interface InitOptions {
  template: "minimal" | "full";
}

interface WrittenFile {
  path: string;
  result: keyof InitResult;
}

const view: View<InitResult, WrittenFile> = {
  kind: "list",
  rows: (result) =>
    (["created", "extended", "kept"] as const).flatMap((kind) => result[kind].map((path) => ({ path, result: kind }))),
  columns: [
    { title: "file", cell: ({ path }) => path },
    { title: "result", cell: ({ result }) => result },
  ],
  empty: "Nothing was written",
};

export function register(noun: Command, host: Host): void {
  noun
    .argument("[tenant]", "the new tenant's id: lower-case letters, digits and -")
    .addOption(
      new Option("--template <name>", "how much the tenant file shows").choices(["minimal", "full"]).default("minimal"),
    )
    .description("write a tenant file, a market example and .env with fresh secrets")
    .action(host.action<InitOptions>(runInit));
}

/** Writes what is not there yet; a second run finds everything in place and overwrites nothing. */
export async function runInit({ options, args, io }: CommandContext<InitOptions>): Promise<ExitCode> {
  const tenant = args[0] ?? options.tenant;
  if (tenant === undefined) throw new Fault("USAGE", "Name the new tenant: pmctl init acme");
  const result = writeInit(process.cwd(), planInit({ tenant, template: options.template }));
  await io.output.print(result, view);
  io.output.note(`Next: pmctl validate ${tenant} && pmctl apply ${tenant} && pmctl serve ${tenant}`);
  return EXIT.ok;
}
