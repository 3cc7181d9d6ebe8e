import type { RequestListener } from "node:http";
import { isLoopback } from "../../domain/access/networks.ts";
import type { ConnectionTerms } from "../connections/connection-group.ts";
import { Connections } from "../connections/connections.ts";
import { type KeyPair, renewKeyPair } from "../connections/listener.ts";
import { listenOnOneSocket, urlOf } from "../connections/listening.ts";
import type { FrontDoor } from "../front-door.ts";
import { createOpsListener, opsLimits, type PageHandler } from "../observe/ops-listener.ts";
import type { Console } from "./console.ts";
import type { ConsoleOptions } from "./options.ts";

/** Where a console has a listener of its own. */
export interface ConsoleAddress {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** Without it, the listener speaks plain HTTP. */
  keyPair?: KeyPair | undefined;
}

/** A listener that serves a console and nothing else. */
export interface ConsoleListener {
  host: string;
  /** The listener's address, without a path. */
  url: string;
  door: FrontDoor;
  renew(pair: KeyPair): void;
  close(): Promise<void>;
}

interface ListenerTerms extends ConnectionTerms {
  limits: Parameters<typeof opsLimits>[0];
  /** The number of files and sockets that this process may have open. */
  descriptors: number;
  onError(error: Error): void;
}

/** @throws Fault USAGE if the server cannot listen on the address */
export async function listenForConsole(
  open: (connections: Connections) => Console,
  { host, port, keyPair }: ConsoleAddress,
  { limits, descriptors, onError, ...terms }: ListenerTerms,
): Promise<ConsoleListener> {
  // Strangers may reach this address, and one of them must not take all connections.
  const { connectionsPerAddress } = limits;
  const connections = new Connections({
    ...terms,
    limits: { ...opsLimits(limits, descriptors), connectionsPerAddress },
  });
  const console = open(connections);
  const server = createOpsListener(async () => undefined, connections, servesConsole(console), keyPair);
  const listening = await listenOnOneSocket(server, host, port);
  server.on("error", onError);
  return {
    host,
    url: urlOf(keyPair ? "https" : "http", host, listening.port),
    door: console.door,
    renew: (pair) => renewKeyPair(server, pair),
    async close() {
      const closed = listening.close();
      connections.destroyAll();
      await closed;
      server.close();
    },
  };
}

/** The address that opens a console in a browser: one of the listener's loopback names, or else a stated origin. */
export function consoleUrl(
  { origins, base = "" }: Pick<ConsoleOptions, "origins" | "base">,
  { host, url }: { host: string; url: string },
): string {
  const [stated] = isLoopback(host) ? [] : origins;
  return `${stated ?? url}${base}/console/`;
}

/** Passes a listener's requests for the console on to it. */
export function servesConsole(console: { handle: RequestListener } | undefined, base = ""): PageHandler {
  return (req, res) => {
    const isPage = console !== undefined && isConsolePath(pathOf(req.url), base);
    if (isPage) console.handle(req, res);
    return isPage;
  };
}

/** The path of a request's target, which may be a whole URL. */
export function pathOf(target = ""): string {
  if (target.startsWith("/")) return target.split("?", 1)[0] ?? "";
  return URL.canParse(target) ? new URL(target).pathname : "";
}

function isConsolePath(path: string, base: string): boolean {
  const root = `${base}/console`;
  return path === root || path.startsWith(`${root}/`);
}
