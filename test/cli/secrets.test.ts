import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operatorDirectory, pmctl, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const SECRET = "a jwt secret of the tests, long enough";

let directory: TestDirectory;
let original: string;
beforeAll(async () => {
  directory = await operatorDirectory();
  await pmctlHere(["init", "acme"], directory);
  original = await readFile(join(directory.cwd, "tenants/acme/tenant.yaml"), "utf8");
  await writeFile(join(directory.cwd, "tenants/acme/jwt"), `${SECRET}\n`);
});
afterAll(() => directory.remove());

/** Lets the JWT secret come from elsewhere, and asks for what takes it and nothing else. */
async function token(reference: string, args: string[] = [], env: Record<string, string> = {}) {
  await writeFile(
    join(directory.cwd, "tenants/acme/tenant.yaml"),
    original.replace("{ env: ACME_JWT_SECRET }", reference),
  );
  return pmctl(["user", "token", "alice", ...args], { ...directory, env });
}

test("a program is run with --allow-exec or PMCTL_ALLOW_EXEC=1 only; without, 6 names the flag and the place", async () => {
  const reference = "{ exec: [cat, jwt] }";
  const refused = await token(reference);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toMatch(/--allow-exec .*\(tenants\/acme\/tenant\.yaml:\d+:\d+\)/);
  for (const [args, env] of [[["--allow-exec"]], [[], { PMCTL_ALLOW_EXEC: "1" }]] as const)
    expect(await token(reference, [...args], env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ey/),
      stderr: "",
    });
});

test("a secret file that everybody may read gives one line on stderr, which --quiet takes away", async () => {
  const file = join(directory.cwd, "tenants/acme/jwt");
  await chmod(file, 0o644);
  expect(await token("{ file: jwt }")).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^pmctl: warning: the secret file jwt may be read by every user[^\n]*\n$/),
  });
  expect(await token("{ file: jwt }", ["--quiet"])).toMatchObject({ code: 0, stderr: "" });
  await chmod(file, 0o600);
  expect(await token("{ file: jwt }")).toMatchObject({ code: 0, stderr: "" });
});
