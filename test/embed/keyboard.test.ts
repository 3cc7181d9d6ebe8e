import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { fillTenant } from "./support/scenery.ts";
import { openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

test("a double click asks, and does not buy", async () => {
  const { frame, events, close } = await stage.open({ view: "market", marketId: "mkt_0", token: await userToken() });
  await frame.getByText("live", { exact: true }).waitFor();
  await frame.getByRole("button", { name: /^Buy Yes/ }).dblclick();
  await frame.getByRole("button", { name: /^Confirm/ }).waitFor();
  expect((await events()).map(({ name }) => name)).toEqual(["quote"]);
  await frame.getByRole("button", { name: "Change" }).click();
  await frame.getByRole("button", { name: /^Buy Yes/ }).waitFor();
  await close();
});

describe("the chart", () => {
  test("is walked through with the arrow keys, each step in words", async () => {
    const { page, frame, close } = await stage.open({ view: "market", marketId: "mkt_0" });
    const chart = frame.getByRole("slider");
    await chart.focus();
    const now = await chart.getAttribute("aria-valuetext");
    await page.keyboard.press("Home");
    await expect.poll(() => chart.getAttribute("aria-valuetext")).toMatch(/^50% on /);
    const first = await chart.getAttribute("aria-valuetext");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => chart.getAttribute("aria-valuetext")).not.toBe(first);
    expect(await frame.locator("figcaption span").innerText()).toBe(await chart.getAttribute("aria-valuetext"));
    await page.keyboard.press("Tab");
    await expect.poll(() => chart.getAttribute("aria-valuetext")).toBe(now);
    await close();
  });

  test("follows a mouse and a finger, and is a table for those who read", async () => {
    const { page, frame, close } = await stage.open(
      { view: "market", marketId: "mkt_0", autoHeight: true },
      { hasTouch: true },
    );
    const caption = frame.locator("figcaption span");
    const whole = await caption.innerText();
    const box = await frame.locator(".u-over").boundingBox();
    if (!box) throw new Error("There is no chart");
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await expect.poll(() => caption.innerText()).toMatch(/% on /);
    const middle = await caption.innerText();
    await page.touchscreen.tap(box.x + box.width / 5, box.y + 20);
    await expect.poll(() => caption.innerText()).not.toBe(middle);
    await page.mouse.move(0, 0);
    await frame.getByRole("button", { name: "Table" }).click();
    const rows = frame.getByRole("row");
    expect(await rows.count()).toBeGreaterThan(5);
    expect(await rows.nth(1).innerText()).toMatch(/\d+%\s+\d+%/);
    await frame.getByRole("button", { name: "Table" }).click();
    await frame.getByRole("slider").waitFor();
    expect(whole).toMatch(/^\d+% chance, .* since /);
    await close();
  });

  test("a browser whose language is none that exists shows it all the same", async () => {
    const { frame, complaints, close } = await stage.open({ view: "market", marketId: "mkt_1" }, {}, [
      "Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true })",
    ]);
    await frame.locator(".u-over").waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

test("from all markets to one and back, in the same frame and theme, and the host knows", async () => {
  const { page, frame, close } = await stage.open({ view: "markets", theme: "light", token: await userToken() });
  const views = () => page.evaluate("events.filter(({ name }) => name === 'view').map(({ detail }) => detail)");
  await frame.getByRole("searchbox").fill("gold");
  await expect.poll(() => frame.locator(".card").count()).toBe(1);
  await frame.getByRole("searchbox").fill("");
  await frame.getByRole("button", { name: "crypto", exact: true }).click();
  await expect.poll(() => frame.locator(".card").count()).toBe(1);
  await frame.locator(".card").click();
  await frame.getByRole("heading", { name: /Bitcoin/ }).waitFor();
  await expect.poll(views).toEqual([{ view: "markets" }, { view: "market", marketId: "mkt_0" }]);
  await frame.getByText("You hold").first().waitFor();
  await frame.getByRole("button", { name: "All markets" }).click();
  await frame.locator(".card").first().waitFor();
  expect(await frame.evaluate("document.documentElement.dataset.theme")).toBe("light");
  expect(await frame.getByRole("button", { name: "crypto", exact: true }).getAttribute("aria-pressed")).toBe("true");
  await close();
});

test("auto follows the reader's system, and less motion is honoured", async () => {
  const { page, frame, close } = await stage.open(
    { view: "markets", theme: "auto" },
    { colorScheme: "light", reducedMotion: "reduce" },
  );
  const background = () => frame.evaluate("getComputedStyle(document.body).backgroundColor");
  expect(await background()).toBe("rgb(255, 255, 255)");
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await expect.poll(background).toBe("rgb(15, 19, 25)");
  const moving = await frame.evaluate<number>(
    "[...document.querySelectorAll('*')].filter((one) => getComputedStyle(one).transitionDuration !== '0s').length",
  );
  expect(moving).toBe(0);
  await close();
});
