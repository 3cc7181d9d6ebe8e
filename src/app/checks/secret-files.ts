import { stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { isErrno } from "../../config/environment.ts";
import { type Finding, fail, ok, skipped, warn } from "./check.ts";

interface EnvFileFacts {
  /** Permission bits of `.env`; null when there is none. */
  mode: number | null;
  git: "no repository" | "ignored" | "not ignored" | "tracked";
}

const GIT_TIMEOUT_MS = 5000;
const OTHERS = 0o007;
const GROUP = 0o070;

export async function collectEnvFile(directory: string): Promise<EnvFileFacts> {
  const mode = await stat(join(directory, ".env")).then(
    (stats) => stats.mode & 0o777,
    (error: unknown) => {
      if (isErrno(error) && error.code === "ENOENT") return null;
      throw error;
    },
  );
  return { mode, git: mode === null ? "no repository" : await askGit(directory) };
}

async function askGit(directory: string): Promise<EnvFileFacts["git"]> {
  const git = async (...args: string[]) => {
    const options = { cwd: directory, reject: false, stdin: "ignore", timeout: GIT_TIMEOUT_MS } as const;
    return (await execa("git", args, options)).exitCode;
  };
  if ((await git("rev-parse", "--is-inside-work-tree")) !== 0) return "no repository";
  if ((await git("ls-files", "--error-unmatch", ".env")) === 0) return "tracked";
  return (await git("check-ignore", "-q", ".env")) === 0 ? "ignored" : "not ignored";
}

export function evaluateEnvFile({ mode, git }: EnvFileFacts): Finding[] {
  if (mode === null) return [skipped(".env", "there is none: secrets come from the environment or from files")];
  return [evaluateMode(mode), evaluateGit(git)];
}

function evaluateMode(mode: number): Finding {
  const text = mode.toString(8).padStart(3, "0");
  const remedy = "Run: chmod 600 .env";
  if ((mode & OTHERS) !== 0)
    return fail(".env permissions", `mode ${text}: every user of this machine may use it`, remedy);
  if ((mode & GROUP) !== 0) return warn(".env permissions", `mode ${text}: its group may use it`, remedy);
  return ok(".env permissions", `mode ${text}: yours alone`);
}

function evaluateGit(git: EnvFileFacts["git"]): Finding {
  if (git === "no repository") return ok(".env and git", "not in a git repository");
  if (git === "ignored") return ok(".env and git", "git ignores it");
  if (git === "not ignored")
    return fail(
      ".env and git",
      "git does not ignore it: the next `git add .` publishes it",
      "Run: echo .env >> .gitignore",
    );
  const remedy = "Run: git rm --cached .env, ignore it, and replace every secret in it: history keeps them";
  return fail(".env and git", "it is committed to git, with every secret in it", remedy);
}
