import { lstat, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeEdits } from "../../src/cli/config/write-back.ts";
import { testIo } from "./support/io.ts";

test("--write changes the file behind a link and leaves the link", async () => {
  const directory = await mkdtemp("/tmp/pmctl-write-back-");
  try {
    const [file, link] = [join(directory, "shared.yaml"), join(directory, "tenant.yaml")];
    await writeFile(file, "# limits\npolicy:\n  feeBps: 100\n");
    await symlink(file, link);
    writeEdits([{ file: link, path: ["policy", "feeBps"], value: 120 }], testIo());
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(file, "utf8")).toBe("# limits\npolicy:\n  feeBps: 120\n");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
