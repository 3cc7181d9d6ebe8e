import { Argument, type Command } from "commander";
import { z } from "zod";
import { formatPath } from "../../config/config-error.ts";
import { TenantFileSchema } from "../../config/schema/schema.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import type { CommandContext, CommandModule, Host } from "../command.ts";
import { READS_FILES } from "../errors.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { plain } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { eachTenant } from "./each-tenant.ts";

interface RenderedTenant {
  tenant: string;
  /** The merged file with defaults filled in, as an operator would write it. Secrets stay references. */
  document: Record<string, unknown>;
  /** `file:line` by dotted path; `default` where no file states the value. */
  origins: Record<string, string>;
}

interface RenderedValue {
  tenant: string;
  path: string;
  value: unknown;
  origin: string;
}

const view: View<RenderedTenant[], RenderedValue> = {
  kind: "list",
  rows: (tenants) =>
    tenants.flatMap(({ tenant, document, origins }) =>
      leaves(document).map(({ path, value }) => {
        const name = formatPath(path);
        return { tenant, path: name, value, origin: origins[name] ?? "" };
      }),
    ),
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant },
    { title: "PATH", cell: ({ path }) => path, whole: true },
    { title: "VALUE", cell: ({ value }) => plain(value) },
    { title: "ORIGIN", cell: ({ origin }) => origin, whole: true },
  ],
  empty: "There are no tenants here; `pmctl init` creates one",
};

export function register(noun: Command, host: Host): void {
  host.add<SelectorOptions>(
    noun
      .argument("[tenants...]", "tenants to show (default: all); * and ? match")
      .addOption(selectorOption())
      .description("print whole tenant files: bases merged, defaults filled in, each value with its file and line"),
    { names: "tenant path value origin", ends: READS_FILES },
    runRender,
  );
}

/** @throws ConfigError with the problems of all invalid files */
async function runRender(context: CommandContext<SelectorOptions>): Promise<void> {
  await context.io.output.print(
    eachTenant(context, (file) => render(loadTenantFile(file))),
    view,
  );
}

function render({ source, ...config }: TenantConfig): RenderedTenant {
  const document = z.encode(TenantFileSchema, config);
  const origins = leaves(document).map(({ path }) => {
    const { file, line } = source.positionOf(path);
    return [formatPath(path), source.states(path) ? `${file}:${line}` : "default"];
  });
  return { tenant: config.tenant, document, origins: Object.fromEntries(origins) };
}

/** Values without inner values, and empty lists and mappings. */
function leaves(value: unknown, path: (string | number)[] = []): { path: (string | number)[]; value: unknown }[] {
  if (typeof value !== "object" || value === null) return value === undefined ? [] : [{ path, value }];
  const children: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  if (children.length === 0) return [{ path, value }];
  return children.flatMap(([step, child]) => leaves(child, [...path, step]));
}

/** A document for other programs: JSON unless the line asks for another format. */
const documentView: View<object, object> = { kind: "text", text: (document) => JSON.stringify(document, null, 2) };

const DOCUMENTS = ["tenant", "market", "operator", "fleet", "case", "openapi"];

export const schema: CommandModule = {
  register: (noun, host) =>
    host.add(
      noun
        .addArgument(new Argument("<what>", "the file to describe, or openapi for the HTTP API").choices(DOCUMENTS))
        .description(
          "print the JSON Schema (draft-07) of tenant files, market files, test cases, pmctl.yaml or fleet.yaml, or the OpenAPI document of the service",
        ),
      {
        names: "$schema type properties required title description definitions openapi info paths components",
        ends: {},
      },
      async ({ args: [what], io }) => {
        const { schemaDocument } = await import("../../app/schema-documents.ts");
        return io.output.print(await schemaDocument(what), documentView);
      },
    ),
};
