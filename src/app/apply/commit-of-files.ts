import { dirname, resolve } from "node:path";
import { execa } from "execa";
import type { ConfigSession } from "../tenant/config-session.ts";

/**
 * The commit of a tenant's files, as an apply records it. It ends in `-dirty` where the commit does not match: a file
 * was edited since, was never committed, is outside the repository, or was deleted from the tenant's folder.
 * @returns undefined where there is no git, no repository or no commit
 */
export async function commitOfFiles({
  directory,
  config,
  markets,
}: Pick<ConfigSession, "directory" | "config" | "markets">): Promise<string | undefined> {
  const { file, bases } = config.source;
  const files = [...new Set([file, ...bases, ...markets.map(({ source }) => source.file)])].map((each) =>
    resolve(each),
  );
  const [head, edited, deleted] = await Promise.all([
    git(directory, "rev-parse", "--verify", "HEAD"),
    git(directory, "status", "--porcelain", "--untracked-files=all", "--ignored", "--", ...files),
    git(directory, "diff", "--name-only", "--diff-filter=D", "HEAD", "--", dirname(resolve(file))),
  ]);
  if (head === undefined) return undefined;
  return edited === "" && deleted === "" ? head : `${head}-dirty`;
}

/** The output of git; undefined where it fails. Takes no lock, so that a person's own git is not disturbed. */
async function git(cwd: string, ...words: string[]): Promise<string | undefined> {
  const { stdout, exitCode } = await execa("git", ["--no-optional-locks", ...words], {
    cwd,
    reject: false,
    stdin: "ignore",
    timeout: 5000,
  });
  return exitCode === 0 ? stdout.trim() : undefined;
}
