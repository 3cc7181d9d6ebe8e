import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { ADMIN_KEY } from "../../server/support/harness.ts";
import { type OpenPage, openBrowser, openPage } from "../../support/browser.ts";

export interface ConsolePage extends OpenPage {
  /** The heading, once the view is drawn. */
  title(): Promise<string>;
}

export interface ConsoleOptions extends BrowserContextOptions {
  /** Below `/console`. */
  path?: string;
  key?: string;
}

/** Opens a view in a browser of its own, through the sign-in form. */
export async function openConsole(
  { server }: { server: { opsUrl: string } },
  { path = "/", key = ADMIN_KEY, ...options }: ConsoleOptions = {},
): Promise<ConsolePage> {
  const opened = await openPage(await openBrowser(), { locale: "en-US", timezoneId: "Europe/Zurich", ...options });
  const { page } = opened;
  await page.goto(`${server.opsUrl}/console${path}`);
  await page.getByLabel("Admin key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const title = async (): Promise<string> => (await page.getByRole("heading", { level: 1 }).textContent()) ?? "";
  return { ...opened, title };
}

/** The row of a thing, in whichever table or list shows it. */
export const rowOf = (page: Page, id: string): Locator => page.locator(`[data-id="${id}"]`);

/** The name of the element that has the focus, such as `H1`. */
export const focusedTag = (page: Page): Promise<string> => page.evaluate("document.activeElement.tagName");

/** Presses an action's button, gives the reason and confirms. @returns the notice afterwards */
export async function act(page: Page, button: Locator, reason: string, choose?: (dialog: Locator) => Promise<void>) {
  await button.click();
  const dialog = page.getByRole("dialog");
  await choose?.(dialog);
  await dialog.getByRole("textbox", { name: "Reason" }).fill(reason);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.waitFor({ state: "detached" });
  return page.locator("main > [role=status]").textContent();
}

/** Complaints that are faults: the browser itself reports each 401 before the sign-in. */
export const troubles = (complaints: readonly string[]): string[] =>
  complaints.filter((each) => !each.includes("status of 401"));

/** Lets another person act between what a dialog shows and its next change of the address, which so is outdated. */
export async function actBefore(page: Page, address: string, method: string, act: () => Promise<unknown>) {
  let hasActed = false;
  await page.route(address, async (route) => {
    if (!hasActed && route.request().method() === method) {
      hasActed = true;
      await act();
    }
    await route.continue();
  });
}
