import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signStory, storyPage, verifyPage } from "../../src/app/story/story-page.ts";
import { type Story, tellMarket, tellUser } from "../../src/app/story/tell-story.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { anyMarket } from "../support/market.ts";
import { AUDIT_SECRET, doors, type TestDoor } from "./support/doors.ts";
import { operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const KEY = auditKey("an audit secret of the stories, long enough");

describe.each(doors)("a story through the %s door", (_name, open) => {
  let door: TestDoor;
  let market = "";
  beforeAll(async () => {
    door = await open();
    market = (await door.api().createMarket(anyMarket({ question: "Will it <rain>?" }))).id;
    for (const user of ["ann", "bob"]) await door.deposit(user, 100);
    const trade = (user: string, side: "yes" | "no", amount: number) =>
      door.api(user).placeTrade({ marketId: market, selection: { side }, amount });
    await trade("ann", "yes", 25);
    await trade("bob", "no", 10);
    await trade("bob", "yes", 5);
    await door.api("ann").placeTrade({ marketId: market, selection: { side: "yes", action: "sell" }, shares: 10 });
    await door.api().settleMarket({ marketId: market, outcome: "yes" });
  });
  afterAll(() => door.close());

  const amounts = ({ lines }: Story) => lines.filter(({ kind }) => kind === "payout").map(({ amountUsd }) => amountUsd);

  test("of a market has every entry with its hash, and a payout for each winner, which add up to what was paid", async () => {
    const story = await tellMarket("acme", market, door.api());
    const settled = story.lines.find(({ kind }) => kind === "market.settled");
    const payouts = story.lines.filter(({ kind }) => kind === "payout");
    expect(story).toMatchObject({ subject: { kind: "market", id: market, key: null }, verified: true });
    expect(story.lines[0]?.sentence).toMatch(/^\S+ created 'Will it <rain>\?': cpmm/);
    expect(payouts.map(({ seq, sentence }) => `${seq} ${sentence.split(" ")[0]}`)).toEqual([
      `${settled?.seq} ann`,
      `${settled?.seq} bob`,
    ]);
    expect(amounts(story).reduce<number>((sum, usd) => sum + (usd ?? 0), 0)).toBeCloseTo(settled?.amountUsd ?? 0, 6);
    for (const { seq, hash } of story.lines) expect((await door.api().getAuditEntry({ seq })).hash).toBe(hash);
    expect(story.head).toBe((await door.api().getAuditStatus({})).head);
  });

  test("of a user lists the user's acts and payouts; of an unknown user it ends with 5", async () => {
    const story = await tellUser("acme", "bob", door.api());
    expect(story.lines.map(({ kind }) => kind)).toEqual([
      "wallet.credited",
      "trade.executed",
      "trade.executed",
      "payout",
    ]);
    const position = (await tellMarket("acme", market, door.api())).lines.findLast(({ kind }) => kind === "payout");
    expect(amounts(story)).toEqual([position?.amountUsd]);
    await expect(tellUser("acme", "nobody", door.api())).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(tellMarket("acme", "mkt_nowhere", door.api())).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
  });

  test("that is to be signed is told of sealed entries alone, whenever the whole log was last walked", async () => {
    const keys = [auditKey(AUDIT_SECRET)];
    const tell = {
      market: () => tellMarket("acme", market, door.api(), keys),
      user: () => tellUser("acme", "bob", door.api(), keys),
    };
    const before = { market: await tell.market(), user: await tell.user() };
    expect(before.market).toEqual(await tellMarket("acme", market, door.api()));
    expect(before.user).toEqual(await tellUser("acme", "bob", door.api()));
    await door.sql`update market set question = 'Will it snow?' where id = ${market}`;
    expect({ market: await tell.market(), user: await tell.user() }).toMatchObject({
      market: { lines: before.market.lines },
      user: { lines: before.user.lines },
    });
    const altered = await door.sql`
      update audit set payload = replace(payload, '"amount":"5"', '"amount":"500"')
       where type = 'trade.executed' and payload like '%"amount":"5"%'`;
    expect(altered.count).toBe(1);
    const refused = {
      code: "INTEGRITY",
      message: expect.stringMatching(/^Nothing is signed, because the log does not hold: entry \d+ /),
    };
    await expect(tell.market()).rejects.toMatchObject(refused);
    await expect(tell.user()).rejects.toMatchObject(refused);
  });
});

describe("the page of a story", () => {
  let directory = "";
  beforeAll(async () => {
    directory = await mkdtemp("/tmp/pmctl-story-");
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const line = { ts: "2030-01-01T00:00:00.000Z", seq: 1, hash: "a".repeat(64), kind: "market.closed", actor: "x" };
  const story: Story = {
    tenant: "acme",
    subject: { kind: "market", id: "mkt_1", key: "rain" },
    lines: [{ ...line, sentence: "'</script><img src=x>' closed", amountUsd: null }],
    verified: true,
    head: "b".repeat(64),
  };
  const page = storyPage(signStory(story, KEY));
  async function verified(text: string, keys = [KEY]) {
    const file = join(directory, "page.html");
    await writeFile(file, text);
    return verifyPage(file, keys);
  }

  test("loads nothing from elsewhere, and nothing in a question becomes a part of it", () => {
    expect(page).not.toMatch(/<img|https?:|src=[^x]|<link/);
    expect(page.match(/<\/script>/g)).toHaveLength(1);
  });

  test("holds the story, signed over its canonical text", async () => {
    const { signature, ...held } = await verified(page);
    expect(held).toEqual(story);
    const text = `pmctl-story-v1\n${canonicalJson(JSON.parse(JSON.stringify(story)))}`;
    expect(signature).toEqual({ keyId: KEY.id, value: KEY.hmac(text) });
  });

  test.each([
    ["an amount in its data", page.replace('"amountUsd":null', '"amountUsd":5'), "STORY_CHANGED"],
    ["a sentence that people read", page.replace("closed</td>", "stayed open</td>"), "STORY_CHANGED"],
    ["something added", page.replace("</body>", "<p>all is well</p></body>"), "STORY_CHANGED"],
    ["another kind of page", "<html></html>", "USAGE"],
  ])("is refused with %s", async (_, text, code) => {
    await expect(verified(text)).rejects.toMatchObject({ code });
  });

  test("is a file: a pipe or a folder is refused at once", async () => {
    const pipe = join(directory, "pipe");
    await execa("mkfifo", [pipe]);
    for (const file of [pipe, directory])
      await expect((async () => verifyPage(file, [KEY]))()).rejects.toMatchObject({
        code: "USAGE",
        message: `${file} is not a file`,
      });
  });

  test("of another key names both", async () => {
    const other = auditKey("another secret, which is long enough too");
    const message = expect.stringMatching(new RegExp(`${KEY.id}.*${other.id}`));
    await expect(verified(page, [other])).rejects.toMatchObject({ code: "CONFIG_INVALID", message });
  });
});

describe("the story of a market from a file", () => {
  let directory: TestDirectory;
  beforeAll(async () => {
    directory = await operatorDirectory();
    await pmctlHere(["init", "acme"], directory);
    const market = {
      key: "rain",
      question: "Will it rain?",
      category: "weather",
      kind: "lmsr",
      p0: 0.5,
      closeAt: "2096-01-01T00:00:00Z",
      resolutionRef: "the press",
      liquidityUsd: 100,
    };
    await writeFile(join(directory.cwd, "tenants/acme/markets/rain.yaml"), JSON.stringify(market));
    expect(await pmctlHere(["apply", "--yes"], directory)).toMatchObject({ code: 0 });
  });
  afterAll(() => directory.remove());

  test("begins with the apply that made it, is named by its key, and its page verifies until it is changed", async () => {
    const { stdout } = await pmctlHere(["story", "rain", "-o", "json"], directory);
    const { subject, lines } = JSON.parse(stdout) as Story;
    expect(subject.key).toBe("rain");
    expect(lines.map(({ kind }) => kind).toSorted()).toEqual(["config.applied", "market.created"]);
    const file = join(directory.cwd, "rain.html");
    expect(await pmctlHere(["story", "rain", "--out", file], directory)).toMatchObject({ code: 0 });
    expect(await pmctlHere(["story", "--verify", file], directory)).toMatchObject({ code: 0 });
    await writeFile(file, (await readFile(file, "utf8")).replace("created", "settled"));
    expect(await pmctlHere(["story", "--verify", file], directory)).toMatchObject({ code: 7 });
    expect(await pmctlHere(["story"], directory)).toMatchObject({ code: 6 });
  });
});
