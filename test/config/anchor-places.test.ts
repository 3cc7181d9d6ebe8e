import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorFilesOf, anchorWarnings } from "../../src/config/anchor-files.ts";
import { headlineOf } from "../../src/config/config-error.ts";
import { resolveTenant } from "../../src/config/resolve-tenant.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { complaints, configErrorOf, directoryWith, parse, problemsOf, tenantText } from "./support.ts";

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
      "audit.anchors[1].file: must be a file of its own: another target uses the same file",
    ],
  ])("%s: %s", (section, complaint) => {
    const markets = "{ files: ['markets/*.yaml'] }";
    expect(complaints({ ...audit(section), markets })).toEqual([complaint]);
  });

  /** The complaints about a target, in an operator's directory with links, devices and files of others. */
  const refusals = (target: string, prepare: (root: string) => void = () => undefined) => {
    const root = directoryWith({
      "ops/tenants/acme/tenant.yaml": tenantText(audit(`anchors: [{ file: ${JSON.stringify(target)} }]`)),
      "ops/tenants/acme/notes.txt": "\nnotes\n",
      "ops/tenants/acme/other.ndjson": '{"tenant":"globex","seq":1}\n',
      "ops/tenants/globex/tenant.yaml": "",
      "ops/pmctl.yaml": "version: 1\nsecrets: { files: [../kept] }\n",
      "ops/.env": "",
      "ops/.pmctl/postgres.lock": "",
      "out/app.json": "{\n}\n",
    });
    prepare(root);
    const file = join(root, "ops/tenants/acme/tenant.yaml");
    const problems = configErrorOf(() => loadTenantFile(file)).problems;
    return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
  };
  const OWN = "6:58 must be a file of its own: this";
  const NO_FOLDER = "6:58 must be a file of its own: the folder does not exist and is outside the tenant's folder";

  test.each([
    ["../../pmctl.yaml", `${OWN} is the operator's file`],
    ["../globex/tenant.yaml", `${OWN} file is in another tenant's folder`],
    ["../globex/markets/new.yaml", `${OWN} file is in another tenant's folder`],
    ["../../.pmctl/postgres.lock", `${OWN} holds secrets`],
    ["../../.pmctl/anchors/globex.ndjson", `${OWN} holds secrets`],
    ["../../.git/hooks/post-merge", `${OWN} holds secrets`],
    ["/dev/zero", `${OWN} is not a regular file`],
    ["/etc/passwd", `${OWN} file contains other data than the tenant's anchors`],
    ["../../../out/app.json", `${OWN} file contains other data than the tenant's anchors`],
    ["notes.txt", `${OWN} file contains other data than the tenant's anchors`],
    ["other.ndjson", `${OWN} file contains other data than the tenant's anchors`],
    ["../../../new/kept.ndjson", NO_FOLDER],
    ["/nowhere/of/pmctl/kept.ndjson", NO_FOLDER],
  ])("%s: %s", (target, complaint) => {
    expect(refusals(target)).toEqual([complaint]);
  });

  test("a link is no file, a pipe neither, and folders count as what links make them", () => {
    const link = (target: string) => (root: string) => symlinkSync(target, join(root, "ops/tenants/acme/link"));
    expect(refusals("link", link("../../.env"))).toEqual([`${OWN} holds secrets`]);
    expect(refusals("link", link("../../../out/app.json"))).toEqual([`${OWN} is a link`]);
    expect(refusals("link", link("missing"))).toEqual([`${OWN} is a link`]);
    expect(refusals("link/pmctl.yaml", link("../.."))).toEqual([`${OWN} is the operator's file`]);
    const pipe = (root: string) => execFileSync("mkfifo", [join(root, "ops/tenants/acme/pipe")]);
    expect(refusals("pipe", pipe)).toEqual([`${OWN} is not a regular file`]);
  });

  test("a new file, an empty one and one of its anchors are fine; outside of its folders they are warned of", () => {
    const root = directoryWith({
      "ops/tenants/acme/empty": "",
      "ops/tenants/acme/cut": '{"ten',
      "ops/pmctl.yaml": "version: 1\nsecrets: { files: [../kept] }\n",
      "out/kept.ndjson": '{"tenant":"acme","seq":1,"hash":""}\n',
    });
    const files = ["empty", "cut", "new/kept", "../../../kept/new", "../../../out/kept.ndjson"];
    const anchors = `anchors: [${files.map((file) => `{ file: ${file} }`).join(", ")}]`;
    const config = parse(tenantText(audit(anchors)), join(root, "ops/tenants/acme/tenant.yaml"));
    expect(anchorWarnings(config).map(headlineOf)).toEqual([
      expect.stringMatching(
        /tenant\.yaml:6:\d+ {2}audit\.anchors\[4\]\.file {2}leads out of the tenant's folder: .*\/out\/kept\.ndjson$/,
      ),
    ]);
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
