import { describe, expect, test } from "vitest";
import { NOT_KEPT } from "../../src/domain/json/exact-json.ts";
import { parse, problemsOf, refusal, tenantText } from "./support.ts";

/** A sound file over 13 lines, so that a test can name a line. */
const HEAD = `version: 1
tenant: acme
baseUrl: https://predict.acme.example
keys:
  admin:
    - name: ops
      secret: { env: ACME_ADMIN_KEY }
  public: []
auth:
  jwt:
    algorithm: HS256
    secret: { env: ACME_JWT_SECRET }
audit: { key: { env: ACME_AUDIT_KEY } }
`;

function at(text: string): string[] {
  return problemsOf(text).map(({ line, column, path }) => `${line}:${column} ${path}`);
}

describe("a problem says where it is", () => {
  test("a bad value: line and column of the value, its path, what it must be, what it is, and the lines around it", () => {
    const error = refusal(`${HEAD}policy:\n  maxTradeUsd: 500\n  feeBps: 20000\n  suitabilityRequired: false\n`);
    expect(error.message).toBe(
      [
        "tenants/acme/tenant.yaml:16:11  policy.feeBps  must be at most 1000 (got 20000)",
        "  14 | policy:",
        "  15 |   maxTradeUsd: 500",
        "> 16 |   feeBps: 20000",
        "     |           ^",
        "  17 |   suitabilityRequired: false",
      ].join("\n"),
    );
  });

  test("an unknown key: the key", () => {
    expect(at(`${HEAD}policy:\n  feeBsp: 1\n`)).toEqual(["15:3 policy.feeBsp"]);
  });

  test("a missing key: the key of the mapping that lacks it", () => {
    expect(at(HEAD.replace("    algorithm: HS256\n", ""))).toEqual(["10:3 auth.jwt.algorithm"]);
    expect(at(HEAD.replace("    - name: ops\n      secret", "    - secret"))).toEqual(["6:7 keys.admin[0].name"]);
    expect(at(HEAD.replace("version: 1\n", ""))).toEqual(["1:1 version"]);
  });

  test("an entry of a list: the entry", () => {
    expect(at(`${HEAD}policy:\n  jurisdictions:\n    blocked:\n      - US\n      - true\n`)).toEqual([
      "18:9 policy.jurisdictions.blocked[1]",
    ]);
  });

  test("an unknown scope, with the likely one, and what is no network", () => {
    const kept = (text: string) => HEAD.replace("    - name: ops\n", `    - name: ops\n      ${text}\n`);
    expect(problemsOf(kept("scopes: [read, setle]"))).toMatchObject([
      {
        line: 7,
        column: 22,
        path: "keys.admin[0].scopes[1]",
        message: expect.stringMatching(/^must be one of read, .*; did you mean "settle"\? \(got "setle"\)$/),
      },
    ]);
    expect(problemsOf(kept("from: [10.0.0.0/8, 10.0.0.0/33]"))).toMatchObject([
      { line: 7, column: 26, path: "keys.admin[0].from[1]", message: expect.stringContaining("address range") },
    ]);
    expect(at(kept("scopes: []"))).toEqual(["7:15 keys.admin[0].scopes"]);
    const ofPublic = "public: [{ name: web, secret: { env: ACME_PUBLIC_KEY }, scopes: [read] }]";
    expect(at(HEAD.replace("public: []", ofPublic))).toEqual(["8:59 keys.public[0].scopes"]);
  });

  test("a misspelt key is put right, unless the right one stands beside it", () => {
    const fixes = (text: string) => problemsOf(`${HEAD}${text}`).map(({ code, fix }) => [code, fix]);
    expect(fixes("kyc: { requird: true }\n")).toEqual([["UNKNOWN_KEY", "required"]]);
    expect(fixes("kyc: { required: true, requird: true }\n")).toEqual([["UNKNOWN_KEY", null]]);
  });

  test("a key that stands twice: its second place", () => {
    const [problem] = problemsOf(`${HEAD}kyc:\n  required: true\n  required: false\n`);
    expect(problem).toMatchObject({
      line: 16,
      column: 3,
      path: "kyc.required",
      message: "is repeated in the same mapping",
    });
  });

  test("a value behind an alias: the value at its anchor", () => {
    expect(at(`${HEAD}embed: { allowedOrigins: &sites [nowhere] }\ncors: { origins: *sites }\n`)).toEqual([
      "14:34 embed.allowedOrigins[0]",
      "14:34 cors.origins[0]",
    ]);
  });

  test("files with Windows line ends count the same lines and columns", () => {
    expect(at(`${HEAD}policy:\n  feeBps: -1\n`.replaceAll("\n", "\r\n"))).toEqual(["15:11 policy.feeBps"]);
  });

  test("later stages can point into the file too", () => {
    const { source } = parse(HEAD);
    expect(source.positionOf(["keys", "admin", 0, "secret"])).toMatchObject({ line: 7, column: 15 });
    expect(source.positionOf(["keys", "admin", 0, "expires"])).toMatchObject({ line: 6, column: 7 });
    expect(source.positionOf(["treasury", "capitalUsd"])).toMatchObject({ line: 1, column: 1 });
    const paths = [
      ["keys", "public"],
      ["keys", "admin", 1],
      ["treasury", "capitalUsd"],
    ];
    expect(paths.map((path) => source.states(path))).toEqual([true, false, false]);
    expect(source.problems([{ path: ["baseUrl"], message: "is taken" }])).toMatchObject([
      { file: "tenants/acme/tenant.yaml", line: 3, column: 10, path: "baseUrl", message: "is taken" },
    ]);
  });

  test("a very long line is cut around the caret", () => {
    const codes = Array.from({ length: 200 }, () => "US").join(", ");
    const [problem] = problemsOf(tenantText({ policy: `{ jurisdictions: { blocked: [${codes}, USA] } }` }));
    const [shown = "", caret = ""] = problem?.frame.split("\n").slice(2, 4) ?? [];
    expect(shown.length).toBeLessThan(130);
    expect(shown.slice(caret.indexOf("^")).startsWith("USA]")).toBe(true);
  });
});

