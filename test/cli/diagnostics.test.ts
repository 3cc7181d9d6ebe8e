import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator({ cluster: "none" });
  await operator.run("init", "acme");
  await operator.edit("acme", (text) =>
    text.replace(/blocked: \[.*?\]/, 'blocked: ["UK"]').replace("feeBps: 100", "feeBsp: 100"),
  );
  const markets = join(operator.directory, "tenants", "acme", "markets");
  await mkdir(markets, { recursive: true });
  await writeFile(
    join(markets, "rain.yaml"),
    "key: rain\nquestion: Q?\ncategory: c\nkind: lmsr\np0: 0.5\ncloseAt: 2030-01-01T00:00:00Z\nresolutionRef: pm:bct > 5\n",
  );
});
afterAll(() => operator?.close());

interface Diagnostic {
  file: string;
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
  code: string;
  severity: string;
  fix: string | null;
}

describe("validate, with mistakes in its files", () => {
  test("as data: each with its extent, code and fix, which make the files sound; it ends with 6", async () => {
    const { exitCode, stdout, stderr } = await operator.run("validate", "acme", "-o", "json");
    expect(exitCode).toBe(6);
    expect(JSON.parse(stderr)).toMatchObject({ code: "CONFIG_INVALID" });
    const [acme] = JSON.parse(stdout) as { diagnostics: Diagnostic[] }[];
    expect(acme).toMatchObject({ tenant: "acme", file: "tenants/acme/tenant.yaml", markets: 0, valid: false });
    expect(acme?.diagnostics.map(({ code, severity, fix }) => [code, severity, fix])).toEqual([
      ["UNKNOWN_FEED", "error", '"pm:btc > 5"'],
      ["UNKNOWN_KEY", "error", "feeBps"],
      ["UNKNOWN_COUNTRY", "error", '"GB"'],
    ]);
    const text = await readFile(join(operator.directory, "tenants", "acme", "tenant.yaml"), "utf8");
    const mended = fixed(text, acme?.diagnostics.slice(1) ?? []);
    expect(mended).toBe(text.replace("feeBsp: 100", "feeBps: 100").replace('"UK"', '"GB"'));
  });

  test("as annotations of GitHub, one a line", async () => {
    const { exitCode, stdout } = await operator.run("validate", "acme", "-o", "github");
    expect(exitCode).toBe(6);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(
      /^::error file=tenants\/acme\/tenant\.yaml,line=\d+,col=\d+,title=UNKNOWN_COUNTRY::UK is not a code; GB\?$/,
    );
  });

  test("as SARIF, with regions and fixes", async () => {
    const { exitCode, stdout } = await operator.run("validate", "acme", "-o", "sarif");
    expect(exitCode).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({
      version: "2.1.0",
      runs: [
        {
          tool: {
            driver: {
              name: "pmctl",
              rules: [{ id: "UNKNOWN_FEED" }, { id: "UNKNOWN_KEY" }, { id: "UNKNOWN_COUNTRY" }],
            },
          },
          results: [
            {
              ruleId: "UNKNOWN_FEED",
              level: "error",
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: "tenants/acme/markets/rain.yaml" },
                    region: { startLine: 7, startColumn: 16, endLine: 7, endColumn: 26 },
                  },
                },
              ],
              fixes: [{ artifactChanges: [{ replacements: [{ insertedContent: { text: '"pm:btc > 5"' } }] }] }],
            },
            { ruleId: "UNKNOWN_KEY" },
            { ruleId: "UNKNOWN_COUNTRY" },
          ],
        },
      ],
    });
  });

  test("for people: the sentences with their lines, and no table", async () => {
    const { exitCode, stdout, stderr } = await operator.run("validate", "acme", "-o", "table");
    expect([exitCode, stdout]).toEqual([6, ""]);
    expect(stderr).toContain("UK is not a code; GB?\n");
  });
});

test("a command that reads no files refuses the formats of annotations", async () => {
  const { exitCode, stderr } = await operator.run("market", "list", "-o", "github");
  expect(exitCode).toBe(6);
  expect(stderr).toContain("-o github prints problems of files, and pmctl market list reads none");
});

