import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tokenOf } from "../model/tenant.ts";
import { deposit, Fleet, openMarket, trade } from "./fleet.ts";

const secret = (fill: string) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
/** Each path of the receiver, and what it holds before and after. */
const HELD = {
  "/hook": [secret("h"), secret("H")],
  "/anchors": [secret("a"), secret("A")],
  "/resolve": [secret("r"), secret("R")],
  "/feed": ["Bearer old-token-of-the-feed", "Bearer new-token-of-the-feed"],
} as const;
type Path = keyof typeof HELD;
const SIGNED = ["/hook", "/anchors", "/resolve"] as const;

/** Services of others: each holds one secret at a time, except for the feed, which honours two tokens for a while. */
class Receivers {
  readonly holds = new Map<Path, readonly string[]>(
    (Object.keys(HELD) as Path[]).map((path) => [path, [HELD[path][0]]]),
  );
  readonly heard = new Map<Path, number>();
  readonly refused: string[] = [];
  readonly server = createServer(async (req, res) => {
    const path = `/${req.url?.split("/")[1]}` as Path;
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const headers = req.headers as Record<string, string>;
    const known = (this.holds.get(path) ?? []).some((value) => isFrom(path, value, body, headers));
    if (known) this.heard.set(path, (this.heard.get(path) ?? 0) + 1);
    else this.refused.push(path);
    res.writeHead(known ? 200 : 401);
    res.end(path === "/feed" ? `{"last": 5, "ts": ${Date.now()}}` : '{"status":"pending"}');
  });

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when each of these has heard something more. */
  async hear(paths: readonly Path[]): Promise<void> {
    const wanted = paths.map((path) => [path, (this.heard.get(path) ?? 0) + 2] as const);
    while (this.refused.length === 0 && wanted.some(([path, count]) => (this.heard.get(path) ?? 0) < count))
      await delay(10);
    expect(this.refused).toEqual([]);
  }
}

function isFrom(path: Path, value: string, body: string, headers: Record<string, string>): boolean {
  if (path === "/feed") return headers.authorization === value;
  try {
    new Webhook(value).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const receivers = new Receivers();
let fleet: Fleet;

/** The tenant's sections while only the first is signed with, both are, or only the second is. */
function sections(current: 1 | 2, previous?: 1) {
  const of = (name: string) => ({ env: `ACME_${name}_${current}` });
  const before = (name: string) => (previous === undefined ? [] : [{ env: `ACME_${name}_${previous}` }]);
  const { url } = receivers;
  return {
    webhooks: {
      inbound: { secrets: [{ env: "ACME_WEBHOOK_SECRET" }] },
      outbound: [
        {
          name: "crm",
          url: `${url}/hook`,
          events: ["order.filled"],
          secret: of("HOOK"),
          previousSecrets: before("HOOK"),
        },
      ],
    },
    audit: {
      key: { env: "ACME_AUDIT_KEY" },
      anchors: { url: `${url}/anchors`, secret: of("ANCHORS"), previousSecrets: before("ANCHORS") },
      anchorEvery: { entries: 1 },
    },
    policy: { jurisdictions: { blocked: [] }, resolution_url: `${url}/resolve` },
    oracle: {
      sweepSeconds: 1,
      resolutionSecret: of("RESOLVE"),
      previousResolutionSecrets: before("RESOLVE"),
      sources: {
        house: {
          url: `${url}/feed/{id}`,
          headers: { authorization: { env: "ACME_FEED_TOKEN" } },
          price: { pointer: "/last" },
          time: { pointer: "/ts", unit: "ms" },
        },
      },
      venues: { acme: { x: { sources: [{ use: "house", id: "x" }], maxAge: "120s" } } },
    },
  };
}

const signing = (generation: 1 | 2) => ({
  [`ACME_HOOK_${generation}`]: HELD["/hook"][generation - 1] ?? "",
  [`ACME_ANCHORS_${generation}`]: HELD["/anchors"][generation - 1] ?? "",
  [`ACME_RESOLVE_${generation}`]: HELD["/resolve"][generation - 1] ?? "",
});

beforeAll(async () => {
  await new Promise<void>((resolve) => receivers.server.listen(0, "127.0.0.1", resolve));
  const destinations = { "env ACME_FEED_TOKEN": [new URL(receivers.url).host] };
  fleet = await Fleet.open({
    sections: sections(1),
    values: { ...signing(1), ACME_FEED_TOKEN: HELD["/feed"][0] },
    files: { "../../pmctl.yaml": JSON.stringify({ version: 1, secrets: { destinations } }) },
  });
});
afterAll(async () => {
  await fleet?.close();
  receivers.server.close();
});

test("what signs outgoing requests is replaced while trades, questions and anchors go out", async () => {
  const { ACME_PUBLIC_KEY: key = "", ACME_WEBHOOK_SECRET: hook = "", ACME_JWT_SECRET: jwt = "" } = fleet.values;
  await fleet.ofEach((url) => deposit(url, "usr_1", "opening", hook));
  const market = await openMarket(fleet);
  await openMarket(fleet, { resolutionRef: "the press", closeAt: new Date(Date.now() + 1500).toISOString() });
  const token = tokenOf("usr_1", undefined, Date.now(), jwt);
  fleet.load("trades", (url) => trade(url, market, token, key));
  await receivers.hear(SIGNED);

  await fleet.change({ sections: sections(2, 1), values: signing(2) });
  await fleet.roll();
  // Every receiver takes up the new value, and forgets the old one.
  for (const path of SIGNED) receivers.holds.set(path, [HELD[path][1]]);
  await receivers.hear(SIGNED);
  await fleet.change({ sections: sections(2) });
  await fleet.roll();
  await receivers.hear(SIGNED);

  // A receiver that holds only the old value refuses everything from now on.
  for (const path of SIGNED) receivers.holds.set(path, [HELD[path][0]]);
  receivers.heard.clear();
  while (!SIGNED.every((path) => receivers.refused.includes(path))) await delay(10);
  expect([...receivers.heard]).toEqual([]);
  await fleet.quiet();
});

test("the token that a feed is asked with is replaced while sweeps go on", async () => {
  const { policy, ...rest } = sections(2);
  // Where the tenant has an oracle of its own, feeds are not asked.
  await fleet.change({ sections: { ...rest, policy: { ...policy, resolution_url: null } } });
  await openMarket(fleet, { resolutionRef: "acme:x > 5", closeAt: new Date(Date.now() + 60_000).toISOString() });
  for (const path of SIGNED) receivers.holds.set(path, [HELD[path][1]]);
  receivers.refused.length = 0;
  await receivers.hear(["/feed"]);

  // The service gives out a second token, and takes the first one back when no server has it any more.
  receivers.holds.set("/feed", HELD["/feed"]);
  await fleet.change({ values: { ACME_FEED_TOKEN: HELD["/feed"][1] } });
  await fleet.roll(() => receivers.hear(["/feed"]));
  receivers.holds.set("/feed", [HELD["/feed"][1]]);
  await receivers.hear(["/feed"]);
});
