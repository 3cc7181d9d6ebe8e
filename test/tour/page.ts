/** A command of a page, and what the terminal shows after it. */
export interface Step {
  /** As it is typed; several lines when a line ends in a backslash. */
  line: string;
  columns: number;
  /** Whether it runs hours after what came before it, so that ages stay the same from run to run. */
  isLater: boolean;
}

/** Blocks are fenced as ```` ```console ````, with `columns=120` and `later` where these differ. */
const BLOCK = /^```console(?<settings>[^\n]*)\n(?<text>[\s\S]*?)^```$/gm;

/**
 * A page with its screens drawn again. A block holds lines that begin with `$ ` and, below each, what it shows.
 * @param show resolves to what a terminal shows of a step
 */
export async function redraw(page: string, show: (step: Step) => Promise<string>): Promise<string> {
  let redrawn = "";
  let end = 0;
  for (const { 0: block, index, groups } of page.matchAll(BLOCK)) {
    const { settings = "", text = "" } = groups ?? {};
    const columns = Number(/columns=(\d+)/.exec(settings)?.[1] ?? 80);
    const screens: string[] = [];
    for (const line of linesTyped(text)) {
      const screen = await show({ line, columns, isLater: settings.includes("later") });
      screens.push(`$ ${line}\n${screen === "" ? "" : `${screen}\n`}`);
    }
    redrawn += `${page.slice(end, index)}\`\`\`console${settings}\n${screens.join("")}\`\`\``;
    end = index + block.length;
  }
  return redrawn + page.slice(end);
}

function linesTyped(text: string): string[] {
  return [...text.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, line = ""]) => line);
}
