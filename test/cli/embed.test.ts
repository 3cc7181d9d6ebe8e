import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ADMIN_KEY, PUBLIC_KEY } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";
import { openBrowser, openPage } from "../support/browser.ts";
import { type Finished, operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const SITE = "https://news.example";
const MARKET = `mkt_${"0123456789abcdef".repeat(2)}`;
const OTHER = `mkt_${"fedcba9876543210".repeat(2)}`;

let tenant: ServedTenant;
let directory: TestDirectory;
const site = createServer();
let publisher = "";
beforeAll(async () => {
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  publisher = `http://localhost:${portOf(site)}`;
  const embed = { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [SITE, publisher] };
  tenant = await serveTenant({ embed });
  await tenant.openMarket(MARKET, { question: "Will it rain?" });
  directory = await operatorDirectory({ cluster: "none" });
  mkdirSync(join(directory.cwd, "tenants/acme"), { recursive: true });
  writeFileSync(join(directory.cwd, "tenants/acme/tenant.yaml"), tenantFile(`embed: { allowedOrigins: ["${SITE}"] }`));
});
afterAll(async () => {
  await directory?.remove();
  await tenant?.close();
  site.close();
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const tenantFile = (more: string): string => `version: 1
tenant: acme
baseUrl: https://predict.acme.example
keys: { admin: [{ name: ops, secret: { env: ACME_ADMIN_KEY } }], public: [{ name: web, secret: { env: ACME_PUBLIC_KEY } }] }
auth: { jwt: { algorithm: HS256, secret: { env: ACME_JWT_SECRET } } }
audit: { key: { env: ACME_AUDIT_KEY } }
${more}
`;
const run = (...args: string[]): Promise<Finished> => pmctlHere(["embed", ...args], { cwd: directory.cwd });

describe("embed snippet", () => {
  test("prints the script's lasting address, a call with its room, and the policy with the hash of the call", async () => {
    const { code, stdout, stderr } = await run("snippet", "--market", MARKET, "--theme", "light", "--locale", "PT-br");
    expect(code).toBe(0);
    expect(stderr).toContain("getToken");
    const [script, call = "", , , csp] = stdout.trimEnd().split("\n");
    expect(script).toBe('<script src="https://predict.acme.example/assets/v1/embed.js"></script>');
    const [, place, inline = ""] = /^<div id="([\w-]+)"><\/div><script>(.*)<\/script>$/.exec(call) ?? [];
    const options = JSON.parse(inline.slice(inline.indexOf("{"), -1));
    expect(inline).toContain(`PredictionMarkets.embed("#${place}", {`);
    expect(options).toEqual({
      ...{ view: "market", theme: "light", marketId: MARKET, locale: "pt-BR", autoHeight: true },
      height: expect.any(Number),
    });
    expect(csp).toBe(
      `script-src https://predict.acme.example 'sha256-${createHash("sha256").update(inline).digest("base64")}'; frame-src https://predict.acme.example`,
    );
  });

  test("as an element and as a frame without scripts, as JSON for programs", async () => {
    const snippet = async (...args: string[]) => JSON.parse((await run("snippet", "-o", "json", ...args)).stdout);
    const element = await snippet("--market", MARKET, "--as", "element");
    const origin = "https://predict.acme.example";
    expect(element).toEqual({
      html: [
        `<script src="${origin}/assets/v1/embed.js"></script>`,
        expect.stringMatching(
          new RegExp(
            `^<prediction-market market="${MARKET}" view="market" theme="auto" height="\\d+" auto-height></prediction-market>$`,
          ),
        ),
      ],
      csp: `script-src ${origin}; frame-src ${origin}`,
      scriptUrl: `${origin}/assets/v1/embed.js`,
    });
    const frame = await snippet("--as", "iframe", "--view", "compare", "--market", `${MARKET},${OTHER}`);
    expect(frame.csp).toBe(`frame-src ${origin}`);
    expect(frame.html).toHaveLength(1);
    expect(frame.html[0]).toContain(`src="${origin}/embed/compare?marketId=${MARKET}%2C${OTHER}&amp;theme=auto"`);
    expect(frame.html[0]).toMatch(/ title="Prediction market" .* height="\d+" .* sandbox="allow-scripts /);
  });

  test.each([
    [["--view", "cards"], /--view must be one of/],
    [["--theme", "pink"], /--theme must be one of/],
    [["--as", "image"], /--as must be one of/],
    [["--locale", "no such"], /--locale must be a language tag/],
    [["--view", "portfolio", "--market", "mkt_a"], /--market does not go with --view portfolio/],
    [["--view", "compare", "--market", "mkt_a"], /--view compare needs --market with two markets/],
    [["--market", ""], /--market must be the id/],
  ])("%j is refused, naming the option", async (args, words) => {
    const { code, stderr, stdout } = await run("snippet", ...args);
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toMatch(words);
  });

  test.each(["script", "element", "iframe"])("an id cannot break out of the HTML of a snippet as %s", async (form) => {
    const { stdout } = await run("snippet", "--market", '</script><b>"', "--as", form);
    expect(stdout).toContain("predict.acme.example");
    expect(stdout).not.toContain("<b>");
    expect(stdout).not.toContain('<b>"');
  });

  test("an id that no market has is refused where the tenant can be asked", async () => {
    const args = ["embed", "snippet", "--url", tenant.url, "--market", "mkt_nope"];
    const env = { ACME_ADMIN_KEY: ADMIN_KEY };
    const { code, stdout, stderr } = await pmctlHere(args, { cwd: directory.cwd, env });
    expect([code, stdout]).toEqual([5, ""]);
    expect(stderr).toContain("Market not found");
  });

  test("a key is looked up, so that without a server or a database no snippet is printed for it", async () => {
    const { code, stdout } = await run("snippet", "--market", "rain");
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
  });

  describe("on a publisher's page", () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });

    test("runs under exactly the policy that was printed", async () => {
      const { stdout } = await run("snippet", "--url", tenant.url, "--market", MARKET, "-o", "json");
      const { html, csp } = JSON.parse(stdout);
      site.on("request", (_, response) => {
        const policy = `default-src 'none'; ${csp}`;
        response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy });
        response.end(`<!doctype html><title>News</title>${html.join("\n")}`);
      });
      const { page, complaints, close } = await openPage(browser);
      await page.goto(publisher);
      await page.frameLocator("iframe").getByRole("heading", { name: "Will it rain?" }).waitFor();
      expect(complaints).toEqual([]);
      await close();
    });
  });
});

