import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = join(import.meta.dirname, "../../src");

/** Who may import whom. `type` rows may be imported with `import type` only. */
const ROOMS: Record<string, { values: string[]; types?: string[] }> = {
  domain: { values: [] },
  state: { values: [] },
  locales: { values: ["domain"] },
  contract: { values: ["domain"], types: ["locales"] },
  engine: { values: ["domain"] },
  replay: { values: ["domain", "engine"] },
  postgres: { values: ["domain", "state"] },
  ledger: { values: ["domain", "engine", "postgres", "replay"] },
  queries: { values: ["domain", "engine", "ledger", "postgres", "replay"] },
  // A page's rollback is planned by the server: it imports no plan.
  services: { values: ["contract", "domain", "engine", "ledger", "plan", "postgres", "queries", "state"] },
  outgoing: { values: ["contract", "domain", "ledger", "postgres", "queries", "services"] },
  providers: { values: ["contract", "domain", "engine", "ledger", "outgoing", "services"], types: ["postgres"] },
  oracle: { values: ["domain", "ledger", "outgoing", "queries", "services"], types: ["engine", "postgres"] },
  config: { values: ["contract", "domain", "locales", "state"] },
  plan: { values: ["config", "contract", "domain"], types: ["replay"] },
  server: {
    values: [
      "contract",
      "domain",
      "ledger",
      "locales",
      "outgoing",
      "postgres",
      "providers",
      "queries",
      "services",
      "state",
    ],
    types: ["engine"],
  },
  embed: { values: ["domain", "locales"], types: ["contract"] },
  client: { values: ["contract", "domain", "services"] },
  console: { values: ["client", "contract", "domain"] },
  app: {
    values: [
      "client",
      "config",
      "contract",
      "domain",
      "engine",
      "ledger",
      "locales",
      "oracle",
      "outgoing",
      "plan",
      "postgres",
      "providers",
      "queries",
      "replay",
      "server",
      "services",
      "state",
    ],
  },
  // `plan` is the sister of `config`: what the two sides of a plan hold.
  cli: { values: ["app", "client", "config", "contract", "domain", "plan", "state"], types: ["locales"] },
};

const EMBEDDED = "postgres/embedded/";

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name: name.split(sep).join("/"), text: readFileSync(join(SRC, name), "utf8") }));

interface Import {
  /** The imported file, below src. */
  target: string;
  room: string;
  typeOnly: boolean;
  line: string;
}

function importsOf(file: { name: string; text: string }): Import[] {
  return [...file.text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gms)].map(
    (match) => {
      const target = relative(SRC, join(SRC, dirname(file.name), match[2] ?? match[3] ?? ""))
        .split(sep)
        .join("/");
      return { target, room: target.split("/")[0] ?? "", typeOnly: match[1] !== undefined, line: match[0] };
    },
  );
}

/** Groups of files that reach each other through imports, types included (Tarjan's algorithm). */
function circles(): string[][] {
  const graph = new Map(files.map((file) => [file.name, importsOf(file).map(({ target }) => target)]));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const visit = (name: string): void => {
    order.set(name, order.size);
    lowest.set(name, order.size - 1);
    open.push(name);
    const lower = (to: number | undefined) => lowest.set(name, Math.min(lowest.get(name) ?? 0, to ?? Infinity));
    for (const target of graph.get(name) ?? []) {
      if (!graph.has(target)) continue;
      if (!order.has(target)) {
        visit(target);
        lower(lowest.get(target));
      } else if (open.includes(target)) lower(order.get(target));
    }
    if (lowest.get(name) !== order.get(name)) return;
    const group = open.splice(open.indexOf(name));
    if (group.length > 1) found.push(group.toSorted());
  };
  for (const name of graph.keys()) if (!order.has(name)) visit(name);
  return found.toSorted();
}

/** Source without comments and template-literal free: enough for the word searches below. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}

describe("the plan of the house", () => {
  test("every room imports only from the rooms it may", () => {
    const violations = files.flatMap((file) => {
      const room = file.name.split("/")[0] ?? "";
      const rule = ROOMS[room];
      if (!rule) return [`${file.name}: ${room} is not a room of the house`];
      return importsOf(file)
        .filter((each) => each.room !== room && !rule.values.includes(each.room))
        .filter((each) => !(each.typeOnly && rule.types?.includes(each.room)))
        .map((each) => `${file.name}: ${each.line.replace(/\s+/g, " ")}`);
    });
    expect(violations).toEqual([]);
  });

  test.each([
    { what: "SQL", pattern: /\bsql`|\.unsafe\(/, allowed: /^(postgres|ledger|queries)\// },
    { what: "the environment", pattern: /\bprocess\.env\b/, allowed: /^config\// },
    { what: "the console", pattern: /\bconsole\.(?:debug|error|info|log|warn)\b/, allowed: /^embed\/host\/warn\.ts$/ },
    {
      what: "a fetch whose other end may not be proven",
      pattern: /\bfetch\(/,
      // Pages of browsers; a look for a server elsewhere, which shows nothing; the demo's own, which is handed in; and where the operator says.
      allowed:
        /^(embed\/[\w/]+|console\/(api|session)|app\/(tenant\/door|serve\/demo-story|webhooks\/forward-events)|client\/http-api)\.ts$/,
    },
    { what: "the wall clock", pattern: /\bnew Date\(\)|\bDate\.now\(/, allowed: /^domain\/time\/clock\.ts$/ },
    // What decides about money goes by the database's clock.
    { what: "this machine's clock", pattern: /"[./\w]*\/clock\.ts"/, allowed: /^(app|cli|console|embed|server)\// },
  ])("$what is touched only in its own place", ({ pattern, allowed }) => {
    const offenders = files.filter(({ name, text }) => !allowed.test(name) && pattern.test(withoutComments(text)));
    expect(offenders.map(({ name }) => name)).toEqual([]);
  });

  test("embedded PostgreSQL could be a package of its own: it imports nothing of the house but the state directory, which imports nothing", () => {
    const foreign = files
      .filter(({ name }) => name.startsWith(EMBEDDED))
      .flatMap((file) =>
        importsOf(file).filter(({ target }) => !target.startsWith(EMBEDDED) && !target.startsWith("state/")),
      );
    expect(foreign.map(({ line }) => line)).toEqual([]);
  });

  test("no files import each other in a circle", () => {
    expect(circles()).toEqual([]);
  });

  test("no folder shows more than 22 entries: what belongs together moves into a folder or a file of its own", () => {
    const entries = Map.groupBy(
      readdirSync(SRC, { recursive: true, encoding: "utf8" }).map((name) => name.split(sep).join("/")),
      (name) => dirname(name),
    );
    const full = [...entries].filter(([, names]) => names.length > 22).map(([folder]) => folder);
    expect(full).toEqual([]);
  });

  test("no file is longer than 300 lines", () => {
    const long = files.filter(({ text }) => text.split("\n").length > 301);
    expect(long.map(({ name }) => name)).toEqual([]);
  });
});
