import { once } from "node:events";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Agent, fetch as fetchThrough } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePair, type TestPair } from "../support/certificates.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withRateLimit, withServer } from "../support/tenant-text.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => `${withRateLimit(text, 10_000)}sandbox: true\n`);
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
});
afterAll(() => operator.close());

/** What a client gets that was told to trust these certificates and nothing else. */
async function call(
  url: string,
  ca: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  const dispatcher = new Agent({ connect: { ca: [ca] } });
  try {
    const response = await fetchThrough(url, { ...init, dispatcher });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  } finally {
    await dispatcher.close();
  }
}

const ownCertificate = () => readFile(join(operator.directory, ".pmctl", "tls", "acme.crt"), "utf8");

describe("serve --https without a certificate in the file", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await operator.serve("acme", "--https");
  });
  afterAll(() => server.kill("SIGKILL"));

  test("says on stderr which certificate it shows, and a client that trusts it trades", async () => {
    expect(server.url).toMatch(/^https:/);
    await expect.poll(() => server.errors()).toContain(`curl --cacert .pmctl/tls/acme.crt ${server.url}/health`);
    expect(server.errors()).toMatch(/SHA-256 fingerprint ([0-9A-F]{2}:){31}[0-9A-F]{2}\n/);
    const ca = await ownCertificate();
    const secrets = await operator.secrets();
    const key = { "x-api-key": secrets.ACME_ADMIN_KEY ?? "", "content-type": "application/json" };
    const closeAt = "2096-01-01T00:00:00Z";
    const market = { question: "By TLS?", category: "x", kind: "cpmm", p0: 0.5, closeAt, resolutionRef: "by hand" };
    const body = JSON.stringify(market);
    const created = await call(`${server.url}/v1/markets`, ca, { method: "POST", headers: key, body });
    expect(created).toMatchObject({ status: 200, body: { status: "open" } });

    const send = (...words: string[]) => operator.run("webhook", "send", ...words, "-o", "json");
    expect(
      JSON.parse((await send("kyc.passed", "--set", "userId=usr_1", "--set", "jurisdiction=GB")).stdout),
    ).toMatchObject({ status: 200 });
    const deposit = await send("deposit.completed", "--set", "userId=usr_1", "--set", "amountUsd=100");
    expect(JSON.parse(deposit.stdout)).toMatchObject({ status: 200, url: expect.stringMatching(/^https:/) });
    const session = await operator.run("user", "session", "usr_1", "-o", "json");
    expect(JSON.parse(session.stdout)).toEqual({ userId: "usr_1", expiresAt: expect.stringMatching(/^20.*Z$/) });
    expect(await operator.run("user", "session", "usr_1", "--via", "db")).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining("add --via http"),
    });
    const { stdout } = await operator.run("user", "token", "usr_1");
    const trade = { marketId: created.body.id, selection: { side: "yes" }, amount: 5 };
    const placed = await call(`${server.url}/v1/trade`, ca, {
      method: "POST",
      headers: { ...key, authorization: `Bearer ${stdout.trim()}` },
      body: JSON.stringify(trade),
    });
    expect(placed).toMatchObject({ status: 200, body: { side: "yes", amount: 5 } });
  });

  test("the commands of its directory find it without the certificate, which by its address none believes", async () => {
    const found = await operator.run("market", "list", "--via", "http", "-o", "json");
    expect(found).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await operator.run("market", "list", "--url", server.url)).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining("to trust it, set NODE_EXTRA_CA_CERTS"),
    });
    const { stdout } = await operator.run("doctor", "acme", "-o", "json");
    expect(JSON.parse(stdout).checks).toContainEqual(expect.objectContaining({ check: "health", status: "ok" }));
  });

  test("no other certificate is accepted at that port", async () => {
    const stranger = createServer(await makePair(), (_, response) => response.end("[]"));
    stranger.listen(0, "127.0.0.1");
    await once(stranger, "listening");
    const url = `https://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const { exitCode, stderr } = await operator.run("market", "list", "--url", url);
    expect(exitCode).toBe(9);
    expect(stderr).toMatch(/its certificate is not accepted \(\w+\); to trust it, set NODE_EXTRA_CA_CERTS/);
    const careless = { NODE_TLS_REJECT_UNAUTHORIZED: "0", PMCTL_URL_ACME: url };
    for (const words of [
      ["market", "list"],
      ["webhook", "send", "kyc.passed"],
    ])
      expect((await operator.runWith(careless, ...words)).stderr).toContain("its certificate is not accepted");
    stranger.close();
  });

  test("a port that speaks plain HTTP is told from a certificate that is not accepted", async () => {
    const { exitCode, stderr } = await operator.run(
      "market",
      "list",
      "--url",
      server.opsUrl.replace("http:", "https:"),
    );
    expect([exitCode, stderr]).toEqual([9, expect.stringContaining("it does not speak TLS")]);
  });
});

describe("a certificate of the tenant file", () => {
  let first: TestPair;
  const folder = () => join(operator.directory, "tenants", "acme", "tls");
  const put = async ({ cert, key }: TestPair) => {
    await writeFile(join(folder(), "site.key"), key, { mode: 0o600 });
    await writeFile(join(folder(), "site.new"), cert);
    await rename(join(folder(), "site.new"), join(folder(), "site.crt"));
  };
  beforeAll(async () => {
    first = await makePair({ names: ["predict.acme.example"] });
    await mkdir(folder());
    await put(first);
    await operator.edit("acme", (text) => withServer(text, "tls: { cert: tls/site.crt, key: { file: tls/site.key } }"));
  });

  test("is served without a flag, trusted by the commands under the address of the machine, and renewed while serving", async () => {
    const server = await operator.serve("acme");
    expect(server.url).toMatch(/^https:/);
    expect(await call(`${server.url}/health`, first.cert)).toMatchObject({ status: 200 });
    expect((await operator.run("market", "list", "--via", "http")).exitCode).toBe(0);
    const renewed = await makePair({ names: ["predict.acme.example"] });
    // First a certificate whose key is not there yet: the old one goes on.
    await writeFile(join(folder(), "site.crt"), renewed.cert);
    await expect.poll(() => server.errors()).toContain("The changed certificate cannot be used");
    expect(await call(`${server.url}/health`, first.cert)).toMatchObject({ status: 200 });
    await put(renewed);
    await expect.poll(() => server.errors()).toContain("The renewed certificate is in use");
    expect(await call(`${server.url}/health`, renewed.cert)).toMatchObject({ status: 200 });
    expect(await server.kill("SIGTERM")).toBe(0);
  });

  test("that cannot be used ends serve with 6 and names the line; doctor says so before", async () => {
    const [other, expired] = [await makePair(), await makePair({ days: -3 })];
    for (const [pair, message] of [
      [{ ...first, key: other.key }, "is not the key of the certificate"],
      [expired, "expired on"],
    ] as const) {
      await put(pair);
      const { exitCode, stderr } = await operator.run("serve", "acme", "--port", "0", "--ops-port", "0");
      expect(exitCode).toBe(6);
      expect(stderr).toMatch(/tenant\.yaml:\d+:\d+ {2}server\.tls\./);
      expect(stderr).toContain(message);
      const { stdout } = await operator.run("doctor", "acme", "-o", "json");
      const failed = { check: "certificate", status: "fail", found: expect.stringContaining(message) };
      expect(JSON.parse(stdout).checks).toContainEqual(expect.objectContaining(failed));
    }
  });
});
