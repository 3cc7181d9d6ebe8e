import type { Command } from "commander";
import type { Door } from "../../app/tenant/door.ts";
import { formatPath, type Path } from "../../config/config-error.ts";
import type { Labels } from "../../config/selection/selector.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { openWorkspace, tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Host } from "../command.ts";
import { ASKS_TENANT, READS_FILES } from "../errors.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import { orDash, plain } from "../output/cells.ts";
import type { View } from "../output/output.ts";

interface TenantItem {
  tenant: string;
  name: string | null;
  baseUrl: string | null;
  labels: Labels | null;
  database: "embedded" | "external" | null;
  /** The problem of its file; null for a valid file. */
  problem: string | null;
}

/** The file's content with defaults filled in; secrets are references in it. */
type TenantDocument = Omit<TenantConfig, "source"> & {
  file: string;
  /** The way that commands take to the tenant now, with these options. */
  door: Pick<Door, "kind"> & { url?: string };
};

export function register(noun: Command, host: Host): void {
  host.add<SelectorOptions>(
    noun
      .command("list")
      .description("list the tenants of this directory")
      .argument("[tenants...]", "tenants to list (default: all); * and ? match")
      .addOption(selectorOption()),
    { names: "tenant name baseUrl labels database problem", ends: READS_FILES },
    (context) => context.io.output.print(tenantItems(context), listView),
  );
  host.add(
    noun
      .command("show")
      .description("show a tenant's file with defaults filled in, and whether commands go to a server or the database")
      .argument("[id]", "the tenant (default: the only one)"),
    { tenantFile: true, and: "file door", each: true, ends: ASKS_TENANT },
    runTenantShow,
  );
}

const listView: View<readonly TenantItem[], TenantItem> = {
  kind: "list",
  rows: (tenants) => tenants,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
    { title: "NAME", cell: ({ name }) => orDash(name) },
    { title: "ADDRESS", cell: ({ baseUrl }) => orDash(baseUrl) },
    { title: "LABELS", cell: ({ labels }) => orDash(labels && labelText(labels)), optional: true },
    { title: "DATABASE", cell: ({ database }) => orDash(database) },
    { title: "PROBLEM", cell: ({ problem }) => orDash(problem), wraps: true },
  ],
  empty: "There are no tenants here; `pmctl init` creates one.",
};

const documentView: View<TenantDocument, TenantDocument> = {
  kind: "record",
  fields: ({ door, ...document }) => [
    ["door", door.kind === "db" ? "the database" : `the server at ${door.url}`],
    ...linesOf(document),
  ],
};

/** One line for each value, by its path in the file; a list of plain values takes one line. */
function linesOf(value: unknown, path: Path = []): [string, string][] {
  const isTree = (part: unknown): part is object => typeof part === "object" && part !== null;
  if (!isTree(value)) return value === undefined ? [] : [[formatPath(path), orDash(plain(value))]];
  if (Array.isArray(value) && !value.some(isTree)) return [[formatPath(path), orDash(value.join(", "))]];
  const parts: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.length === 0
    ? [[formatPath(path), "-"]]
    : parts.flatMap(([step, part]) => linesOf(part, [...path, step]));
}

/** Labels in the form of a selector. */
function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map((label) => label.join("="))
    .join(",");
}

function tenantItems(context: Pick<CommandContext<SelectorOptions>, "options" | "args">): TenantItem[] {
  const workspace = openWorkspace();
  return tenantsMeant(workspace, context, "all").map((tenant) => {
    try {
      const { name, baseUrl, labels, database } = loadTenantFile(tenantPath(workspace.directory, tenant));
      const kind = database === "embedded" ? "embedded" : "external";
      return { tenant, name, baseUrl, labels, database: kind, problem: null };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const [problem = ""] = error.message.split("\n");
      return { tenant, name: null, baseUrl: null, labels: null, database: null, problem };
    }
  });
}

/** @throws Fault NOT_FOUND; UNREACHABLE when the line asks for a server and none runs; ConfigError for a bad file */
async function runTenantShow({ options, args: [id], io: { output } }: CommandContext<object>): Promise<void> {
  const [{ readOperatorTenant }, { chooseDoor }] = await Promise.all([
    import("../../app/tenant/operator-tenant.ts"),
    import("../../app/tenant/door.ts"),
  ]);
  const tenant = readOperatorTenant(id ?? options.tenant);
  const { source, ...document } = tenant.config;
  const way = await chooseDoor(tenant, options, (message) => output.note(message));
  const door: TenantDocument["door"] = way.kind === "db" ? way : { kind: way.kind, url: way.url };
  await output.print({ ...document, file: source.file, door }, documentView);
}
