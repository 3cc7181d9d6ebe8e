import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

const PROGRAM = "/usr/sbin/haproxy";

/** Why tests behind HAProxy are skipped on this machine; undefined where it is installed. */
export const haproxyMissing = existsSync(PROGRAM) ? undefined : `no ${PROGRAM}: apt-get install haproxy`;

/** A server behind it. */
export interface Backend {
  url: string;
  opsUrl: string;
}

function configuration(port: number, control: string): string {
  return `global
  stats socket ${control} level admin
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 5s
  retries 3
  option redispatch 1
frontend clients
  bind 127.0.0.1:${port}
  default_backend pmctl
backend pmctl
  balance roundrobin
  option httpchk GET /readyz
`;
}

/**
 * HAProxy before servers that come and go, with what `docs/design/operations.md` recommends. A new connection that is refused goes to
 * another server; a request that was sent never does, since it may have been executed.
 */
export class Haproxy {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #control: string;

  private constructor(url: string, child: ChildProcess, control: string) {
    this.url = url;
    this.#child = child;
    this.#control = control;
  }

  /** @param directory for its files */
  static async open(directory: string): Promise<Haproxy> {
    const control = join(directory, "haproxy.sock");
    const file = join(directory, "haproxy.cfg");
    for (;;) {
      // It cannot tell a port that the system chose. These are none that the system gives to connections.
      const port = randomInt(20_000, 32_000);
      await writeFile(file, configuration(port, control));
      const child = spawn(PROGRAM, ["-db", "-f", file], { stdio: "ignore" });
      while (child.exitCode === null && !existsSync(control)) await delay(20);
      await delay(20);
      if (child.exitCode === null) return new Haproxy(`http://127.0.0.1:${port}`, child, control);
      if (existsSync(control)) await rm(control);
    }
  }

  /** Resolves once requests go to the server, under this name. */
  async add(name: string, { url, opsUrl }: Backend): Promise<void> {
    const check = `check port ${new URL(opsUrl).port} inter 100 fall 1 rise 1`;
    await this.#command(`add server pmctl/${name} 127.0.0.1:${new URL(url).port} ${check}`);
    await this.#command(`enable health pmctl/${name}`);
    await this.#command(`enable server pmctl/${name}`);
    await this.until(name, "UP");
  }

  /** Resolves once a server's last check says so. */
  async until(name: string, state: "UP" | "DOWN"): Promise<void> {
    while (!(await this.#statusOf(name)).startsWith(state)) await delay(50);
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  async #statusOf(name: string): Promise<string> {
    const [header = "", ...lines] = (await this.#command("show stat")).split("\n");
    const columns = header.replace("# ", "").split(",");
    const fields = lines.map((line) => line.split(",")).find((line) => line[1] === name) ?? [];
    return fields[columns.indexOf("status")] ?? "";
  }

  async #command(line: string): Promise<string> {
    const socket = connect(this.#control);
    socket.end(`${line}\n`);
    return text(socket);
  }
}
