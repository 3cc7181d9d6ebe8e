import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inProcess } from "../support/in-process.ts";
import { openTwoDoors, type Side, type TwoDoors } from "./support/two-doors.ts";

interface Step {
  name: string;
  /** What happens to the files before. */
  files?: (side: Side) => Promise<void>;
  line: (side: Side) => string[] | Promise<string[]>;
  code?: number;
  /** The newest audit entry afterwards, where the step leaves one. */
  entry?: string;
}

let doors: TwoDoors;
beforeAll(async () => {
  doors = await openTwoDoors();
});
afterAll(() => doors?.close());

const path = (...parts: string[]) => join(doors.operator.directory, ...parts);
const planFile = ({ tenant }: Side) => path(`${tenant}.plan`);
const marketFile = ({ tenant }: Side, name: string) => path("tenants", tenant, "markets", name);
const limit = (from: number, to: number) => (side: Side) =>
  side.edit((text) => text.replace(`maxTradeUsd: ${from}`, `maxTradeUsd: ${to}`));
const firstApply = async (side: Side) => {
  const applies = JSON.parse((await side.raw("history")).stdout) as { seq: number }[];
  return String(applies.at(-1)?.seq);
};

const run = (...words: string[]): Step => ({ name: words.join(" "), line: () => words });
const ends = (code: number, step: Step): Step => ({ ...step, name: `${step.name} ends with ${code}`, code });
const writes = (entry: string, step: Step): Step => ({ ...step, entry });
const after = (files: NonNullable<Step["files"]>, step: Step): Step => ({ ...step, files });
const saved = (...words: string[]): Step => ({
  name: `apply PLANFILE ${words.join(" ")}`,
  line: (side) => ["apply", planFile(side), ...words],
});
const back = (...words: string[]): Step => ({
  name: `rollback to the first apply ${words.join(" ")}`,
  line: async (side) => ["rollback", "--to", await firstApply(side), ...words],
});

const MARKET = `key: rain
question: Will it rain?
category: weather
kind: lmsr
p0: 0.4
closeAt: 2096-01-01T00:00:00Z
resolutionRef: pm:btc > 100000
`;
/** More than the 64 KiB that other bodies may have. */
const MANY = JSON.stringify(
  Array.from({ length: 150 }, (_, index) => ({
    key: `many-${index}`,
    question: `${"Will it ".repeat(60)}${index}?`,
    category: "many",
    kind: "cpmm",
    p0: 0.5,
    closeAt: "2096-01-01T00:00:00Z",
    resolutionRef: "by hand",
    liquidityUsd: 1,
  })),
);

