import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type SeenKind, SeenValues } from "../../app/tenant/seen-values.ts";
import { defaultTenant } from "../../config/environment.ts";
import {
  DEMO_TENANT,
  demoRuns,
  folderNames,
  operatorDirectory,
  takeDirectory,
} from "../../config/selection/operator-directory.ts";
import { Fault } from "../../domain/fault.ts";

export const VALUE_KINDS = ["markets", "keys", "users", "policy", "events", "names", "tenants"] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

/** A request of a completion script. */
export interface ValuesLine {
  kind: ValueKind;
  prefix: string;
  directory?: string | undefined;
  tenant?: string | undefined;
}

const OPTIONS: Readonly<Record<string, "directory" | "tenant">> = {
  "-C": "directory",
  "--directory": "directory",
  "-t": "tenant",
  "--tenant": "tenant",
};

/**
 * Reads the line that the shell's scripts write without loading the program, because the user waits for a key press.
 * @returns undefined for any other line, which the program reads
 */
export function valuesLine(argv: readonly string[]): ValuesLine | undefined {
  const [noun, verb, ...words] = argv;
  if (noun !== "completion" || verb !== "values") return undefined;
  const stated: { directory?: string; tenant?: string } = {};
  const operands: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    const option = OPTIONS[word];
    if (option !== undefined) {
      index += 1;
      stated[option] = words[index] ?? "";
    } else if (word.startsWith("-")) return undefined;
    else operands.push(word);
  }
  const [named, prefix = "", ...rest] = operands;
  const kind = VALUE_KINDS.find((each) => each === named);
  return kind === undefined || rest.length > 0 ? undefined : { kind, prefix, ...stated };
}

/**
 * The values of a kind with this prefix, from files only: no server and no database is asked. Where a file cannot be
 * read there is nothing to complete.
 *
 * @param refresh starts to read a tenant's values again, for the next completion
 */
export async function valuesOf(
  { kind, prefix, directory, tenant }: ValuesLine,
  refresh: (place: { directory: string; tenant: string }) => void = () => {},
): Promise<string[]> {
  if (kind === "policy") {
    const { POLICY_FIELDS } = await import("../../domain/policy/fields.ts");
    return POLICY_FIELDS.filter((field) => field.startsWith(prefix));
  }
  if (kind === "events") {
    const { SAMPLE_EVENTS } = await import("../../app/webhooks/webhook-samples.ts");
    return SAMPLE_EVENTS.filter((event) => event.startsWith(prefix));
  }
  if (kind === "names") return namesAfter(prefix);
  try {
    if (directory !== undefined) takeDirectory(directory);
    const place = operatorDirectory();
    const tenants = tenantsOf(place);
    if (kind === "tenants") return tenants.filter((name) => name.startsWith(prefix));
    const meant = tenant ?? defaultTenant() ?? (tenants.length === 1 ? tenants[0] : undefined);
    return meant !== undefined && tenants.includes(meant) ? seenValues(kind, prefix, place, meant, refresh) : [];
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

/** What `pmctl explain` takes: the words that names begin with, and behind such a word its names. */
async function namesAfter(prefix: string): Promise<string[]> {
  const [{ FILES, pathsIn }, { FAMILY_NAMES, namesIn }] = await Promise.all([
    import("../../config/schema/schema-keys.ts"),
    import("../../app/docs/reference.ts"),
  ]);
  const [word = ""] = prefix.split(".");
  const inside = Object.hasOwn(FILES, word) ? pathsIn : FAMILY_NAMES.includes(word) ? namesIn : () => [];
  const names = prefix === word ? [...Object.keys(FILES), ...FAMILY_NAMES] : inside(word);
  return names.filter((each) => each.startsWith(prefix));
}

function seenValues(
  kind: SeenKind,
  prefix: string,
  directory: string,
  tenant: string,
  refresh: (place: { directory: string; tenant: string }) => void,
): string[] {
  const seen = new SeenValues(directory, tenant);
  if (seen.beginRefresh()) refresh({ directory, tenant });
  return seen.list(kind, prefix);
}

/** Finds the same tenants as `openWorkspace`, whose schemas take too long to load. */
function tenantsOf(directory: string): string[] {
  const own = folderNames(join(directory, "tenants")).filter((name) =>
    existsSync(join(directory, "tenants", name, "tenant.yaml")),
  );
  return own.length === 0 && demoRuns(directory) ? [DEMO_TENANT] : own;
}

/** Prints the values that a shell's script asks for. A process of its own reads old values again. */
export async function printValues(line: ValuesLine): Promise<void> {
  const [, program = ""] = process.argv;
  const values = await valuesOf(line, ({ directory, tenant }) => {
    const words = ["completion", "values", line.kind, "--refresh", "-C", directory, "-t", tenant];
    spawn(process.execPath, [...process.execArgv, program, ...words], { detached: true, stdio: "ignore" }).unref();
  });
  if (values.length > 0) process.stdout.write(`${values.join("\n")}\n`);
}
