import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

const PROMPTS = new URL("../../src/cli/input/prompts.ts", import.meta.url).href;
const ENTER = "\r";
const CTRL_L = "\u000c";
const DOWN = "\u001b[B";
const RIGHT = "\u001b[C";

/** Asks once per entry on one terminal, types the entry's keys when its question stands there, and gives the answers. */
async function answersTo(ask: string, keys: readonly string[]): Promise<unknown[]> {
  const program = `
    import { terminalPrompts } from ${JSON.stringify(PROMPTS)};
    const prompts = terminalPrompts({ stdin: process.stdin, stderr: process.stderr, allowed: true });
    const answers = [];
    for (let n = 0; n < ${keys.length}; n++)
      answers.push(await prompts.${ask.replace("QUESTION", '"Question " + n + "?"')}.catch((error) => error.constructor.name));
    console.log("answers=" + JSON.stringify(answers));
    process.exit(0);`;
  const quoted = [process.execPath, "--input-type=module", "-e", program].map((part) => `'${part}'`).join(" ");
  const child = spawn("script", ["-qec", `stty rows 24 cols 80; ${quoted}`, "/dev/null"], {
    env: { ...process.env, TERM: "xterm", SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "ignore"],
    timeout: 60_000,
  });
  let seen = "";
  let next = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
    if (seen.includes(`Question ${next}?`)) child.stdin.write(keys[next++] ?? "");
  });
  await once(child, "close");
  return JSON.parse(/answers=(.*?)\r?\n/.exec(seen)?.[1] ?? "[]");
}

test("a yes/no question stays no, whatever is held with Ctrl or Alt, and takes no letter of vi for an arrow", async () => {
  const harmless = {
    "Ctrl-L, which redraws elsewhere": CTRL_L,
    "Ctrl-J, and an Enter typed before the question stood there": "\n",
    "Ctrl-K": "\u000b",
    "Ctrl-Y": "\u0019",
    "Ctrl-Right": "\u001b[1;5C",
    "Alt-L": "\u001bl",
    l: "l",
  };
  const keys = Object.values(harmless).map((key) => key + ENTER);
  const answers = await answersTo("confirm(QUESTION)", keys);
  expect(Object.fromEntries(Object.keys(harmless).map((name, index) => [name, answers[index]]))).toEqual(
    Object.fromEntries(Object.keys(harmless).map((name) => [name, false])),
  );
});

test("it is answered by y, n, an arrow and Enter; Ctrl-C and Escape interrupt it", async () => {
  const keys = ["y", "n", RIGHT + ENTER, ENTER, "\u0003", "\u001b"];
  expect(await answersTo("confirm(QUESTION)", keys)).toEqual([true, false, true, false, "Interrupted", "Interrupted"]);
});

test("a choice moves with the arrows only", async () => {
  const choose = `choose(QUESTION, [{ value: "a", name: "a" }, { value: "b", name: "b" }], "a")`;
  const keys = [DOWN, CTRL_L, "j", "\n"].map((key) => key + ENTER);
  expect(await answersTo(choose, keys)).toEqual(["b", "a", "a", "a"]);
});
