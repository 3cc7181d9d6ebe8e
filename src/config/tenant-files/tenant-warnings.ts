import { existsSync, readdirSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { anchorWarnings } from "../anchor-files.ts";
import { certificateFile, tlsSections } from "../certificate.ts";
import { type Finding, fileProblem, type Problem } from "../config-error.ts";
import type { Environment } from "../environment.ts";
import { secretPlaces } from "../secrets/secret-places.ts";
import type { Tenant } from "../tenant-file.ts";
import { isWild } from "../wildcards.ts";
import { isMarketFile, matchMarketFiles } from "./market-walk.ts";

/**
 * Warnings about valid files: unset variables, a missing certificate, patterns without a file, markets that would close
 * in the past, and anchors outside the tenant's folder.
 * @param now milliseconds since the epoch
 */
export function tenantWarnings(
  { config, markets }: Tenant,
  { environment, now }: { environment: Environment; now: number },
): Problem[] {
  const { source } = config;
  const findings = [...unsetVariables(config, environment), ...missingCertificates(config), ...idlePatterns(config)];
  const late = markets.filter(({ closeAt }) => closeAt <= now);
  return [
    ...source.problems(findings.map((finding) => ({ ...finding, severity: "warning" }))),
    ...late.map(({ key, closeAt, source: { file, ...position } }): Problem => {
      const message = `${key} closes in the past (${new Date(closeAt).toISOString()}): an apply refuses to create it`;
      const { line: endLine, column: endColumn } = position;
      return { ...fileProblem(file, message), ...position, endLine, endColumn, path: "closeAt", severity: "warning" };
    }),
    ...anchorWarnings(config),
  ];
}

function unsetVariables(config: Tenant["config"], environment: Environment): Finding[] {
  return secretPlaces(config).flatMap(({ reference, path }) =>
    "env" in reference && !environment[reference.env]
      ? [{ path, message: `${reference.env} is not set here`, code: "MISSING_SECRET" }]
      : [],
  );
}

function missingCertificates(config: Tenant["config"]): Finding[] {
  return tlsSections(config)
    .filter((section) => !existsSync(certificateFile(config, section) ?? ""))
    .map((section) => ({
      path: [...section, "cert"],
      message: "the file does not exist here, and no server starts without it",
    }));
}

function idlePatterns({ markets, source: { directory } }: Tenant["config"]): Finding[] {
  const { files } = matchMarketFiles(directory, markets.files);
  const names = files.map((file) => posix.relative(directory, file));
  return markets.files.flatMap((pattern, index) =>
    isWild(pattern) && !names.some((name) => isMarketFile(name, [pattern])) && !holdsSamplesOnly(directory, pattern)
      ? [{ path: ["markets", "files", index], message: "matches no file" }]
      : [],
  );
}

/** Whether the folder of a pattern contains only the samples of `init`. */
function holdsSamplesOnly(directory: string, pattern: string): boolean {
  const folder = join(directory, dirname(pattern));
  return existsSync(folder) && readdirSync(folder).every((name) => name.endsWith(".sample"));
}
