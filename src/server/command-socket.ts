import { once } from "node:events";
import { chmod, lchown, rename, rm, stat } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { FACTS_PATH, type ServerFacts } from "../contract/server-facts.ts";
import type { Leading } from "../services/markets/passing/leading.ts";
import { createServersFolder, newSocketName, serverSockets } from "../state/server-sockets.ts";
import { commandSockets } from "./exchange.ts";
import { type OpsPage, sendPage } from "./observe/ops-listener.ts";

/** What commands of a directory can reach through a tenant's socket. */
export interface CommandTerms {
  directory: string;
  tenant: string;
  facts(): ServerFacts;
  /** The tenant's pages of the operations listener; undefined for an unknown path. */
  page(path: string): Promise<OpsPage | undefined>;
  /** The tenant's operations. Opens a closed tenant first. */
  handle: RequestListener;
  /** Decides the trades of other servers; undefined for a server that decides only its own. */
  leading?: Pick<Leading, "accept" | "leave" | "destroy"> | undefined;
}

export interface CommandSocket {
  /** Stops accepting connections; resolves when the open ones have ended. */
  leave(): Promise<void>;
  /** Ends the open connections, whatever they wait for. */
  destroy(): void;
}

/** Longer than a command pauses between two requests. */
const KEEP_ALIVE_MS = 65_000;

/**
 * Listens on a Unix socket of the tenant below `.pmctl` for commands of this machine. The socket gets its name once it
 * answers, and sockets left by killed processes are removed.
 * @throws the system's error, or StateError if other users can open the folder
 */
export async function listenForCommands(terms: CommandTerms): Promise<CommandSocket> {
  const { directory, tenant } = terms;
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const [path = ""] = req.url?.split("?", 1) ?? [];
    if (path === FACTS_PATH) return sendPage(res, { status: 200, body: JSON.stringify(terms.facts()) });
    terms
      .page(path)
      .then((page) => (page ? sendPage(res, page) : terms.handle(req, res)))
      .catch(() => res.destroy());
  });
  const { leading } = terms;
  const name = newSocketName(tenant);
  if (leading) server.on("upgrade", (req, socket) => leading.accept(name, req.headers, socket));
  server.on("connection", (socket) => commandSockets.add(socket));
  const folder = await createServersFolder(directory, tenant);
  await removeStale(directory, tenant);
  const path = join(folder, name);
  // Between its creation and the first `accept` a socket refuses connections, like the socket of a killed process.
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  server.listen(fresh);
  await once(server, "listening");
  await chmod(fresh, 0o600);
  if (process.geteuid?.() === 0) {
    const { uid, gid } = await stat(folder);
    await lchown(fresh, uid, gid);
  }
  await rename(fresh, path);
  return {
    async leave() {
      leading?.leave();
      await rm(path, { force: true });
      const closed = once(server, "close");
      server.close();
      await closed;
    },
    destroy() {
      leading?.destroy();
      server.closeAllConnections();
    },
  };
}

async function removeStale(directory: string, tenant: string): Promise<void> {
  for (const { path } of await serverSockets(directory, tenant))
    if (await refuses(path)) await rm(path, { force: true });
}

function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(false));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
    socket.on("connect", () => socket.destroy());
  });
}
