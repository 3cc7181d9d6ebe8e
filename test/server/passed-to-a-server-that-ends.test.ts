import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { auditKey, sealCheck } from "../../src/domain/audit/seal.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { findLeader } from "../../src/services/markets/passing/following.ts";
import { Leading } from "../../src/services/markets/passing/leading.ts";
import type { TradeRequest } from "../../src/services/markets/passing/messages.ts";
import { serverSockets } from "../../src/state/server-sockets.ts";
import { backendOfTests } from "./support/during-tests.ts";
import { AUDIT_SECRET, PUBLIC_KEY, serve, TENANT } from "./support/harness.ts";

const backend = backendOfTests();
const KEY = auditKey(AUDIT_SECRET);

test("a server that ends answers commands of its directory and what another server has passed to it, however long that takes", async () => {
  const directory = await mkdtemp("/tmp/pmctl-end-");
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const release = Promise.withResolvers<void>();
  const [asked, passed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const handlers = {
    listTrendingMarkets: async () => {
      asked.resolve();
      await release.promise;
      return [];
    },
  } as unknown as Handlers;
  const neighbours = { directory, version: "1.0.0" };
  const leading = new Leading({
    ...{ key: KEY, version: neighbours.version },
    decide: async () => {
      passed.resolve();
      await release.promise;
      return { text: "{}", replayed: false, seal: undefined };
    },
  });
  const services = { handlers, isSealed: sealCheck([KEY]), leading };
  const server = await serve(backend, handlers, { services }, { commands: neighbours });
  const [socket] = await serverSockets(directory, TENANT);
  const headers = { "x-api-key": PUBLIC_KEY };
  const command = request({ socketPath: socket?.path, path: "/v1/markets/trending", headers });
  const answer = once(command.end(), "response");
  const heard: unknown[] = [];
  const lost = Promise.withResolvers<void>();
  // As another process: a server does not pass trades to itself.
  const pid = vi.spyOn(process, "pid", "get").mockReturnValue(1);
  const leader = await findLeader(
    { ...neighbours, tenant: TENANT, key: KEY, onSealed: () => {} },
    {
      replied: (replies) => {
        heard.push(...replies);
        if (replies.length > 0) leader?.close();
      },
      leaves: () => heard.push("leaves"),
      lost: lost.resolve,
    },
  );
  pid.mockRestore();
  leader?.send([{ id: 1, epoch: 0n, request: {} as TradeRequest }]);
  await Promise.all([asked.promise, passed.promise]);
  const closing = server.close();
  expect(await Promise.race([closing, delay(1000, "still at it")])).toBe("still at it");
  release.resolve();
  expect((await answer)[0]).toMatchObject({ statusCode: 200 });
  await Promise.all([closing, lost.promise]);
  expect(heard).toMatchObject(["leaves", { id: 1, kind: "answer", answer: { text: "{}" } }]);
});
