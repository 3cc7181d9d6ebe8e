import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makePair, type TestPair } from "../support/certificates.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { MAIN } from "./support/pmctl.ts";

/** The host that the operator lists in some of the tests; it and the others lead to this machine, as a stranger's DNS may. */
const LISTED = "predict.acme.example";
const HOSTS = [LISTED, "evil.example"];

let operator: Operator;
let pair: TestPair;
/** A stranger's server of HTTPS, and a process of any user at the operations port, which says that it is the tenant's. */
let [api, ops]: Server[] = [];
let [port, opsPort] = [0, 0];
/** The headers of every request that the stranger was sent. */
let seen: Record<string, unknown>[] = [];
let original: string;
const inDirectory = (...path: string[]) => join(operator.directory, ...path);

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => `${text.replace(/^server:.*\n(?: .*\n)*/m, "")}sandbox: true\n`);
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
  pair = await makePair({ names: HOSTS });
  await writeFile(inDirectory("tenants", "acme", "cert.pem"), pair.cert);
  await writeFile(inDirectory("tenants", "acme", "key.pem"), pair.key, { mode: 0o600 });
  api = createTlsServer(pair, (request, response) => {
    seen.push({ path: request.url, ...request.headers });
    response.setHeader("content-type", "application/json").end("[]");
  });
  ops = createServer((_, response) => response.end(JSON.stringify({ ok: true, tenant: "acme" })));
  [port, opsPort] = [await listen(api), await listen(ops)];
  // What a resolver answers, which the author of a host decides.
  await writeFile(
    inDirectory("dns.cjs"),
    `const dns = require("node:dns"), { lookup } = dns;
     dns.lookup = (host, ...rest) => lookup.call(dns, ${JSON.stringify(HOSTS)}.includes(host) ? "127.0.0.1" : host, ...rest);`,
  );
  original = await readFile(inDirectory("tenants", "acme", "tenant.yaml"), "utf8");
});
afterAll(async () => {
  for (const server of [api, ops]) server?.close();
  await operator?.close();
});
beforeEach(async () => {
  seen = [];
  await Promise.all(
    ["pmctl.yaml", ".pmctl/tls"].map((path) => rm(inDirectory(path), { recursive: true, force: true })),
  );
});

const TLS = ", tls: { cert: cert.pem, key: { file: key.pem } }";
const state = (host: string, more = TLS) =>
  operator.edit(
    "acme",
    () => `${original}\nserver: { host: ${JSON.stringify(host)}, port: ${port}, opsPort: ${opsPort}${more} }\n`,
  );
const grant = (text: string) => writeFile(inDirectory("pmctl.yaml"), `version: 1\n${text}\n`);
const listed = (host = `${LISTED}:${port}`, secret = "env ACME_ADMIN_KEY") =>
  grant(`secrets: { destinations: { "${secret}": ["${host}"] } }`);

/** A process of its own on a machine whose authorities verify the stranger's certificate for its names, unless `ca` is false. */
async function run(words: string[], { ca = true, env = {} }: { ca?: boolean; env?: Record<string, string> } = {}) {
  const { stdout, stderr, exitCode } = await execa(process.execPath, [MAIN, ...words], {
    cwd: operator.directory,
    env: {
      NODE_OPTIONS: `--require ${inDirectory("dns.cjs")}`,
      ...(ca ? { NODE_EXTRA_CA_CERTS: inDirectory("tenants", "acme", "cert.pem") } : {}),
      ...env,
    },
    reject: false,
    stdin: "ignore",
    timeout: 60_000,
  });
  return { stdout, stderr, exitCode };
}

const LIST = ["market", "list", "-o", "json"];
const sentence = (host: string) => `the process at ${host}:${port} is not proven to be the server of acme`;

