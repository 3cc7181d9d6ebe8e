import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type DatabaseNode, TARGETS, type Target } from "../../app/deploy/deployment.ts";
import type { FileState } from "../../app/deploy/write-files.ts";
import { displayPath } from "../../config/bounded-file.ts";
import { ConfigError } from "../../config/config-error.ts";
import { packageVersion } from "../../config/package-version.ts";
import { OPERATOR_FILE } from "../../config/selection/names.ts";
import { operatorDirectory } from "../../config/selection/operator-directory.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Host } from "../command.ts";
import { eachTenant } from "../config/each-tenant.ts";
import { READS_FILES } from "../errors.ts";
import { writableFolder } from "../input/parsers.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import type { View } from "../output/output.ts";

/** Parsers of option values for files of several formats. A value that passes needs no quotes in any of them. */

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const HOST_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

/** Such as `/srv/pmctl`, without a slash at its end. */
function absolutePath(value: string): string {
  if (!/^(\/[\w.@:+-]+)+\/?$/.test(value) || /\/\.\.?(\/|$)/.test(value))
    throw new InvalidArgumentError("It must be an absolute path of A-Z, a-z, 0-9, _, ., @, :, + and -.");
  return value.replace(/\/$/, "");
}

/** Such as `registry.acme.example/pmctl:1.2.3`. */
function imageReference(value: string): string {
  if (!/^[\w.-]+(:\d+)?(\/[\w.-]+)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?$/.test(value))
    throw new InvalidArgumentError("It must be an image such as registry.acme.example/pmctl:1.2.3.");
  return value;
}

/** Such as `a=10.0.0.1,b=db.acme.example`; an IPv6 address may have brackets. */
function databaseNodes(value: string): DatabaseNode[] {
  const nodes = value.split(",").map((part) => {
    const [, name = "", host = ""] = /^([^=]*)=(.*)$/.exec(part.trim()) ?? [];
    return { name, host: host.replace(/^\[(.*)\]$/, "$1") };
  });
  for (const { name, host } of nodes)
    if (!NAME.test(name) || !(isIP(host) || HOST_NAME.test(host)))
      throw new InvalidArgumentError("It must be a list such as a=10.0.0.1,b=10.0.0.2,c=10.0.0.3.");
  for (const key of ["name", "host"] as const)
    if (new Set(nodes.map((node) => node[key])).size < nodes.length)
      throw new InvalidArgumentError(`Each node must have a ${key} of its own.`);
  return nodes;
}

interface RenderOptions extends SelectorOptions {
  target: Target;
  out?: string;
  bin: string;
  dir: string;
  image: string;
  nodes?: DatabaseNode[];
  check?: true;
}

const view: View<FileState[], FileState> = {
  kind: "list",
  rows: (files) => files,
  columns: [
    { title: "FILE", cell: ({ path }) => path, whole: true },
    { title: "STATE", cell: ({ state }) => state },
  ],
  empty: "There are no files to write",
};

const NOTE = `
Put your changes where each engine has a place for them: a drop-in of systemd,
compose.override.yaml, an overlay of kustomize, PGBACKREST_* and PATRONI_*
variables. pmctl overwrites a file that you edited only with --yes.`;

export function register(noun: Command, host: Host): void {
  host.add<RenderOptions>(
    noun
      .command("render")
      .description("write the files that run the tenants under systemd, Compose, Kubernetes or beside Patroni")
      .argument("[tenants...]", "tenants to deploy (default: all); * and ? match")
      .addOption(selectorOption())
      .addOption(new Option("--target <name>", "what runs the tenants").choices(TARGETS).makeOptionMandatory())
      .option("--out <dir>", "folder for the files (default: deploy/<target>)", writableFolder)
      .option("--bin <path>", "path of the program where it runs", absolutePath, "/usr/local/bin/pmctl")
      .option("--dir <path>", "the operator's directory where it runs", absolutePath, "/srv/pmctl")
      .option("--image <ref>", "the container's image", imageReference, `pmctl:${packageVersion().version}`)
      .option("--nodes <list>", "the machines of Patroni, such as a=10.0.0.1,b=10.0.0.2,c=10.0.0.3", databaseNodes)
      .option("--check", "write nothing; end with 3 when a file differs")
      .addHelpText("after", NOTE),
    {
      names: "path state",
      ends: { ...READS_FILES, 3: "`--check`: a file differs; without it, a file was changed by hand" },
    },
    runDeployRender,
  );
}

/**
 * @throws Fault REFUSED when a file was changed by hand, or with `--check` differs; ConfigError for invalid tenant
 *   files
 */
async function runDeployRender(context: CommandContext<RenderOptions>): Promise<void> {
  const {
    options: { target, out = join(operatorDirectory(), "deploy", target), bin, dir, image, nodes = [], check, yes },
    io: { output },
  } = context;
  if (nodes.length > 0 && target !== "patroni") throw new Fault("USAGE", "--nodes is for --target patroni");
  const tenants = eachTenant(context, loadTenant).toSorted((a, b) => (a.config.tenant < b.config.tenant ? -1 : 1));
  if (tenants.length === 0) throw new Fault("USAGE", "There are no tenants here; `pmctl init` creates one");
  const unexpected = tenants.filter(({ config }) => !config.server.expected);
  if (unexpected.length > 0)
    throw new ConfigError(
      unexpected.flatMap(({ config }) =>
        config.source.problems([
          {
            path: ["server", "expected"],
            message: "must be true where a server is deployed, so that its absence is noticed",
          },
        ]),
      ),
    );
  const [{ renderDeployment }, { deploymentNotes }, { compareFiles, leftoversIn, writeFiles }] = await Promise.all([
    import("../../app/deploy/render.ts"),
    import("../../app/deploy/notes.ts"),
    import("../../app/deploy/write-files.ts"),
  ]);
  const workspace = operatorDirectory();
  const folder = resolve(out);
  const stated = join(workspace, OPERATOR_FILE);
  const operatorFile = existsSync(stated) ? readFileSync(stated, "utf8") : undefined;
  const deployment = { tenants, workspace, operatorFile, out: folder, bin, directory: dir, image, nodes };
  const files = compareFiles(folder, renderDeployment(target, deployment));
  if (!check) writeFiles(folder, files, yes === true);
  await output.print(
    files.map(({ path, state }) => ({ path: displayPath(join(folder, path)), state })),
    view,
  );
  for (const note of deploymentNotes(target, deployment)) output.note(note);
  for (const name of leftoversIn(folder, files))
    output.note(`${displayPath(join(folder, name))} is no longer rendered; delete it`);
  const different = files.filter(({ state }) => state !== "unchanged").map(({ path }) => path);
  if (check && different.length > 0)
    throw new Fault("REFUSED", `These files in ${displayPath(folder)} are not as rendered: ${different.join(", ")}`);
}
