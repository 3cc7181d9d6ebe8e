import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { SecretReference } from "../../src/config/schema/scalars.ts";
import { sopsPath } from "../../src/config/secrets/secret-programs.ts";
import { resolveSecret } from "../../src/config/secrets/secrets.ts";
import type { Fault } from "../../src/domain/fault.ts";
import { directoryWith } from "./support.ts";

const WHERE = "tenants/acme/tenant.yaml:7:12";
const CANARY = "canary-0123456789abcdef";

/** A folder with a program in it, on the PATH that references are resolved with. */
function folderWith(program: string, script: string, files: Record<string, string> = {}) {
  const directory = directoryWith({ [`bin/${program}`]: `#!/bin/sh\n${script}\n`, ...files });
  chmodSync(join(directory, "bin", program), 0o755);
  const own = { PATH: `${join(directory, "bin")}:/usr/bin:/bin` };
  return { directory, own, environment: { ...own, PMCTL_ALLOW_EXEC: "1", TOKEN: "t-1" }, where: () => WHERE };
}

function refusal(reference: SecretReference, context: Parameters<typeof resolveSecret>[1]): Fault {
  try {
    resolveSecret(reference, context);
  } catch (fault) {
    return fault as Fault;
  }
  throw new Error("the reference was resolved");
}

describe("a secret by exec", () => {
  test("is what the program prints, trimmed; it gets its arguments untouched by any shell", () => {
    const context = folderWith("vault", `printf '  %s|%s  \\n\\n' "$1" "$2"`);
    expect(resolveSecret({ exec: ["vault", "$(id) `id` ; id", "a b"] }, context)).toBe("$(id) `id` ; id|a b");
  });

  test("comes of a program that gets its tenant's and a few of the process's variables, and none of .env or of others", () => {
    const {
      directory: above,
      own,
      environment,
    } = folderWith("vault", "env", {
      "tenants/acme/tenant.yaml": "",
      "tenants/acme-eu/tenant.yaml": "",
      "pmctl.yaml": "version: 1\nprograms: { env: [VAULT_ADDR] }\n",
    });
    const process = { HOME: "/h", ACME_KEY: "1", ACME_EU_KEY: "2", ZOE_KEY: "3", VAULT_ADDR: "v", AWS_SECRET: "s" };
    const context = { directory: join(above, "tenants/acme"), environment, own: { ...own, ...process } };
    const seen = resolveSecret({ exec: ["vault"] }, context)
      .split("\n")
      .map((line) => line.split("=")[0] ?? "");
    const ofTheShell = ["PWD", "SHLVL", "_", "OLDPWD"];
    expect(seen.filter((name) => !ofTheShell.includes(name)).toSorted()).toEqual([
      "ACME_KEY",
      "HOME",
      "PATH",
      "VAULT_ADDR",
    ]);
  });

  test("runs in the tenant's folder", () => {
    const context = folderWith("vault", "cat ./secret", { secret: "here\n" });
    expect(resolveSecret({ exec: ["vault"] }, context)).toBe("here");
  });

  test("is refused without --allow-exec, which the sentence names; the program is not run", () => {
    const context = folderWith("vault", `touch ran; echo ${CANARY}`);
    const fault = refusal({ exec: ["vault", CANARY] }, { ...context, environment: { PATH: context.environment.PATH } });
    expect(fault).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
    expect(fault.message).toBe(
      `the secret comes from the program vault: add --allow-exec to let pmctl run it (${WHERE})`,
    );
    expect(() => readFileSync(join(context.directory, "ran"))).toThrow();
  });

  test.each([
    [
      "ends with an error",
      `echo ${CANARY}; echo ${CANARY} >&2; exit 3`,
      "ended with code 3: run it by hand to see why",
    ],
    ["is killed", "kill -TERM $$", "ended with signal SIGTERM: run it by hand to see why"],
    ["prints nothing", "echo", "returned an empty secret"],
    ["takes too long", `echo ${CANARY}; exec sleep 30`, "returned no secret within 0.3 s"],
    ["prints without end", `while :; do echo ${CANARY}; done`, "printed more than 64 KiB"],
  ])("of a program that %s is refused at its place, without anything of its output", (_what, script, sentence) => {
    // The others get the time that a busy machine needs to start a program.
    const limit = sentence.includes("within") ? { timeoutMs: 300 } : {};
    const fault = refusal({ exec: ["vault", CANARY] }, { ...folderWith("vault", script), ...limit });
    expect(fault.message).toBe(`the program vault ${sentence} (${WHERE})`);
    expect(JSON.stringify([fault.message, fault.detail, String(fault.cause)])).not.toContain(CANARY);
  });

  test("of a program that is not there is refused with its name", () => {
    const fault = refusal({ exec: ["no-such-program"] }, folderWith("vault", ""));
    expect(fault.message).toBe(`the program no-such-program cannot be run (ENOENT) (${WHERE})`);
  });
});

