import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface Heard {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server on loopback that answers with what it was told to, by path. What it was not told of is down. */
export interface FeedServer {
  url: string;
  heard: Heard[];
  /** Answers with this body from now on; text and bytes as they are, and by what was asked where that is a function. */
  say(path: string, body: unknown, status?: number): void;
  /** Answers no more on any path that begins so. */
  fall(prefix: string): void;
  close(): Promise<void>;
}

export async function openFeedServer(): Promise<FeedServer> {
  const answers = new Map<string, { status: number; body: unknown }>();
  const heard: Heard[] = [];
  const server = createServer(async (req, res) => {
    const path = decodeURIComponent(req.url ?? "");
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const asked = Buffer.concat(chunks).toString("utf8");
    heard.push({ path, headers: req.headers, body: asked });
    const answer = answers.get(path);
    if (!answer) return void req.socket.destroy();
    res.writeHead(answer.status, answer.status === 302 ? { location: "http://169.254.169.254/" } : {});
    const { body } = answer;
    const said = typeof body === "function" ? (body as (asked: string) => unknown)(asked) : body;
    res.end(typeof said === "string" || Buffer.isBuffer(said) ? said : JSON.stringify(said));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    say: (path, body, status = 200) => void answers.set(path, { status, body }),
    fall: (prefix) => {
      for (const path of answers.keys()) if (path.startsWith(prefix)) answers.delete(path);
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
