import { once } from "node:events";
import type { Command } from "commander";
import { Fault } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import type { CommandContext, Host } from "../command.ts";
import { portNumber } from "../input/parsers.ts";
import type { View } from "../output/output.ts";

interface DocsOptions {
  port?: number;
}

const view: View<{ url: string }, { url: string }> = { kind: "text", atOnce: true, text: ({ url }) => url };

export function register(noun: Command, host: Host): void {
  host.add<DocsOptions>(
    noun
      .argument("[page]", "the page to show, such as first-market or reference/errors")
      .option("--port <n>", "port of the server (default: any free one)", portNumber)
      .description("serve all documents to a browser on this machine, with a search; works offline"),
    { names: "url", ends: { 5: "there is no such page", 6: "several pages have the name, or the port is in use" } },
    runDocs,
  );
}

/** Serves the documents until the first SIGINT or SIGTERM. */
async function runDocs({ options, args: [page], io, interrupts }: CommandContext<DocsOptions>): Promise<void> {
  const [{ DocumentSite }, { serveSite }] = await Promise.all([
    import("../../app/docs/site.ts"),
    import("../../app/docs/serve-site.ts"),
  ]);
  const site = new DocumentSite();
  const path =
    page === undefined
      ? ""
      : pathOf(
          page,
          site.documents.map(({ path }) => path),
        );
  const stopped = interrupts.take();
  const server = await serveSite(site, options.port);
  await io.output.print({ url: `${server.url}/${path}` }, view);
  io.output.note("Ctrl-C ends the server.");
  if (!stopped.aborted) await once(stopped, "abort");
  await server.close();
}

/** The page with this name. Its last part is enough; the folders tell equal names apart. */
function pathOf(name: string, paths: readonly string[]): string {
  const asked = name
    .toLowerCase()
    .replace(/\.(md|html)$/, "")
    .replace(/(^|\/)readme$/, "$1index");
  const nameOf = (path: string) => path.replace(/\.html$/, "").replace(/^docs\//, "");
  const found = paths.filter((path) => `/docs/${nameOf(path)}`.toLowerCase().endsWith(`/${asked}`));
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined)
    throw new Fault("USAGE", `Several pages have the name ${name}: ${found.map(nameOf).join(", ")}`);
  const names = paths.map(nameOf);
  const meant =
    nearest(asked, names) ??
    nearest(
      asked,
      names.map((each) => each.split("/").at(-1) ?? ""),
    );
  throw new Fault(
    "NOT_FOUND",
    `There is no page ${name}${meant === undefined ? ": pmctl docs lists all pages" : `; did you mean ${meant}?`}`,
  );
}