describe("a secret by sops", () => {
  const SOPS = 'printf "%s\\n" "$@" > arguments; echo decrypted';

  test("is refused without --allow-exec; the program is not run", () => {
    const { own, ...context } = folderWith("sops", SOPS);
    const fault = refusal({ sops: "a.yaml", path: "b" }, { ...context, own, environment: own });
    expect(fault).toMatchObject({ exitCode: 6, message: expect.stringContaining("add --allow-exec") });
    expect(() => readFileSync(join(context.directory, "arguments"))).toThrow();
  });

  test("needs no leave where pmctl.yaml says which program decrypts, whatever the PATH has", () => {
    const { directory } = folderWith("sops", SOPS, { "tenants/acme/a.yaml": "", "pmctl.yaml": "" });
    const path = join(directory, "bin", "sops");
    writeFileSync(join(directory, "pmctl.yaml"), `version: 1\nprograms: { sops: ${path} }\n`);
    const context = { directory: join(directory, "tenants/acme"), environment: {}, own: { PATH: "/usr/bin:/bin" } };
    expect(resolveSecret({ sops: "a.yaml", path: "b" }, context)).toBe("decrypted");
  });

  test("is what sops extracts, and a file that begins with a dash is no option", () => {
    const context = folderWith("sops", SOPS, { "-i.yaml": "" });
    const { directory } = context;
    expect(resolveSecret({ sops: "-i.yaml", path: "stripe.keys[0].secret" }, context)).toBe("decrypted");
    expect(readFileSync(join(directory, "arguments"), "utf8").split("\n")).toEqual([
      "decrypt",
      "--extract",
      '["stripe"]["keys"][0]["secret"]',
      join(directory, "-i.yaml"),
      "",
    ]);
  });

  test("names the file and never what sops said when it fails", () => {
    const fault = refusal({ sops: "a.yaml", path: "b" }, folderWith("sops", `echo ${CANARY} >&2; exit 128`));
    expect(fault.message).toBe(`the program sops ended with code 128: run it by hand to see why (${WHERE})`);
  });

  test.each([
    ["a", '["a"]'],
    ["a.b-c.d_e", '["a"]["b-c"]["d_e"]'],
    ['a.say "hi"', '["a"]["say \\"hi\\""]'],
    ['["with.dot"]["x"]', '["with.dot"]["x"]'],
  ])("%s is looked up as %s", (path, tree) => {
    expect(sopsPath(path)).toBe(tree);
  });
});

describe("a secret file", () => {
  const directoryWithMode = (mode: number) => {
    const directory = directoryWith({ secret: "value\n" });
    chmodSync(join(directory, "secret"), mode);
    return directory;
  };

  test("that everybody may read is used, with a warning that names it and its place", () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      const read = (mode: number) =>
        resolveSecret({ file: "secret" }, { environment: {}, directory: directoryWithMode(mode), where: () => WHERE });
      expect(read(0o600)).toBe("value");
      expect(warn).not.toHaveBeenCalled();
      expect(read(0o644)).toBe("value");
      expect(warn.mock.calls).toEqual([
        [`the secret file secret is readable for every user of this machine (${WHERE})`, { type: "PmctlSecretFile" }],
      ]);
    } finally {
      warn.mockRestore();
    }
  });

  test("that everybody may change is refused", () => {
    const fault = refusal(
      { file: "secret" },
      { environment: {}, directory: directoryWithMode(0o666), where: () => WHERE },
    );
    expect(fault.message).toContain("the secret file secret is writable for every user of this machine");
  });
});
