import { afterEach, expect, test, vi } from "vitest";
import { StreamHub } from "../../src/embed/stream/hub.ts";
import type { HubMessage } from "../../src/embed/stream/messages.ts";

afterEach(() => vi.unstubAllGlobals());

/** A token whose claims anyone can write. */
const token = (signature: string, exp: number): string =>
  `e30.${btoa(JSON.stringify({ sub: "usr_1", exp }))}.${signature}`;
const GENUINE = token("genuine", 2_000_000_000);
const FORGED = token("forged", 3_000_000_000);

const FILL = { marketId: "mkt_1", tradeId: "trd_1" };
const EVENTS = `event: snapshot\nid: 1\ndata: {"markets":[]}\n\nevent: fill\nid: 2\ndata: ${JSON.stringify(FILL)}\n\n`;

test("a forged token of a user gets nothing of theirs, cuts nothing off, and leads no stream that others use", async () => {
  const asked: (string | null)[] = [];
  const ended = new AbortController();
  vi.stubGlobal("fetch", async (_path: string, { headers, signal }: RequestInit) => {
    const authorization = new Headers(headers).get("authorization");
    asked.push(authorization);
    if (authorization === `Bearer ${FORGED}`) return new Response(null, { status: 401 });
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(EVENTS));
        for (const end of [signal, ended.signal])
          end?.addEventListener("abort", () => controller.error(new Error("ended")), { once: true });
      },
    });
    return new Response(body);
  });
  const hub = new StreamHub();
  const heard: Record<string, HubMessage[]> = {};
  const ports = Object.entries({ forged: FORGED, genuine: GENUINE, same: GENUINE, visitor: null }).map(
    ([name, own]) => {
      const messages: HubMessage[] = [];
      heard[name] = messages;
      const port = hub.join((message) => messages.push(message));
      port.receive({ type: "session", serial: 1, apiKey: "pk", token: own });
      port.receive({ type: "follow", id: 1, markets: ["mkt_1"] });
      return port;
    },
  );
  const kinds = (name: string) =>
    new Set(heard[name]?.map((message) => (message.type === "event" ? message.event.event : message.type)));
  await expect.poll(() => kinds("same").has("fill") && kinds("forged").has("refused")).toBe(true);
  await expect.poll(() => heard.visitor?.some((each) => each.type === "state" && each.state === "live")).toBe(true);
  expect(kinds("genuine")).toContain("fill");
  for (const name of ["forged", "visitor"]) expect(kinds(name)).not.toContain("fill");
  for (const name of ["genuine", "same", "visitor"]) {
    expect(kinds(name)).not.toContain("refused");
    expect(heard[name]).not.toContainEqual({ type: "state", id: 1, state: "offline" });
  }
  for (const authorization of [`Bearer ${GENUINE}`, `Bearer ${FORGED}`])
    expect(asked.filter((each) => each === authorization)).toHaveLength(1);
  for (const port of ports) port.receive({ type: "bye" });
  ended.abort();
});
