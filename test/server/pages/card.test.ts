import { expect, test } from "vitest";
import { CATALOGUES } from "../../../src/locales/catalogues.ts";
import { speakerFor } from "../../../src/locales/speaker.ts";
import { type CardMarket, marketCard } from "../../../src/server/pages/card.ts";

const speaker = speakerFor("en", CATALOGUES.en, { timeZone: "UTC" });
const market: CardMarket = {
  question: "Will it rain in Bern?",
  yesPrice: 0.634,
  closeAt: "2030-01-01T00:30:00.000Z",
};
/** As a reader sees it. */
const textOf = (html: string): string => html.replace(/<[^>]+>/g, "").replace(/[\s\u202f]+/g, " ");

test("a card tells question, chance and closing time with its zone, in words of its language", () => {
  expect(textOf(marketCard(speaker, market))).toBe(
    "Will it rain in Bern? 63% chance of Yes Closes Jan 1, 2030, 12:30 AM UTC",
  );
  const german = speakerFor("de", CATALOGUES.de, { timeZone: "Europe/Berlin" });
  expect(textOf(marketCard(german, market))).toMatch(/63.% Chance für Ja Schließt: 1\. Jan\. 2030, 01:30 MEZ$/);
  expect(marketCard(speaker, market)).toContain('<time data-pm="closes" datetime="2030-01-01T00:30:00.000Z">');
});

test("a card of a market that takes no trades says so, and the result of a settled one instead of a chance", () => {
  const states = (["open", "suspended", "closed"] as const).map((status) =>
    textOf(marketCard(speaker, { ...market, status })),
  );
  expect(states.map((text) => text.split(" UTC")[1])).toEqual(["", " · paused", " · closed"]);
  expect(states.map((text) => /Clos[\w ]+/.exec(text)?.[0])).toEqual([
    expect.stringMatching(/^Closes/),
    expect.stringMatching(/^Closes/),
    "Closing time",
  ]);
  const settled = marketCard(speaker, { ...market, status: "settled", outcome: "no" });
  expect(textOf(settled)).toContain("Result: No");
  expect(settled).toMatch(/data-pm="result".*data-state="settled"/s);
  expect(settled).not.toContain('data-pm="chance"');
});

test("nothing in a question or an address becomes markup", () => {
  const card = marketCard(speaker, { ...market, question: `<img src=x onerror="a">&'` }, { href: `/m/"><b>` });
  expect(card).toContain("&lt;img src=x onerror=&quot;a&quot;&gt;&amp;&#39;");
  expect(card).toContain('href="/m/&quot;&gt;&lt;b&gt;"');
});
