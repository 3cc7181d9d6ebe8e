import type { Command } from "commander";
import type { TenantConfig } from "../../config/tenant-file.ts";
import { Fault } from "../../domain/fault.ts";
import { orDash, plain } from "../cells.ts";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output.ts";

interface TenantItem {
  tenant: string;
  name: string | null;
  baseUrl: string | null;
  database: "embedded" | "external" | null;
  /** What is wrong with its file; null when nothing is. */
  problem: string | null;
}

/** The file's content with defaults filled in; secrets are references in it. */
type TenantDocument = Omit<TenantConfig, "source"> & { file: string };

export function register(noun: Command, host: Host): void {
  noun
    .command("list")
    .description("every tenant of this directory")
    .action(host.action(({ io }) => runTenantList({}, io)));
  noun
    .command("show")
    .description("what a tenant's file says, defaults filled in")
    .argument("[id]", "the tenant; the only one unless given")
    .action(host.action(({ options, args: [id], io }) => runTenantShow({ tenant: id ?? options.tenant }, io)));
}

const listView: View<readonly TenantItem[], TenantItem> = {
  kind: "list",
  rows: (tenants) => tenants,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
    { title: "NAME", cell: ({ name }) => orDash(name) },
    { title: "ADDRESS", cell: ({ baseUrl }) => orDash(baseUrl) },
    { title: "DATABASE", cell: ({ database }) => orDash(database) },
    { title: "PROBLEM", cell: ({ problem }) => orDash(problem) },
  ],
  empty: "There are no tenants here; `pmctl init` makes one.",
};

/** Top-level sections as lines; nested ones as JSON, which the other formats show better. */
const documentView: View<TenantDocument, TenantDocument> = {
  kind: "record",
  fields: (document) => Object.entries(document).map(([name, value]) => [name, plain(value)]),
};

/** @param options `directory`: the operator's, else where the command runs */
export async function runTenantList(options: { directory?: string }, { output }: Io): Promise<ExitCode> {
  const { openWorkspace, tenantPath } = await import("../../config/workspace.ts");
  const { loadTenantFile } = await import("../../config/tenant-file.ts");
  const { directory, tenants } = openWorkspace(options.directory);
  const items = tenants.map((tenant): TenantItem => {
    try {
      const { name, baseUrl, database } = loadTenantFile(tenantPath(directory, tenant));
      return { tenant, name, baseUrl, database: database === "embedded" ? "embedded" : "external", problem: null };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const [problem = ""] = error.message.split("\n");
      return { tenant, name: null, baseUrl: null, database: null, problem };
    }
  });
  await output.print(items, listView);
  return EXIT.ok;
}

/** @throws Fault NOT_FOUND, or ConfigError when the file is not valid */
export async function runTenantShow(
  options: { tenant?: string | undefined; directory?: string },
  { output }: Io,
): Promise<ExitCode> {
  const { readOperatorTenant } = await import("../operator-tenant.ts");
  const { source, ...document } = readOperatorTenant(options.tenant, options.directory).config;
  await output.print({ ...document, file: source.file }, documentView);
  return EXIT.ok;
}
