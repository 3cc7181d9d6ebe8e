import type { Command } from "commander";
import type { Door } from "../../app/doors/choose-door.ts";
import type { SessionOptions } from "../../app/tenant/session.ts";
import { formatPath, type Path } from "../../config/config-error.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { Fault } from "../../domain/fault.ts";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { orDash, plain } from "../output/cells.ts";
import type { View } from "../output/output.ts";

interface TenantItem {
  tenant: string;
  name: string | null;
  baseUrl: string | null;
  database: "embedded" | "external" | null;
  /** What is wrong with its file; null when nothing is. */
  problem: string | null;
}

/** The file's content with defaults filled in; secrets are references in it. */
type TenantDocument = Omit<TenantConfig, "source"> & {
  file: string;
  /** Which way commands go to the tenant now, with these options. */
  door: Door;
};

export function register(noun: Command, host: Host): void {
  host.add(
    noun.command("list").description("every tenant of this directory"),
    { names: "tenant name baseUrl database problem" },
    ({ io }) => runTenantList({}, io),
  );
  host.add(
    noun
      .command("show")
      .description("what a tenant's file says, defaults filled in, and whether commands go to a server or the database")
      .argument("[id]", "the tenant; the only one unless given"),
    { tenantFile: true, and: "file door" },
    ({ options: { tenant, via, url }, args: [id], io }) => runTenantShow({ tenant: id ?? tenant, via, url }, io),
  );
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

const documentView: View<TenantDocument, TenantDocument> = {
  kind: "record",
  fields: ({ door, ...document }) => [
    ["door", door.kind === "db" ? "the database" : `the server at ${door.url}`],
    ...linesOf(document),
  ],
};

/** A line for each value, by its path in the file. A list of plain values is one. */
function linesOf(value: unknown, path: Path = []): [string, string][] {
  const isTree = (part: unknown): part is object => typeof part === "object" && part !== null;
  if (!isTree(value)) return value === undefined ? [] : [[formatPath(path), orDash(plain(value))]];
  if (Array.isArray(value) && !value.some(isTree)) return [[formatPath(path), orDash(value.join(", "))]];
  const parts: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.length === 0
    ? [[formatPath(path), "-"]]
    : parts.flatMap(([step, part]) => linesOf(part, [...path, step]));
}

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

/** @throws Fault NOT_FOUND, UNREACHABLE when a server was asked for and none is there, ConfigError for a file that is not valid */
export async function runTenantShow(
  {
    tenant: named,
    via = "auto",
    url,
    directory,
  }: Partial<Pick<SessionOptions, "tenant" | "via" | "url">> & { directory?: string },
  { output }: Io,
): Promise<ExitCode> {
  const [{ readOperatorTenant }, { chooseDoor }] = await Promise.all([
    import("../../app/tenant/operator-tenant.ts"),
    import("../../app/doors/choose-door.ts"),
  ]);
  const tenant = readOperatorTenant(named, directory);
  const { source, ...document } = tenant.config;
  const way = await chooseDoor(tenant, via, url, (message) => output.note(message));
  const door: Door = way.kind === "db" ? way : { kind: way.kind, url: way.url };
  await output.print({ ...document, file: source.file, door }, documentView);
  return EXIT.ok;
}