describe("text that is not sound YAML", () => {
  test.each<[string, string, string, string]>([
    ["a tab", "kyc:\n\trequired: true\n", "15:1", "a tab cannot indent YAML: use spaces"],
    [
      "a bracket that never closes",
      "kyc: { required: true\n",
      "14:6",
      "the mapping that begins with { must end with }, further right than its key",
    ],
    ["a quote that never closes", 'name: "Acme\n', "14:7", "a text in quotes must end with the quote"],
    [
      "a line that is indented too far",
      "kyc:\n  required: true\n    provider: x\n",
      "16:5",
      "is indented further than the lines of its block",
    ],
    [
      "a bracket that never closes, above other lines",
      "kyc: { required: true\npolicy:\n  feeBps: 1\n",
      "14:6",
      "the mapping that begins with { must end with }, further right than its key",
    ],
    [
      "a quote that never closes, above other lines",
      'name: "Acme\nkyc:\n  required: true\n',
      "14:7",
      "a text in quotes must end with the quote",
    ],
    [
      "a line that is indented too little",
      "kyc:\n    required: true\n  provider: x\n",
      "16:1",
      "must begin in the same column as the lines of its block",
    ],
    [
      "a colon in a text",
      "name: Acme: the best\n",
      "14:7",
      "a line can have only one key: quote the text, or begin a new line",
    ],
    ["a key without its colon", "kyc\n", "14:1", "a key must be followed by a colon"],
    ["a list behind its key", "kyc: - a\n", "14:6", "a list must begin on a line of its own"],
    [
      "a missing comma",
      "kyc: { required: true provider: x }\n",
      "14:18",
      "a comma is missing, or a text with a colon lacks its quotes",
    ],
    ["a text that begins with @", "name: @acme\n", "14:7", "a text that begins with this character must be in quotes"],
    ["a second document", "---\nkyc: {}\n", "14:1", "the file must contain one document: remove the second ---"],
    ["a number that a double changes", "kyc: 9007199254740993\n", "14:6", NOT_KEPT],
    ["the same in hexadecimal digits", "kyc: 0x20000000000001\n", "14:6", NOT_KEPT],
    ["a tag", "kyc: !!js/function x\n", "14:6", "YAML tags (!...) have no meaning here"],
    ["an alias of nothing", "kyc: *nothing\n", "14:6", "there is no anchor with this name above"],
    [
      "an alias within its anchor",
      "cors: &a { origins: [*a] }\n",
      "14:22",
      "an alias must not be inside its own anchor",
    ],
    ["a key that is a list", "? [a]\n: 1\n", "1:1", "keys must be plain text"],
  ])("%s is refused with a sentence and a place", (_what, tail, place, message) => {
    const problems = problemsOf(HEAD + tail);
    expect(problems.map((each) => `${each.line}:${each.column} ${each.message}`)).toEqual([`${place} ${message}`]);
  });

  test("a version 1.1 directive is refused, because NO would be false then", () => {
    expect(problemsOf(`%YAML 1.1\n---\n${HEAD}`)).toMatchObject([
      { message: "must be YAML 1.2: remove the %YAML line" },
    ]);
  });

  test("aliases cannot multiply a small file into a large one", () => {
    const levels = Array.from(
      { length: 8 },
      (_, level) =>
        `a${level}: &a${level} [${Array(9)
          .fill(level === 0 ? "x" : `*a${level - 1}`)
          .join(", ")}]`,
    );
    expect(problemsOf(`${HEAD}${levels.join("\n")}\n`)).toMatchObject([
      { message: expect.stringContaining("aliases") },
    ]);
    const few = ["a: &a [x]", `b: [${Array(200).fill("*a").join(", ")}]`];
    expect(problemsOf(`${HEAD}${few.join("\n")}\n`)).toMatchObject([
      { message: "the file uses more than 100 aliases" },
    ]);
  });

  test("depth has an end", () => {
    const messages = problemsOf(`${HEAD}kyc: ${"[".repeat(60)}${"]".repeat(60)}\n`).map(({ message }) => message);
    expect(messages).toEqual(["the file is nested too deeply"]);
  });

  test("a hundred problems are shown, the rest are counted", () => {
    const text = HEAD + Array.from({ length: 130 }, (_, index) => `unknown${index}: 1\n`).join("");
    const problems = problemsOf(text);
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)?.message).toBe("30 more problems are not shown");
  });
});
