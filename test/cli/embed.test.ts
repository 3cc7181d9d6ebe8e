import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PUBLIC_KEY } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";
import { openBrowser, openPage } from "../support/browser.ts";
import { type Finished, operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const SITE = "https://news.example";

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
  await tenant.openMarket("mkt_a", { question: "Will it rain?" });
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
  test("prints two lines of HTML and the policy; the script is the immutable one, by its integrity", async () => {
    const { code, stdout, stderr } = await run("snippet", "--market", "mkt_a", "--theme", "light");
    expect(code).toBe(0);
    expect(stderr).toContain("getToken");
    const [script = "", call = "", , , csp = ""] = stdout.trimEnd().split("\n");
    expect(script).toMatch(
      /^<script src="https:\/\/predict\.acme\.example\/assets\/embed-[0-9a-f]{16}\.js" integrity="sha384-[\w+/]{64}" crossorigin="anonymous"><\/script>$/,
    );
    const inline = /<script>(.*)<\/script>$/.exec(call)?.[1] ?? "";
    expect(inline).toContain('{"view":"market","theme":"light","marketId":"mkt_a","autoHeight":true}');
    expect(csp).toBe(
      `script-src https://predict.acme.example 'sha256-${createHash("sha256").update(inline).digest("base64")}'; frame-src https://predict.acme.example`,
    );
  });

  test("as JSON, for programs", async () => {
    const { stdout } = await run("snippet", "--url", tenant.url, "-o", "json");
    const { html, csp, scriptUrl, integrity } = JSON.parse(stdout);
    expect(html).toHaveLength(2);
    expect(csp).toContain(`frame-src ${tenant.url}`);
    const served = await (await fetch(scriptUrl)).text();
    expect(`sha384-${createHash("sha384").update(served).digest("base64")}`).toBe(integrity);
  });

  test.each([
    [["--view", "cards"], /--view must be one of/],
    [["--theme", "pink"], /--theme must be one of/],
    [["--view", "portfolio", "--market", "mkt_a"], /--market goes with --view market/],
    [["--market", ""], /--market must be the id/],
  ])("%j is refused, naming the option", async (args, words) => {
    const { code, stderr, stdout } = await run("snippet", ...args);
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toMatch(words);
  });

  test("an id cannot break out of the script that it stands in", async () => {
    const { stdout } = await run("snippet", "--market", "</script><b>");
    expect(stdout).not.toContain("</script><b>");
    expect(stdout).toContain('"marketId":"\\u003c/script>\\u003cb>"');
  });

  describe("on a publisher's page", () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(() => browser?.close());

    test("runs under exactly the policy that was printed", async () => {
      const { stdout } = await run("snippet", "--url", tenant.url, "--market", "mkt_a", "-o", "json");
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
  });

  test("a server that is no pmctl, or none at all, fails without a stack", async () => {
    const other = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const finished = await run("check", "--url", `http://127.0.0.1:${portOf(other)}`, "-o", "json");
    expect(finished.code).toBe(7);
    expect(resultsOf(finished)).toMatchObject({ script: "fail", frame: "fail" });
    other.close();
    const nobody = await run("check", "--url", "http://127.0.0.1:1");
    expect(nobody.code).toBe(9);
    expect(nobody.stdout).toContain("no answer");
    expect(nobody.stderr).toBe("pmctl: The widget cannot be used like this: script, frame\n");
  });

  test("an origin with a path is refused", async () => {
    const { code, stderr } = await run("check", "--origin", "https://news.example/page");
    expect(code).toBe(6);
    expect(stderr).toContain("--origin must be scheme and host");
  });
});
