import { describe, expect, test } from "vitest";
import { ConfigError, DIAGNOSTIC_CODES, type DiagnosticCode, fileProblem } from "../../src/config/config-error.ts";
import { decode } from "../../src/config/issues.ts";
import { jsonSchemaOf } from "../../src/config/schema/file-schemas.ts";
import { guideTo } from "../../src/config/schema/files.ts";
import { FleetFileSchema } from "../../src/config/schema/fleet-schema.ts";
import type { JsonSchema } from "../../src/config/schema/json-schema.ts";
import { MarketEntrySchema } from "../../src/config/schema/market-schema.ts";
import { OperatorFileSchema } from "../../src/config/schema/operator-schema.ts";
import { TenantFileSchema } from "../../src/config/schema/schema.ts";
import { documentsWithOneMistake } from "../support/schema-places.ts";
import { problemsOf, tenantText } from "./support.ts";

/** What zod says of its own accord. */
const RAW = /Invalid|received|Too (small|big)|expected (string|number|int|boolean|object|array|record|one of)/;

const admin = (secret: string) => ({ keys: `{ admin: [{ name: ops, secret: ${secret} }] }` });
const jwt = (text: string) => ({ auth: `{ jwt: { ${text} } }` });
const database = (text: string) => ({ database: `{ url: { ${text} } }` });

/** Sections with a mistake, and all that is said of them. */
const SAID: [code: DiagnosticCode, sections: Record<string, string | undefined>, said: string[]][] = [
  ["UNKNOWN_KEY", { polcy: "{}" }, ['polcy: unknown key; did you mean "policy"?']],
  ["UNKNOWN_KEY", { kyc: "{ whatever: 1 }" }, ["kyc.whatever: unknown key; known here: required, provider"]],
  [
    "UNKNOWN_KEY",
    { database: "{ url: { env: ACME_DB }, ulr: x }" },
    ['database: contains an unknown key; did you mean "url"?'],
  ],
  ["UNKNOWN_KEY", admin("{ env: A, file: b }"), ["keys.admin[0].secret.file: does not go with env"]],
  [
    "UNKNOWN_KEY",
    jwt("algorithm: HS256, secret: { env: ACME_J }, jwks: { file: a }, issuer: b"),
    ["auth.jwt.jwks: does not go with algorithm: HS256"],
  ],
  ["DUPLICATE_KEY", { sandbox: "true\nsandbox: false" }, ["sandbox: is repeated in the same mapping"]],
  [
    "UNKNOWN_KEY",
    admin("{ evn: ACME_ADMIN_KEY }"),
    ['keys.admin[0].secret: contains an unknown key; did you mean "env"?'],
  ],
  ["YAML_SYNTAX", { kyc: "\n\trequired: true\n  provider: x" }, [": a tab cannot indent YAML: use spaces"]],
  ["REQUIRED", { baseUrl: undefined }, ["baseUrl: is required"]],
  ["REQUIRED", jwt("issuer: a"), ["auth.jwt.algorithm: is required: one of HS256, ES256, EdDSA, RS256"]],
  ["REQUIRED", database("hosts: [db.acme.example]"), ["database.url.name: is required"]],
  ["WRONG_TYPE", { name: "12" }, ["name: must be a text: put it in quotes (got 12)"]],
  ["WRONG_TYPE", { sandbox: '"yes"' }, ['sandbox: must be true or false (got "yes")']],
  ["WRONG_TYPE", { extends: "12" }, ["extends: must be a file such as ../base.yaml, or a list of files"]],
  ["WRONG_TYPE", { database: "[]" }, ["database: must be embedded or a mapping (key: value) (got a list)"]],
  [
    "OUT_OF_RANGE",
    { policy: "{ maxTradeUsd: 1e12 }" },
    ["policy.maxTradeUsd: must be at most 8589934592 (got 1000000000000)"],
  ],
  [
    "OUT_OF_RANGE",
    { treasury: "{ capitalUsd: 1e12 }" },
    ["treasury.capitalUsd: must be at most 8589934592 (got 1000000000000)"],
  ],
  ["OUT_OF_RANGE", { policy: "{ feeBps: 1e300 }" }, ["policy.feeBps: must be at most 1000 (got 1e+300)"]],
  [
    "OUT_OF_RANGE",
    { oracle: "{ venues: { pm: { btc: { maxAge: 8d, maxJump: 101% } } } }" },
    [
      'oracle.venues.pm.btc.maxAge: must be at most 7d (got "8d")',
      'oracle.venues.pm.btc.maxJump: must be at most 100% (got "101%")',
    ],
  ],
  [
    "NOT_ONE_OF",
    jwt("algorithm: HS265, secret: { env: ACME_J }"),
    ['auth.jwt.algorithm: must be one of HS256, ES256, EdDSA, RS256; did you mean "HS256"? (got "HS265")'],
  ],
  ["NOT_ONE_OF", { version: '"1"' }, ['version: must be 1, without quotes (got "1")']],
  ["NOT_ONE_OF", { version: "2" }, ["version: must be 1 (got 2)"]],
  [
    "INVALID_VALUE",
    { baseUrl: "https://a.example/b" },
    ['baseUrl: must be an address such as https://predict.acme.example, without a path (got "https://a.example/b")'],
  ],
  [
    "INVALID_VALUE",
    { treasury: "{ capitalUsd: 0.1234567 }" },
    ["treasury.capitalUsd: must have at most 6 decimals (got 0.1234567)"],
  ],
  [
    "UNKNOWN_COUNTRY",
    { policy: '{ jurisdictions: { blocked: ["UK"] } }' },
    ["policy.jurisdictions.blocked[0]: UK is not a code; GB?"],
  ],
  [
    "LITERAL_SECRET",
    admin("hunter2"),
    [
      "keys.admin[0].secret: must be a reference such as { env: ACME_KEY }; a literal secret does not belong in this file",
    ],
  ],
  ["YAML_SYNTAX", { sandbox: "[" }, [": the list that begins with [ must end with ], further right than its key"]],
  [
    "LOW_CONTRAST",
    { embed: '{ theme: { colors: { muted: "#777777" } } }' },
    [
      "embed.theme.colors.muted: muted on background in light has a contrast of 4.47:1, and needs 4.5:1",
      "embed.theme.colors.muted: muted on background in dark has a contrast of 4.15:1, and needs 4.5:1",
      "embed.theme.colors.muted: muted on surface in light has a contrast of 4.20:1, and needs 4.5:1",
      "embed.theme.colors.muted: muted on surface in dark has a contrast of 3.78:1, and needs 4.5:1",
    ],
  ],
  ["CONFLICT", { server: "{ port: 9000, opsPort: 9000 }" }, ["server.opsPort: must differ from server.port (9000)"]],
];

