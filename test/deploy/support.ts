import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { operatorDirectory, pmctlHere, type TestDirectory } from "../cli/support/pmctl.ts";
import { tenantText } from "../config/support.ts";

export const NODES = "a=10.0.0.1,b=10.0.0.2,c=10.0.0.3";

/** One tenant with everything that deployments look at, and one with the word for "false" of YAML 1.1 as its name. */
const FILES: Record<string, string> = {
  "tenants/acme/tenant.yaml": tenantText({
    server: "{ expected: true, drainSeconds: 12, memoryMb: 600, port: 8085, host: 0.0.0.0 }",
    database:
      "{ url: { hosts: [database-rw], name: acme, user: acme-server, password: { env: ACME_DATABASE_PASSWORD } }, ownerUrl: { env: ACME_OWNER_URL } }",
    audit: "{ key: { env: ACME_AUDIT_KEY }, anchors: [{ file: ../../anchors/acme.jsonl }] }",
    network: "{ allowPorts: [8443], allowPrivate: [10.1.2.3/16] }",
    markets: "{ files: [markets/*.yaml] }",
    labels: "{ tier: gold }",
  }),
  "tenants/acme/markets/sun.yaml": `
key: sun
question: "Will it rain? Yes: 1:30, no"
category: weather
kind: lmsr
p0: 0.5
resolutionRef: by hand
closeAt: 2099-01-01T00:00:00Z
`,
  "tenants/no/tenant.yaml": tenantText({
    tenant: '"no"',
    keys: "{ admin: [{ name: ops, secret: { env: NO_ADMIN_KEY } }] }",
    auth: "{ jwt: { algorithm: HS256, secret: { env: NO_JWT_SECRET } } }",
    audit: "{ key: { env: NO_AUDIT_KEY } }",
    server: "{ expected: true, port: 443 }",
  }),
  "anchors/README": "The server appends to acme.jsonl.\n",
  "pmctl.yaml":
    'version: 1\nsecrets: { files: [anchors], destinations: { "env ACME_DATABASE_PASSWORD": ["database-rw:5432?sslmode=prefer"] } }\n',
};

export interface DeployDirectory extends TestDirectory {
  /** `deploy render` with these arguments, in JSON. */
  render(...args: string[]): ReturnType<typeof pmctlHere>;
  read(path: string): Promise<string>;
}

export async function deployDirectory(files: Record<string, string> = FILES): Promise<DeployDirectory> {
  const directory = await operatorDirectory({ cluster: "none" });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory.cwd, path)), { recursive: true });
    await writeFile(join(directory.cwd, path), text);
  }
  return {
    ...directory,
    render: (...args) => pmctlHere(["deploy", "render", "-o", "json", ...args], directory),
    read: (path) => readFile(join(directory.cwd, path), "utf8"),
  };
}

/** The documents of a YAML file as programs of YAML 1.1 read them. */
export function documentsIn(text: string) {
  return parseAllDocuments(text, { version: "1.1" }).map((document) => {
    if ("errors" in document && document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}
