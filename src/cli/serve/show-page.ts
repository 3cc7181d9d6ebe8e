import { setTimeout as delay } from "node:timers/promises";
import { type Command, Option } from "commander";
import { isEveryAddress, networkAddress } from "../../app/serve/network-address.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { Output, View } from "../output/output.ts";

/** A command waits this long for a failure of the program that opens a browser. */
const FAILS_WITHIN_MS = 1000;

export interface ShowOptions {
  open?: true;
  qr?: true;
}

/** A page of a running server. */
export interface Page {
  /** The address for a browser on this machine, without a secret: browsers keep addresses and pass them on. */
  url: string;
  host: string;
}

interface Code {
  url: string;
  code: string;
}

const codeView: View<Code, Code> = { kind: "text", text: ({ url, code }) => `${code}\n${url}` };

export function addShowOptions(command: Command): Command {
  return command
    .addOption(new Option("--open", "open the page in a browser"))
    .addOption(new Option("--qr", "print the page's address in the network as a QR code, for a phone"));
}

/** Opens the page or prints its code. A failure is only noted: the server keeps running. */
export async function showPage(page: Page, { open, qr }: ShowOptions, output: Output): Promise<void> {
  if (open) await openBrowser(page.url, output);
  if (qr) await printCode(page, output);
}

/** Starts the platform's opener, without a shell. A failure is only noted. */
export async function openBrowser(url: string, output: Output): Promise<void> {
  const { execa } = await import("execa");
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  // In a process group of its own, so that Ctrl-C ends the server and leaves the browser open.
  const browser = execa(program, [url], { stdio: "ignore", detached: true, cleanup: false });
  browser.nodeChildProcess.unref();
  const noted = browser.then(
    () => {},
    () => output.note(`No browser could be opened here: open ${url} yourself`),
  );
  // The program may run as long as the browser does.
  const waiting = new AbortController();
  await Promise.race([noted, delay(FAILS_WITHIN_MS, undefined, { signal: waiting.signal })]);
  waiting.abort();
}

async function printCode({ url, host }: Page, output: Output): Promise<void> {
  if (isLoopback(host))
    return output.note(
      `A phone cannot reach this server, which listens on ${host} alone. With --host 0.0.0.0 it listens on the network too`,
    );
  const inNetwork = new URL(url);
  const address = isEveryAddress(host) ? networkAddress() : inNetwork.hostname;
  if (address === undefined) return output.note("A phone cannot reach this server: this machine is in no network");
  inNetwork.hostname = address;
  const { renderUnicodeCompact } = await import("uqr");
  output.explain({ url: inNetwork.href, code: renderUnicodeCompact(inNetwork.href) }, codeView);
}
