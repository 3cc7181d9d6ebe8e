import { tlsAt, tlsSections } from "../../config/certificate.ts";
import { formatPath } from "../../config/config-error.ts";
import { statedTargets } from "../../config/schema/anchor-places.ts";
import { secretPlaces } from "../../config/secrets/secret-places.ts";
import { describeReference } from "../../config/secrets/secrets.ts";
import { requiredStandbys, type TenantConfig } from "../../config/tenant-config.ts";
import { counted } from "../../domain/text.ts";
import { type Deployment, externalDatabase, SYNCHRONOUS_STANDBYS, type Target } from "./deployment.ts";
import { anchorsBeyondFiles } from "./resolved-files.ts";

/** Sentences about what an operator has to do in addition to the files. */
export function deploymentNotes(target: Target, { tenants, nodes }: Deployment): string[] {
  const ofCluster =
    target === "patroni" && nodes.length < 3
      ? ["etcd decides by majority: with fewer than 3 nodes the loss of one stops changes"]
      : [];
  return [
    ...ofCluster,
    ...tenants.flatMap(({ config }) => notesOf(target, config).map((note) => `${config.tenant}: ${note}`)),
  ];
}

function notesOf(target: Target, config: TenantConfig): string[] {
  if (target === "systemd") return programs(config);
  return [
    ...standbys(target, config),
    ...embedded(target, config),
    ...(target === "patroni" ? [] : programs(config)),
    ...(target === "kubernetes" ? files(config) : []),
    ...(target === "patroni" ? [] : anchors(config)),
  ];
}

function embedded(target: Target, config: TenantConfig): string[] {
  if (config.database !== "embedded") return [];
  const { env } = externalDatabase(config).url;
  const why =
    target === "kubernetes"
      ? `it names the embedded database, which pods cannot use: ${env} in its Secret has the address of theirs. State it in the tenant file too`
      : "it names the embedded database, which this deployment does not use";
  return [`${why}: database: { url: { env: ${env} } }`];
}

/** A server that requires more standbys than its database has does not start. */
function standbys(target: Target, config: TenantConfig): string[] {
  const [there, required] = [SYNCHRONOUS_STANDBYS[target], requiredStandbys(config)];
  if (there === undefined || required <= there) return [];
  const has = there === 0 ? "no standby" : `only ${counted(there, "synchronous standby")}`;
  return [
    `database.require.synchronousStandbys is ${required} and this deployment's database has ${has}: its server does not start there`,
  ];
}

function programs(config: TenantConfig): string[] {
  const references = secretPlaces(config).filter(({ reference }) => "exec" in reference || "sops" in reference);
  const targets = statedTargets(config.audit).filter(({ target }) => "exec" in target);
  return [...references, ...targets].map(
    ({ path }) => `${formatPath(path)} runs a program: the deployment needs it, and for exec PMCTL_ALLOW_EXEC=1`,
  );
}

/** Pods have only the tenant file and its markets of the folder. */
function files(config: TenantConfig): string[] {
  const secrets = secretPlaces(config).flatMap(({ reference, path }) =>
    "file" in reference ? [`${formatPath(path)} is the ${describeReference(reference)}`] : [],
  );
  const { jwt } = config.auth;
  const keySet = "jwks" in jwt && "file" in jwt.jwks ? [`auth.jwt.jwks is the file ${jwt.jwks.file}`] : [];
  const certificates = tlsSections(config).map(
    (section) => `${formatPath([...section, "cert"])} is the file ${tlsAt(config, section)?.cert}`,
  );
  return [...secrets, ...keySet, ...certificates].map((what) => `${what}, which the pods lack: mount it by an overlay`);
}

/** The anchors in a container's own directory are lost with the container. */
function anchors(config: TenantConfig): string[] {
  if (anchorsBeyondFiles(config).length > 0) return [];
  return ["anchors of the audit log are lost with their container: state audit.anchors: { url, secret }"];
}
