import { test } from "vitest";
import { fillTenant } from "./embed/support/scenery.ts";
import { PUBLIC_KEY } from "./server/support/harness.ts";
import { serveTenant } from "./server/support/tenant.ts";
import { accessibilityProblems, openBrowser, openPage } from "./support/browser.ts";

test("look", async () => {
  const tenant = await serveTenant({ embed: { name: "Acme Markets", publicKeys: [PUBLIC_KEY], allowedOrigins: [] } });
  await fillTenant(tenant, "usr_1");
  const browser = await openBrowser();
  for (const [name, path, options] of [
    ["noscript", "/m/mkt_0", { javaScriptEnabled: false }],
    ["noscript-ar", "/m/mkt_0?locale=ar", { javaScriptEnabled: false, colorScheme: "dark" }],
    ["script", "/m/mkt_0", {}],
    ["settled", "/m/mkt_2", { colorScheme: "dark" }],
    ["list", "/", {}],
    ["list-ja", "/?locale=ja", { viewport: { width: 360, height: 800 } }],
    ["none", "/m/none?locale=de", {}],
  ] as const) {
    const { page, complaints, close } = await openPage(browser, { viewport: { width: 800, height: 900 }, ...options });
    await page.goto(tenant.url + path);
    if (name === "script") await page.waitForSelector("html.live");
    await page.waitForTimeout(name === "settled" || name === "script" ? 1500 : 300);
    await page.screenshot({ path: `/tmp/pages-try/${name}.png`, fullPage: true });
    console.log(
      name,
      complaints,
      "javaScriptEnabled" in options ? "" : await accessibilityProblems(page).catch(String),
    );
    await close();
  }
  await browser.close();
  await tenant.close();
});
