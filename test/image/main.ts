/**
 * Builds what the image holds, without a container, and runs it as its process 1: `npm run image`.
 *
 * The `RUN` lines of the Containerfile's first stage run in a copy of what it may see. What they make is then started as in
 * the image where this machine allows it (root, `unshare`, `tini`): in namespaces of its own, with a root that is read-only, as
 * the user of the image. It asks npm's registry, so no test runs it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, chmod, cp, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { contextNames, ROOT, readStages } from "./containerfile.ts";

const COMMIT = "0123456789ab";
/** A server is asked to end so long after its start: while Node loads it, twice, since it replaces itself, and listens to none. */
const SIGNALS_AT_MS = [0, 10, 20, 50, 100, 150];
const ENDS_WITHIN_MS = 5000;
/** What tini ends with for a program that a SIGTERM ended. */
const TERMINATED = "143 ";
const [build, final] = readStages();
const [user = ""] = final?.instructions.find(({ name }) => name === "USER")?.text.split(":") ?? [];

const place = await mkdtemp("/tmp/pmctl-image-");
await chmod(place, 0o755);
const context = join(place, "src");
const image = join(context, "image/package");
const findings: string[] = [];

async function buildPackage(): Promise<void> {
  for (const name of contextNames()) await cp(join(ROOT, name), join(context, name), { recursive: true });
  const env = { PMCTL_COMMIT: COMMIT, NODE_OPTIONS: "" };
  for (const { name, text } of build?.instructions ?? []) {
    if (name !== "RUN") continue;
    const began = performance.now();
    await execa("sh", ["-c", text], { cwd: context, env, stdin: "ignore" });
    console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${text}`);
  }
}

async function lookAtPackage(): Promise<void> {
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const there = Object.keys(devDependencies).filter((name) => existsSync(join(image, "node_modules", name)));
  if (there.length > 0) findings.push(`it holds what only development needs: ${there.join(", ")}`);
  const names = await readdir(image);
  for (const stray of ["src", "test", "package-lock.json", ".env"])
    if (names.includes(stray)) findings.push(`it holds ${stray}`);
  const { stdout: size } = await execa("du", ["-sm", image]);
  const { stdout: version } = await execa("node", [join(image, "bin/pmctl.cjs"), "--version"]);
  if (!version.includes(COMMIT)) findings.push(`it does not know its commit: ${version}`);
  console.log(`${size.split("\t")[0]} MB, ${version}`);
}

/** The image's files over those of this machine, which supplies Node and tini; nothing of it can be written but two tmpfs. */
const MOUNTS = `
  set -e
  mount --make-rprivate /
  mount -t tmpfs tmpfs /opt
  mkdir /opt/pmctl /opt/node && mount --bind "$IMAGE" /opt/pmctl && mount --bind "$NODE" /opt/node
  mount -t tmpfs tmpfs /usr/local/bin && cp "$IMAGE/../../bin/container.sh" /usr/local/bin/pmctl
  mount -t tmpfs -o mode=1777 tmpfs /srv && cp -R "$PLACE/operator" /srv/pmctl && chown -R "$USER_ID" /srv/pmctl
  mount -o remount,bind,ro / && mount -o remount,ro /opt && mount -o remount,ro /usr/local/bin
  cd /srv/pmctl
  exec setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups --no-new-privs /usr/local/bin/pmctl "$@"`;

/** Starts a command as process 1, as the image does. */
function start(...args: string[]) {
  const node = join(process.execPath, "..");
  const env = {
    ...variables,
    IMAGE: image,
    NODE: node,
    PLACE: place,
    USER_ID: user,
    PATH: `/opt/node:${process.env.PATH}`,
  };
  const flags = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return spawn("unshare", [...flags, "sh", "-c", MOUNTS, "pmctl", ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
}

const variables: Record<string, string> = {};

/** A tenant whose database accepts connections and says nothing, so that its server stays in its start. */
async function makeOperator(): Promise<() => void> {
  const operator = join(place, "operator");
  await mkdir(operator);
  const run = (...args: string[]) => execa("node", [join(image, "bin/pmctl.cjs"), ...args], { cwd: operator });
  await run("init", "acme");
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  variables.ACME_DATABASE_URL = `postgres://acme@127.0.0.1:${typeof address === "object" ? address?.port : 0}/acme`;
  const file = join(operator, "tenants/acme/tenant.yaml");
  await appendFile(file, "\ndatabase: { url: { env: ACME_DATABASE_URL } }\n");
  return () => silent.close();
}

async function endOf(child: ReturnType<typeof start>): Promise<string> {
  const [text, [code]] = await Promise.all([
    child.stdout
      .setEncoding("utf8")
      .toArray()
      .then((parts) => parts.join("")),
    once(child, "exit"),
  ]);
  return `${code} ${text.trim()}`;
}

/** The process 1 of the namespace that `unshare` made, once it is tini: a shell is it before, for 2 ms. */
async function firstProcess(pid: number | undefined): Promise<number> {
  for (;;) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
    const first = Number(children.trim().split(" ")[0]);
    const name = first > 0 ? await readFile(`/proc/${first}/comm`, "utf8") : "";
    if (name.trim() === "tini") return first;
    await delay(1);
  }
}

async function runAsProcessOne(): Promise<void> {
  const close = await makeOperator();
  try {
    const version = await endOf(start("--version"));
    if (!version.startsWith("0 ")) findings.push(`--version ended with ${version}`);
    for (const afterMs of SIGNALS_AT_MS) {
      const child = start("serve", "acme");
      const pid = await firstProcess(child.pid);
      await delay(afterMs);
      const began = performance.now();
      process.kill(pid, "SIGTERM");
      const ended = await Promise.race([endOf(child), delay(ENDS_WITHIN_MS, "not at all")]);
      console.log(
        `SIGTERM after ${afterMs} ms: ended with ${ended}, ${Math.round(performance.now() - began)} ms later`,
      );
      if (!ended.startsWith(TERMINATED)) findings.push(`a SIGTERM after ${afterMs} ms was lost`);
      child.kill("SIGKILL");
    }
  } finally {
    close();
  }
}

try {
  await buildPackage();
  await lookAtPackage();
  const missing = ["unshare", "tini", "setpriv"].filter((name) => !existsSync(`/usr/bin/${name}`));
  if (process.getuid?.() !== 0) console.log("skipped: as process 1 (needs root)");
  else if (missing.length > 0) console.log(`skipped: as process 1 (install ${missing.join(", ")})`);
  else await runAsProcessOne();
} finally {
  await rm(place, { recursive: true, force: true });
}
console.log(findings.length === 0 ? "image: builds and runs" : findings.join("\n"));
process.exit(findings.length === 0 ? 0 : 1);
