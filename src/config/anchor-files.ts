import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { ANCHOR_HEAD_BYTES, beginsAsAnchors } from "../domain/audit/anchor-text.ts";
import { isBelow, isReserved, realPlace } from "./bounded-file.ts";
import type { Finding, Problem } from "./config-error.ts";
import { isErrno } from "./environment.ts";
import type { Draft } from "./rules.ts";
import { statedTargets } from "./schema/anchor-places.ts";
import { OPERATOR_FILE } from "./selection/names.ts";
import type { TenantConfig } from "./tenant-config.ts";
import { isMarketFile } from "./tenant-files/market-walk.ts";

/** The folders that may contain a tenant's files. */
interface Folders {
  /** The tenant's folder, absolute. */
  directory: string;
  /** Further folders listed in `pmctl.yaml`, absolute. */
  roots: readonly string[];
}

/**
 * Anchors need a file of their own: the server appends to it with all its rights, which could damage configuration,
 * secrets or another program's files.
 *
 * @param file the tenant file
 */
export function anchorFilesAreTheirOwn({ audit, markets }: Draft, file: string, folders: Folders): Finding[] {
  const { directory } = folders;
  const operator = dirname(dirname(directory));
  const seen = new Set<string>();
  return (audit ? statedFiles(audit, directory) : []).flatMap(({ place, path }) => {
    const real = realPlace(place);
    const problem = seen.has(real) ? "another target uses the same file" : problemOf(place, real);
    seen.add(real);
    return problem === undefined ? [] : [{ path, message: `must be a file of its own: ${problem}` }];
  });

  function problemOf(place: string, real: string): string | undefined {
    if (place === resolve(file)) return "this is the tenant file";
    if (isReserved(place, operator)) return "this holds secrets";
    if (real === realPlace(join(operator, OPERATOR_FILE))) return "this is the operator's file";
    if (isOfAnotherTenant(real)) return "this file is in another tenant's folder";
    if (isMarketFile(relative(realPlace(directory), real), markets?.files ?? [])) return "this is a market file";
    if (isOutside(place, folders) && kindOf(dirname(real)) !== "folder")
      return "the folder does not exist and is outside the tenant's folder";
    return problemOfContent(place, basename(directory));
  }

  function isOfAnotherTenant(real: string): boolean {
    const [folder, ...rest] = relative(realPlace(join(operator, "tenants")), real).split(sep);
    return folder !== ".." && rest.length > 0 && !isBelow(real, [directory]);
  }
}

/** Warnings about anchors in files outside the tenant's folders, which are allowed. */
export function anchorWarnings({ audit, source }: TenantConfig): Problem[] {
  const findings = statedFiles(audit, source.directory)
    .filter(({ place }) => isOutside(place, source))
    .map(({ place, path }): Finding => {
      const message = `leads out of the tenant's folder: the server appends to ${realPlace(place)}`;
      return { path, message, severity: "warning" };
    });
  return source.problems(findings);
}

function statedFiles(audit: TenantConfig["audit"], directory: string) {
  return statedTargets(audit).flatMap(({ target, path }) =>
    "file" in target ? [{ place: resolve(directory, target.file), path: [...path, "file"] }] : [],
  );
}

function isOutside(place: string, { directory, roots }: Folders): boolean {
  return !isBelow(place, [directory, ...roots]);
}

/** The kind of object at a path, without following links; undefined if nothing is there. */
function kindOf(place: string): "file" | "folder" | "link" | "other" | undefined {
  try {
    const stats = lstatSync(place, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) return "link";
    if (stats?.isDirectory()) return "folder";
    return stats?.isFile() === false ? "other" : stats && "file";
  } catch (error) {
    if (isErrno(error)) return "other";
    throw error;
  }
}

function problemOfContent(place: string, tenant: string): string | undefined {
  const kind = kindOf(place);
  if (kind === undefined) return undefined;
  if (kind === "folder" || kind === "link") return `this is a ${kind}`;
  if (kind === "other") return "this is not a regular file";
  const text = headOf(place);
  return text === undefined || beginsAsAnchors(text, tenant)
    ? undefined
    : "this file contains other data than the tenant's anchors";
}

/** Undefined if this user may not read the file: the server checks again after opening it. */
function headOf(file: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (!fstatSync(descriptor).isFile()) return undefined;
    const head = Buffer.alloc(ANCHOR_HEAD_BYTES);
    return head.toString("utf8", 0, readSync(descriptor, head));
  } catch (error) {
    if (isErrno(error)) return undefined;
    throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The absolute paths of the files that store a tenant's anchors. */
export function anchorFilesOf({ audit, source }: TenantConfig): string[] {
  return statedTargets(audit).flatMap(({ target }) =>
    "file" in target ? [resolve(source.directory, target.file)] : [],
  );
}