const marketEntry: JsonSchema = { ...jsonSchemaOf("market"), anyOf: [{ $ref: "#/definitions/MarketEntry" }] };

describe("one kind of mistake has one wording", () => {
  test.each(SAID)("%s: %j", (code, sections, said) => {
    const problems = problemsOf(tenantText(sections));
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual(said);
    expect(new Set(problems.map((problem) => problem.code))).toEqual(new Set([code]));
  });

  test("every kind that a file alone can show is among them", () => {
    // These take a market file, the environment or the rules of a tenant, and have tests of their own.
    const elsewhere = ["UNKNOWN_FEED", "MISSING_SECRET", "RULE_INVALID", "RULE_DENIED", "RULE_WARNED"];
    expect([...new Set(SAID.map(([code]) => code)), ...elsewhere].toSorted()).toEqual(DIAGNOSTIC_CODES.toSorted());
  });

  test.each([
    ["tenant", TenantFileSchema, jsonSchemaOf("tenant")],
    ["market", MarketEntrySchema, marketEntry],
    ["operator", OperatorFileSchema, jsonSchemaOf("operator")],
    ["fleet", FleetFileSchema, jsonSchemaOf("fleet")],
  ] as const)(
    "whatever stands at any place of a %s file, it is told once and in our words",
    (kind, schema, written) => {
      const bad: string[] = [];
      for (const { path, document } of documentsWithOneMistake(written)) {
        const { findings = [] } = decode(schema, document, { guide: guideTo(kind) });
        const told = findings.map((finding) => `${finding.path.join(".")}: ${finding.message}`);
        const places = findings.filter(({ atKey }) => !atKey).map((finding) => finding.path.join("."));
        if (new Set(places).size < places.length) bad.push(`${path.join(".")} is told twice: ${told.join("; ")}`);
        bad.push(...told.filter((text) => RAW.test(text) || /is not valid|undefined/.test(text)));
      }
      expect(bad).toEqual([]);
    },
  );
});

describe("many mistakes of a kind", () => {
  const unset = (name: string, line: number) => ({
    ...fileProblem("tenants/acme/tenant.yaml", `the environment variable ${name} is not set`, "MISSING_SECRET"),
    line,
    frame: "> a frame",
  });

  test("take one line each, in the order of their places", () => {
    const wrong = { ...fileProblem("tenants/acme/tenant.yaml", "must be 1"), line: 3, frame: "> its frame" };
    expect(new ConfigError([unset("A", 2), wrong, unset("B", 4), unset("C", 5)]).message).toBe(
      `tenants/acme/tenant.yaml:2:1  the environment variable A is not set

tenants/acme/tenant.yaml:3:1  must be 1
> its frame

tenants/acme/tenant.yaml:4:1  the environment variable B is not set
tenants/acme/tenant.yaml:5:1  the environment variable C is not set`,
    );
  });

  test("keep their frames while there are two, or while they are in several files", () => {
    const elsewhere = { ...unset("C", 6), file: "tenants/beta/tenant.yaml" };
    expect(new ConfigError([unset("A", 2), unset("B", 4), elsewhere]).message.match(/> a frame/g)).toHaveLength(3);
  });
});