/** The days of an operator who keeps a tenant as code. */
const STEPS: Step[] = [
  run("plan", "--detailed-exitcode"),
  run("apply"),
  ends(2, after(limit(500, 400), run("plan", "--detailed-exitcode"))),
  run("plan", "-o", "table"),
  run("apply", "--dry-run"),
  writes("config.applied", run("apply", "--reason", "calmer")),
  run("apply"),
  ends(3, after(limit(400, 600), run("apply", "--yes"))),
  ends(3, { name: "plan --out", line: (side) => ["plan", "--out", planFile(side)] }),
  ends(3, saved("--dry-run")),
  saved("--dry-run", "--accept-loosening"),
  ends(3, saved()),
  writes("config.applied", saved("--accept-loosening")),
  ends(3, saved("--accept-loosening")),
  writes("policy.updated", run("policy", "set", "maxTradeUsd=30", "--yes", "--reason", "incident 7")),
  ends(3, run("drift")),
  ends(3, run("drift", "-o", "table")),
  ends(3, run("plan")),
  ends(3, run("apply")),
  ends(3, run("apply", "--on-drift", "overwrite")),
  writes("config.applied", run("apply", "--on-drift", "adopt")),
  run("plan", "--detailed-exitcode"),
  run("history"),
  run("history", "-o", "table", "--limit", "2"),
  run("pull"),
  run("drift", "--write"),
  run("drift"),
  writes("config.applied", run("apply", "--quiet")),
  writes("policy.updated", run("policy", "set", "feeBps=70", "--ttl", "1h", "--yes")),
  run("plan", "--detailed-exitcode"),
  run("history", "--limit", "1"),
  writes("policy.updated", run("policy", "set", "suitabilityRequired=true", "--yes")),
  run("pull", "--write"),
  writes(
    "config.applied",
    after((side) => writeFile(marketFile(side, "rain.yaml"), MARKET), run("apply")),
  ),
  ends(
    3,
    after((side) => writeFile(marketFile(side, "rain.yaml"), MARKET.replace("rain?", "snow?")), run("apply")),
  ),
  after((side) => writeFile(marketFile(side, "rain.yaml"), MARKET), run("plan", "--detailed-exitcode")),
  writes(
    "config.applied",
    after((side) => writeFile(marketFile(side, "many.yaml"), MANY), run("apply")),
  ),
  ends(3, back()),
  writes("config.applied", back("--accept-loosening", "--reason", "as it was")),
  back("--accept-loosening"),
  run("history", "--limit", "1"),
  ends(5, run("rollback", "--to", "1")),
  ends(5, run("rollback", "--to", "99999999")),
  ends(6, run("rollback")),
  writes("reconcile.run", run("reconcile", "--explain")),
  writes("reconcile.run", run("reconcile", "--explain", "-o", "table")),
];