describe("embed check", () => {
  const resultsOf = ({ stdout }: Finished): Record<string, string> =>
    Object.fromEntries(
      JSON.parse(stdout).checks.map(({ check, result }: { check: string; result: string }) => [check, result]),
    );

  test("a listed site may trade, and everything it needs is served", async () => {
    const finished = await run("check", "--url", tenant.url, "--origin", SITE, "-o", "json");
    expect(finished.code).toBe(0);
    expect(resultsOf(finished)).toEqual({
      // The test's own address: no TLS, and not what the file says.
      https: "warn",
      baseUrl: "warn",
      script: "ok",
      frame: "ok",
      "may trade": "ok",
      "frame-ancestors": "ok",
    });
  });

  test("a site that is not listed is told so, by the file and by the server", async () => {
    const finished = await run("check", "--url", tenant.url, "--origin", "https://other.example", "-o", "json");
    expect(finished.code).toBe(7);
    expect(finished.stderr).toContain("may trade, frame-ancestors");
    expect(resultsOf(finished)).toMatchObject({ script: "ok", "may trade": "fail", "frame-ancestors": "fail" });
    expect(finished.stdout).toContain(
      `which names ${SITE}: add it to embed.allowedOrigins of tenants/acme/tenant.yaml, apply, and restart the server`,
    );
  });

  test("a site that only the file lists may not trade yet: the running server has to be started anew", async () => {
    const file = join(directory.cwd, "tenants/acme/tenant.yaml");
    const fresh = "https://fresh.example";
    writeFileSync(file, tenantFile(`embed: { allowedOrigins: ["${SITE}", "${fresh}"] }`));
    const finished = await run("check", "--url", tenant.url, "--origin", fresh, "-o", "json");
    writeFileSync(file, tenantFile(`embed: { allowedOrigins: ["${SITE}"] }`));
    expect(finished.code).toBe(7);
    const { detail } = JSON.parse(finished.stdout).checks.find(({ check }: { check: string }) => check === "may trade");
    expect(detail).toBe(
      `the tenant file lists ${fresh}, and the running server does not: restart it with the new file`,
    );
  });

  test("a server that is no pmctl, or none at all, fails without a stack", async () => {
    const other = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const finished = await run("check", "--url", `http://127.0.0.1:${portOf(other)}`, "-o", "json");
    expect(finished.code).toBe(7);
    expect(resultsOf(finished)).toMatchObject({ script: "fail", frame: "fail" });
    other.close();
    const unanswered = await run("check", "--url", "http://127.0.0.1:1");
    expect(unanswered.code).toBe(9);
    expect(unanswered.stdout).toContain("no answer");
    expect(unanswered.stderr).toBe("pmctl: The widget cannot be used like this: script, frame, baseUrl\n");
  });

  test("an origin with a path is refused", async () => {
    const { code, stderr } = await run("check", "--origin", "https://news.example/page");
    expect(code).toBe(6);
    expect(stderr).toContain("--origin must be scheme and host");
  });
});