test("validate warns of what is missing here and of what does nothing, and of nothing right after init", async () => {
  await operator.run("init", "young");
  const fresh = await operator.run("validate", "young", "-o", "json");
  expect(JSON.parse(fresh.stdout)).toMatchObject([{ valid: true, diagnostics: [] }]);
  await operator.edit("young", (text) =>
    text
      .replace("files: [markets/*.yaml]", "files: [markets/*.yaml, events/*.yaml]")
      .replace("expected: true }", "expected: true, tls: { cert: tls.pem, key: { env: YOUNG_TLS_KEY } } }"),
  );
  await writeFile(
    join(operator.directory, "tenants/young/markets/rain.yaml"),
    "key: rain\nquestion: Q?\ncategory: c\nkind: lmsr\np0: 0.5\ncloseAt: 2020-01-01T00:00:00Z\nresolutionRef: judge\n",
  );
  const { exitCode, stdout, stderr } = await operator.run("validate", "young", "-o", "json");
  expect(exitCode, stderr).toBe(0);
  const [{ valid, diagnostics }] = JSON.parse(stdout);
  expect(valid).toBe(true);
  expect(diagnostics.map(({ severity, file, path }: { [name: string]: string }) => [severity, file, path])).toEqual([
    ["warning", "tenants/young/markets/rain.yaml", "closeAt"],
    ["warning", "tenants/young/tenant.yaml", "server.tls.cert"],
    ["warning", "tenants/young/tenant.yaml", "server.tls.key"],
    ["warning", "tenants/young/tenant.yaml", "markets.files[1]"],
  ]);
  expect(stderr).toContain("YOUNG_TLS_KEY is not set here");
});

describe("a tenant's own rules", () => {
  const rule = (effect: string) =>
    `rules: [{ name: cheap, expr: feeBps <= 50, effect: ${effect}, message: too dear }]\n`;
  let text = "";
  beforeAll(async () => {
    await operator.run("init", "ruled");
    await operator.edit("ruled", (written) => {
      text = written;
      return written;
    });
  });

  test("deny: validate ends with 6 at the rule, plan with 3", async () => {
    await operator.edit("ruled", () => text + rule("deny"));
    const validated = await operator.run("validate", "ruled", "-o", "json");
    expect(validated.exitCode).toBe(6);
    expect(JSON.parse(validated.stdout)).toMatchObject([
      {
        diagnostics: [{ code: "RULE_DENIED", path: "rules[0].expr", message: "the rule cheap denies this: too dear" }],
      },
    ]);
    const planned = await operator.run("plan", "ruled", "-o", "json", "--accept-rule", "cheap");
    expect(planned.exitCode).toBe(3);
    expect(JSON.parse(planned.stdout)).toMatchObject([
      { refusals: [{ reason: "rule", field: "rules.cheap", flag: null }] },
    ]);
  });

  test("approve: validate warns, plan ends with 3 unless the rule is accepted", async () => {
    await operator.edit("ruled", () => text + rule("approve"));
    const validated = await operator.run("validate", "ruled", "-o", "github");
    expect(validated).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("title=RULE_WARNED::") });
    const planned = await operator.run("plan", "ruled", "-o", "github");
    expect(planned.exitCode).toBe(3);
    expect(planned.stdout).toMatch(
      /^::error file=tenants\/ruled\/tenant\.yaml,line=\d+,col=\d+,title=RULE_DENIED::too dear/,
    );
    expect(planned.stderr).toContain("--accept-rule cheap");
    expect((await operator.run("plan", "ruled", "--accept-rule", "cheap")).exitCode).toBe(0);
  });

  test("warn: both go on and say it; one that cannot be read stops both with 6", async () => {
    await operator.edit("ruled", () => text + rule("warn"));
    const planned = await operator.run("plan", "ruled");
    expect(planned.exitCode).toBe(0);
    expect(planned.stderr).toContain("rules.cheap: too dear");
    await operator.edit("ruled", () => text + rule("deny").replace("feeBps", "feeBsp"));
    for (const verb of ["validate", "plan", "drift"]) {
      const { stdout } = await operator.run(verb, "ruled", "-o", "sarif");
      expect(JSON.parse(stdout)).toMatchObject({ runs: [{ results: [{ ruleId: "RULE_INVALID" }] }] });
    }
    for (const verb of ["validate", "plan"]) {
      const { exitCode, stderr } = await operator.run(verb, "ruled", "-o", "table");
      expect([verb, exitCode]).toEqual([verb, 6]);
      expect(stderr).toContain("there is no feeBsp; did you mean feeBps?");
    }
  });
});

/** The text with each fix in its place, the last first. */
function fixed(text: string, diagnostics: readonly Diagnostic[]): string {
  const lines = text.split("\n");
  for (const { line, column, endColumn, fix } of diagnostics.toReversed()) {
    const whole = lines[line - 1] ?? "";
    lines[line - 1] = whole.slice(0, column - 1) + fix + whole.slice(endColumn - 1);
  }
  return lines.join("\n");
}
