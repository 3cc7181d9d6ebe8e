import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import { endMarkets, HOSTILE_REASON, openHeld } from "../../embed/support/ends.ts";
import { fillTenant } from "../../embed/support/scenery.ts";
import { CONSOLE } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { accessibilityProblems, OUTPUT } from "../../support/browser.ts";
import { openConsole } from "../support/console-page.ts";

/**
 * Takes a picture of every view of the console, in both themes and three widths: `npm run console:shots`. The pictures are in
 * test/output/console. It fails for what eyes need not look for: a page wider than its window, and what axe finds.
 */
const OUT = join(OUTPUT, "console");
const WIDTHS = [320, 1280, 3840];
const THEMES = ["light", "dark"] as const;

const tenant = tenantOfTests({
  console: CONSOLE,
  resolution: { correctionHours: 1, categories: { judged: { holdHours: 24, approvals: 2 } } },
});

test("every view is taken", async () => {
  await mkdir(OUT, { recursive: true });
  const operator = localApi(tenant.services.handlers, { actor: "admin:second" });
  await fillTenant(tenant, "usr_1");
  await endMarkets(tenant, "usr_2");
  await tenant.openMarket("mkt_judged", { question: "Will the jury agree?", category: "judged" });
  await operator.settleMarket({ marketId: "mkt_judged", outcome: "yes", evidence: HOSTILE_REASON } as never);
  await openHeld(tenant, "mkt_long", `Will ${"a very long question be read to its end, or ".repeat(8)}not?`, "usr_1");
  const [entry] = (await operator.listAudit({ limit: 1 })).entries;
  const paths = [
    ...["/", "/overview", "/markets", "/risk", "/traders", "/funds"],
    ...["/oracle", "/configuration", "/record", "/webhooks", "/system"],
    ...["/markets/mkt_fixed", "/markets/mkt_judged", "/traders/usr_1", `/record/${entry?.seq}`, "/nowhere"],
  ];
  const problems: string[] = [];
  for (const colorScheme of THEMES)
    for (const width of WIDTHS) {
      const { page, complaints, close } = await openConsole(tenant, { colorScheme, viewport: { width, height: 900 } });
      for (const path of paths) {
        const name = `${path === "/" ? "today" : path.slice(1).replaceAll("/", "-")}-${colorScheme}-${width}`;
        await page.goto(`${tenant.server.opsUrl}/console${path}`);
        await page.locator('h1, [aria-busy="false"]').first().waitFor();
        await page.waitForTimeout(700);
        await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true, animations: "disabled" });
        const tooWide = await page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");
        if (tooWide) problems.push(`${name}: wider than its window`);
        problems.push(...(await accessibilityProblems(page)).map((each) => `${name}: ${each}`));
      }
      problems.push(...complaints.filter((each) => /^script|Content Security/.test(each)));
      await close();
    }
  expect(problems).toEqual([]);
});
