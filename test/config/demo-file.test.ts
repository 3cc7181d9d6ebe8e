import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readDeclaredTenant } from "../../src/app/tenant/operator-tenant.ts";
import { DEMO_ENVIRONMENT } from "../../src/config/environment.ts";
import { PACKAGED_DEMO } from "../../src/config/selection/operator-directory.ts";
import { directoryWith } from "./support.ts";

const text = readFileSync(PACKAGED_DEMO, "utf8");
const comment = text.slice(0, text.indexOf("\nversion:")).replaceAll("\n# ", " ");

test("the demo's file says where its secrets are, and that a copy under another name may not use them, which is so", () => {
  expect(comment).toContain(DEMO_ENVIRONMENT);
  expect(comment).toContain("for the demo alone. A copy of this file under another name may not use them");
  const names = [...text.matchAll(/env: (DEMO_\w+)/g)].map(([, name]) => name);
  const directory = directoryWith({
    [DEMO_ENVIRONMENT]: names.map((name) => `${name}=made-up\n`).join(""),
    "tenants/acme/tenant.yaml": text
      .replace("tenant: demo", "tenant: acme")
      .replace("files: [markets/*.yaml]", "files: []"),
  });
  expect(() => readDeclaredTenant(directory, "acme")).toThrow(/DEMO_ADMIN_KEY does not begin with ACME_/);
});