describe("an address that only the tenant file states", () => {
  test("is on this machine: a foreign process that listens there gets no request, whatever certificate it shows", async () => {
    await state("127.0.0.1");
    for (const words of [
      ["market", "list"],
      ["apply", "--yes", "--accept-loosening"],
    ])
      expect(await run(words)).toMatchObject({ exitCode: 0 });
    for (const words of [["market", "list"], ["apply"], ["webhook", "send", "kyc.passed"]])
      expect(await run([...words, "--via", "http"])).toMatchObject({ exitCode: 9 });
    expect(seen).toEqual([]);
  });

  test("is elsewhere: a certificate of an authority is not enough, whatever the address leads to", async () => {
    await state("evil.example");
    const auto = await run(LIST);
    expect(auto).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`${sentence("evil.example")}: going straight to the database; `),
    });
    for (const word of ["--url", "PMCTL_URL_ACME", `"env ACME_ADMIN_KEY": ["evil.example:${port}"]`])
      expect(auto.stderr).toContain(word);
    for (const host of ["EVIL.example", "127.0.0.1@evil.example"]) {
      await state(host);
      const { exitCode, stderr } = await run([...LIST, "--via", "http"]);
      expect([exitCode, JSON.parse(stderr)]).toMatchObject([
        9,
        { code: "SERVER_UNPROVEN", error: expect.stringContaining(sentence("evil.example")) },
      ]);
    }
    const sent = await run(["webhook", "send", "kyc.passed", "--set", "userId=usr_1"]);
    expect(sent).toMatchObject({ exitCode: 9, stderr: expect.stringContaining(sentence("evil.example")) });
    expect(seen).toEqual([]);
  });

  test("is elsewhere and listed for the key in use: it is sent there under a certificate of an authority alone", async () => {
    await state(LISTED);
    for (const grants of [
      () => listed(),
      () => grant(`tenants: { acme: { destinations: { "env ACME_ADMIN_KEY": ["*.acme.example:${port}"] } } }`),
    ]) {
      await grants();
      expect(await run([...LIST, "--via", "http"])).toMatchObject({ exitCode: 0, stdout: "[]", stderr: "" });
    }
    const key = (await operator.secrets()).ACME_ADMIN_KEY;
    expect(seen.map((headers) => headers["x-api-key"])).toEqual([undefined, key, undefined, key]);
    expect(await run([...LIST, "--via", "http"], { ca: false })).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining("SERVER_UNPROVEN"),
    });
    expect(seen).toHaveLength(4);
  });

  test("is elsewhere and listed for another port, secret or tenant: not at all", async () => {
    await state(LISTED);
    for (const grants of [
      () => listed(LISTED),
      () => listed(`${LISTED}:${port}`, "env ACME_PUBLIC_KEY"),
      () => grant(`tenants: { beta: { destinations: { "env ACME_ADMIN_KEY": ["${LISTED}:${port}"] } } }`),
    ]) {
      await grants();
      expect(await run([...LIST, "--via", "http"])).toMatchObject({ exitCode: 9 });
    }
    expect(seen).toEqual([]);
  });

  test("receives a read key by the same rule, by that key's own name", async () => {
    await state(LISTED);
    const readKey = `sk_read-${"r".repeat(40)}`;
    const pipeline = { ACME_ADMIN_KEY: "", ACME_READ_KEY: readKey };
    await listed();
    expect(await run([...LIST, "--via", "http"], { env: pipeline })).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining("env ACME_READ_KEY"),
    });
    expect(seen).toEqual([]);
    await listed(`${LISTED}:${port}`, "env ACME_READ_KEY");
    expect(await run([...LIST, "--via", "http"], { env: pipeline })).toMatchObject({ exitCode: 0 });
    expect(seen.at(-1)).toMatchObject({ "x-api-key": readKey });
  });

  test("is elsewhere without TLS: 6 at its line", async () => {
    await state(LISTED, "");
    await listed();
    expect(await run(LIST)).toMatchObject({ exitCode: 6, stderr: expect.stringMatching(/server\.host/) });
    expect(seen).toEqual([]);
  });
});

describe("an address that the operator states", () => {
  test("needs a certificate of an authority, by --url, PMCTL_URL_ACME and fleet.yaml, whatever the environment says", async () => {
    await state("127.0.0.1");
    const url = `https://127.0.0.1:${port}`;
    const refused = { exitCode: 9, stderr: expect.stringContaining("its certificate is not accepted") };
    const careless = { ca: false, env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } };
    expect(await run([...LIST, "--url", url], careless)).toMatchObject(refused);
    for (const words of [LIST, ["plan"], ["webhook", "send", "kyc.passed"]])
      expect(await operator.runWith({ PMCTL_URL_ACME: url }, ...words)).toMatchObject(refused);
    const fleet = `version: 1\ntenants: { acme: { url: "${url}" } }\nwaves: [{ name: all, tenants: [acme] }]\n`;
    await writeFile(inDirectory("fleet.yaml"), fleet);
    expect(await operator.run("fleet", "plan", "-o", "json")).toMatchObject({
      exitCode: 9,
      stdout: expect.stringContaining("its certificate is not accepted"),
    });
    expect(seen).toEqual([]);
    expect(await run(LIST, { env: { PMCTL_URL_ACME: url } })).toMatchObject({ exitCode: 0, stdout: "[]" });
    expect(await run([...LIST, "--url", url])).toMatchObject({ exitCode: 0, stdout: "[]" });
  });

  test("by a variable of .env is ignored, which is said once", async () => {
    await operator.edit("acme", () => original);
    const env = await readFile(inDirectory(".env"), "utf8");
    await writeFile(inDirectory(".env"), `${env}\nPMCTL_URL_ACME=https://evil.example:${port}\n`);
    try {
      const { exitCode, stderr } = await run(LIST);
      expect(exitCode).toBe(0);
      expect(stderr.match(/PMCTL_URL_ACME/g)).toHaveLength(1);
      expect(stderr).toMatch(/PMCTL_URL_ACME of \.env is ignored.*process/);
      expect(seen).toEqual([]);
      expect((await run(LIST, { env: { PMCTL_URL_ACME: `https://127.0.0.1:${port}` } })).stderr).toBe("");
      expect(seen).toHaveLength(1);
    } finally {
      await writeFile(inDirectory(".env"), env);
    }
  });
});