describe("configuration as code over the database and over HTTP", () => {
  /** The newest audit entry of each side. */
  const seen = new Map<Side, number>();

  async function take(side: Side, { files, line }: Step) {
    await files?.(side);
    const words = await line(side);
    const before = seen.get(side) ?? (await side.newestSeq());
    const outcome = await side.run(...words);
    const latest = await side.newestSeq();
    seen.set(side, latest);
    const entry = latest === before ? undefined : JSON.parse(side.alike(await newest(side)));
    // Columns are as wide as the names in them, which differ.
    return { ...outcome, stdout: outcome.stdout.replace(/ {2,}/g, "  "), entry };
  }

  const newest = async (side: Side) => (await side.raw("audit", "list", "--limit", "1", "-o", "ndjson")).stdout;

  test.each(STEPS.map((step, index) => [`${index + 1}. ${step.name}`, step] as const))(
    "%s: one output, one entry, one exit code",
    async (_, step) => {
      const [db, http] = [await take(doors.db, step), await take(doors.http, step)];
      expect(http).toEqual(db);
      const { code = 0, entry } = step;
      expect({ code: db.code, why: db.code === code ? "" : db.stderr }).toEqual({ code, why: "" });
      expect(db.entry?.type).toBe(entry);
    },
  );

  test("files that were written back are the same, comments and all", async () => {
    const text = async (side: Side) => side.alike(await readFile(path("tenants", side.tenant, "tenant.yaml"), "utf8"));
    expect(await text(doors.http)).toBe(await text(doors.db));
  });

  test("a market created over HTTP settles by the feed that its file names, as one created in the database does", async () => {
    const terms = async (side: Side) => {
      const { stdout } = await side.raw("audit", "list", "--type", "market.created", "--limit", "200");
      const entries = JSON.parse(stdout).entries as { payload: { key: string; terms?: { feedSha256: string } } }[];
      return entries.find(({ payload }) => payload.key === "rain")?.payload.terms;
    };
    expect(await terms(doors.http)).toEqual(await terms(doors.db));
    expect((await terms(doors.http))?.feedSha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test("a value that was ended as leaked comes back by no apply: plan and apply name the variable until it holds another", async () => {
    const variable = (side: Side) => `${side.tenant.toUpperCase()}_PUBLIC_KEY`;
    const put = async (side: Side, value: string) => {
      const text = await readFile(path(".env"), "utf8");
      await writeFile(
        path(".env"),
        text.replace(new RegExp(`^${variable(side)}=.*$`, "m"), `${variable(side)}=${value}`),
      );
    };
    for (const side of [doors.db, doors.http]) {
      const planned = path(`${side.tenant}.leaked`);
      await side.edit((text) => text.replace(/feeBps: \d+/, "feeBps: 56"));
      expect(await side.raw("plan", "--out", planned)).toMatchObject({ code: 0 });
      const { code, stdout } = await side.raw("key", "rotate", "web", "--leaked");
      expect(code).toBe(0);
      const blocked = `keys.web: the value of ${variable(side)} was ended as leaked; put a new value there`;
      for (const line of [
        ["plan"],
        ["apply"],
        ["apply", "--on-drift", "overwrite", "--accept-loosening"],
        ["apply", "--on-drift", "overwrite", "--accept-loosening", "--via", "db"],
      ]) {
        const refused = await side.raw(...line);
        expect([line, refused.code, refused.stderr]).toEqual([line, 3, expect.stringContaining(blocked)]);
      }
      expect(await side.raw("apply", planned, "--accept-loosening")).toMatchObject({ code: 3 });
      await put(side, JSON.parse(stdout).key);
      expect(await side.raw("apply", "--yes")).toMatchObject({ code: 0 });
      expect(JSON.parse((await side.raw("reconcile")).stdout)).toMatchObject({ ok: true });
      expect(JSON.parse((await side.raw("replay")).stdout)).toMatchObject({ ok: true });
      expect(JSON.parse((await side.raw("key", "list")).stdout)).toContainEqual(
        expect.objectContaining({ name: "web", active: false, leaked: true }),
      );
    }
  });

  test("receipts and the build server's page are written alike", async () => {
    const came = async (side: Side) => {
      const [receipt, summary] = [path(`${side.tenant}.receipt`), path(`${side.tenant}.md`)];
      await side.edit((text) => text.replace(/feeBps: \d+/, "feeBps: 55"));
      process.env.GITHUB_STEP_SUMMARY = summary;
      try {
        await side.raw("plan");
        expect((await side.raw("apply", "--receipt", receipt)).code).toBe(0);
        await side.edit((text) => text.replace(/maxTradeUsd: \d+/, "maxTradeUsd: 5000"));
        expect((await side.raw("apply", "--on-drift", "overwrite")).code).toBe(3);
        const undone = await side.raw(
          "rollback",
          "--to",
          await firstApply(side),
          "--accept-loosening",
          "--receipt",
          receipt,
        );
        expect(undone.code, undone.stderr).toBe(0);
      } finally {
        delete process.env.GITHUB_STEP_SUMMARY;
      }
      return side
        .alike(`${await readFile(summary, "utf8")}\n${await readFile(receipt, "utf8")}`)
        .replaceAll(/"seq":\d+/g, "");
    };
    const [db, http] = [await came(doors.db), await came(doors.http)];
    expect(http).toBe(db);
    expect(http.match(/^### .*/gm)).toEqual(["### Plan for TENANT", "### TENANT: applied", "### TENANT: not applied"]);
    expect(http.match(/"command":"\w+"/g)).toEqual(['"command":"apply"', '"command":"rollback"']);
  });
});

describe("a pipeline's checkout, which has the files and the read key of one tenant", () => {
  const checkout = () => path("checkout");
  const variable = () => doors.http.tenant.toUpperCase();
  const ci = async (key: string | undefined, ...words: string[]) => {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, ...(key && { [`${variable()}_READ_KEY`]: key }) };
    // Plain http, which only an address of the command line itself may be.
    return inProcess(["--url", doors.server.url, ...words], { cwd: checkout(), env });
  };
  let key = "";
  beforeAll(async () => {
    await cp(path("tenants"), path("checkout", "tenants"), { recursive: true });
    const { stdout } = await doors.http.raw(
      "key",
      "create",
      "--type",
      "admin",
      "--name",
      "ci",
      "--scopes",
      "read",
      "-o",
      "json",
    );
    key = (JSON.parse(stdout) as { key: string }).key;
  });

  const keys = ["ops", "web"].map((name) => `keys.${name}`);
  const lines = () => [
    ["plan", "--via", "http", "--detailed-exitcode", "-o", "json", "--", doors.http.tenant],
    ["drift", "--via", "http", "-o", "json", "--", doors.http.tenant],
    ["validate", "-o", "json", "--", doors.http.tenant],
  ];

  test("plans what the operator plans, and says which keys it could not compare", async () => {
    type Plans = { items: unknown[]; settings: unknown[]; warnings: string[] }[];
    await doors.http.edit((text) => text.replace(/feeBps: \d+/, "feeBps: 41"));
    await cp(path("tenants"), path("checkout", "tenants"), { recursive: true, force: true });
    const [plan, drift, validate] = lines() as [string[], string[], string[]];
    const [seen, own] = [await ci(key, ...plan), await doors.http.raw(...plan.slice(0, -2))];
    // The file is where the tenant was before the rollback: the limit that it states loosens.
    expect({ code: seen.code, why: seen.code === 3 ? "" : seen.stderr }).toEqual({ code: 3, why: "" });
    const [[here], [there]] = [JSON.parse(seen.stdout) as Plans, JSON.parse(own.stdout) as Plans];
    expect(here?.items).toEqual(there?.items);
    expect(here?.settings).toEqual(there?.settings);
    expect(here?.warnings).toEqual([
      ...(there?.warnings ?? []),
      `values that are missing here count as the live ones: ${keys.join(", ")}`,
    ]);
    const drifted = await doors.http.raw(...drift.slice(0, -2));
    expect((await ci(key, ...drift)).code).toBe(drifted.code);
    expect((await ci(undefined, ...validate)).code).toBe(0);
  });

  test("a key that the file names and no apply knows is planned, its value unknown", async () => {
    const file = join(checkout(), "tenants", doors.http.tenant, "tenant.yaml");
    const text = await readFile(file, "utf8");
    await writeFile(
      file,
      text.replace("admin: [{", `admin: [{ name: new, secret: { env: ${variable()}_NEW_KEY } }, {`),
    );
    const [plan] = lines() as [string[]];
    const { stdout } = await ci(key, ...plan);
    await writeFile(file, text);
    const [{ items }] = JSON.parse(stdout) as [{ items: { field: string; desired: unknown }[] }];
    expect(items.find(({ field }) => field === "keys.new")?.desired).toBe("admin fp:unknown");
  });

  test("carries nothing out, and without its key says which variable is missing", async () => {
    const applied = await ci(key, "apply", "--yes", "--via", "http", "--", doors.http.tenant);
    expect({ code: applied.code, says: applied.stderr.includes(`${variable()}_ADMIN_KEY is not set`) }).toEqual({
      code: 6,
      says: true,
    });
    const [plan] = lines() as [string[]];
    expect((await ci(undefined, ...plan)).code).toBe(6);
  });

  test.each(["--allow-exec", "acme\nzeta"])("is refused as a whole beside a folder called %j", async (name) => {
    await mkdir(join(checkout(), "tenants", name));
    await writeFile(join(checkout(), "tenants", name, "tenant.yaml"), "");
    for (const words of [...lines(), ["apply", "--yes", "--", doors.http.tenant], ["validate", "-o", "json"]]) {
      const { code, stderr } = await ci(key, ...words);
      expect({ code, clear: /A tenant's id must be a lower-case letter/.test(stderr) }).toEqual({
        code: 6,
        clear: true,
      });
    }
    await rm(join(checkout(), "tenants", name), { recursive: true });
    const { code, stderr } = await ci(key, "plan", "--via", "http", "--", name);
    expect([code, stderr]).toEqual([5, expect.stringContaining("There is no tenant")]);
  });
});
