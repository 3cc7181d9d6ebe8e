import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorFilesOf, resolveTenant } from "../../src/config/resolve-tenant.ts";
import { complaints, configErrorOf, parse, problemsOf, tenantText } from "./support.ts";

const KEY = "key: { env: ACME_AUDIT_KEY }";
const audit = (anchors: string) => ({ audit: `{ ${KEY}, ${anchors} }` });
const ENVIRONMENT = {
  ACME_ADMIN_KEY: "sk_admin-0123456789-abcdefghijklmnopqrstuvwxyz",
  ACME_PUBLIC_KEY: "pk_public-0123456789-abcdefghijklmnopqrstuvwxy",
  ACME_JWT_SECRET: "a jwt secret of the tests, which is long enough",
  ACME_AUDIT_KEY: "an audit key of the tests, which is long enough",
  ACME_ANCHOR_SECRET: "a secret of anchors, long enough",
};

describe("audit.anchors", () => {
  test("is none by default, every 100 entries or 5 minutes", () => {
    const config = parse(tenantText());
    expect(config.audit).toMatchObject({ anchors: [], anchorEvery: { entries: 100, minutes: 5 } });
    expect(resolveTenant(config, ENVIRONMENT).anchors).toEqual([]);
  });

  test("is one place, or a list of up to five", () => {
    const one = parse(tenantText(audit("anchors: { file: kept.ndjson }")));
    expect(anchorFilesOf(one)).toEqual([join(one.source.directory, "kept.ndjson")]);
    expect(resolveTenant(one, ENVIRONMENT).anchors).toEqual([{ kind: "file", file: anchorFilesOf(one)[0] }]);
    const url = '{ url: "https://anchors.example/in", secret: { env: ACME_ANCHOR_SECRET } }';
    const config = parse(tenantText(audit(`anchors: [{ file: a }, { file: b }, { file: c }, { file: d }, ${url}]`)));
    expect(resolveTenant(config, ENVIRONMENT).anchors[4]).toEqual({
      kind: "url",
      url: "https://anchors.example/in",
      secrets: [ENVIRONMENT.ACME_ANCHOR_SECRET],
    });
    const six = Array.from({ length: 6 }, (_, index) => `{ file: f${index} }`).join(", ");
    expect(complaints(audit(`anchors: [${six}]`))).toEqual([expect.stringMatching(/^audit\.anchors: .*at most 5/)]);
  });

  test.each([
    ["anchors: everywhere", "audit.anchors"],
    ['anchors: [{ url: "https://anchors.example" }]', "audit.anchors[0].secret"],
    ['anchors: { url: "http://anchors.example", secret: { env: ACME_ANCHOR_SECRET } }', "audit.anchors.url"],
    ["anchors: { fil: kept.ndjson }", "audit.anchors.fil"],
    ["anchorEvery: { entries: 0 }", "audit.anchorEvery.entries"],
    ["anchorEvery: { entries: 100001 }", "audit.anchorEvery.entries"],
    ["anchorEvery: { minutes: 1441 }", "audit.anchorEvery.minutes"],
    ["anchorEvery: { minutes: 1.5 }", "audit.anchorEvery.minutes"],
  ])("%s is refused at its place", (section, path) => {
    const problems = problemsOf(tenantText(audit(section)));
    expect(problems.map((problem) => problem.path)).toContain(path);
    for (const { line, column } of problems) expect([line > 0, column > 0]).toEqual([true, true]);
  });

  test.each([
    [
      "anchors: [{ file: a, exec: [b] }]",
      "audit.anchors[0].exec: does not go with file; a target is one of file, exec, url",
    ],
    [
      "anchors: { file: a, exec: [b] }",
      "audit.anchors.exec: does not go with file; a target is one of file, exec, url",
    ],
    ["anchors: [{ file: tenant.yaml }]", "audit.anchors[0].file: must be a file of its own: this is the tenant file"],
    ["anchors: { file: ./x/../tenant.yaml }", "audit.anchors.file: must be a file of its own: this is the tenant file"],
    ["anchors: [{ file: ../../.env }]", "audit.anchors[0].file: must be a file of its own: this holds secrets"],
    ["anchors: [{ file: .. }]", "audit.anchors[0].file: must be a file of its own: this is a folder"],
    ["anchors: [{ file: markets/a.yaml }]", "audit.anchors[0].file: must be a file of its own: this is a market file"],
    [
      "anchors: [{ file: a }, { file: ./a }]",
      "audit.anchors[1].file: must be a file of its own: this one is a target already",
    ],
  ])("%s: %s", (section, complaint) => {
    const markets = "{ files: ['markets/*.yaml'] }";
    expect(complaints({ ...audit(section), markets })).toEqual([complaint]);
  });

  test("a program runs only with --allow-exec, and is refused at its place without", () => {
    const config = parse(tenantText(audit("anchors: [{ exec: [keep, it] }]")));
    const error = configErrorOf(() => resolveTenant(config, ENVIRONMENT));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
    expect(error.problems.map(({ path }) => path)).toEqual(["audit.anchors[0].exec"]);
    const allowed = resolveTenant(config, { ...ENVIRONMENT, PMCTL_ALLOW_EXEC: "1" });
    expect(allowed.anchors).toMatchObject([{ kind: "exec", argv: ["keep", "it"] }]);
  });
});
